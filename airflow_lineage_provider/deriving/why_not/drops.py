"""Why an operator dropped rows, as far as the operator tells: the terms that were not true, the values that found no partner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.why_not import Descendant, Drop, Reason, Term, Truth
from airflow_lineage_provider.deriving.why_not.rows_behind import rows_behind, table_names
from airflow_lineage_provider.errors import TracingError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.interval_columns import shown_as
from airflow_lineage_provider.plan.text import expression_text, operator_text
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.tracing.forward.columns import child_of
from airflow_lineage_provider.tracing.forward.dropped import (
    Judged,
    excluding,
    is_having,
    judged,
    leaves_below,
    order_of,
    partners,
    seen_by,
    source_keys,
)
from airflow_lineage_provider.tracing.forward.plans import ForwardPlan, Place
from airflow_lineage_provider.tracing.reserved import GIVEN

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.spark.rereading.following import Following

MOST_DESCENDANTS = 3
"""So many dropped descendants of a row are shown."""

MOST_OTHERS = 5
"""So many rows of a difference's right side are shown for each."""


def drops_of(plan: ForwardPlan, place: Place, tags: Sequence[int], following: Following) -> dict[int, Drop]:
    """For each tag why the operator dropped its last descendants."""
    if isinstance(place.node, o.Join) and place.node.is_difference and place.side == 1:
        text = "it is on the right side of a difference, which only says what to take away"
        return {tag: Drop(reason="difference_side", text=text) for tag in tags}
    found, terms = _dropped(plan, place, tags, following)
    if isinstance(place.node, o.Join):
        found = _with_partners(plan, place, found, following)
    kind = _reason(place.node)
    sides = _sides(plan, place, following)
    by_tag = {tag: tuple(one.row for one in found if one.tag == tag) for tag in tags}
    return {tag: Drop(reason=kind, text=_text(plan, place.node, kind, rows, terms, sides), rows=rows) for tag, rows in by_tag.items()}


@dataclass(frozen=True, kw_only=True)
class _Dropped:
    """A dropped row, and its values as they were read from Spark."""

    tag: int
    row: Descendant
    values: tuple[Any, ...]


def _dropped(plan: ForwardPlan, place: Place, tags: Sequence[int], following: Following) -> tuple[list[_Dropped], int]:
    child = seen_by(plan, place.at, place.side)
    assert child.tags is not None
    asked = judged(place.node, child, place.side)
    try:
        rows = following.samples(asked.plan, child.tags, (*asked.read, *asked.values), tags, MOST_DESCENDANTS)
    except TracingError:
        if not asked.terms:
            raise
        asked = judged(place.node, child, place.side, one_by_one=True)
        rows = following.samples(asked.plan, child.tags, (*asked.read, *asked.values), tags, MOST_DESCENDANTS)
    return [_row(asked, row) for row in _rows(rows)], len(asked.terms)


def _row(asked: Judged, row: tuple[Any, ...]) -> _Dropped:
    values = row[1 : 1 + len(asked.read)]
    truths = _truths(row[1 + len(asked.read) :], one_by_one=asked.one_by_one)
    terms = tuple(Term(text=expression_text(one), value=truth) for one, truth in zip(asked.terms, truths, strict=True))
    return _Dropped(tag=row[0], row=Descendant(values=_named(asked.read, values), terms=terms), values=tuple(values))


def _truths(values: Sequence[bool | None], *, one_by_one: bool) -> list[Truth | None]:
    """What terms came to; None for those that were not evaluated, because an earlier one was false."""
    texts: list[Truth | None] = ["NULL" if value is None else "true" if value else "false" for value in values]
    if one_by_one and "false" in texts:
        first = texts.index("false")
        texts[first + 1 :] = [None] * (len(texts) - first - 1)
    return texts


