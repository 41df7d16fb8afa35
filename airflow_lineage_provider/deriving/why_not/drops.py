"""Why an operator dropped rows, in words, as far as it tells: the terms that were not true, the values that found no partner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.why_not import Descendant, Drop, Reason
from airflow_lineage_provider.deriving.why_not.evidence import Evidence, evidence_of
from airflow_lineage_provider.deriving.why_not.rows_behind import table_names
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.tracing.forward.dropped import is_having, leaves_below, order_of
from airflow_lineage_provider.tracing.forward.plans import ForwardPlan, Place

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.spark.rereading.following import Following


@dataclass(frozen=True, kw_only=True, eq=False)
class DroppedBy:
    """What one operator dropped (`answers.fates.Drops`), with the ``evidence``, of which words are made when a row is looked at.

    ``sides`` names the tables of a join's other side, ``over_groups`` says that a selection is one of groups.
    """

    node: o.Plan
    reason: Reason
    evidence: Evidence | None
    sides: str = ""
    over_groups: bool = False

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        return self.evidence.names if self.evidence is not None else ()

    def of(self, tag: int) -> Drop:
        if self.evidence is None:
            return Drop(reason=self.reason, text="it is on the right side of a difference, which only says what to take away")
        rows = self.evidence.of(tag)
        return Drop(reason=self.reason, text=self._text(rows, self.evidence.has_terms), rows=rows)

    def _text(self, rows: Sequence[Descendant], has_terms: bool) -> str:
        match self.reason:
            case "selection":
                what = "the group does not meet the condition (HAVING)" if self.over_groups else "the condition is not true for it"
                return f"{what}: {_failed(rows)}" if has_terms and rows else what
            case "join" | "semi_join":
                return f"no row of {self.sides or 'the other side'} goes with it{_unmet(rows)}"
            case "difference":
                return f"rows of {self.sides or 'the right side'} exclude it{_values(rows)}"
            case "limit":
                assert isinstance(self.node, o.Limit)
                return _beyond(self.node) + _values(rows)
            case "generator":
                return f"the generator makes no row of it{_values(rows)}"
        return f"{operator_text(self.node)} gives no row for it"


def drops_of(plan: ForwardPlan, place: Place, tags: Numbers, following: Following) -> DroppedBy:
    """Why the operator dropped the last descendants of the rows with these tags, ascending."""
    node = place.node
    if isinstance(node, o.Join) and node.is_difference and place.side == 1:
        return DroppedBy(node=node, reason="difference_side", evidence=None)
    reason = _reason(node)
    return DroppedBy(
        node=node,
        reason=reason,
        evidence=evidence_of(plan, place, tags, following),
        sides=_sides(plan, place, following),
        over_groups=reason == "selection" and is_having(plan.plan, node),
    )


def _reason(node: o.Plan) -> Reason:
    match node:
        case o.Filter():
            return "selection"
        case o.Join(kind="left_anti"):
            return "difference"
        case o.Join(kind="left_semi" | "existence"):
            return "semi_join"
        case o.Join():
            return "join"
        case o.Limit():
            return "limit"
        case o.Generate():
            return "generator"
        case o.Source() | o.SegmentOutput() | o.Project() | o.Aggregate() | o.Distinct() | o.Union() | o.Sort():
            return "operator"
        case o.FunctionOperator() | o.Window() | o.PythonMap() | o.Repartition():
            return "operator"
    raise no_rule(node, "why a row was dropped")


def _sides(plan: ForwardPlan, place: Place, following: Following) -> str:
    """The tables of a join's other side, as people name them: ``u``, or ``u and v``."""
    if not isinstance(place.node, o.Join):
        return ""
    names = table_names(following.tracing.recorded)
    found = dict.fromkeys(names[leaf] for leaf in leaves_below(plan.plan, children(place.node)[1 - place.side]))
    return " and ".join(found) if len(found) < 4 else ""


def _failed(rows: Sequence[Descendant]) -> str:
    """The terms that were false or NULL for the first descendant."""
    return ", ".join(f"{term.text} is {term.value}" for term in rows[0].terms if term.value in ("false", "NULL")) + _values(rows)


def _values(rows: Sequence[Descendant]) -> str:
    from airflow_lineage_provider.answers.values import text_of

    if not rows or not rows[0].values:
        return ""
    return " (" + ", ".join(f"{name} = {text_of(value, 60)}" for name, value in rows[0].values.items()) + ")"


def _unmet(rows: Sequence[Descendant]) -> str:
    if not rows:
        return ""
    if rows[0].others_total == 0:
        return ": the other side has no rows" + _values(rows)
    never = [term.text for term in rows[0].terms if term.met == 0]
    together = len(rows[0].terms) > 1 and rows[0].others_count == 0
    text = f": {' and '.join(never)} is true for none" if never else ": its terms are true for some, but not together" if together else ""
    return text + _values(rows)


def _beyond(node: o.Limit) -> str:
    skipped = f" after the first {node.offset:,}" if node.offset else ""
    first = "rows" if node.count is None else "first row" if node.count == 1 else f"first {node.count:,} rows"
    sort = order_of(node)
    order = "" if sort is None else f" in the order of {operator_text(sort).removeprefix('sort ')}"
    return f"it is not among the {first}{skipped}{order}"


__all__ = ["drops_of"]
