"""Which columns of which sources a sketch may be of: every column of every leaf of a pipeline, judged.

Of ``σ n < 3 (α k; count(v) AS n)`` the column ``k`` is safe by the rule ``group``, and ``v`` is not, by the rule ``selection``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import functions_of, operators, own_expressions
from airflow_lineage_provider.rewrite.canonical_aggregates import canonical_aggregates
from airflow_lineage_provider.rewrite.canonical_windows import canonical_windows
from airflow_lineage_provider.rewrite.pull_out_udfs import pull_out_udfs
from airflow_lineage_provider.rewrite.scalar_subqueries import scalar_subqueries
from airflow_lineage_provider.rewrite.unique_attributes import unique_attributes
from airflow_lineage_provider.sketches.at_limit import require_same_rows
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.composite import why_not_composite
from airflow_lineage_provider.sketches.files import FILE_PATH, with_paths
from airflow_lineage_provider.sketches.formula import Formulas
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.null_rejecting import inner_joins
from airflow_lineage_provider.sketches.order import order_of
from airflow_lineage_provider.sketches.partition import why_refused
from airflow_lineage_provider.sketches.proof import Above, Counter, NotSafe, Proof
from airflow_lineage_provider.sketches.safety import relate
from airflow_lineage_provider.sketches.solver import TIMEOUT_MS
from airflow_lineage_provider.sketches.statistics import Bounds, texts_of
from airflow_lineage_provider.sketches.steps import Steps, steps_in, why_not_aligned
from airflow_lineage_provider.sketches.ties import lowest_limit, places
from airflow_lineage_provider.sql.constant_values import constant_value

PASSES: tuple[Callable[[o.Plan], o.Plan], ...] = (
    unique_attributes, canonical_aggregates, scalar_subqueries, canonical_windows, pull_out_udfs, inner_joins,
)  # fmt: skip
"""The form that the rules are about."""


@dataclass(frozen=True)
class SafeColumn:
    """Whether a sketch of one column of one leaf is safe; or of several together, in one text (`column_text`).

    ``rule`` and ``operator`` decided it; ``because`` says why in words, and ``counter`` has values for which an unsafe one goes wrong.
    ``ties``: where rows tie, plain runs may differ, and the run over a sketch gives one of the right answers, if all rows that tie at the
    limit are in the sketch. ``aligned``: only for cuts where steps of these functions begin (`steps`). ``at_limit``: only for a sketch of
    what stands behind all rows in the places of the limit above the leaf (`ties.lowest_limit`). ``needs_rows``: only if the result
    that the sketch was taken of has rows; ``needs_fewer``: only if it has fewer than so many, so that the limit which is the pipeline's
    last step cut none.
    """

    leaf: int
    table: str
    column: str
    type: str
    safe: bool
    rule: str
    operator: str = ""
    because: str = ""
    counter: Counter = ()
    ties: bool = False
    needs_rows: bool = False
    needs_fewer: int | None = None
    aligned: tuple[str, ...] = ()
    at_limit: bool = False
    ms: float = 0.0

    def why_not_cut(self, cuts: Sequence[Any]) -> str:
        """Why a sketch with such cuts is not safe, though the column is; empty where it is."""
        return why_not_aligned(cuts, self.aligned)

    def why_not_of(self, rows: int | None) -> str:
        """Why a sketch of a result with so many rows is not safe, though the column is; empty where it is."""
        told = "how many this one has is not known" if rows is None else f"this one has {rows:,}"
        if self.needs_rows and not rows:
            return f"it is safe only for a result that has rows, and {told}"
        if self.needs_fewer is not None and (rows is None or rows >= self.needs_fewer):
            return f"it is safe only for a result of fewer than {self.needs_fewer:,} rows, of which the limit cuts none, and {told}"
        return ""


def canonical(plan: o.Plan) -> o.Plan:
    """The plan in the form that the rules are about. One that has function operators was rewritten, and its attributes have their numbers.

    :raises UnsupportedOperator: for an operator without defined lineage.
    """
    for one in PASSES[1:] if functions_of(plan) else PASSES:
        plan = one(plan)
    return plan


def safe_columns(
    pipeline: Pipeline,
    *,
    bounds: Bounds | None = None,
    keys: Mapping[int, Sequence[str]] | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    timeout_ms: int = TIMEOUT_MS,
    only: Collection[tuple[int, str]] | None = None,
) -> tuple[SafeColumn, ...]:
    """Every column of every leaf (or ``only`` some), judged; leaves in the plan's order (the paper's attribute safety, definition 5 and
    theorem 2).

    ``bounds`` are what the statistics of the sources' versions say of columns, ``keys`` the primary keys of leaves, where they are known;
    ``clock`` gives seconds. The names of files (`files`), and several columns together, are judged where ``only`` has them.

    :raises EnvironmentProblem: z3 is not installed. :raises UnsupportedOperator: the plan has an operator without a rule.
    """
    by_file = frozenset(leaf for leaf, column in only or () if column == FILE_PATH)
    plan = with_paths(canonical(pipeline.plan), by_file)
    asked = Question(plan, pipeline, bounds or {}, {at: tuple(one) for at, one in (keys or {}).items()}, timeout_ms, by_file)
    found = []
    for source in leaves(asked.plan):
        for column in source.columns if only is None else _named(source, only):
            started = clock()
            found.append(asked.judged(source, column, lambda started=started: (clock() - started) * 1000))  # type: ignore[misc]
    return tuple(found)


def _named(source: o.Source, only: Collection[tuple[int, str]]) -> list[str]:
    """Which of the named columns a source has; single ones, in its own order, before several together."""
    there = [column for column in source.columns if (source.leaf, column) in only]
    named = dict.fromkeys(column for leaf, column in only if leaf == source.leaf and column not in source.columns)
    return there + [column for column in named if set(columns_in(column)) <= set(source.columns)]


def leaves(plan: o.Plan) -> tuple[o.Source, ...]:
    """The sources by their numbers, each once: one that the plan has copies of is one leaf."""
    found = {node.leaf: node for node in reversed(tuple(operators(plan))) if isinstance(node, o.Source)}
    return tuple(found[number] for number in sorted(found))


@dataclass(frozen=True)
class Question:
    """What is the same for all columns of a pipeline."""

    plan: o.Plan
    pipeline: Pipeline
    bounds: Bounds
    keys: Mapping[int, tuple[str, ...]]
    timeout_ms: int
    by_file: frozenset[int] = frozenset()

    def judged(self, source: o.Source, column: str, ms: Callable[[], float]) -> SafeColumn:
        """One column, or several together."""
        types = [source.output[source.columns.index(one)].type for one in columns_in(column, source.columns)]
        name = (source.leaf, source.relation.name, column, ", ".join(types))
        refused = why_refused(types[0]) if len(types) == 1 else why_not_composite(types)
        if column == FILE_PATH and source.leaf not in self.by_file:
            refused = "Spark calls the name of a row's file so"
        if refused:
            return SafeColumn(*name, False, "type", because=refused, ms=ms())
        try:
            proof = self._proved_somehow(source.leaf, column)
        except NotSafe as error:
            operator = operator_text(error.node)
            return SafeColumn(*name, False, error.rule, operator, error.because, error.counter, ms=ms())
        rule, operator = _decided(proof)
        fewer = None if proof.uncut is None else proof.uncut.count
        return SafeColumn(
            *name, True, rule, operator, _WHY[rule], ties=proof.ties, needs_rows=proof.needs_rows, needs_fewer=fewer,
            aligned=tuple(sorted(proof.aligned)), at_limit=proof.at_limit is not None, ms=ms(),
        )  # fmt: skip

    def _proved_somehow(self, leaf: int, column: str) -> Proof:
        """The proof that a column is safe, whatever the result and the cuts; else for cuts where steps of a function begin, for a sketch of
        all rows of a limit above it, or for a result of which a limit without an order cuts nothing.

        :raises NotSafe: there is none; of all it says why not whatever the result and the cuts.
        """
        try:
            return self._proved(leaf, column)
        except NotSafe as error:
            steps = self._steps(leaf, column)
            if steps:
                with suppress(NotSafe):
                    return self._proved(leaf, column, steps=steps)
            ordered = None if column == FILE_PATH else lowest_limit(self.plan, leaf)
            if ordered is not None:
                with suppress(NotSafe):
                    return self._proved_at(ordered, leaf, column)
            limit = last_limit(self.plan)
            if limit is None or error.node is not limit:
                raise
            try:
                return self._proved(leaf, column, limit)
            except NotSafe:
                raise error from None

    def _proved(self, leaf: int, column: str, uncut: o.Limit | None = None, steps: Steps | None = None) -> Proof:
        """The proof that a column is safe; where the result has fewer rows than the last limit takes, if that is given for ``uncut``; for
        cuts where ``steps`` begin, if there are such.

        :raises NotSafe: there is none.
        """
        copies = self._copies(leaf, column)
        proof = Proof(self.formulas.again(), copies, leaf, self.bounds, self.keys, self.timeout_ms, uncut=uncut, steps_of=steps or {})
        relate(self.plan, Above(), proof)
        return proof

    def _proved_at(self, limit: o.Limit, leaf: int, column: str) -> Proof:
        """The proof that over a sketch of all rows in a limit's places the limit gives just the rows of the plain run, so that what is
        above it has the same to do.

        :raises NotSafe: there is none.
        """
        require_same_rows(self.plan, limit, leaf)
        copies, formulas, steps = self._copies(leaf, column), self.formulas.again(), self._steps(leaf, column)
        proof = Proof(formulas, copies, leaf, self.bounds, self.keys, self.timeout_ms, steps_of=steps, at_limit=limit)
        relate(replace(limit, count=places(limit), offset=0), Above(in_every=False), proof)
        if limit.offset and proof.ties:
            raise NotSafe("limit", limit, "rows may tie where the offset ends")
        return proof

    @cached_property
    def steps(self) -> Steps:
        """What goes up in steps over columns."""
        return steps_of(self.plan, self.pipeline)

    def _steps(self, leaf: int, column: str) -> Steps:
        """What cuts of a column can be aligned with; those of several together are not."""
        return {} if is_composite(self.plan, leaf, column) else self.steps

    @cached_property
    def formulas(self) -> Formulas:
        """What all proofs share."""
        return formulas_of([self.plan], self.pipeline, texts_of(self.bounds))

    def _copies(self, leaf: int, column: str) -> frozenset[int]:
        """The column, or columns, in every copy of the leaf: they are read through one sketch."""
        return copies_of(self.plan, leaf, column)


def copies_of(plan: o.Plan, leaf: int, column: str) -> frozenset[int]:
    """The ids of a column of a leaf, or of several (`column_text`), in every copy of it in a plan."""
    copies = [node for node in operators(plan) if isinstance(node, o.Source) and node.leaf == leaf]
    return frozenset(node.output[node.columns.index(one)].id for node in copies for one in columns_in(column, node.columns))


def is_composite(plan: o.Plan, leaf: int, column: str) -> bool:
    """Whether a text names several columns of a leaf together."""
    return any(isinstance(node, o.Source) and node.leaf == leaf and len(columns_in(column, node.columns)) > 1 for node in operators(plan))


def steps_of(plan: o.Plan, pipeline: Pipeline) -> Steps:
    """What goes up in steps over the columns of a plan that was made of a pipeline's."""
    zone = dict(pipeline.conf).get("spark.sql.session.timeZone")
    return steps_in((part for node in operators(plan) for own in own_expressions(node) for part in expressions_in(own)), zone)


