"""What explaining rows of a grouping takes, by where its source is: data made in the session, Parquet, CSV, a table of PostgreSQL.

One row, a hundred, ten thousand, of 10⁴ to 10⁷ rows; for the first time (everything opened anew) and again; without Spark and with.
Beside them the floor, a bare look-up of the source rows in an indexed table of PostgreSQL, and DuckDB on the same files. Then one row of
ever larger files, in turns; and of groupings by what is computed, as people write them, how many are explained without Spark.
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import numpy as np
import psycopg2
import pyarrow as pa
import pytest
from pyarrow import compute, csv, parquet

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.sources import whole_files
from airflow_lineage_provider.sources.kept import Kept
from tests.bench.comparison import Arm, Comparison, compared, per_factor_of_ten
from tests.bench.ground import Ground

JDBC = Path(os.environ.get("POSTGRESQL_JDBC", "/usr/share/java/postgresql.jar"))
"""PostgreSQL's driver: Debian's libpostgresql-jdbc-java, or where it says."""
ROWS = {"small": (20_000,), "full": (10_000, 100_000, 1_000_000, 10_000_000)}
AS_PEOPLE_ASK = "as people ask"
"""Without Spark, by `explain` with nothing but a target and how large it may be."""
EACH = 10
"""Rows of a group."""
TARGETS = {"small": (1, 100, 1_000), "full": (1, 100, 10_000)}
"""Groups that are asked about; of tables that have more of them."""
KINDS = ("session", "parquet", "csv", "postgresql")
MOST_OF_SESSION = 1_000_000
"""Rows that are made in a session: as many as people make there."""
SQL = "SELECT team, count(*) AS n, sum(amount) AS total FROM {source} GROUP BY team"
GROWING = {"small": (10_000, 100_000), "full": (10_000, 100_000, 1_000_000, 10_000_000)}
"""Rows of a Parquet file of which one group is explained."""
GROUPINGS = (
    "team % 10", "amount + id", "amount * 0.5D", "amount / 7.0D", "CASE WHEN amount > 500 THEN 'large' ELSE 'small' END",
    "coalesce(name, '')", "upper(name)", "substring(name, 5, 1)", "length(name)", "concat(name, '!')", "trim(lower(name))", "year(day)",
    "trunc(day, 'MM')", "dayofweek(day)", "datediff(day, DATE '2020-01-01') % 7", "date_format(day, 'yyyy-MM')", "abs(amount)",
    "greatest(team, amount)", "CAST(amount AS string)", "round(amount / 3.0D, 1)", "regexp_extract(name, '[0-9]', 0)",
    "date_trunc('HOUR', at)", "hash(name) % 10", "to_date(at)", "hour(at)", "date_format(at, 'yyyy-MM-dd HH')", "left(name, 5)",
    "replace(name, ' ', '')", "regexp_replace(name, '[0-9]+', '')", "substring_index(name, ' ', 1)", "sha2(name, 256)", "pmod(amount, 7)",
    "floor(amount / 100)", "CAST(amount / 10 AS int)", "add_months(day, 1)", "CAST(day AS string)", "nullif(name, 'row 0')",
)  # fmt: skip
GROWTH = "wall ÷ per factor of ten"
SHARE = "share without Spark"


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each source and number of targets, one of files that grow, one of groupings."""
    if ground.wants("by source"):
        yield from _by_source(ground)
    if ground.wants("a file that grows"):
        yield _growing(ground)
    if ground.wants("groupings"):
        yield _groupings(ground)


def _by_source(ground: Ground) -> Iterator[Comparison]:
    for rows in ROWS[ground.size]:
        table = _table(rows)
        _floor_table(ground, table)
        for kind in KINDS:
            if (kind != "postgresql" or JDBC.exists()) and (kind != "session" or rows <= MOST_OF_SESSION):
                yield from _of_kind(ground, kind, table)
    if not JDBC.exists():
        yield Comparison("source: postgresql", "", {}, notes={"PostgreSQL": f"its JDBC driver is not at {JDBC} (POSTGRESQL_JDBC)"})


