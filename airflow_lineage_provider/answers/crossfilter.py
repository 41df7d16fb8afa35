"""Views of one table that filter one another, and what a brush leaves of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.crossfilter.bars import Bars
from airflow_lineage_provider.crossfilter.brushes import Brushing
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.served_crossfilter import ServedCrossfilter
    from airflow_lineage_provider.crossfilter.brushes import Counted
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.sources.view_values import ParquetRows, ShownRows, TableRows

    Rows = ParquetRows | ShownRows | TableRows

MOST_VIEWS = 64
MOST_NAME = 200
MOST_PAGE_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class ResultRows:
    """The rows of a run's result that the bars of a view are, bar by bar: their ``positions`` in the result, and the ``numbers`` that
    `Run.page` has for them. (A last bar of the rows of the table that are in none of them is no row.) They are called by ``columns``, which
    have their types.

    ``carried`` is as of `Explanation`. ``explain`` explains the row at a position, where somebody can.
    """

    run_id: str
    positions: tuple[int, ...]
    numbers: tuple[int, ...]
    columns: tuple[pa.Field, ...] = ()
    carried: Carried = field(default_factory=dict)
    explain: Callable[[int], Explanation] | None = None


@dataclass(frozen=True)
class View:
    """A group-by: its name, its expression, and the values that its bars stand for, in their order; NULL is the last. ``of_result``: the
    rows of a run's result that they are."""

    name: str
    expression: str
    values: pa.Array
    of_result: ResultRows | None = None


@dataclass(frozen=True, eq=False)
class GivenBars:
    """Bars that are known: what makes them, as a person reads it, what they stand for (`View.values`), the bar of each row, the rows of a
    result that they are, and the names by which the table is known to who made them."""

    expression: str
    values: pa.Array
    codes: npt.NDArray[Any]
    of_result: ResultRows | None = None
    tables: tuple[str, ...] = ()


