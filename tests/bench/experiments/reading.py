"""Rows of one Parquet file of a million rows and 24 columns: as the product reads them, by DuckDB or by Arrow, and by DuckDB alone.

Each is measured in a process of its own, after the libraries are loaded: seconds of CPU, and memory beyond what was there before.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_source import duckdb_source
from airflow_lineage_provider.sources.parquet import read_positions
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Comparison, compared
from tests.bench.elsewhere import Work, elsewhere
from tests.bench.ground import Ground
from tests.bench.readings import Meter

ROWS = 1_000_000
KINDS = {"i": "bigint", "f": "double", "s": "string"}


def write(path: Path) -> None:
    """Eight columns of each kind; the first has 100,000 groups."""
    draw = np.random.default_rng(1)
    whole = {f"i{n}": draw.integers(0, 10**9 if n else 10**5, ROWS) for n in range(8)}
    real = {f"f{n}": draw.random(ROWS) for n in range(8)}
    texts = {f"s{n}": np.char.add("text ", draw.integers(0, 10**6, ROWS).astype(str)) for n in range(8)}
    parquet.write_table(pa.table(whole | real | texts), path)


def source(path: Path) -> Source:
    names = parquet.read_schema(path).names
    output = tuple(Attribute(id=n, name=name, type=KINDS[name[0]]) for n, name in enumerate(names, 1))
    return Source(relation=Relation(name="t", kind="files", format="parquet"), output=output, columns=tuple(names), leaf=0)


def rows(path: Path, count: int) -> Callable[[], pa.Table]:
    """Rows at positions, with all their columns."""
    at = [(n * ROWS) // count + 17 for n in range(count)]
    keys = pa.table({"key_0": pa.array([7] * count, pa.int64()), "key_1": pa.array(at, pa.int64())})
    leaf = source(path)
    return lambda: read_positions(leaf, {"7": str(path)}, keys, {}).drop_columns(["key_0", "key_1"]).rename_columns(leaf.columns)


def group(path: Path, _count: int) -> Callable[[], pa.Table]:
    """The positions of a group's rows, as a tracing query finds them."""
    key = SourceIdentity(kind="file_position", columns=(KeyColumn(name="file", type="bigint"), KeyColumn(name="position", type="bigint")))
    leaf = replace(source(path), output=source(path).output[:1], columns=("i0",))

    def find() -> pa.Table:
        read = duckdb_source(leaf, key, ["i0", "file", "position"], {"7": str(path)}, {})
        query = "SELECT t.position FROM t JOIN target ON t.i0 = target.i0"
        return fetched(query, views={"t": read.query}, tables={"target": pa.table({"i0": [4711]})}, paths=read.paths)

    return find


def bare(what: str, path: Path, count: int) -> Callable[[], pa.Table]:
    """The same by DuckDB alone."""
    import duckdb

    at = ", ".join(str((n * ROWS) // count + 17) for n in range(count))
    given = f"FROM read_parquet('{path}', file_row_number = true) WHERE"
    asked = {
        "rows": f"SELECT * EXCLUDE (file_row_number) {given} file_row_number IN ({at})",
        "group": f"SELECT file_row_number {given} i0 = 4711",
    }
    return lambda: duckdb.execute(asked[what]).to_arrow_table()


def run(ground: Ground) -> Iterator[Comparison]:
    """Rows at positions by both; the positions of a group by DuckDB, as Spark would find them otherwise."""
    path = ground.folder / "reading.parquet"
    write(path)
    for what, ways, count in (
        *(("rows", ("bare DuckDB", "duckdb", "arrow"), n) for n in (1, 100, 10_000)),
        ("group", ("bare DuckDB", "duckdb"), 1),
    ):
        arms = {by: elsewhere(__name__, what, by, str(path), str(count)) for by in ways}
        yield compared(f"{count:,} {what} of a Parquet file of {ROWS:,} rows and 24 columns", arms, ground.meter, ground.repeats)


@contextmanager
def alone(what: str, by: str, where: str, count: str) -> Iterator[Work]:
    """One way, after the libraries are loaded."""
    if by == "arrow":
        sys.modules["duckdb"] = None  # type: ignore[assignment]
    else:
        import duckdb  # noqa: F401
    path, number = Path(where), int(count)
    do = bare(what, path, number) if by == "bare DuckDB" else {"rows": rows, "group": group}[what](path, number)
    yield Work(do, lambda: _digest(do()), Meter(None, None))


def _digest(table: pa.Table) -> str:
    """Of the rows' values, whatever their order."""
    return hashlib.sha256("\n".join(sorted_rows(table.to_pylist())).encode()).hexdigest()
