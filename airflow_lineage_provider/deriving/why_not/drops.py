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
    """What one operator dropped (`answers.fates.Drops`): in words, as far as they are the same for all rows, and the ``evidence``, of which
    the others are made when a row is looked at. None: there is nothing to be said of single rows."""

    reason: Reason
    says: str
    evidence: Evidence | None

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        return self.evidence.names if self.evidence is not None else ()

    def of(self, tag: int) -> Drop:
        rows = self.evidence.of(tag) if self.evidence is not None else ()
        return Drop(reason=self.reason, text=self.says + self._because(rows), rows=rows)

    def _because(self, rows: Sequence[Descendant]) -> str:
        match self.reason:
            case "selection":
                return f": {_failed(rows)}" if rows and rows[0].terms else ""
            case "join" | "semi_join":
                return _unmet(rows)
            case "difference" | "limit" | "generator":
                return _values(rows)
        return ""


def drops_of(plan: ForwardPlan, place: Place, tags: Numbers, following: Following) -> DroppedBy:
    """Why the operator dropped the last descendants of the rows with these tags, ascending."""
    node = place.node
    if isinstance(node, o.Join) and node.is_difference and place.side == 1:
        says = "it is on the right side of a difference, which only says what to take away"
        return DroppedBy(reason="difference_side", says=says, evidence=None)
    reason = _reason(node)
    return DroppedBy(reason=reason, says=_says(plan, place, reason, following), evidence=evidence_of(plan, place, tags, following))


def _says(plan: ForwardPlan, place: Place, reason: Reason, following: Following) -> str:
    match reason:
        case "selection":
            having = is_having(plan.plan, place.node)
            return "the group does not meet the condition (HAVING)" if having else "the condition is not true for it"
        case "join" | "semi_join":
            return f"no row of {_sides(plan, place, following) or 'the other side'} goes with it"
        case "difference":
            return f"rows of {_sides(plan, place, following) or 'the right side'} exclude it"
        case "limit":
            assert isinstance(place.node, o.Limit)
            return _beyond(place.node)
        case "generator":
            return "the generator makes no row of it"
    return f"{operator_text(place.node)} gives no row for it"


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