class Crossfilter:
    """Group-bys with counts over one table, in which bars can be brushed (`Lineage.crossfilter`).

    ``rows`` is how many rows the table has, ``tables`` are the names that it has in runs (none where none is known; a result's is empty),
    and ``schemas`` its columns with their types: those of files may differ. Each brush starts from the one before, so that a brush that
    moved a little costs little; any number of threads may brush.
    """

    def __init__(
        self,
        title: str,
        source: Rows,
        views: Mapping[str, str | GivenBars],
        *,
        tables: Sequence[str] = (),
        schemas: Sequence[pa.Schema] = (),
    ) -> None:
        if not views or len(views) > MOST_VIEWS:
            raise InvalidOption(f"a crossfilter has 1 to {MOST_VIEWS} views, not {len(views)}: give each a name and an expression")
        made = {name: _view(name, expression, source) for name, expression in views.items()}
        self.title = title
        self.source = source
        of_runs = [name for one in views.values() if isinstance(one, GivenBars) for name in one.tables]
        self.tables = tuple(dict.fromkeys([*tables, *of_runs]))
        self.schemas = tuple(schemas)
        self.views: dict[str, View] = {name: view for name, (view, _) in made.items()}
        self._brushing = Brushing({name: bars for name, (_, bars) in made.items()})
        self._last = self._brushing.unbrushed()

    @classmethod
    def over(
        cls, data: str | Path | Sequence[str | Path] | pa.Table | LineageRows | ParquetRows, views: Mapping[str, str | GivenBars]
    ) -> Crossfilter:
        """Views over local Parquet files (a file, a folder, or several), an Arrow table, or rows of lineage.

        :raises InvalidOption: a view's expression cannot be computed for each row, or its values cannot be bars; names the view.
        :raises SourceUnavailable: there is no such file, or it changed meanwhile. :raises EnvironmentProblem: DuckDB is not installed.
        """
        import pyarrow as pa

        from airflow_lineage_provider.answers.lineage_rows import LineageRows
        from airflow_lineage_provider.sources.view_values import ParquetRows, TableRows

        if isinstance(data, LineageRows):
            names = ["", data.table] if data.table == "result" else [data.table]
            return cls(
                f"{data.table} of {data.run.pipeline}", TableRows(data.rows, data.run.zone), views, tables=names, schemas=[data.rows.schema]
            )
        if isinstance(data, pa.Table):
            return cls("table", TableRows(data), views, schemas=[data.schema])
        if isinstance(data, ParquetRows):
            title, rows = ", ".join(path.name for path in data.paths), data
        else:
            places = [data] if isinstance(data, str | Path) else list(data)
            title, rows = ", ".join(Path(one).name for one in places), ParquetRows.at(places)
        made = cls(title, rows, views, schemas=_schemas(rows))
        rows.check()
        return made

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.source.count

    def __repr__(self) -> str:
        bars = ", ".join(f"{name} ({len(view.values):,})" for name, view in self.views.items())
        return f"<Crossfilter of {self.rows:,} rows of {self.title}: {bars}>"

    def brush(self, brushes: Mapping[str, Sequence[Any] | None] | None = None, /, **named: Sequence[Any] | None) -> Brushed:
        """What the views show where these values are brushed: of each view, by name, a list of values of its bars.

        These are all the brushes that there are then: a view that is not named, or has None, has no brush; an empty list brushes no bar.
        A value that is in no bar leaves no row, and is named by the answer's ``unknown``. A text stands for the value that it can be cast
        to (``"2013-01-05"`` for a date).

        :raises InvalidOption: there is no such view, or a brush is no list of values.
        """
        bars, unknown = {}, {}
        if brushes is not None and not isinstance(brushes, Mapping):
            raise InvalidOption(f"{shown(brushes)} is no mapping of views to lists of values: brush({{'carrier': ['AA']}})")
        for name, values in {**(brushes or {}), **named}.items():
            if name not in self.views:
                raise InvalidOption(f"there is no view {shown(name)}: the views are {', '.join(self.views)}")
            if values is None:
                continue
            if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
                raise InvalidOption(f"{name}={shown(values)} is no list of values: {name}=[{shown(values)}]")
            codes = [(value, code_of(value, self.views[name].values)) for value in values]
            bars[name] = [code for _, code in codes if code is not None]
            if missing := tuple(value for value, code in codes if code is None):
                unknown[name] = missing
        return self._brushed(bars, unknown)

    def brush_bars(self, bars: Mapping[str, Sequence[int]], *, alone: bool = False) -> Brushed:
        """The same, of each view that has a brush, by the numbers of its bars, from 0. ``alone``: it neither starts from the brush
        before nor is one, and so has nothing to do with what other people brush.

        :raises InvalidOption: there is no such view, or no bar of such a number.
        """
        for name, numbers in bars.items():
            size = len(self.views[name].values) if name in self.views else 0
            if any(type(one) is not int or not 0 <= one < size for one in numbers):
                raise InvalidOption(f"brush {shown(name)}: there is no such view, or a number that is none of its {size:,} bars")
        return self._brushed(bars, {}, alone=alone)

    def _brushed(self, bars: Mapping[str, Sequence[int]], unknown: Mapping[str, tuple[Any, ...]], *, alone: bool = False) -> Brushed:
        import numpy as np

        masks = {name: np.zeros(len(self.views[name].values), bool) for name in bars}
        for name, numbers in bars.items():
            masks[name][list(numbers)] = True
        # An answer is never changed: what another thread has put here meanwhile is as good to start from.
        counted = self._brushing.counted(masks, self._brushing.unbrushed() if alone else self._last)
        if not alone:
            self._last = counted
        return Brushed(of=self, counted=counted, unknown=unknown)

    def explain(self, view: str, value: Any) -> Explanation:
        """Why a bar of a view that is a run is as it is: the explanation (`Run.explain`) of that row of its result. It is not kept.

        :raises InvalidOption: there is no such view, it is no run, or the value is no row of its result. :raises LineageError: as
            `Run.explain`.
        """
        code = code_of(value, self.views[view].values) if view in self.views else None
        if code is None:
            raise InvalidOption(f"there is no view {shown(view)} with a bar {shown(value)}: the views are {', '.join(self.views)}")
        return self.explain_bar(view, code)

    def explain_bar(self, view: str, bar: int) -> Explanation:
        """The same by the number of the bar, from 0."""
        rows = self.views[view].of_result if view in self.views else None
        if rows is None or rows.explain is None or type(bar) is not int or not 0 <= bar < len(rows.positions):
            raise InvalidOption(f"bar {shown(bar)} of view {shown(view)} is no row of a run's result: those alone are explained")
        return rows.explain(rows.positions[bar])

    def codes(self, view: str) -> npt.NDArray[Any]:
        """The bar of each row in a view, counted from 0."""
        return self._brushing.views[view].codes

    def totals(self, view: str) -> npt.NDArray[Any]:
        """How many rows each bar of a view has."""
        return self._brushing.views[view].totals

    @property
    def nbytes(self) -> int:
        """How much memory its bars take, with the indexes and the counts of pairs that brushes make."""
        values = sum(int(one.values.nbytes) for one in self.views.values())
        return sum(bars.nbytes for bars in self._brushing.views.values()) + values + self._brushing.pairs.nbytes

    def numbers(self, counted: Counted) -> npt.NDArray[Any]:
        """The numbers of the rows that all brushes leave, ascending."""
        return self._brushing.rows(counted.brushes)

    def to_html(self, path: str | Path | None = None, *, max_rows: int = MOST_PAGE_ROWS) -> str:
        """One page with all of it, which needs no server and no network; written to ``path`` (UTF-8) when one is given.

        It has a small number for each row and view, and the values of the bars: nothing else of the table.

        :raises AnswerTooLarge: the table has more than ``max_rows`` rows, or a view very many bars.
        :raises OSError: ``path`` cannot be written.
        """
        from airflow_lineage_provider.render.crossfilter_page import to_html

        return to_html(self, path, max_rows)

    def serve(self, port: int = 0) -> ServedCrossfilter:
        """The same page, whose counts this process makes, for a browser on this machine: for tables of any size. It also shows rows.

        ``port``: of 127.0.0.1; 0 takes one that is free. Whoever knows the address may brush; it has a secret, and ends with the process,
        or with ``close()``, also at the end of a ``with`` block.

        :raises AnswerTooLarge: a view has very many bars. :raises EnvironmentProblem: the port is taken.
        """
        from airflow_lineage_provider.answers.served_crossfilter import ServedCrossfilter

        return ServedCrossfilter(self, port)


