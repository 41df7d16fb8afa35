"""Rows that a person gives, in whatever form they are at hand: dicts, rows of Spark, tuples, an Arrow table, a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_lineage_provider.deriving.values import MISSING
from airflow_lineage_provider.errors import InvalidTarget, TargetTooLarge
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.shown import shown

MOST_ROWS = 10_000
"""So many rows may be given by their values."""

_TOO_MANY = f"the target has more than {MOST_ROWS:,} rows, given by their values; use a predicate, or positions (at=[…])"
FORMS = (
    "write a predicate (text, or a Column), or rows: a dict of columns and values, a list of dicts or of Spark's rows, a pandas frame or "
    "an Arrow table"
)
Cells = tuple[tuple[Attribute, Any], ...]


def given_rows(given: Any, columns: Sequence[tuple[str, Attribute]]) -> list[Cells]:
    """For each row its columns and their values, as they were given.

    :raises InvalidTarget: it is not rows, names a column that is not there or not one, or a row has no columns.
    :raises TargetTooLarge: it is more than `MOST_ROWS` rows.
    """
    rows = [_cells(row, columns) for row in _forms(given)]
    if not rows:
        raise InvalidTarget("the target has no rows; give a predicate, or at least one row")
    if any(not row for row in rows):
        raise InvalidTarget("a target row has no columns; name at least one column and its value")
    return rows


def _forms(given: Any) -> Iterator[Any]:
    if isinstance(given, Mapping) or hasattr(given, "__fields__"):
        return iter([given])
    tabular = _tabular(given)
    if tabular is not None:
        return tabular
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidTarget(f"{shown(given)} ({type(given).__name__}) is not a target; {FORMS}")
    return _counted(given)


def _tabular(given: Any) -> Iterator[Any] | None:
    kind = type(given)
    if kind.__module__.startswith("pandas."):
        return iter([_of_pandas(given.to_dict())]) if kind.__name__ == "Series" else _pandas_rows(given)
    if hasattr(given, "column_names") and hasattr(given, "columns"):
        return _table_rows(list(given.column_names), [column.to_pylist() for column in given.columns], given.num_rows)
    if hasattr(given, "schema") and hasattr(given, "columns") and hasattr(given, "to_pylist"):
        return _table_rows(list(given.schema.names), [column.to_pylist() for column in given.columns], given.num_rows)
    return None


def _pandas_rows(frame: Any) -> Iterator[Any]:
    columns = [[_missing(value) for value in frame.iloc[: MOST_ROWS + 1, at]] for at in range(frame.shape[1])]
    return _table_rows(list(frame.columns), columns, len(frame))


def _of_pandas(row: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {name: _missing(value) for name, value in row.items()}


def _missing(value: Any) -> Any:
    # pandas writes a missing number as NaN; a NaN of the result looks the same.
    return MISSING if isinstance(value, float) and value != value else value


def _table_rows(names: list[Any], columns: list[Any], rows: int) -> Iterator[Any]:
    if rows > MOST_ROWS:
        raise TargetTooLarge(_TOO_MANY)
    if len(set(map(str, names))) == len(names):
        return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    return (_Positional(names, row) for row in zip(*columns, strict=True))


class _Positional(tuple[Any, ...]):
    """A row whose columns' names repeat: ``__fields__`` has them, as with Spark's rows."""

    __fields__: list[Any]

    def __new__(cls, names: list[Any], values: tuple[Any, ...]) -> _Positional:
        made = super().__new__(cls, values)
        made.__fields__ = names
        return made


def _counted(rows: Iterable[Any]) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            raise TargetTooLarge(_TOO_MANY)
        yield row


def _cells(row: Any, columns: Sequence[tuple[str, Attribute]]) -> Cells:
    if isinstance(row, Mapping):
        return tuple((_column(name, columns), value) for name, value in row.items())
    if type(row).__module__.startswith("pandas.") and hasattr(row, "to_dict"):
        return _cells(_of_pandas(row.to_dict()), columns)
    if not isinstance(row, tuple | list):
        raise InvalidTarget(f"target row: {shown(row)} ({type(row).__name__}) is not a row; {FORMS}")
    names = list(getattr(row, "__fields__", ()))
    if names and len(set(names)) == len(names):
        return tuple((_column(name, columns), value) for name, value in zip(names, row, strict=True))
    whole = [name for name, _ in columns]
    if len(row) != len(columns) or (names and names != whole):
        raise InvalidTarget(f"target row: a row without names of its columns needs all {len(whole)} values, in order: {', '.join(whole)}")
    return tuple((attribute, value) for (_, attribute), value in zip(columns, row, strict=True))


def _column(name: Any, columns: Sequence[tuple[str, Attribute]]) -> Attribute:
    exact = [a for known, a in columns if known == name]
    if not exact and isinstance(name, str):
        exact = [a for known, a in columns if known.lower() == name.lower()]
    if len(exact) == 1:
        return exact[0]
    problem = "more than one column is" if exact else "no column is"
    hint = "; name the row by its position, at=[…]" if exact else ""
    listed = ", ".join(known for known, _ in columns)
    raise InvalidTarget(f"target row: {problem} named {shown(name)}{hint}; the result has {listed}")