def _of_kind(ground: Ground, kind: str, table: pa.Table) -> Iterator[Comparison]:
    source, groups = f"bench_{kind}_{table.num_rows}", table.num_rows // EACH
    _view(ground, kind, source, table)
    made = ground.lineage.run(SQL.format(source=source), name=f"bench deriving {source}")
    made.close()
    for targets in (one for one in TARGETS[ground.size] if one < groups):
        asked, notes = _asking(ground, made.id, kind, source, targets)
        arms = _floor(ground, kind, source, targets) | asked
        found = compared(f"{targets:,} of {groups:,} groups, source: {kind}", arms, ground.meter, ground.repeats)
        found.notes = notes
        yield found


def _growing(ground: Ground) -> Comparison:
    """One group, again, of files of ever more rows."""
    arms: dict[str, Arm] = {}
    stored: dict[str, int] = {}
    for rows in GROWING[ground.size]:
        name = f"growing_{rows}"
        parquet.write_table(_table(rows), ground.folder / f"{name}.parquet")
        ground.tables(name)
        made = ground.lineage.run(f"SELECT team, count(*) AS n FROM {name} GROUP BY team", name=f"bench {name}")
        stored[f"{rows:,} rows"] = sum(table.rows or 0 for table in made.stored)
        made.close()
        asked = Lineage(store=ground.lineage.store).get_run(made.id)
        arms[f"{rows:,} rows"] = Arm(partial(_explained, asked, 1), partial(_count_of, name))
    found = compared("one group of a Parquet file that grows, without Spark", arms, ground.meter, ground.repeats)
    found.facts = {name: {"stored rows": float(rows)} for name, rows in stored.items()}
    for rows in GROWING[ground.size][1:]:
        figures = found.figures()[f"{rows:,} rows"]
        found.facts[f"{rows:,} rows"][GROWTH] = per_factor_of_ten(figures["wall ÷"], rows / GROWING[ground.size][0])
    return found


def _count_of(source: str, found: Any) -> int:
    return int(found.sources[source].rows.num_rows)


def _groupings(ground: Ground) -> Comparison:
    """Each group of each, without Spark where that is possible, and with it."""
    rows, day = 1_000, datetime.date(2023, 12, 25)
    table = _table(rows).append_column("day", pa.array([day + datetime.timedelta(n % 90) for n in range(rows)], pa.date32()))
    table = table.append_column("at", pa.array([n * 10**9 for n in range(rows)], pa.timestamp("us", tz="UTC")))
    parquet.write_table(table, ground.folder / "groupings.parquet")
    ground.tables("groupings")
    made = {
        one: ground.lineage.run(f"SELECT {one} AS g, count(*) AS n FROM groupings GROUP BY 1", name=f"bench {one}") for one in GROUPINGS
    }
    without = {one: Lineage(store=ground.lineage.store).get_run(run.id) for one, run in made.items()}
    refused: dict[str, str] = {}
    for one, run in without.items():
        try:
            _links_of(run)
        except SparkRequired as problem:
            refused[one] = str(problem)
    able = [one for one in GROUPINGS if one not in refused]
    told = {SHARE: lambda: "\n".join(f"{one}: {why}" for one, why in refused.items())}
    arms = {
        "without Spark": Arm(lambda: [_links_of(without[one]) for one in able], parts=told),
        "by Spark": Arm(_without_duckdb(lambda: [_links_of(made[one]) for one in able])),
    }
    found = compared(f"the groups of {len(able)} groupings by what is computed, source: parquet", arms, ground.meter, ground.repeats)
    found.facts["without Spark"] = {SHARE: round(len(able) / len(GROUPINGS), 3)}
    found.notes = refused
    return found


def _links_of(run: Run) -> list[tuple[Any, ...]]:
    """Each row of the result with each source row behind it."""
    found = run.explain("n > 0", save=False, across=False, max_rows=10**6)
    groups, ids = (one.to_pylist() for one in (found.target.column("g"), found.sources["groupings"].rows.column("id")))
    return sorted((repr(groups[row]), ids[source]) for row, _, source in zip(*found.target_links.to_pydict().values(), strict=True))


