"""smokedduck: a fork of DuckDB that captures lineage while a query runs, and is asked backward afterwards."""

from __future__ import annotations

import sys
from typing import Any, Callable  # noqa: UP035

import smokedduck
from asked import serve

folder = sys.argv[1]
database = smokedduck.prov_connect()
for table in ("customers", "orders", "baskets"):
    database.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet/*.parquet') ORDER BY id")
ids = {table: [row[0] for row in database.execute("SELECT id FROM " + table).fetchall()] for table in ("customers", "orders", "baskets")}
captured: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {}


def answering(do: str, name: str, sql: str = "", target: int | None = None) -> Callable[[], Any]:
    """``run`` a query with its lineage captured; its ``rows``; ``ask`` of one row of its result, by its first column, or of all."""
    if do == "run":
        own = database.cursor()
        made = own.execute(sql, capture_lineage="lineage").fetchall()
        captured[name] = own, made
        return lambda: len(made)
    own, made = captured[name]
    if do == "rows":
        return lambda: made
    keys = [row[0] for row in made]
    at = None if target is None else [number for number, key in enumerate(keys) if key == target]
    found = (own.lineage() if at is None else own.backward(at)).df()
    return lambda: _pairs(keys, found)


def _pairs(keys: list[int], found: Any) -> list[tuple[str, int, int]]:
    """(table, the result's key, the source row's), each once."""
    pairs = {
        (table, keys[int(out)], ids[table][int(number)])
        for table in found.columns
        if table != "out_index"
        for number, out in zip(found[table], found["out_index"], strict=True)
        if number == number
    }
    return sorted(pairs)


serve(answering)
