"""The cells of source rows' values behind reasons: these pixels of this image, these characters of this review.

A reason is about cells of its arguments (`reasons.traced`); an argument is a source column as it is, or made of some (column lineage); and
a decision is linked with source rows. A source's cells are told where a linked row has the very value that the argument had; where the
column was changed on its way the whole value stands behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import links_by_row, rows_of
from airflow_lineage_provider.errors import InvalidCells, PlanError
from airflow_lineage_provider.plan.guarantees import ORDER
from airflow_lineage_provider.reasons.traced import ArrayPath, ArraySource, Traced
from airflow_lineage_provider.tracing.columns.arguments import CalledWith, argument_lineage
from airflow_lineage_provider.tracing.columns.lineage import ColumnInput

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.arrays.region import Region
    from airflow_lineage_provider.arrays.tracking.marks import Marked

NO_CALL = "no call of the UDF is in the plan"
COLUMNS = (
    "row", "label", "weight", "argument", "source", "source_row", "column", "path", "lo", "hi", "guarantee", "cause",
)  # fmt: skip
"""The columns of a table of cells."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an argument's value stands: a column of a source row, or None where that is not known; what that is worth, and why.

    ``is_same`` says that the column has the very value of the argument, so that its cells are the argument's.
    """

    guarantee: str
    cause: str = ""
    source: str | None = None
    source_row: int | None = None
    column: str | None = None
    is_same: bool = True


@dataclass(frozen=True)
class Met:
    """A part of a decision's reason that is about cells that were asked for.

    :ivar row: of the table of reasons.
    :ivar cells: how many of those asked for it is about, where ``place`` has the very value of the argument.
    """

    row: Sequence[Any]
    label: str | None
    weight: float | None
    argument: str
    place: Place
    path: tuple[str, ...]
    cells: int
    guarantee: str


@dataclass(frozen=True)
class Looked:
    """An argument of a decision that has, or may have, the value whose cells were asked for.

    :ivar met: the parts of the reason that are about some of these cells.
    :ivar unfit: why the array that was made of the argument has no such cells: they are of another array, of another column or of this one.
    :ivar columns: where the argument may stand; None for a column that is not known.
    """

    argument: str
    met: tuple[Met, ...] = ()
    unfit: str = ""
    columns: frozenset[str | None] = frozenset()


@dataclass(frozen=True)
class CellsOf:
    """The cells behind the decisions of one UDF."""

    explanation: Explanation
    udf: str

    def table(self) -> pa.Table:
        """One row for each box of cells, with the columns `COLUMNS`; none where no reason is traced to cells.

        ``row`` is the decision's; ``label`` and ``weight`` are of the part of its reason; ``path`` are the operations between. Of a
        heat map each different weight is a part: a cell that stands behind several, through a mean say, is in a row for each.
        ``lo`` and ``hi`` are where the box begins and ends, [lo, hi) along each axis, NULL where all of the value stands behind.

        :raises PayloadError: a reason is of a later release.
        """
        import pyarrow as pa

        texts = dict.fromkeys(("label", "argument", "source", "column", "guarantee", "cause"), pa.string())
        lists = {"path": pa.list_(pa.string()), "lo": pa.list_(pa.int64()), "hi": pa.list_(pa.int64())}
        kinds = {"row": pa.int64(), "source_row": pa.int64(), "weight": pa.float64(), **texts, **lists}
        schema = pa.schema([(name, kinds[name]) for name in COLUMNS])
        columns = list(zip(*self._rows(), strict=True)) or [()] * len(COLUMNS)
        return pa.table([pa.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)], schema=schema)

    def meeting(self, source: str, rows: Collection[int], column: str | None, cells: Any) -> Iterator[Looked]:
        """The parts of reasons that are about some of these cells of rows of a source table; and those of which nobody knows where their
        argument stands, so that they may be.

        :param rows: of the table, as this answer counts them.
        :param column: of the table; any where this is None.
        :param cells: an index, slices, a mask, indices or boxes (`arrays.selection`), of the array that reasoning mode made of the value.
        :raises PayloadError: a reason is of a later release.
        """
        for row, reason, of, places in self._traced():
            there = [one for one in places if _may_be(one, source, rows, column)]
            if there:
                yield _looked(row, reason, of, there, cells)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for row, reason, source, places in self._traced():
            yield from _of_source(row[0], reason, source, places)

    def features(self, limit: int | None) -> dict[tuple[int, int], list[Place]]:
        """Of the first so many decisions, by (row, position), where the arguments of one cell stand that their reasons are about.

        :raises PayloadError: a reason is of a later release.
        """
        return {(row[0], of.position or 0): places for row, _, of, places in self._traced(limit) if of.shape == ()}

    def _traced(self, limit: int | None = None) -> Iterator[tuple[Any, Traced, ArraySource, list[Place]]]:
        """The decisions whose reasons are traced to cells, with each argument that they are about, and where its value stands."""
        made = self.explanation.reasons[self.udf]
        for row in rows_of(made.rows.slice(0, limit)):
            for reason, source in made.traced(row[-1]):
                position = source.position or 0
                yield row, reason, source, self._places(row[0], position, row[1 + position])

    def _places(self, row: int, position: int, value: Any) -> list[Place]:
        """Where the value of an argument of a decision stands."""
        if isinstance(self.inputs, str):
            return [_nowhere(self.inputs)]
        direct = [one for one in self.inputs[position] if one.transformation.type == "DIRECT"]
        if not direct:
            return [Place(guarantee="exact", cause="the argument comes from no source column")]
        linked = [(one, rows) for one in direct if (rows := self._linked(row, one))]
        same = {one: found for one, rows in linked if (found := self._with_value(one, rows, value))}
        if not same:
            places = [self._place(one, at, _changed(one, direct)) for one, rows in linked for at in rows]
            return places or [_nowhere("the source column behind the argument is in no source table of this answer")]
        others = len({one.source for one, _ in linked}) > 1 or any(one.transformation.subtype != "IDENTITY" for one, _ in linked)
        cause = "the argument may come from another column" if others else ""
        return list(dict.fromkeys(self._place(one, at, cause, is_same=True) for one, rows in same.items() for at in rows))

    def _linked(self, row: int, found: ColumnInput) -> tuple[int, ...]:
        """The rows of a column's table behind a decision."""
        source = self.explanation.sources.get(found.source.table)
        withheld = self.explanation.redaction.masked
        if source is None or found.source.column not in source.rows.column_names or found.source.column in withheld:
            return ()
        return self._links.get(row, {}).get(found.source.table, ())

    def _with_value(self, found: ColumnInput, rows: Sequence[int], value: Any) -> tuple[int, ...]:
        if found.transformation.subtype != "IDENTITY":
            return ()
        values = self.explanation.sources[found.source.table].rows.column(found.source.column)
        return tuple(at for at in rows if values[at].as_py() == value)

    def _place(self, found: ColumnInput, at: int, cause: str, *, is_same: bool = False) -> Place:
        table = found.source.table
        worth = _weakest(self.explanation.sources[table].guarantee.level, self.explanation.reasons[self.udf].guarantee.level)
        worth = _weakest(worth, "superset") if cause else worth
        return Place(source=table, source_row=at, column=found.source.column, guarantee=worth, cause=cause, is_same=is_same)

    @cached_property
    def _links(self) -> dict[int, dict[str, tuple[int, ...]]]:
        return links_by_row(self.explanation.reasons[self.udf].links)

    @property
    def inputs(self) -> Sequence[Sequence[ColumnInput]] | str:
        """Of each argument the columns, of all calls that may have made these decisions; or why they are not known."""
        if isinstance(self._calls, str):
            return self._calls
        each = zip(*(one.arguments for one in self._calls), strict=True)
        return [tuple(dict.fromkeys(itertools.chain(*of))) for of in each]

    @property
    def carried(self) -> Sequence[Collection[tuple[str, str]]] | str:
        """Of each argument the source columns, each with its table, whose values it carries; or why they are not known."""
        if isinstance(self._calls, str):
            return self._calls
        return [frozenset().union(*of) for of in zip(*(one.carried for one in self._calls), strict=True)]

    @cached_property
    def _calls(self) -> Sequence[CalledWith] | str:
        """The calls that may have made these decisions; or why they are not known."""
        made = self.explanation.reasons[self.udf]
        if self.explanation.plan is None or made.run_id not in ("", self.explanation.run.id):
            return "the plan of the run that called the UDF is not in this answer"
        try:
            calls = [one for one in argument_lineage(self.explanation.plan) if self.udf.startswith(one.udf)]
        except PlanError as error:
            return f"the columns behind the arguments are not known: {error}"
        width = made.rows.num_columns - 3
        fitting = [one for one in calls if len(one.arguments) == width]
        return fitting or NO_CALL