def _named(attributes: Sequence[Attribute], values: Sequence[Any]) -> dict[str, Any]:
    """Values by name, as they are shown; a name that is there already gets a number."""
    named: dict[str, Any] = {}
    for attribute, value in zip(attributes, values, strict=True):
        name, number = attribute.name, 1
        while name in named:
            number += 1
            name = f"{attribute.name}_{number}"
        named[name] = shown_as(attribute.type)(value)
    return named


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    from airflow_lineage_provider.answers.values import rows_of

    return rows_of(table)


# --- joins --------------------------------------------------------------------------------------------------------------


def _with_partners(plan: ForwardPlan, place: Place, found: list[_Dropped], following: Following) -> list[_Dropped]:
    """How many rows of the other side would have done, term by term; for a difference those that took the row away.

    Where that cannot be evaluated (a term that fails on rows that it never met), the row's values stand alone.
    """
    node = place.node
    assert isinstance(node, o.Join)
    other = child_of(plan, place.at, 1 - place.side)
    own = child_of(plan, place.at, place.side)
    read = judged(node, own, place.side).read
    given = _table(found, read)
    try:
        query = partners(node, other, read, GIVEN)
        counts = {row[0]: row[1:] for row in _rows(following.table(query.plan, given, query.given))}
        terms = [expression_text(term) for term in query.terms]
        found = [_counted(one, terms, counts[number], node.condition is not None) for number, one in enumerate(found)]
        if node.kind == "left_anti":
            chosen, leaf = excluding(node, other, read, GIVEN, MOST_OTHERS * len(found))
            others = following.table(chosen, given, leaf)
            behind = rows_behind(source_keys(other), others.select(range(1, others.num_columns)), chosen.output[1:], following)
            rows = _rows(others)
            for i, one in enumerate(found):
                mine = [at for at, row in enumerate(rows) if row[0] == i][:MOST_OTHERS]
                found[i] = _with_others(one, [rows[at][1:] for at in mine], [behind[at] for at in mine], node)
    except TracingError:
        return found
    return found


def _table(found: Sequence[_Dropped], read: Sequence[Attribute]) -> pa.Table:
    import pyarrow as pa

    from airflow_lineage_provider.plan.datatypes import to_arrow

    columns = [pa.array([one.values[i] for one in found], to_arrow(a.type)) for i, a in enumerate(read)]
    return pa.table([pa.array(range(len(found)), pa.int64()), *columns], names=[f"c{i}" for i in range(1 + len(read))])


def _counted(one: _Dropped, terms: Sequence[str], counts: Sequence[int], conditional: bool) -> _Dropped:
    total, *met = counts
    made = tuple(Term(text=text, met=number) for text, number in zip(terms, met[1:], strict=True)) if conditional else ()
    return replace(one, row=replace(one.row, terms=made, others_count=met[0] if conditional else total, others_total=total))


def _with_others(
    one: _Dropped, rows: Sequence[tuple[Any, ...]], behind: Sequence[Mapping[str, Mapping[str, Any]]], node: o.Join
) -> _Dropped:
    shown = node.right.output
    others = tuple(_named(shown, row[: len(shown)]) for row in rows)
    return replace(one, row=replace(one.row, others=others, other_rows=tuple(behind)))


# --- words --------------------------------------------------------------------------------------------------------------


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


def _text(plan: ForwardPlan, node: o.Plan, kind: Reason, rows: Sequence[Descendant], terms: int, side: str) -> str:
    match kind:
        case "selection":
            what = "the group does not meet the condition (HAVING)" if is_having(plan.plan, node) else "the condition is not true for it"
            return f"{what}: {_failed(rows)}" if terms and rows else what
        case "join" | "semi_join":
            return f"no row of {side or 'the other side'} goes with it{_unmet(rows)}"
        case "difference":
            return f"rows of {side or 'the right side'} exclude it{_values(rows)}"
        case "limit":
            assert isinstance(node, o.Limit)
            return _beyond(node) + _values(rows)
        case "generator":
            return f"the generator makes no row of it{_values(rows)}"
    return f"{operator_text(node)} gives no row for it"


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