def last_limit(plan: o.Plan) -> o.Limit | None:
    """The limit without an order that says how many rows the result has: above it is nothing that adds or drops rows."""
    while isinstance(plan, o.Project | o.FunctionOperator | o.Sort | o.Repartition):
        plan = plan.child
    return plan if isinstance(plan, o.Limit) and order_of(plan.child) is None and plan.count and not plan.offset else None


def formulas_of(plans: Sequence[o.Plan], pipeline: Pipeline, texts: Sequence[str] = ()) -> Formulas:
    """Formulas about plans, which know the order of the strings in them (and of further ``texts``).

    :raises EnvironmentProblem: z3 is not installed.
    """
    parts = [part for plan in plans for node in operators(plan) for own in own_expressions(node) for part in expressions_in(own)]
    constants = [
        part if isinstance(part, e.Literal) else constant_value(part) for part in parts if isinstance(part, e.Literal | e.Call | e.Cast)
    ]
    own = [one.value for one in constants if one is not None and one.value is not None and kind_of(one.type) == "text"]
    return Formulas([*own, *texts], exact=dict(pipeline.conf).get("spark.sql.ansi.enabled", "true") == "true")


_WHY = {
    "monotone": "nothing compares what a sketch can change",
    "group": "each group is in one fragment, so it is there whole or not at all",
    "one row of all": "its one row is behind every row of the result, so all that is behind it is in a sketch of a result that has rows",
    "window": "each partition is in one fragment, so it is there whole or not at all",
    "selection": "what passes over a sketch passes in the plain run",
    "join": "what are partners over a sketch are partners in the plain run",
    "limit": "rows can only get worse in the order",
    "uncut": "the limit cuts none, and over a sketch there are no more",
    "outer join": "rows have the same partners over a sketch and in the plain run",
    "difference": "what has a partner in the plain run has it over a sketch",
    "generator": "the same values make the same rows",
    "distinct": "rows that are equal over a sketch are equal in the plain run",
}
_WEIGHT = ("selection", "join", "difference", "outer join", "distinct", "generator", "limit", "uncut", "one row of all", "window", "group")
"""Of several rules that a proof took, the one that says most is named: what was compared, before what was whole."""


def _decided(proof: Proof) -> tuple[str, str]:
    """The rule and the operator that a proof hung on."""
    if not proof.steps:
        return "monotone", ""
    rule, node = min(proof.steps, key=lambda step: _WEIGHT.index(step[0]))
    return rule, operator_text(node)
