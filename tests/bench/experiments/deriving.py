"""What explaining rows of a grouping takes, by where its source is: data made in the session, Parquet, CSV, a database's table by JDBC.

One row, a hundred, ten thousand; for the first time (everything opened anew) and again; without Spark and with. Beside them the floor, a
bare look-up of the source rows in an indexed table of PostgreSQL, and DuckDB on the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import duckdb
import psycopg2
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.sources import csv_source
from airflow_lineage_provider.sources.kept import Kept
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

ROWS = {"small": 20_000, "full": 1_000_000}
AS_PEOPLE_ASK = "as people ask"
"""Without Spark, by `explain` with nothing but a target and how large it may be."""
EACH = 10
"""Rows of a group."""
TARGETS = {"small": (1, 100, 1_000), "full": (1, 100, 10_000)}
KINDS = {"small": ("session", "parquet", "csv", "jdbc"), "full": ("session", "parquet", "csv", "jdbc")}
SQL = "SELECT team, count(*) AS n, sum(amount) AS total FROM bench_{kind} GROUP BY team"


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each source and number of targets."""
    table = _table(ROWS[ground.size])
    _floor_table(ground, table)
    for kind in KINDS[ground.size]:
        _view(ground, kind, table)
        made = ground.lineage.run(SQL.format(kind=kind), name=f"bench deriving {kind}")
        made.close()
        for targets in TARGETS[ground.size]:
            asked, notes = _asking(ground, made.id, f"bench_{kind}", targets)
            title = f"{targets:,} of {ROWS[ground.size] // EACH:,} groups, source: {kind}"
            found = compared(title, _floor(ground, kind, targets) | asked, ground.meter, ground.repeats)
            found.notes = notes
            yield found


def _table(rows: int) -> pa.Table:
    numbers = range(rows)
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "team": pa.array([n % (rows // EACH) for n in numbers], pa.int64()),
        "amount": pa.array([n * 7 % 1_000 for n in numbers], pa.int64()),
        "name": pa.array([f"row {n}" for n in numbers]),
    })  # fmt: skip


def _floor_table(ground: Ground, table: pa.Table) -> None:
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("bench_floor", table, mode="replace")
        cursor.execute("CREATE INDEX ON bench_floor (team)")
        connection.commit()


def _view(ground: Ground, kind: str, table: pa.Table) -> None:
    spark, name = ground.spark, f"bench_{kind}"
    if kind == "session":
        spark.createDataFrame(table).createOrReplaceTempView(name)
    elif kind == "parquet":
        parquet.write_table(table, ground.folder / "deriving.parquet")
        spark.read.parquet(str(ground.folder / "deriving.parquet")).createOrReplaceTempView(name)
    elif kind == "csv":
        csv.write_csv(table, ground.folder / "deriving.csv")
        read = spark.read.schema("id bigint, team bigint, amount bigint, name string").option("header", "true")
        read.csv(str(ground.folder / "deriving.csv")).createOrReplaceTempView(name)
    else:
        # Derby, whose driver comes with Spark: PostgreSQL's would be fetched.
        at = {
            "url": f"jdbc:derby:{ground.folder}/derby;create=true",
            "driver": "org.apache.derby.jdbc.EmbeddedDriver",
            "dbtable": "bench_rows",
        }
        spark.createDataFrame(table).write.format("jdbc").options(**at).save()
        spark.read.format("jdbc").options(**at).load().createOrReplaceTempView(name)


def _floor(ground: Ground, kind: str, targets: int) -> dict[str, Arm]:
    """The source rows alone, by the best way there is; the first is what all are held against."""
    files = {"parquet": "read_parquet('{}/deriving.parquet')", "csv": "read_csv('{}/deriving.csv')"}
    connection = psycopg2.connect(ground.lineage.store.url)

    def look_up() -> Any:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, team, amount, name FROM bench_floor WHERE team < %s", (targets,))
            return cursor.fetchall()

    arms = {"bare look-up in PostgreSQL": Arm(look_up, sorted)}
    if kind in files:
        sql = f"SELECT * FROM {files[kind].format(ground.folder)} WHERE team < {targets}"
        arms = {"DuckDB on the same files": Arm(lambda: duckdb.execute(sql).to_arrow_table(), _rows)} | arms
    return arms


def _asking(ground: Ground, made: str, source: str, targets: int) -> tuple[dict[str, Arm], dict[str, str]]:
    """Without Spark, where nothing needs it, or else why not; and with: by Spark's own queries, where those without would be DuckDB's."""
    without = Lineage(store=ground.lineage.store).get_run(made)
    answer = partial(_of, source)
    arms: dict[str, Arm] = {}
    notes: dict[str, str] = {}
    try:
        _explained(without, targets)
        for kind, ask in {"without Spark": _explained, AS_PEOPLE_ASK: _as_people_ask}.items():
            arms[f"first, {kind}"] = Arm(partial(_opened, ground, made, partial(ask, targets=targets)), answer)
            arms[f"again, {kind}"] = Arm(partial(ask, without, targets), answer)
    except SparkRequired as problem:
        notes["without Spark"] = str(problem)
    known = ground.lineage.get_run(made)
    by_spark = _without_duckdb(lambda: _explained(known, targets))
    return arms | {"again, by Spark" if source != "bench_session" else "again, with Spark": Arm(by_spark, answer)}, notes


def _opened(ground: Ground, made: str, ask: Callable[[Run], Any]) -> Any:
    with Lineage(store=ground.lineage.store.url) as lineage:
        return ask(lineage.get_run(made))


def _as_people_ask(run: Run, targets: int) -> Any:
    """The answer is kept, and other runs are looked for."""
    return run.explain(f"team < {targets}", max_rows=10**6)


def _explained(run: Run, targets: int) -> Any:
    return run.explain(f"team < {targets}", save=False, across=False, max_rows=10**6)


def _of(source: str, found: Any) -> list[Any]:
    return _rows(found.sources[source].rows)


def _rows(table: pa.Table) -> list[Any]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def _without_duckdb(ask: Callable[[], Any]) -> Callable[[], Any]:
    def asked() -> Any:
        with _hidden("duckdb"):
            return ask()

    return asked


@contextmanager
def _hidden(module: str) -> Iterator[None]:
    """As if it were not installed, and nothing were kept of files that were read with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_source, "KEPT", Kept(0))
        patch.setitem(sys.modules, module, None)
        yield
