"""Whether the sketch of one instance of a template serves another: all that stands behind the new result stands behind the old one, too
(the paper's ge and uconds, Sec. 7; extended version Sec. 9).

Take any row of the new result, and any one source row behind it at each source: at every operator there is one row on the way. Of these
rows the new instance's conditions hold. If the old instance's conditions follow, the same rows are on the way to a row of the old result.
What an aggregation gives may differ between the two (it is *changed*, as if the new instance were a run over a sketch of the old one): what
is known of it depends on whether each row of a group of the new instance is in the old one's group (it is a part of that), and the other
way round (then both groups are one). The paper has no rule for limits; here they cut the same rows, and the new one none but those of the
old one: above one that takes fewer, a group is a part of the old instance's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children, operators
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sketches.aggregation import is_exact, known_of
from airflow_lineage_provider.sketches.columns import canonical, formulas_of
from airflow_lineage_provider.sketches.formula import Formulas, Row
from airflow_lineage_provider.sketches.matched import Matched, Single
from airflow_lineage_provider.sketches.proof import Proof
from airflow_lineage_provider.sketches.solver import TIMEOUT_MS
from airflow_lineage_provider.sketches.statistics import Bounds, source_facts, texts_of
from airflow_lineage_provider.sketches.template import Binding, with_binding
from airflow_lineage_provider.sketches.ties import places


def why_not_reused(pipeline: Pipeline, binding: Binding, *, bounds: Bounds | None = None, timeout_ms: int = TIMEOUT_MS) -> str:
    """Why nobody can say that a sketch of the instance with another ``binding`` has all that stands behind this instance's result; empty
    where it surely has. That a sketch is safe for this instance is another question (`columns.safe_columns`). ``bounds`` are what the
    statistics of the sources' versions say.

    :raises EnvironmentProblem: z3 is not installed. :raises UnsupportedOperator: an operator has no defined lineage.
    """
    new = canonical(pipeline.plan)
    return _why_not(new, with_binding(new, binding), pipeline, bounds or {}, timeout_ms)


def why_not_serving(pipeline: Pipeline, binding: Binding, *, bounds: Bounds | None = None, timeout_ms: int = TIMEOUT_MS) -> str:
    """The other way round: why nobody can say that a sketch of this instance has all that stands behind that with another ``binding``.

    :raises EnvironmentProblem, UnsupportedOperator: as `why_not_reused`. :raises SketchError: the binding is no instance's.
    """
    old = canonical(pipeline.plan)
    return _why_not(with_binding(old, binding), old, pipeline, bounds or {}, timeout_ms)


def _why_not(new: o.Plan, old: o.Plan, pipeline: Pipeline, bounds: Bounds, timeout_ms: int) -> str:
    formulas = formulas_of([new, old], pipeline, texts_of(bounds))
    proof = Proof(formulas.again(), frozenset(), -1, bounds, timeout_ms=timeout_ms)
    try:
        return _Containment(proof).checked(new, old)
    except _NotContained as found:
        return str(found)


class _NotContained(Exception):
    """A rule does not hold; the text says why."""


@dataclass(frozen=True)
class _Condition:
    """A condition of both instances, which differs in its constants or in what it reads."""

    node: o.Plan
    new: e.Expression
    old: e.Expression


@dataclass
class _Containment:
    """What is known of the rows on the way. ``conditions`` are those of the operators that are walked, the lowest first; ``both`` holds of
    the values of both instances."""

    proof: Proof
    conditions: list[_Condition] = field(default_factory=list)
    single: list[Single] = field(default_factory=list)
    both: list[Any] = field(default_factory=list)
    cut: int = 0
    """How many limits have been walked that take fewer rows."""

    @property
    def f(self) -> Formulas:
        return self.proof.formulas

    def checked(self, new: o.Plan, old: o.Plan) -> str:
        """Why the old instance need not have what the new one has."""
        self._mark(new, old)
        aggregations = self._collect(new, old)
        for at in aggregations:
            self._compare(at)
        for one in self.conditions:
            if not self._follows(one):
                return f"what passes with these constants need not pass with the others: {operator_text(one.node)}"
        return ""

    # --- what may differ -----------------------------------------------------------------------------------------------

    def _mark(self, new: o.Plan, old: o.Plan) -> None:
        """Note what may have other values in the two instances: aggregations over other rows, and what is computed of them."""
        if new == old:
            return
        for child, other in zip(children(new), children(old), strict=True):
            self._mark(child, other)
        match new:
            case o.Aggregate():
                self.f.changed.update(one.attribute.id for one in new.columns if isinstance(one, e.Alias))
            case o.Project():
                self.f.changed.update(c.attribute.id for c in new.columns if isinstance(c, e.Alias) and self.f.reads_changed(c.child))
            case o.FunctionOperator():
                if any(map(self.f.reads_changed, new.arguments)):
                    self.f.changed.update(one.id for one in (new.value, new.reason) if one is not None)
            case o.Window():
                raise _NotContained(f"a window is over other rows: {operator_text(new)}")
            case o.Union():
                raise _NotContained("the branches of a union have other constants")

    # --- what holds ----------------------------------------------------------------------------------------------------

    def _collect(self, new: o.Plan, old: o.Plan) -> list[_Group]:
        """The conditions of both instances, and the aggregations that may differ, the lowest first."""
        if new == old:
            self._assume(new)
            return []
        match new, old:
            case (o.Filter(), o.Filter()):
                found = self._collect(new.child, old.child)
                self.conditions.append(_Condition(new, new.condition, old.condition))
            case (o.Join(), o.Join()):
                found = self._joined(new, old)
            case (o.Aggregate(), o.Aggregate()) if new.keys and not new.domain:
                first, cut = len(self.conditions), self.cut
                found = self._collect(new.child, old.child)
                self._require_unchanged(new, new.keys)
                found.append(_Group(new, first, len(self.conditions), is_cut=self.cut > cut))
            case (o.Limit(), o.Limit()):
                found = self._cut(new, old)
            case (o.Project(), o.Project()):
                found = self._collect(new.child, old.child)
                self._define(new)
            case (o.Distinct(), o.Distinct()):
                found = self._collect(new.child, old.child)
                self._require_unchanged(new, new.output)
            case (o.Generate(), o.Generate()):
                found = self._collect(new.child, old.child)
                self._require_unchanged(new, references(new.generator))
            case (o.Sort() | o.Repartition() | o.FunctionOperator(), _):
                ((child,), (other,)) = children(new), children(old)
                found = self._collect(child, other)
            case _:
                raise _NotContained(f"there is no rule for other constants in or below {operator_text(new)}")
        return found

    def _joined(self, new: o.Join, old: o.Join) -> list[_Group]:
        if new.kind in ("inner", "cross", "left_semi"):
            found = self._collect(new.left, old.left) + self._collect(new.right, old.right)
            if new.condition is not None and old.condition is not None:
                self.conditions.append(_Condition(new, new.condition, old.condition))
            return found
        kept, other = (new.right, new.left) if new.kind == "right" else (new.left, new.right)
        kept_old, other_old = (old.right, old.left) if new.kind == "right" else (old.left, old.right)
        if new.kind == "full" or other != other_old or new.condition != old.condition:
            raise _NotContained(f"rows may have other partners, or none: {operator_text(new)}")
        found = self._collect(kept, kept_old)
        if new.condition is not None:
            self._require_unchanged(new, (new.condition,))
        return found

    def _cut(self, new: o.Limit, old: o.Limit) -> list[_Group]:
        if new.child != old.child and not self._are_same_rows(new.child, old.child):
            raise _NotContained(f"a limit cuts other rows: {operator_text(new)}")
        if new.offset < old.offset or (old.count is not None and (new.count is None or places(new) > places(old))):
            raise _NotContained(f"a limit takes more rows: {operator_text(new)}")
        self.cut += 1
        return []

    def _are_same_rows(self, new: o.Plan, old: o.Plan) -> bool:
        """Whether each row of one is a row of the other, though their conditions have other constants: only rows are selected and joined
        there, and what passes in one instance passes in the other."""
        if not all(map(_selects, _differing(new, old))):
            return False
        try:
            return not any(self._anew().checked(one, other) for one, other in ((new, old), (old, new)))
        except _NotContained:
            return False

    def _anew(self) -> _Containment:
        return _Containment(Proof(self.f.again(), frozenset(), -1, self.proof.bounds, timeout_ms=self.proof.timeout_ms))

    def _require_unchanged(self, node: o.Plan, parts: Iterable[e.Expression]) -> None:
        if any(map(self.f.reads_changed, parts)):
            raise _NotContained(f"rows are grouped or compared by what may be another value: {operator_text(node)}")

    def _assume(self, same: o.Plan) -> None:
        """What holds of rows that both instances have."""
        nodes = list(operators(same))
        if not all(map(_has_a_row, nodes)):
            return
        for node in nodes:
            if isinstance(node, o.Source):
                self.single += source_facts(node, self.proof.bounds, self.f)
            match node:
                case o.Filter(condition=condition) | o.Join(condition=condition) if condition is not None and is_deterministic(condition):
                    self.single.append(partial(self.f.true, condition))
                case o.Project():
                    self._define(node)

    def _define(self, node: o.Project) -> None:
        for column in node.columns:
            if isinstance(column, e.Alias) and is_deterministic(column.child):
                self.single.append(partial(self.f.defined, column.attribute, column.child))

    # --- proofs --------------------------------------------------------------------------------------------------------

    def _facts(self, row: Row) -> list[Any]:
        return [one(row) for one in self.single]

    def _assumed(self) -> list[Any]:
        """What holds of the rows on the way to a row of the new result."""
        return [*self.both, *self._facts("plain"), *self._facts("sketched"), *(self.f.true(one.new, "sketched") for one in self.conditions)]

    def _follows(self, one: _Condition) -> bool:
        return self.proof.holds(self._assumed(), self.f.true(one.old, "plain"))

    def _compare(self, group: _Group) -> None:
        """What is known of an aggregation's values in the two instances (the paper's Ψ of γ)."""
        below = self.conditions[group.first : group.last]
        if not all(map(self._follows, below)):
            return
        calls = [(c.child, c.attribute) for c in group.node.columns if isinstance(c, e.Alias) and isinstance(c.child, e.AggregateCall)]
        whole = self._is_whole(group, below)
        known = Matched(True, (*self.single, *(partial(self._of_instance, one) for one in below)), tuple(self.both))
        for call, made in calls:
            if whole and is_exact(call) and not self.f.reads_changed(call):
                self.both.append(self.f.alike(self.f.value(made, "plain"), self.f.value(made, "sketched")))
            elif is_exact(call):
                self.both += known_of(call, made, known, self.proof)

    def _of_instance(self, one: _Condition, row: Row) -> Any:
        return self.f.true(one.new, "sketched") if row == "sketched" else self.f.true(one.old, row)

    def _is_whole(self, group: _Group, below: list[_Condition]) -> bool:
        """Whether a row of the old instance's group is one of the new one's. Of it is known what the new conditions say of the group's
        keys, and above the group."""
        if group.is_cut or any(self.f.reads_changed(one.new) for one in below):
            return False
        keys = {a.id for key in group.node.keys for a in references(key)}
        terms = [term for one in below for term in e.conjuncts(one.new)]
        of_group = [term for term in terms if {a.id for a in references(term)} <= keys]
        above = [one for one in self.conditions if one not in below]
        assumed = [
            *self.both, *self._facts("plain"), *(self.f.true(one.old, "plain") for one in below),
            *(self.f.true(term, "plain") for term in of_group), *(self.f.true(one.new, "sketched") for one in above),
        ]  # fmt: skip
        return all(self.proof.holds(assumed, self.f.true(one.new, "plain")) for one in below)


def _differing(new: o.Plan, old: o.Plan) -> Iterator[o.Plan]:
    """The operators in or above which the instances differ."""
    if new != old:
        yield new
        for child, other in zip(children(new), children(old), strict=True):
            yield from _differing(child, other)


def _selects(node: o.Plan) -> bool:
    """Whether each row of an operator is of one row of each input, with the same values in it."""
    if isinstance(node, o.Join):
        return node.kind in ("inner", "cross", "left_semi")
    return isinstance(node, o.Filter | o.Project | o.Sort | o.Repartition | o.FunctionOperator)


def _has_a_row(node: o.Plan) -> bool:
    """Whether there is a row of each input behind each row of an operator: not of both branches of a union, of an outer join's other side,
    and of what a global aggregation counts."""
    match node:
        case o.Union():
            return False
        case o.Join():
            return node.kind in ("inner", "cross", "left_semi")
        case o.Aggregate():
            return bool(node.keys) and not node.domain
    return True


@dataclass(frozen=True)
class _Group:
    """An aggregation, and which of the conditions are below it; ``is_cut``: a limit below it takes fewer rows in the new instance."""

    node: o.Aggregate
    first: int
    last: int
    is_cut: bool