def _nowhere(cause: str) -> Place:
    return Place(guarantee="unavailable", cause=cause)


def _changed(found: ColumnInput, direct: Sequence[ColumnInput]) -> str:
    """Why the cells of an argument are not those of a column behind it."""
    kind = found.transformation
    whole = "all of the value stands behind"
    if len({one.source for one in direct}) > 1:
        return f"the argument is made of several columns: {whole}"
    if kind.subtype == "IDENTITY":
        return f"the row has another value in this column than the argument had: {whole}"
    return f"the column was changed on its way to the argument{f' ({kind.description})' if kind.description else ''}: {whole}"


def _weakest(*levels: str) -> str:
    return max(levels, key=lambda level: ORDER[level])


def _may_be(place: Place, source: str, rows: Collection[int], column: str | None) -> bool:
    if place.guarantee == "unavailable":
        return True
    return place.source == source and place.source_row in rows and column in (None, place.column)


def _looked(row: Sequence[Any], reason: Traced, of: ArraySource, places: Sequence[Place], cells: Any) -> Looked:
    from airflow_lineage_provider.arrays.selection import selected

    columns = frozenset(None if one.guarantee == "unavailable" else one.column for one in places)
    try:
        asked = selected(cells, of.argument, of.shape)
    except InvalidCells as problem:
        return Looked(of.argument, unfit=str(problem), columns=columns)
    found: list[Met] = []
    parts = reason.parts()
    for path in of.paths:
        behind = of.along(path)
        for part in parts:
            region = behind(part.region)
            found += _met(row, of.argument, path, part, places, (region.common(asked).count, region.count))
    return Looked(of.argument, tuple(found), columns=columns)


