"""Rows of lineage filtered and aggregated, by expressions of DuckDB's SQL that a person wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_TAKEN = 256
_taken: set[tuple[str, frozenset[tuple[str, type]], pa.Schema, str]] = set()
"""Conditions that `check_condition` has found to be such, with the types of their parameters."""
_WORKS = "write one expression of DuckDB's SQL over the columns of the rows"


def places_where(condition: str, params: Mapping[str, Any], rows: pa.Table, links: pa.Table, zone: str) -> tuple[pa.Array, pa.Table]:
    """The places of the rows for which a condition holds, ascending, and the links to them with the places that they have then.
    ``zone`` is the time zone that it is computed in, here and below: that of the run's session.

    :raises InvalidOption: the condition is none over these columns, or its parameters are not those given.
    :raises EnvironmentProblem: DuckDB is not installed.
    """
    import numpy as np
    import pyarrow as pa

    place, text = _unused("place", rows.column_names), _expression("condition", condition)
    numbered = rows.append_column(place, pa.array(np.arange(rows.num_rows)))
    # The condition ends with its line: a comment in it ends nothing else.
    found = _computed("condition", condition, f'SELECT "{place}" FROM rows WHERE ({text}\n)', numbered, params, zone)
    kept = np.sort(found.column(0).to_numpy())
    places = np.full(rows.num_rows, -1)
    places[kept] = np.arange(len(kept))
    at = places[links.column("row").to_numpy()]
    there = at >= 0
    left = links.filter(pa.array(there)) if not there.all() else links
    kind = links.schema.field("row").type
    return pa.array(kept), left.set_column(links.column_names.index("row"), "row", pa.array(at[there]).cast(kind))


def check_condition(condition: str, params: Mapping[str, Any], empty: pa.Table, zone: str) -> None:
    """See that `places_where` takes a condition, of rows of which ``empty`` has the columns. What it took is known from then on: a value
    of a parameter that cannot be taken, where others of its type can, is found when rows are looked at.

    :raises InvalidOption, EnvironmentProblem: as `places_where`.
    """
    import pyarrow as pa

    # (By types, since values may be secrets: they are not kept.)
    asked = (_expression("condition", condition), frozenset((name, type(one)) for name, one in params.items()), empty.schema, zone)
    if asked not in _taken:
        places_where(condition, params, empty, pa.table({"row": pa.array([], pa.int64())}), zone)
        if len(_taken) >= _MOST_TAKEN:
            _taken.clear()
        _taken.add(asked)


def aggregated(by: Sequence[str] | str, measures: Sequence[str] | str, rows: pa.Table, zone: str) -> pa.Table:
    """The rows aggregated: a row for each value of ``by``, in their order, or one of all rows.

    :raises InvalidOption: an expression cannot be computed, two columns have one name, or there is none.
    :raises EnvironmentProblem: DuckDB is not installed.
    """
    keys, values = _columns("by", by), _columns("measures", measures)
    names = [name for _, name in (*keys, *values)]
    if not names:
        raise InvalidOption(f'aggregate() has neither by nor measures: give measures=["count(*)"]; {_WORKS}')
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidOption(f"two columns of the aggregation would be called {shown(twice[0])}: name one of them, … AS name")
    columns = ", ".join(f"({text}\n) AS {_name(name)}" for text, name in (*keys, *values))
    asked = [*listed_expressions(by), *listed_expressions(measures)]
    found = _computed("by, measures", asked, f"SELECT {columns} FROM rows{grouped(len(keys))}", rows, {}, zone)
    if found.column_names != names or (not keys and found.num_rows != 1):
        raise InvalidOption(
            f"measures={shown(listed_expressions(measures))}: each is one aggregate of the rows, as count(*) or sum(amount)"
        )
    return found


def aggregated_schema(by: Sequence[str] | str, measures: Sequence[str] | str, empty: pa.Table, zone: str) -> pa.Schema:
    """The columns of `aggregated` of a table, of which ``empty`` has none of the rows. What was asked before is known.

    :raises InvalidOption, EnvironmentProblem: as `aggregated`.
    """
    asked = [*listed_expressions(by), *listed_expressions(measures)]
    if not all(isinstance(one, str) for one in asked):
        return aggregated(by, measures, empty, zone).schema
    return _schema(tuple(listed_expressions(by)), tuple(listed_expressions(measures)), empty.schema, zone)


@lru_cache(maxsize=256)
def _schema(by: tuple[str, ...], measures: tuple[str, ...], schema: pa.Schema, zone: str) -> pa.Schema:
    return aggregated(by, measures, schema.empty_table(), zone).schema


def grouped(keys: int) -> str:
    """By the first columns of a SELECT, in their order; NULL is a group of its own, the last."""
    places = ", ".join(str(at + 1) for at in range(keys))
    order = ", ".join(f"{at + 1} NULLS LAST" for at in range(keys))
    return f" GROUP BY {places} ORDER BY {order}" if keys else ""


def numbered(rows: pa.Table) -> pa.Table:
    """Rows with their place, ``row``, as expressions over them read it, unless a column is called so."""
    import numpy as np
    import pyarrow as pa

    if "row" in [name.casefold() for name in rows.column_names]:
        return rows
    return rows.append_column("row", pa.array(np.arange(rows.num_rows)))


def _columns(option: str, asked: Sequence[str] | str) -> list[tuple[str, str]]:
    from airflow_lineage_provider.sql.asked_sql import named_expression

    return [named_expression(_expression(option, one)) for one in listed_expressions(asked)]


def listed_expressions(asked: Sequence[str] | str) -> list[str]:
    """One expression, or several, as a list."""
    return [asked] if isinstance(asked, str) else list(asked)


def _expression(option: str, text: Any) -> str:
    """The text, which stays one expression between parentheses."""
    from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced

    if not isinstance(text, str):
        raise InvalidOption(f"{option}={shown(text)} is no text: {_WORKS}")
    try:
        tokens = balanced(text)
    except UnbalancedSql as problem:
        raise InvalidOption(f"{option}={shown(text)}: {problem}; {_WORKS}") from problem
    if not tokens:
        raise InvalidOption(f"{option}={shown(text)} is empty: {_WORKS}")
    return text


def _computed(option: str, asked: Any, query: str, rows: pa.Table, params: Mapping[str, Any], zone: str) -> pa.Table:
    from airflow_lineage_provider.sources.duckdb_query import selected

    try:
        return selected(query, {"rows": rows}, params, zone=zone)
    except InvalidOption as problem:
        # What a person wrote, in place of the query that was made of it.
        why = str(problem.__cause__ or problem).removeprefix("DuckDB failed: ") if problem.__cause__ else _parameters(str(problem))
        raise InvalidOption(f"{option}={shown(asked)}: {why}; {_WORKS} ({', '.join(rows.column_names)})") from problem


def _parameters(text: str) -> str:
    return text[text.rindex(" has ") + 1 :] if " has " in text else text


def _unused(name: str, names: Sequence[str]) -> str:
    taken = {one.casefold() for one in names}
    while name in taken:
        name += "_"
    return name


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
