"""A source row of an explanation, to be followed further: by what its values say of it, or, where no value may stand, by its place.

A DAG run's parameters are read by others than may read the rows, and stand in Airflow's log of events. There a row is named by its place in
an explanation, with a seal that tells whether the row at that place is still the one that was meant.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import rows_of
from airflow_lineage_provider.errors import InvalidTarget, RecordDamaged
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.withheld import table_shown
from airflow_lineage_provider.typed_json import read, written

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.records.run import RunRecord


@dataclass(frozen=True, kw_only=True)
class RowPlace:
    """Where a source row stands: it is row ``row`` (counted from 0) of ``table`` in the explanation of rows of the result of run
    ``run_id``, which meet ``where`` or stand at the positions ``at`` (``3,5``); or in the stored explanation ``derivation``.

    ``seal`` is of its values, keyed with the run's plan: who has not read the run's record cannot try values.
    """

    run_id: str
    table: str
    row: int
    seal: str
    where: str | None = None
    at: str | None = None
    derivation: str | None = None

    def told(self) -> dict[str, Any]:
        """As JSON; `RowPlace.read` reads it."""
        return dict(written(self))

    @staticmethod
    def read(given: object) -> RowPlace:
        """:raises InvalidTarget: it is none."""
        try:
            place = read(RowPlace, given)
        except RecordDamaged as problem:
            raise InvalidTarget(f"the parameter row is no place of a source row: {problem}") from problem
        if sum(one is not None for one in (place.where, place.at, place.derivation)) != 1 or place.row < 0:
            raise InvalidTarget("the parameter row must say in exactly one way what the row is behind: where, at or derivation")
        return place

    def __str__(self) -> str:
        return f"row {self.row + 1:,} of {self.table}"


@dataclass(frozen=True)
class SourceRow:
    """A row as it may be shown (one row), and the predicate that says what may be said of its values."""

    shown: pa.Table
    predicate: str


def source_row(found: Explanation, table: str, row: int) -> SourceRow:
    """The source row at this place.

    :raises InvalidTarget: there is none.
    """
    if table not in found.sources or not 0 <= row < len(found.sources[table]):
        tables = ", ".join(f"{name} ({len(one):,})" for name, one in found.sources.items())
        raise InvalidTarget(f"the explanation has no such source row; it has rows of {tables}")
    discretion = Discretion.of().following(found.carried or {})
    rows = found.sources[table].rows.slice(row, 1)
    told = table_shown(rows, discretion, table) if discretion else rows
    (values,) = rows_of(told)
    plain = {name: value for name, value in zip(told.column_names, values, strict=True) if not discretion.masks(name, table)}
    return SourceRow(told, like(plain))


def seal_of(record: RunRecord, predicate: str) -> str:
    """The seal of a row of this run's lineage."""
    return hmac.new((record.plan or record.id).encode(), predicate.encode(), hashlib.sha256).hexdigest()[:32]


def row_again(found: Explanation, place: RowPlace, record: RunRecord) -> str:
    """The predicate of the row that was meant, from the explanation made again; ``record`` is of the run that was explained.

    :raises InvalidTarget: there is another row at that place.
    """
    predicate = source_row(found, place.table, place.row).predicate
    if not hmac.compare_digest(seal_of(record, predicate), place.seal):
        raise InvalidTarget(f"{place} in the explanation is another row than it was: open the explanation anew, and ask from there")
    return predicate


def like(row: Mapping[str, Any]) -> str:
    """A predicate in Spark's SQL for rows with such values, as far as they can be said plainly.

    >>> like({"n": 7, "name": "O'Neil", "at": None, "some": [1]})
    "n = 7 AND name = 'O\\\\'Neil' AND at IS NULL"
    """
    return " AND ".join(text for name, value in row.items() if (text := _term(name, value)) is not None) or "true"


def _term(name: str, value: Any) -> str | None:
    column = column_named(name)
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool | int | float | Decimal):
        return f"{column} = {str(value).lower() if isinstance(value, bool) else value}"
    if isinstance(value, dt.datetime):
        return None  # of which time zone it is meant would have to be said
    if isinstance(value, dt.date):
        return f"{column} = DATE '{value.isoformat()}'"
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"{column} = '{quoted}'"
    return None


def column_named(name: str) -> str:
    """A column as Spark's SQL names it."""
    return name if name.isidentifier() and name.isascii() else f"`{name.replace('`', '``')}`"
