"""Rows of a run's output, as other runs read them back, found again in the run's result: a target of a derivation.

A row is found by its number in the result, where its place in a file tells it and the values there are the same; else by its values,
null-safe and with NaN equal to itself, and then every equal row is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.stored_outputs import columns_by_name
from airflow_lineage_provider.deriving.key_index import Key, key_tuples
from airflow_lineage_provider.deriving.listed import listed
from airflow_lineage_provider.deriving.rows import RowSource, result_columns
from airflow_lineage_provider.errors import EmptyTarget, TargetTooLarge
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import TRUE, Attribute, Expression, disjunction
from airflow_lineage_provider.plan.lineage_keys import ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.recording import RecordedPlan

_CANDIDATES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """Rows of table ``table`` that run ``reader`` read: their places ``at`` in its source table, and their numbers where known."""

    reader: str
    table: str
    rows: pa.Table
    at: tuple[int, ...]
    numbers: tuple[int | None, ...]


class OutputRows:
    """The target of a derivation: rows that other runs read. After `numbers`, ``matches`` has for each batch and row where it was found."""

    def __init__(self, batches: Sequence[ReadBack], recorded: RecordedPlan) -> None:
        rows = sum(len(batch.at) for batch in batches)
        self.asked = f"{rows:,} rows that other runs read"
        self.matches: list[list[tuple[int, ...]]] = [[() for _ in batch.at] for batch in batches]
        self._batches = [_Batch(batch, recorded) for batch in batches]

    def condition(self) -> Expression:
        """What all of these rows meet, and few others."""
        return disjunction(tuple(batch.condition(range(batch.size)) for batch in self._batches)) or TRUE

    def numbers(self, rows: RowSource) -> list[int]:
        """The numbers of the rows that were found.

        :raises EmptyTarget: none was. :raises SparkRequired: only Spark can find them, and there is no session.
        """
        for batch, matches in zip(self._batches, self.matches, strict=True):
            if not batch.columns:
                continue
            if rows.numbered_by_run:
                batch.match_numbers(rows, matches)
            rest = [at for at, found in enumerate(matches) if not found]
            if rest:
                numbers = rows.matching(batch.condition(rest), _CANDIDATES)
                if len(numbers) == _CANDIDATES:
                    raise TargetTooLarge(f"more than {_CANDIDATES:,} rows of the result look like the ones that were read")
                batch.match_values(rows, matches, rest, numbers)
        found = sorted({number for matches in self.matches for numbers in matches for number in numbers})
        if not found:
            raise EmptyTarget(f"none of {self.asked} is in the result as it was read")
        return found


class _Batch:
    """Rows that were read, in the types of the result; columns that cannot be compared are left out."""

    def __init__(self, batch: ReadBack, recorded: RecordedPlan) -> None:
        self.hints = batch.numbers
        self.size = len(batch.at)
        result = columns_by_name(recorded)
        self.columns: list[tuple[Attribute, pa.ChunkedArray]] = []
        for name in batch.rows.column_names:
            attribute = result.get(name) or result.get(name.casefold())
            column = None if attribute is None else _as_type(batch.rows.column(name), attribute.type)
            if attribute is not None and column is not None:
                self.columns.append((attribute, column))
        self.keys = _keys([column for _, column in self.columns])

    def condition(self, rows: Sequence[int]) -> Expression:
        """Columns with few values among the rows must have one of them. (What else the rows have in common is looked at later.)"""
        return listed([(a, column.take(list(rows))) for a, column in self.columns])

    def match_numbers(self, rows: RowSource, matches: list[tuple[int, ...]]) -> None:
        """Rows whose number is known, and whose values are those of the result's row of that number."""
        wanted = sorted({number for number in self.hints if number is not None})
        if not wanted:
            return
        stored = self._stored(rows, wanted)
        for at, number in enumerate(self.hints):
            if number is not None and stored.get(number) == self.keys[at]:
                matches[at] = (number,)

    def match_values(self, rows: RowSource, matches: list[tuple[int, ...]], rest: list[int], numbers: list[int]) -> None:
        """Every row of the result with the same values."""
        equal: dict[Key, list[int]] = {}
        for number, key in (self._stored(rows, numbers) if numbers else {}).items():
            equal.setdefault(key, []).append(number)
        for at in rest:
            matches[at] = tuple(equal.get(self.keys[at], ()))

    def _stored(self, rows: RowSource, numbers: list[int]) -> dict[int, Key]:
        columns = result_columns(rows, [a for a, _ in self.columns])
        found = rows.read(0, [ROW, *dict.fromkeys(columns)], numbers)
        typed = [_as_type(found.column(name), a.type) for name, (a, _) in zip(columns, self.columns, strict=True)]
        return dict(zip(found.column(ROW).to_pylist(), _keys([column for column in typed if column is not None]), strict=True))


def _keys(columns: list[pa.ChunkedArray]) -> list[Key]:
    import pyarrow as pa

    return key_tuples(pa.table(columns, names=[str(i) for i in range(len(columns))])) if columns else []


def _as_type(column: pa.ChunkedArray, type_text: str) -> pa.ChunkedArray | None:
    import pyarrow as pa

    try:
        return column.cast(to_arrow(type_text))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