def _met(
    row: Sequence[Any], argument: str, path: ArrayPath, part: Marked, places: Sequence[Place], counts: tuple[int, int]
) -> Iterator[Met]:
    """Of each place what a part of a reason has to do with it; ``counts`` are of its cells those asked for, and all."""
    for place in places:
        is_known = place.is_same and place.source is not None
        if counts[0] if is_known else counts[1]:
            worth = _weakest(place.guarantee, path.guarantee)
            yield Met(row, part.label, part.weight, argument, place, path.through, counts[0], worth)


def _of_source(row: int, reason: Traced, source: ArraySource, places: Sequence[Place]) -> Iterator[tuple[Any, ...]]:
    """The rows of a decision and an argument: path by path, and in each part by part of the reason."""
    parts = reason.parts()
    for path in source.paths:
        behind = source.along(path)
        for part in parts:
            boxes = _boxes(behind(part.region))
            for place in places if boxes else ():
                worth = _weakest(place.guarantee, path.guarantee)
                head = (row, part.label, part.weight, source.argument, place.source, place.source_row, place.column, path.through)
                for lo, hi in boxes if place.is_same else [(None, None)]:
                    yield (*head, lo, hi, worth, place.cause)


def _boxes(region: Region) -> list[tuple[Any, Any]]:
    """Where each box of cells begins and ends, in C order."""
    found = region.boxes
    return sorted(zip(found.lo.T.tolist(), (found.hi.T + 1).tolist(), strict=True))