def _table(rows: int) -> pa.Table:
    numbers = np.arange(rows, dtype=np.int64)
    names = compute.binary_join_element_wise("row", pa.array(numbers).cast(pa.string()), " ")
    return pa.table({"id": numbers, "team": numbers % (rows // EACH), "amount": numbers * 7 % 1_000, "name": names})


def _floor_table(ground: Ground, table: pa.Table) -> None:
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("bench_floor", table, mode="replace")
        cursor.execute("CREATE INDEX ON bench_floor (team)")
        connection.commit()


def _view(ground: Ground, kind: str, name: str, table: pa.Table) -> None:
    spark, path = ground.spark, str(ground.folder / f"{name}.{kind}")
    if kind == "session":
        spark.createDataFrame(table).createOrReplaceTempView(name)
    elif kind == "parquet":
        parquet.write_table(table, path)
        spark.read.parquet(path).createOrReplaceTempView(name)
    elif kind == "csv":
        csv.write_csv(table, path)
        read = spark.read.schema("id bigint, team bigint, amount bigint, name string").option("header", "true")
        read.csv(path).createOrReplaceTempView(name)
    else:
        parts = urlsplit(ground.lineage.store.tcp_url)
        login = {"user": parts.username or "postgres", "password": parts.password or ""}
        spark.sql(f"ADD JAR '{JDBC}'")
        for option, value in login.items():
            spark.conf.set(f"spark.airflow_lineage.jdbc.{option}", value)
        url = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
        # Without a fetch size, PostgreSQL's driver holds all rows at once.
        at = {"url": url, "driver": "org.postgresql.Driver", "dbtable": "bench_floor", "fetchsize": "10000", **login}
        spark.read.format("jdbc").options(**at).load().createOrReplaceTempView(name)


def _floor(ground: Ground, kind: str, source: str, targets: int) -> dict[str, Arm]:
    """The source rows alone, by the best way there is; the first is what all are held against."""
    readers = {"parquet": "read_parquet", "csv": "read_csv"}
    connection = psycopg2.connect(ground.lineage.store.url)

    def look_up() -> Any:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, team, amount, name FROM bench_floor WHERE team < %s", (targets,))
            return cursor.fetchall()

    arms = {"bare look-up in PostgreSQL": Arm(look_up, sorted)}
    if kind in readers:
        sql = f"SELECT * FROM {readers[kind]}('{ground.folder}/{source}.{kind}') WHERE team < {targets}"
        arms = {"DuckDB on the same files": Arm(lambda: duckdb.execute(sql).to_arrow_table(), _rows)} | arms
    return arms


def _asking(ground: Ground, made: str, kind: str, source: str, targets: int) -> tuple[dict[str, Arm], dict[str, str]]:
    """Without Spark, where nothing needs it, or else why not; and with: by Spark's own queries, where those without would be DuckDB's."""
    without = Lineage(store=ground.lineage.store).get_run(made)
    answer = partial(_of, source)
    arms: dict[str, Arm] = {}
    notes: dict[str, str] = {}
    try:
        _explained(without, targets)
        for how, ask in {"without Spark": _explained, AS_PEOPLE_ASK: _as_people_ask}.items():
            arms[f"first, {how}"] = Arm(partial(_opened, ground, made, partial(ask, targets=targets)), answer)
            arms[f"again, {how}"] = Arm(partial(ask, without, targets), answer)
    except SparkRequired as problem:
        notes["without Spark"] = str(problem)
    known = ground.lineage.get_run(made)
    by_spark = _without_duckdb(lambda: _explained(known, targets))
    return arms | {"again, by Spark" if kind != "session" else "again, with Spark": Arm(by_spark, answer)}, notes


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
        patch.setattr(whole_files, "KEPT", Kept(0))
        patch.setitem(sys.modules, module, None)
        yield
