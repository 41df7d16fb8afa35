"""The tables of an answer: rows, what they are worth, and which source rows stand behind them, as one object each."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from airflow_lineage_provider.plan.guarantees import Guarantee

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.keyed_rows import KeyedRows
    from airflow_lineage_provider.tracing.trace import TracingQuery

UNRECORDED = Guarantee(level="unavailable", cause="the guarantee of this table was not recorded with the answer")


NAMES_SHOWN = 100
"""So many characters of the columns' names stand in a ``repr``."""


class AnswerTable:
    """Rows of an answer.

    ``rows`` is the table itself, ``guarantee`` what it is worth (one that nobody recorded is told as such: nothing is exact by default),
    ``links`` which source rows stand behind which of its rows: (``row``, ``source``, ``source_row``), both counted from 0. It can be used
    as the table: ``num_rows``, ``column("value")`` and all else of a `pyarrow.Table`, and ``pyarrow.table(it)`` takes it.
    """

    noun = "row"
    name = ""

    def __init__(self, rows: pa.Table, *, guarantee: Guarantee = UNRECORDED, links: pa.Table | None = None) -> None:
        self.rows = rows
        self.guarantee = guarantee
        self.links = links

    def replaced(self, **changed: Any) -> Self:
        """The same with other attributes."""
        made = copy(self)
        vars(made).update(changed)
        return made

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.rows.to_pandas()

    def equals(self, other: object, **options: Any) -> bool:
        """As of the table; of another table of an answer, its rows."""
        return bool(self.rows.equals(other.rows if isinstance(other, AnswerTable) else other, **options))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "rows":  # a copy or an unpickled one has no rows yet
            raise AttributeError(name)
        return getattr(self.rows, name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        return self.rows[key]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __eq__(self, other: object) -> bool:
        return bool(self.rows == (other.rows if isinstance(other, AnswerTable) else other))

    __hash__ = None  # type: ignore[assignment]

    def _said(self) -> str:
        return f"{len(self):,} {self.noun}{'' if len(self) == 1 else 's'}, {self.guarantee.level}"

    def __repr__(self) -> str:
        names = ", ".join(self.rows.column_names)
        return f"<{self._said()}: {names if len(names) <= NAMES_SHOWN else names[: NAMES_SHOWN - 1] + '…'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: how many rows, what they are worth, and the first of them."""
        from airflow_lineage_provider.render.notebook import table_fragment

        return table_fragment(self)


class SourceTable(AnswerTable):
    """The rows of a source table that stand behind the target.

    ``links`` says which: (``row``, ``source_row``), the target's rows and this table's. ``stale`` are the ways in which the table no
    longer is what the run read. ``keyed`` names the rows for further questions, in each run that read them; a stored answer has none.
    """

    noun = "source row"

    def __init__(
        self,
        rows: pa.Table,
        *,
        guarantee: Guarantee = UNRECORDED,
        links: pa.Table | None = None,
        stale: tuple[str, ...] = (),
        keyed: tuple[KeyedRows, ...] = (),
    ) -> None:
        super().__init__(rows, guarantee=guarantee, links=links)
        self.stale = stale
        self.keyed = keyed


class Intermediate(AnswerTable):
    """A table between the target and the sources: the rows of a recorded run's output through which the target was traced.

    ``run`` is the run that wrote it, ``queries`` its tracing queries.
    """

    def __init__(
        self,
        rows: pa.Table,
        *,
        run: RunSummary,
        queries: tuple[TracingQuery, ...] = (),
        guarantee: Guarantee = UNRECORDED,
        links: pa.Table | None = None,
    ) -> None:
        super().__init__(rows, guarantee=guarantee, links=links)
        self.run = run
        self.queries = queries


def of_table(links: pa.Table, name: str) -> pa.Table:
    """The links to rows of one source table, without its name."""
    import pyarrow.compute as pc

    return links.filter(pc.equal(links.column("source"), name)).drop_columns(["source"])


def linked(tables: Mapping[str, SourceTable], links: pa.Table) -> dict[str, SourceTable]:
    """Source tables with their share of the target's links."""
    return {name: one.replaced(name=name, links=of_table(links, name)) for name, one in tables.items()}
