"""Whether a sketch serves a source that was only appended to since it was captured (the paper's future work, Sec. 1).

The sketch has what stands behind the result over the old rows. All new rows are read; which of the old ones are needed beside those in the
sketch depends on the plan between the source and the result:

- *linear*: each row of the result is of one row of the source. What the old rows gave they still give, and no more: the sketch has them.
- *groups*: each group's rows are in one fragment (where groups are by a function that goes up in steps: if each cut begins a step). So the
  result is made fragment by fragment; where no row came to a fragment it is what it was, and where one came the fragment is read whole.
  Whatever a selection above asks, each group that is read is the whole group.
- *order*: a limit over either. Where rows can only get better in the order by what is new, each row that had a place still has all those
  behind it that had none: of the old fragments only the sketch's, and those that rows came to, can have one.

The other sources are as they were, and are read in full: new rows have partners outside their sketches. What no rule is for is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from typing import Literal as OneOf

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import all_operators, operators
from airflow_lineage_provider.sketches.columns import canonical, copies_of, formulas_of, is_composite, steps_of
from airflow_lineage_provider.sketches.files import FILE_PATH, with_paths
from airflow_lineage_provider.sketches.formula import Formulas
from airflow_lineage_provider.sketches.matched import Matched
from airflow_lineage_provider.sketches.proof import Above, NotSafe, Proof
from airflow_lineage_provider.sketches.safety import relate
from airflow_lineage_provider.sketches.solver import TIMEOUT_MS
from airflow_lineage_provider.sketches.statistics import Bounds, texts_of
from airflow_lineage_provider.sketches.steps import Steps

RuleName: TypeAlias = OneOf["linear", "groups", "order"]


@dataclass(frozen=True)
class AppendRule:
    """The rule by which a sketch serves after an append.

    :ivar fragments: whether of the old rows the fragments that new rows are in are read, too, and not the sketch's alone.
    :ivar aligned: only for cuts where steps of these functions begin (`steps`).
    """

    name: RuleName
    fragments: bool
    aligned: tuple[str, ...] = ()

    @property
    def because(self) -> str:
        """Why the new rows, and the old ones that are read, are enough."""
        return _WHY[self.name]


_WHY: Mapping[RuleName, str] = {
    "linear": "each row of the result is of one row of it, so what is new adds rows alone",
    "groups": "each group is in one fragment, so groups without new rows are what they were",
    "order": "by new rows others can only get better in the order, so what had no place has none",
}


def append_rule(
    pipeline: Pipeline,
    leaf: int,
    column: str,
    *,
    bounds: Bounds | None = None,
    keys: Mapping[int, Sequence[str]] | None = None,
    timeout_ms: int = TIMEOUT_MS,
) -> AppendRule | str:
    """The rule by which a sketch of a column (or of several together, `column_text`), of all that stood behind the result, serves when rows
    were added to this leaf alone; else why there is none. The column is proved safe again on the way.

    ``bounds`` (what statistics say of columns) and ``keys`` (the primary keys of leaves) are those of the version with the new rows, where
    they are known: so they are of the old rows, too.

    :raises EnvironmentProblem: z3 is not installed. :raises UnsupportedOperator: an operator has no defined lineage.
    """
    plan = with_paths(canonical(pipeline.plan), {leaf} if column == FILE_PATH else ())
    known = bounds or {}
    assumed = {"bounds": known, "keys": {at: tuple(one) for at, one in (keys or {}).items()}, "timeout_ms": timeout_ms}
    shared = formulas_of([plan], pipeline, texts_of(known))
    try:
        return _rule(plan, shared, leaf, column, assumed)
    except NotSafe as found:
        steps = {} if is_composite(plan, leaf, column) else steps_of(plan, pipeline)
        if steps:
            with suppress(NotSafe):
                return _rule(plan, shared, leaf, column, assumed, steps)
        return found.because


def _rule(plan: o.Plan, shared: Formulas, leaf: int, column: str, assumed: Mapping[str, Any], steps: Steps | None = None) -> AppendRule:
    """The rule, whatever the cuts; for cuts where ``steps`` begin, if there are such.

    :raises NotSafe: there is none.
    """
    way = _way_down(plan, leaf)
    groups = [node for node in way if isinstance(node, o.Aggregate)]
    fragments = copies_of(plan, leaf, column)
    over_sketch = _Watched(shared.again(), fragments, leaf, **assumed, steps_of=steps or {})
    relate(plan, _ASKED, over_sketch)
    _require_no_ties(plan, over_sketch)
    for node in groups:
        over_sketch.require_whole(node)
    if any(isinstance(node, o.Limit) for node in way):
        # The old rows beside all of them are what a sketch of any rows is beside all.
        relate(plan, _ASKED, _AnyRows(shared.again(), fragments, leaf, **assumed))
        return AppendRule("order", bool(groups), tuple(sorted(over_sketch.aligned)))
    return AppendRule("groups", True, tuple(sorted(over_sketch.aligned))) if groups else AppendRule("linear", False)


def _require_no_ties(plan: o.Plan, proof: Proof) -> None:
    """:raises NotSafe: rows may tie. (Whether they do was counted of the old rows, where a sketch is captured of such a plan.)"""
    if proof.ties:
        raise NotSafe("append", plan, "rows may tie at the limit, or a value is of any row: with new rows others may be taken")


_ASKED = Above(compared=True)
"""That groups are whole is asked of all of them, also of those whose values nothing compares."""


@dataclass
class _Watched(Proof):
    """Notes which aggregations have whole groups."""

    whole: list[o.Plan] = field(default_factory=list)

    def determined(self, known: Matched, node: o.Plan, keys: tuple[e.Expression, ...]) -> bool:
        """As `Proof.determined`."""
        found = super().determined(known, node, keys)
        if found:
            self.whole.append(node)
        return found

    def require_whole(self, node: o.Plan) -> None:
        """:raises NotSafe: a group of this aggregation may have rows in several fragments."""
        if not any(node is one for one in self.whole):
            because = f"groups have rows in several fragments, and with new rows another may pass: {operator_text(node)}"
            raise NotSafe("append", node, because)


class _AnyRows(Proof):
    """Any rows of the source may be missing, also a part of a group's."""

    def determined(self, known: Matched, node: o.Plan, keys: tuple[e.Expression, ...]) -> bool:
        """No group need be there whole."""
        return False


