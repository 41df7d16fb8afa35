"""Rows that lineage leads to: those of a source table that stand behind rows of a result, or those of the result that descend from rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.known_keys import by_asked
from airflow_lineage_provider.errors import NotCaptured
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa
    from rich.console import Console

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.reasons.discretion import Carried


class Shown(ABC):
    """Rows of lineage as they are shown: those of one table of one run, or several such answers, one after another."""

    remarks: tuple[Guarantee, ...] = ()
    id: str = ""

    @abstractmethod
    def parts(self) -> Iterator[LineageRows]:
        """The answers, each of one table of one run."""

    def show(self, console: Console | None = None, *, rows: int = 20, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> None:
        """Print the answer in the terminal, of each table at most so many ``rows``; ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.lineage_rows_text import show
        from airflow_lineage_provider.render.withheld import lineage_rows_shown, remarks_shown

        remarks = remarks_shown(self.remarks, hide, mask)
        show([lineage_rows_shown(one, hide, mask) for one in self.parts()], remarks, console, rows=rows, kept=self.id)

    def to_dict(self, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> dict[str, Any]:
        """Everything as JSON-able values (``--json``); ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.lineage_rows_text import to_dict
        from airflow_lineage_provider.render.withheld import lineage_rows_shown, remarks_shown

        shown = [lineage_rows_shown(one, hide, mask) for one in self.parts()]
        return to_dict(shown, remarks_shown(self.remarks, hide, mask), self.id)


class ShownAsPage(Shown):
    """Those that are shown as a page, too."""

    def to_html(self, path: str | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
        """One self-contained HTML page; written to ``path`` when one is given. ``hide`` and ``mask`` as of `Explanation.show`."""
        from airflow_lineage_provider.render.lineage_rows_page import to_html
        from airflow_lineage_provider.render.withheld import lineage_rows_shown, remarks_shown

        shown = [lineage_rows_shown(one, hide, mask) for one in self.parts()]
        return to_html(shown, remarks_shown(self.remarks, hide, mask), path)


@dataclass(frozen=True, kw_only=True, repr=False)
class LineageRows(ShownAsPage):
    """Rows of one table, each once.

    ``table`` is a source table, as `Run.why_not` names it, ``result``, or a segment that the run stored; ``rows`` are its rows with all
    their columns. ``links`` says which of them (``row``, counted from 0) answers to which of the rows that were asked about (``asked``,
    counted from 0 in the order of the result, of the segment, or of the source rows' lineage keys). ``guarantee`` is what the answer is
    worth, ``engine`` who gave it: ``lazy: …`` where the rows were looked for when they were asked for. ``stale`` says what has changed
    since the run. ``asked_rows`` is how many rows were asked about, and ``asked_table`` the table that they are of; where that is empty
    they are rows of the result, or of a segment (``asked_of``), and the answer is what stands behind them. ``within`` are those of these
    names that are segments which the run stored. Of an answer that is not ``is_linked`` neither ``links`` nor ``asked_rows`` is known.
    ``numbers`` are those of rows of the result, as `Run.numbered` takes them; ``keys`` the lineage keys of rows of a source table, and the
    numbers of rows of a segment. ``id`` finds a kept answer again (`Lineage.answer`); empty where it was not kept. ``carried`` is as of
    `Explanation`; ``numbering`` numbers rows by their keys (`rids`).
    """

    run: RunSummary
    asked: str
    table: str
    rows: pa.Table
    links: pa.Table
    guarantee: Guarantee
    engine: str
    stale: tuple[str, ...] = ()
    asked_rows: int = 0
    numbers: tuple[int, ...] = ()
    keys: pa.Table | None = None
    seconds: float = 0.0
    asked_table: str = ""
    asked_of: str = "result"
    within: frozenset[str] = frozenset()
    id: str = ""
    is_linked: bool = True
    carried: Carried | None = field(default=None, compare=False)
    numbering: Callable[[pa.Table], npt.NDArray[np.int64]] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        what = f"{len(self):,} row{'' if len(self) == 1 else 's'} of {self.table} for {self.asked}"
        return f"<{what}: {self.guarantee.level}, {self.engine}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)

    def counts(self) -> dict[str, int]:
        """How many rows were asked about, as ``target``, and how many there are."""
        return {"target": self.asked_rows, self.table: len(self)}

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self)

    @property
    def rids(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows, each once, ascending: of rows of a result, or of a segment, their positions, as ``at`` takes them; of
        source rows their numbers in the version of the table that the run read, from 0. Of files these are the same in every run that
        read them; rows that are known by their values have those which capturing their lineage gave them.

        :raises NotCaptured: nothing numbers the rows: they are known by their values, and their lineage was not captured; or the answer was
            kept. :raises SourceUnavailable: the table is another now, and its lineage was not captured.
        """
        return different(self._rids)

    @property
    def per_target(self) -> pa.LargeListArray:
        """For each row that was asked about, in their order, the numbers (`rids`) of the rows that answer to it, ascending.

        :raises NotCaptured, SourceUnavailable: as `rids`.
        """
        asked, row = (self.links.column(name).to_numpy() for name in ("asked", "row"))
        return by_asked(asked, self._rids[row], self.asked_rows)

    @property
    def _rids(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows, in their order."""
        import pyarrow as pa

        if self.numbering is None:
            raise NotCaptured(f"nothing numbers these rows of {self.table}: ask for them anew, by Run.backward or Run.forward")
        return self.numbering(pa.table({"key_0": pa.array(self.numbers, pa.int64())}) if self.keys is None else self.keys)

    def to_arrow(self, limit: int | None = None) -> pa.Table:
        """The rows, at most ``limit`` of them, as an Arrow table."""
        return self.rows if limit is None else self.rows.slice(0, max(0, limit))

    def to_pandas(self, limit: int | None = None) -> pd.DataFrame:
        """The rows, at most ``limit`` of them, as a pandas frame."""
        return self.to_arrow(limit).to_pandas()

    def replaced(self, **changes: Any) -> LineageRows:
        """The same with other fields."""
        return replace(self, **changes)

    def where(self, condition: str, /, **params: Any) -> LineageRows:
        """Those of the rows for which a condition of DuckDB's SQL holds, in their order, with the links to them.

        ``condition`` reads the columns, and the place ``row`` as `query` does; ``params`` are the values of its ``:name``. The answer is
        asked on like this one; of the rows that were asked about some may have no row left (``links`` says which have).

        >>> run.backward("true", table="loans").where("occ = :occ AND year = :year", occ="Programmer", year=2025)  # doctest: +SKIP

        :raises InvalidOption, EnvironmentProblem: as of `query`.
        """
        from airflow_lineage_provider.answers.consumed_rows import numbered, places_where

        kept, links = places_where(condition, params, numbered(self.rows), self.links, self.run.zone)
        numbers = tuple(self.numbers[at] for at in kept.to_pylist()) if self.numbers else ()
        keys = None if self.keys is None else self.keys.take(kept)
        return replace(self, rows=self.rows.take(kept), links=links, numbers=numbers, keys=keys, id="")

    def aggregate(self, by: Sequence[str] | str = (), measures: Sequence[str] | str = ("count(*)",)) -> pa.Table:
        """The rows aggregated in DuckDB's SQL: a row for each value of ``by``, in their order, or one row of all.

        Each of ``by`` and of ``measures`` is one expression, and its column is called as it is written or, with ``AS``, as it says. Rows
        whose ``by`` is NULL are a group of their own, the last one. ``engine`` and ``guarantee``, in the metadata of the table's schema,
        say who gave it and what it is worth.

        >>> rows.aggregate(by=["year(granted) AS year"], measures=["count(*)", "sum(amount)"])      # doctest: +SKIP

        :raises InvalidOption: an expression cannot be computed, two columns have one name, or there is none; says which and why.
        :raises EnvironmentProblem: DuckDB is not installed.
        """
        from airflow_lineage_provider.answers.consumed_rows import aggregated, numbered

        return aggregated(by, measures, numbered(self.rows), self.run.zone).replace_schema_metadata(
            {"engine": self.engine, "guarantee": self.guarantee.level}
        )

    def query(self, query: str, /, **params: Any) -> pa.Table:
        """The rows of one SELECT over these rows: a query that consumes lineage (Smoke, Sec. 2.1).

        Its tables are ``rows`` (all columns, and their place ``row``, unless a column is called so) and ``links`` (``asked``, ``row``). It
        is SQL of DuckDB, not of Spark, with days and hours in the time zone of the run's session, and nothing but these tables can be read.
        ``params`` are the values of its ``:name``.

        >>> run.backward("judge = 'Reject'", table="loans").query("SELECT occ, count(*) AS n FROM rows GROUP BY occ")  # doctest: +SKIP

        :raises InvalidOption: it is not one SELECT, a parameter has no value or is not in it, or it cannot be run.
        :raises EnvironmentProblem: DuckDB is not installed.
        """
        from airflow_lineage_provider.answers.consumed_rows import numbered
        from airflow_lineage_provider.sources.duckdb_query import selected

        return selected(query, {"rows": numbered(self.rows), "links": self.links}, params, zone=self.run.zone)

    def parts(self) -> Iterator[LineageRows]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class RowsOfTables(ShownAsPage):
    """The rows of several source tables."""

    tables: tuple[LineageRows, ...]

    def parts(self) -> Iterator[LineageRows]:
        """Those of each table."""
        yield from self.tables