@dataclass(frozen=True, repr=False)
class Brushed:
    """What brushes leave. ``unknown`` has, by view, the values that were brushed and are in no bar."""

    of: Crossfilter
    counted: Counted
    unknown: Mapping[str, tuple[Any, ...]]

    @property
    def counts(self) -> dict[str, dict[Any, int]]:
        """Of each view the rows in each of its bars that the brushes on the *other* views leave, by the bar's value."""
        return {
            name: dict(zip(view.values.to_pylist(), self.counted.counts[name].tolist(), strict=True))
            for name, view in self.of.views.items()
        }

    @property
    def selected(self) -> int:
        """How many rows all brushes leave."""
        name, counts = next(iter(self.counted.counts.items()))
        return int(counts[self.counted.brushes[name]].sum() if name in self.counted.brushes else counts.sum())

    @property
    def engine(self) -> str:
        """How the counts were found, and how many rows, or counts of pairs of bars, were looked at for it."""
        if self.counted.way == "cube":
            return f"cube: {self.counted.looked_at:,} counts of pairs of bars"
        return f"{self.counted.way}: {self.counted.looked_at:,} of {self.of.rows:,} rows"

    @property
    def packed(self) -> bytes:
        """As 32-bit numbers, the least significant byte first: how many rows are left, and the count of each bar of each view."""
        import numpy as np

        counts = [np.array([self.selected]), *(self.counted.counts[name] for name in self.of.views)]
        return np.concatenate(counts).astype("<u4").tobytes()

    def table(self, view: str) -> pa.Table:
        """The bars of a view: ``value``, ``count``, and ``total``, which is the count where nothing is brushed."""
        import pyarrow as pa

        return pa.table({"value": self.of.views[view].values, "count": self.counted.counts[view], "total": self.of.totals(view)})

    def rows(self, limit: int = 100) -> pa.Table:
        """The first rows of the table, with all columns, that all brushes leave.

        :raises SourceUnavailable: a file is not what it was when the views were made.
        """
        return self.of.source.take(self.of.numbers(self.counted)[: max(0, limit)])

    def __repr__(self) -> str:
        return f"<{self.selected:,} of {self.of.rows:,} rows of {self.of.title}>"


def code_of(value: Any, values: pa.Array) -> int | None:
    """The place of a value among the values of bars; None where it is not among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if value is None:
        return len(values) - 1 if values.null_count else None
    if isinstance(value, float) and value != value:  # NaN equals nothing
        found = pc.index(pc.is_nan(values), True).as_py() if pa.types.is_floating(values.type) else -1
        return int(found) if found >= 0 else None
    if isinstance(value, float) and pa.types.is_decimal(values.type):
        value = Decimal(repr(value))  # 1.5 is 1.50
    try:
        scalar = pa.scalar(value, values.type) if not isinstance(value, str) else pa.scalar(value).cast(values.type)
        if not isinstance(value, str | float) and scalar.as_py() != value:
            return None
        found = pc.index(values, scalar).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return int(found) if found >= 0 else None


def _schemas(rows: ParquetRows) -> list[pa.Schema]:
    """The different schemas of files, which have columns of the same names."""
    import pyarrow.parquet as pq

    found: list[pa.Schema] = []
    rows.check()
    for path in rows.paths:
        schema = pq.read_schema(path).remove_metadata()
        found += [schema] if schema not in found else []
    return found


def _view(name: str, expression: str | GivenBars, source: Rows) -> tuple[View, Bars]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME:
        raise InvalidOption(f"{shown(name)} is no name of a view: it is a text of 1 to {MOST_NAME} characters")
    if isinstance(expression, GivenBars):
        return View(name, expression.expression, expression.values, expression.of_result), Bars.of(expression.codes, len(expression.values))
    try:
        found = source.values(expression)
    except InvalidOption as problem:
        raise InvalidOption(f"view {name}: {problem}") from problem
    try:
        if pa.types.is_dictionary(found.type):
            found = found.cast(found.type.value_type)  # an enumeration, whose dictionary has no NULL
        if pa.types.is_floating(found.type):
            found = pc.add(found, pa.scalar(0.0, found.type))  # -0.0 is 0.0
        found = found if len(found) else pa.array([], found.type)  # no chunks cannot be combined
        coded = pc.dictionary_encode(found, null_encoding="encode")
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        order = pc.array_sort_indices(coded.dictionary)  # NULL last, and NaN before it
    except (pa.ArrowException, TypeError) as problem:
        raise InvalidOption(f"view {name}: values of type {found.type} are no bars: cast them to a text, say") from problem
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    return View(name, expression, coded.dictionary.take(order)), Bars.of(places[coded.indices.to_numpy()], len(order))