# --- the operators between the result and the source -------------------------------------------------------------------


def _way_down(plan: o.Plan, leaf: int) -> tuple[o.Plan, ...]:
    """The operators from the result down to the source.

    :raises NotSafe: one of them is of no rule.
    """
    _require_once(plan, leaf)
    way, node = [], plan
    while not isinstance(node, o.Source):
        way.append(node)
        node = _below(node, leaf)
    return tuple(way)


def _require_once(plan: o.Plan, leaf: int) -> None:
    """:raises NotSafe: the source is read twice, so that new rows would meet old ones outside the sketch; or inside an expression."""
    if sum(isinstance(node, o.Source) and node.leaf == leaf for node in all_operators(plan)) != 1:
        raise NotSafe("append", plan, "the pipeline reads it more than once")
    if not _touches(plan, leaf):
        raise NotSafe("append", plan, "a subquery inside an expression reads it")


def _below(node: o.Plan, leaf: int) -> o.Plan:
    """The input of an operator that the source is under.

    :raises NotSafe: there is no rule for the operator.
    """
    match node:
        case o.Filter() | o.Project() | o.FunctionOperator() | o.Sort() | o.Repartition() | o.Limit():
            return node.child
        case o.Aggregate() if node.keys and not node.domain:
            return node.child
        case o.Join(kind="inner" | "cross"):
            return node.left if _touches(node.left, leaf) else node.right
        case o.Join(kind="left_semi") if _touches(node.left, leaf):
            return node.left
    raise NotSafe("append", node, f"there is no rule for new rows below {operator_text(node)}")


def _touches(node: o.Plan, leaf: int) -> bool:
    return any(isinstance(one, o.Source) and one.leaf == leaf for one in operators(node))
