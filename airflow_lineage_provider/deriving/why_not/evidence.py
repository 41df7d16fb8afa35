"""What an operator read of the rows that it dropped: a few of each row's last descendants, and how many rows of a join's other side would
have done. As tables, whatever number of rows is asked about: a person's words are made of a row of them when it is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.why_not import Descendant, Term, Truth
from airflow_lineage_provider.deriving.why_not.rows_behind import RowsBehind, rows_behind
from airflow_lineage_provider.errors import TracingError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.interval_columns import shown_as
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.tracing.forward.columns import child_of
from airflow_lineage_provider.tracing.forward.dropped import Judged, Partners, excluding, judged, partners, seen_by, source_keys
from airflow_lineage_provider.tracing.forward.plans import Forward, ForwardPlan, Place
from airflow_lineage_provider.tracing.reserved import GIVEN
from airflow_lineage_provider.tracing.value_codes import same_bits

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.spark.rereading.following import Following

MOST_DESCENDANTS = 3
"""So many dropped descendants of a row are shown."""

MOST_OTHERS = 5
"""So many rows of a difference's right side are shown for each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Others:
    """The rows of a difference's right side that took rows away: the ``number`` of what was taken, ascending, and what is behind each.
    ``taken`` is the number of each dropped row."""

    taken: Numbers
    number: Numbers
    rows: pa.Table
    shown: tuple[Attribute, ...]
    behind: RowsBehind

    def told(self, one: Descendant, row: int) -> Descendant:
        number = self.taken[row]
        first, end = self.number.searchsorted(number, "left"), self.number.searchsorted(number, "right")
        values = _rows(self.rows.slice(first, end - first))
        others = tuple(_named(self.shown, row) for row in values)
        return replace(one, others=others, other_rows=tuple(self.behind.of(at) for at in range(first, end)))


@dataclass(frozen=True, kw_only=True, eq=False)
class PartnersMet:
    """How many rows of a join's other side would have done: ``counts`` has a line for each dropped row, with what the other side has in
    all, what meets the whole condition (where there is one), and what meets each term."""

    counts: Numbers
    terms: tuple[str, ...]
    conditional: bool
    others: Others | None = None

    def told(self, one: Descendant, row: int) -> Descendant:
        total, *met = self.counts[row].tolist()
        made = tuple(Term(text=text, met=count) for text, count in zip(self.terms, met[1:], strict=True)) if self.conditional else ()
        one = replace(one, terms=made, others_count=met[0] if self.conditional else total, others_total=total)
        return one if self.others is None else self.others.told(one, row)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """The dropped rows: a table of the tag, ascending, of what the operator read of each and, then, of what the terms of its condition came
    to."""

    rows: pa.Table
    read: tuple[Attribute, ...]
    terms: tuple[str, ...]
    one_by_one: bool
    partners: PartnersMet | None = None

    @cached_property
    def tags(self) -> Numbers:
        """Of the rows, ascending."""
        found: Numbers = self.rows.column(0).to_numpy()
        return found

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """As `answers.fates.Drops.names`."""
        own = [(name, "") for name in _names(self.read)] if len(self.tags) else []
        others = self.partners.others if self.partners is not None else None
        if others is None or not len(others.number):
            return own
        return [*own, *((name, "") for name in _names(others.shown)), *others.behind.names]

    def of(self, tag: int) -> tuple[Descendant, ...]:
        """The dropped descendants of the row with this tag."""
        first, end = self.tags.searchsorted(tag, "left"), self.tags.searchsorted(tag, "right")
        found = [self._descendant(row) for row in _rows(self.rows.slice(first, end - first))]
        if self.partners is not None:
            found = [self.partners.told(one, at) for at, one in enumerate(found, int(first))]
        return tuple(found)

    def _descendant(self, row: tuple[Any, ...]) -> Descendant:
        read, came_to = row[1 : 1 + len(self.read)], row[1 + len(self.read) :]
        truths = _truths(came_to, one_by_one=self.one_by_one)
        terms = tuple(Term(text=text, value=truth) for text, truth in zip(self.terms, truths, strict=True))
        return Descendant(values=_named(self.read, read), terms=terms)


def evidence_of(plan: ForwardPlan, place: Place, tags: Numbers, following: Following) -> Evidence:
    """What the operator read of the last descendants of the rows with these tags, ascending."""
    asked, rows = _dropped(plan, place, tags, following)
    found = Evidence(
        rows=rows,
        read=asked.read,
        terms=tuple(expression_text(one) for one in asked.terms),
        one_by_one=asked.one_by_one,
    )
    return replace(found, partners=_partners(plan, place, found, following)) if isinstance(place.node, o.Join) else found


