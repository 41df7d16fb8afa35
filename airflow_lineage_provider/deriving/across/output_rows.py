"""Rows of a run's output, as other runs read them back, found again in the run's result: a target of a derivation.

A row is found by its number in the result, where its place in a file tells it and the values there are the same; else by its values,
null-safe and with NaN equal to itself, and then every row is taken that reads as it (`as_read`). Where more rows were read with some values
than the result has that read so, none is taken: it lacks some, and the others are no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.as_read import AsRead, as_read
from airflow_lineage_provider.deriving.across.stored_outputs import UNKNOWN, columns_as_read
from airflow_lineage_provider.deriving.links import joined
from airflow_lineage_provider.deriving.rows import RowSource, result_columns
from airflow_lineage_provider.errors import EmptyTarget, TargetTooLarge
from airflow_lineage_provider.plan.expressions import TRUE, Expression, conjunction, disjunction
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.tracing.key_index import KeyIndex, Places
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.recording import RecordedPlan

_CANDIDATES = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadBack:
    """Rows of table ``table`` that run ``reader`` read: their places ``at`` in its source table, and their numbers, or `UNKNOWN`.

    ``alone``: no other run, and nobody else, can have written one of them.
    """

    reader: str
    table: str
    source: Source
    rows: pa.Table
    at: Numbers
    numbers: Numbers
    alone: bool = False


class OutputRows:
    """The target of a derivation: rows that other runs read. After `numbers`, ``matches`` has for each batch where its rows were found:
    places in the batch, and numbers of rows of the result, of which there may be several for a place.
    """

    def __init__(self, batches: Sequence[ReadBack], recorded: RecordedPlan) -> None:
        rows = sum(len(batch.at) for batch in batches)
        self.asked = f"{rows:,} rows that other runs read"
        self.matches: list[Places] = []
        self._batches = [_Batch(batch, recorded) for batch in batches]

    def condition(self) -> Expression:
        """What all of these rows meet, and few others."""
        return disjunction(tuple(batch.condition(batch.rows) for batch in self._batches)) or TRUE

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows that were found.

        :raises EmptyTarget: none was. :raises SparkRequired: only Spark can find them, and there is no session.
        """

        self.matches = [batch.found(rows) for batch in self._batches]
        found = different(joined([matches.row for matches in self.matches]))
        if not len(found):
            raise EmptyTarget(f"none of {self.asked} is in the result as it was read")
        return found


class _Batch:
    """Rows that were read, in the form in which they are compared with the result; columns that cannot be are left out."""

    def __init__(self, batch: ReadBack, recorded: RecordedPlan) -> None:
        import numpy as np

        self.hints = batch.numbers
        self.rows = np.arange(len(batch.at))
        self.alone = batch.alone
        self.columns: list[tuple[AsRead, pa.ChunkedArray]] = []
        for name, how in as_read(batch.source, columns_as_read(recorded, batch.source), recorded.zone, recorded.written_with).items():
            column = how.read(batch.rows.column(name)) if name in batch.rows.column_names else None
            if column is not None:
                self.columns.append((how, column))

    def condition(self, rows: Numbers) -> Expression:
        """Columns with few values among the rows must have one of them. (What else the rows have in common is looked at later.)"""
        import pyarrow as pa

        terms = [how.condition(column.take(pa.array(rows))) for how, column in self.columns]
        return conjunction(tuple(term for term in terms if term is not None)) or TRUE

    def found(self, rows: RowSource) -> Places:
        """Where the rows are in the result."""
        import numpy as np

        if not self.columns:
            return Places(self.rows[:0], self.rows[:0])
        told = self._told_by_number(rows) if rows.numbered_by_run else Places(self.rows[:0], self.rows[:0])
        not_told = np.ones(len(self.rows), np.bool_)
        not_told[told.asked] = False
        rest = self.rows[not_told]
        if not len(rest):
            return told
        numbers = rows.matching(self.condition(rest), _CANDIDATES)
        if len(numbers) == _CANDIDATES:
            raise TargetTooLarge(f"more than {_CANDIDATES:,} rows of the result look like the ones that were read")
        like = self._like(rows, rest, numbers, told)
        return Places(joined([told.asked, like.asked]), joined([told.row, like.row]))

    def _told_by_number(self, rows: RowSource) -> Places:
        """Rows whose number is known, and whose values are those of the result's row of that number."""

        known = self.rows[self.hints != UNKNOWN]
        return self._same(rows, known, different(self.hints[known]), self.hints[known])

    def _like(self, rows: RowSource, rest: Numbers, numbers: Numbers, told: Places) -> Places:
        """Every row of the result that reads as these do, where it has as many of them as were read."""
        import numpy as np

        like = self._same(rows, rest, numbers, None)
        if not self.alone or not len(like.asked):
            return like
        # Rows that are alike are like the same ones: the first of these stands for all.
        first, there = np.full(len(self.rows), UNKNOWN), np.zeros(len(self.rows), np.int64)
        places, starts, many = np.unique(like.asked, return_index=True, return_counts=True)
        first[places], there[places] = np.minimum.reduceat(like.row, starts), many
        # Those whose number is known take their own.
        taken = np.isin(like.row, told.row)
        np.subtract.at(there, like.asked[taken], 1)
        group = np.unique(first[places], return_inverse=True)[1]
        short = places[np.bincount(group)[group] > there[places]]
        kept = ~np.isin(like.asked, short)
        return Places(like.asked[kept], like.row[kept])

    def _same(self, rows: RowSource, asked: Numbers, numbers: Numbers, hints: Numbers | None) -> Places:
        """Of rows that are asked about, those of the result among ``numbers`` that read as they do, with their numbers where given."""
        import pyarrow as pa

        if not len(numbers) or not len(asked):
            return Places(asked[:0], asked[:0])
        columns = result_columns(rows, [how.attribute for how, _ in self.columns])
        found = rows.read(0, [ROW, *dict.fromkeys(columns)], numbers)
        number = found.column(ROW).to_numpy()
        stored, own = [], []
        for name, (how, column) in zip(columns, self.columns, strict=True):
            values = how.result(found.column(name))
            if values is not None:
                stored.append(values)
                own.append(column.take(pa.array(asked)))
        if not stored:
            return Places(asked[:0], asked[:0])
        if hints is not None:
            stored, own = [*stored, pa.chunked_array([number])], [*own, pa.chunked_array([pa.array(hints)])]
        places = KeyIndex(_table(stored)).places(_table(own))
        return Places(asked[places.asked], number[places.row])


def _table(columns: list[pa.ChunkedArray]) -> pa.Table:
    import pyarrow as pa

    return pa.table(columns, names=[str(i) for i in range(len(columns))])
