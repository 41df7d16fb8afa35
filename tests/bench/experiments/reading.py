"""Rows of one Parquet file of a million rows and 24 columns: as the product reads them, by DuckDB or by Arrow, and by DuckDB alone.

Each is measured in a process of its own, after the libraries are loaded: seconds of CPU, and memory beyond what was there before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

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
from tests.bench.comparison import AnswersDiffer, Comparison
from tests.bench.ground import Ground
from tests.bench.readings import Reading

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


def rows(path: Path, count: int) -> Callable[[], int]:
    """Rows at positions, with all their columns."""
    at = [(n * ROWS) // count + 17 for n in range(count)]
    keys = pa.table({"key_0": pa.array([7] * count, pa.int64()), "key_1": pa.array(at, pa.int64())})
    leaf = source(path)
    return lambda: int(read_positions(leaf, {"7": str(path)}, keys, {}).num_rows)


def group(path: Path, _count: int) -> Callable[[], int]:
    """The positions of a group's rows, as a tracing query finds them."""
    key = SourceIdentity(kind="file_position", columns=(KeyColumn(name="file", type="bigint"), KeyColumn(name="position", type="bigint")))
    leaf = replace(source(path), output=source(path).output[:1], columns=("i0",))

    def find() -> int:
        read = duckdb_source(leaf, key, ["i0", "file", "position"], {"7": str(path)}, {})
        query = "SELECT t.file, t.position FROM t JOIN target ON t.i0 = target.i0"
        return int(fetched(query, views={"t": read.query}, tables={"target": pa.table({"i0": [4711]})}, paths=read.paths).num_rows)

    return find


def bare(what: str, path: Path, count: int) -> Callable[[], int]:
    """The same by DuckDB alone."""
    import duckdb

    at = ", ".join(str((n * ROWS) // count + 17) for n in range(count))
    asked = {
        "rows": f"SELECT * FROM read_parquet('{path}', file_row_number = true) WHERE file_row_number IN ({at})",
        "group": f"SELECT file_row_number FROM read_parquet('{path}', file_row_number = true) WHERE i0 = 4711",
    }
    return lambda: len(duckdb.execute(asked[what]).fetchall())


def run(ground: Ground) -> Iterator[Comparison]:
    """Rows at positions by both; the positions of a group by DuckDB, as Spark would find them otherwise."""
    path = ground.folder / "reading.parquet"
    write(path)
    for what, ways, count in (
        *(("rows", ("bare DuckDB", "duckdb", "arrow"), n) for n in (1, 100, 10_000)),
        ("group", ("bare DuckDB", "duckdb"), 1),
    ):
        found = {by: [_elsewhere(what, by, path, count) for _ in range(ground.repeats)] for by in ways}
        if len({one["rows"] for some in found.values() for one in some}) != 1:
            raise AnswersDiffer(f"{what} {count}: {found}")
        readings = {by: [Reading(**one["reading"]) for one in some] for by, some in found.items()}
        facts = {by: {"memory, MB": max(one["megabytes"] for one in some)} for by, some in found.items()}
        yield Comparison(f"{count:,} {what} of a Parquet file of {ROWS:,} rows and 24 columns", ways[0], readings, facts)


def _elsewhere(what: str, by: str, path: Path, count: int) -> dict[str, Any]:
    """In a process of its own, which prints what it measured."""
    own = [sys.executable, "-m", __name__, what, by, str(path), str(count)]
    found: dict[str, Any] = json.loads(subprocess.run(own, check=True, capture_output=True, text=True).stdout)
    return found


def _most_memory() -> float:
    """The most that this process has had so far, in megabytes; Linux tells."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _here(what: str, by: str, path: Path, count: int) -> dict[str, Any]:
    if by == "arrow":
        sys.modules["duckdb"] = None  # type: ignore[assignment]
    else:
        import duckdb  # noqa: F401
    asked = bare(what, path, count) if by == "bare DuckDB" else {"rows": rows, "group": group}[what](path, count)
    cpu, memory, started = time.process_time(), _most_memory(), time.perf_counter()
    found = asked()
    reading = Reading(wall=time.perf_counter() - started, cpu={"driver": time.process_time() - cpu})
    return {"rows": found, "reading": asdict(reading), "megabytes": round(_most_memory() - memory)}


if __name__ == "__main__":
    what, by, where, count = sys.argv[1:]
    print(json.dumps(_here(what, by, Path(where), int(count))))