def _dropped(plan: ForwardPlan, place: Place, tags: Numbers, following: Following) -> tuple[Judged, pa.Table]:
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
    return asked, rows


def _partners(plan: ForwardPlan, place: Place, found: Evidence, following: Following) -> PartnersMet | None:
    """How many rows of the other side would have done, term by term; for a difference those that took the row away, too.

    Dropped rows of which the join reads the same are asked about once. Where that cannot be evaluated (a term that fails on rows that it
    never met), the row's values stand alone.
    """
    node = place.node
    assert isinstance(node, o.Join)
    other = child_of(plan, place.at, 1 - place.side)
    try:
        query = partners(node, other, found.read, GIVEN)
        counts = _counts(query, found, following)
    except TracingError:
        return None
    made = PartnersMet(counts=counts, terms=tuple(map(expression_text, query.terms)), conditional=node.condition is not None)
    return replace(made, others=_others(node, other, found, following)) if node.kind == "left_anti" else made


def _counts(query: Partners, found: Evidence, following: Following) -> Numbers:
    """A line for each dropped row; in it a number for each query."""
    import numpy as np

    given = [_each_once(found, one.read) for one in query.queries]
    told = following.counted([(one, rows) for one, (_, rows) in zip(query.queries, given, strict=True)])
    at, number, count = (column.to_numpy() for column in told.columns)
    counts = np.zeros((len(found.tags), len(query.queries)), np.int64)
    for place, (one, (own, rows)) in enumerate(zip(query.queries, given, strict=True)):
        each = np.zeros(max(rows.num_rows, 1), np.int64)
        each[number[at == place]] = count[at == place]
        counts[:, place] = each[own]
        if one.all_or_none:
            counts[:, place] *= counts[:, 0]
    return counts


def _others(node: o.Join, other: Forward, found: Evidence, following: Following) -> Others | None:
    taken, given = _each_once(found, found.read)
    try:
        chosen, leaf = excluding(node, other, found.read, GIVEN)
        following.give(given, leaf)
        rows = following.first_of_each(chosen, MOST_OTHERS)
    except TracingError:
        return None
    values = rows.select(range(1, rows.num_columns))
    return Others(
        taken=taken,
        number=rows.column(0).to_numpy(),
        rows=values.select(range(len(node.right.output))),
        shown=node.right.output,
        behind=rows_behind(source_keys(other), values, chosen.output[1:], following),
    )


def _each_once(found: Evidence, read: Sequence[Attribute]) -> tuple[Numbers, pa.Table]:
    """For each dropped row a number, and for each number, in their order, what is read of such a row."""
    import numpy as np
    import pyarrow as pa

    from airflow_lineage_provider.plan.datatypes import to_arrow

    columns = [found.rows.column(1 + found.read.index(a)).cast(to_arrow(a.type)) for a in read]
    number, first = same_bits(columns, len(found.tags))
    chosen = [column.take(pa.array(first)) for column in columns]
    return number, pa.table([pa.array(np.arange(len(first))), *chosen], names=[f"c{at}" for at in range(1 + len(columns))])


def _truths(values: Sequence[bool | None], *, one_by_one: bool) -> list[Truth | None]:
    """What terms came to; None for those that were not evaluated, because an earlier one was false."""
    texts: list[Truth | None] = ["NULL" if value is None else "true" if value else "false" for value in values]
    if one_by_one and "false" in texts:
        first = texts.index("false")
        texts[first + 1 :] = [None] * (len(texts) - first - 1)
    return texts


def _names(attributes: Sequence[Attribute]) -> list[str]:
    """The names under which values are shown; a name that is there already gets a number."""
    names: dict[str, None] = {}
    for attribute in attributes:
        name, number = attribute.name, 1
        while name in names:
            number += 1
            name = f"{attribute.name}_{number}"
        names[name] = None
    return list(names)


def _named(attributes: Sequence[Attribute], values: Sequence[Any]) -> Mapping[str, Any]:
    """Values by name, as they are shown."""
    return {name: shown_as(a.type)(value) for name, a, value in zip(_names(attributes), attributes, values, strict=True)}


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    from airflow_lineage_provider.answers.values import rows_of

    return rows_of(table)
