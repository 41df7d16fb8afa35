"""The version that was read decides which run is traced: of files, catalog tables and PostgreSQL tables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.records.versions import FilesVersion, UnknownVersion
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, links_of, runs_of
from tests.in_turn import STRATEGIES
from tests.pipeline.across.small_runs import exact, sources, sql, totals

pytestmark = pytest.mark.spark


def test_a_source_of_no_run_stays(lineage: Lineage, tables: Path) -> None:
    b = lineage.run(sql("SELECT client FROM {orders} WHERE amount > 10", orders=str(tables / "orders")), name="b")
    found = b.explain("true")
    assert sources(found) == {"orders": [2, 3]}
    assert found.intermediate == {}
    assert exact(found)


def test_a_table_that_feeds_its_next_version(lineage: Lineage, tables: Path) -> None:
    """Versions at paths of their own: each is made of the one before it and of new rows."""
    orders = str(tables / "orders")
    runs = [lineage.run(sql("SELECT rid, amount FROM {orders} WHERE rid <= 2", orders=orders), name="v", output=str(tables / "v1"))]
    for version, rids in ((2, "3, 4"), (3, "5, 6")):
        text = f"SELECT rid, amount FROM {{v}} UNION ALL SELECT rid, amount FROM {{orders}} WHERE rid IN ({rids})"
        pipeline = sql(text, v=str(tables / f"v{version - 1}"), orders=orders)
        runs.append(lineage.run(pipeline, name="v", output=str(tables / f"v{version}")))
    last = lineage.run(sql("SELECT sum(amount) AS s FROM {v} WHERE rid IN (1, 4, 5)", v=str(tables / "v3")), name="sum")
    found = last.explain("true")
    assert sources(found) == {"orders": [1, 4, 5]}
    assert {runs_of(found)[name] for name in found.intermediate} == {run.id for run in runs}
    assert exact(found)


def test_a_path_that_runs_append_to(lineage: Lineage, tables: Path) -> None:
    """Each run reads the path and appends to it: its rows go to the run that wrote their file."""
    path, orders = str(tables / "log"), str(tables / "orders")
    first = lineage.run(sql("SELECT rid, amount FROM {orders} WHERE rid = 1", orders=orders), name="log", output=f"{path}+append")
    grow = "SELECT orders.rid, amount FROM {orders} JOIN (SELECT max(rid) + 1 AS next FROM {log}) ON orders.rid = next"
    later = [lineage.run(sql(grow, orders=orders, log=path), name="log", output=f"{path}+append") for _ in range(2)]
    last = lineage.run(sql("SELECT rid, amount FROM {log}", log=path), name="read")
    one = last.explain("rid = 1")
    assert sources(one) == {"orders": [1]}
    assert [found.run.id for found in one.intermediate.values()] == [first.id]
    three = last.explain("rid = 3")
    assert sources(three)["orders"] == [1, 2, 3]
    assert {found.run.id for found in three.intermediate.values()} == {first.id, *(run.id for run in later)}
    assert exact(three), guarantees_of(three)


def test_rows_that_nobody_recorded_in_the_same_path(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    path = str(tables / "mixed")
    lineage.run(sql("SELECT rid, amount FROM {orders} WHERE rid = 1", orders=str(tables / "orders")), name="a", output=path)
    spark.createDataFrame([(99, 1)], "rid int, amount int").coalesce(1).write.mode("append").parquet(path)
    found = lineage.run(sql("SELECT sum(amount) AS s FROM {mixed}", mixed=path), name="b").explain("true")
    assert sources(found) == {"mixed": [99], "orders": [1]}
    assert found.intermediate["mixed"].rows.to_pylist() == [{"rid": 1, "amount": 10}]
    assert exact(found)


def test_the_version_that_was_read_decides(lineage: Lineage, tables: Path) -> None:
    path, orders = str(tables / "latest"), str(tables / "orders")
    old = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid < 3", orders=orders), name="old", output=path)
    early = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="early")
    assert runs_of(early.explain("r = 2"))["latest"] == old.id
    new = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid > 1", orders=orders), name="new", output=f"{path}+overwrite")
    late = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="late")
    assert runs_of(late.explain("r = 2"))["latest"] == new.id
    # The files that the early run read are gone: what the run that wrote them stored is what was in them.
    found = early.explain("r = 2")
    assert (sources(found), runs_of(found)["latest"]) == ({"orders": [2]}, old.id)
    assert found.stale
    assert exact(found), guarantees_of(found)
    assert early.explain("r = 2", across=False).guarantee.level == "unavailable"


def test_a_catalog_table(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    try:
        text = "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client"
        a = lineage.run(sql(text, orders=str(tables / "orders")), name="a", output="table:across_totals")
        more = lineage.run("SELECT 'new' AS client, CAST(1 AS bigint) AS total", name="more", output="table:across_totals+append")
        b = lineage.run("SELECT client, total FROM across_totals", name="b")
        found = b.explain("client = 'bob'")
        assert sources(found) == {"orders": [3, 4]}
        assert runs_of(found)["across_totals"] == a.id
        assert exact(found)
        assert runs_of(b.explain("client = 'new'"))["across_totals"] == more.id
    finally:
        spark.sql("DROP TABLE IF EXISTS across_totals")


def test_a_run_that_was_dropped(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    lineage.drop(a.id)
    found = b.explain("client = 'ann'")
    assert found.sources["totals"].to_pylist() == [{"client": "ann", "total": 30}]
    assert found.intermediate == {}
    assert a.id in guarantees_of(found)["totals"].cause
    assert "dropped" in guarantees_of(found)["totals"].cause


def test_another_writer_at_the_same_time(lineage: Lineage, tables: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files are whose cannot be told: none is taken for the run's."""
    path = str(tables / "shared")
    plain = Output._files
    seen: list[int] = []

    def files(self: Output, session: SparkSession, places: Sequence[str]) -> Any:
        seen.append(1)
        if len(seen) == 2:
            spark.range(3).selectExpr("CAST(id AS int) AS rid").coalesce(1).write.mode("append").parquet(path)
        return plain(self, session, places)

    monkeypatch.setattr(Output, "_files", files)
    a = lineage.run(sql("SELECT rid FROM {orders}", orders=str(tables / "orders")), name="a", output=f"{path}+append")
    written = lineage.get_run(a.id).record.output
    assert written is not None
    assert isinstance(written.version, UnknownVersion)
    assert "same time" in written.version.cause
    found = lineage.run(sql("SELECT rid FROM {shared}", shared=path), name="b").explain("rid = 1")
    assert list(found.sources) == ["shared"]
    assert found.intermediate == {}


def test_a_place_in_a_partition_is_no_place_in_the_result(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    """A task writes its rows into the folders of their partitions: the first of each folder is not the first of the task."""
    path = tables / "by_half"
    with lineage.recording(spark):
        spark.read.parquet(str(tables / "orders")).selectExpr("rid", "rid % 2 AS half").coalesce(1).write.partitionBy("half").parquet(
            str(path)
        )
    text = sql("SELECT rid, half FROM {by_half}", by_half=str(path))
    read = [lineage.run(text, name="reader", strategy=strategy) for strategy in STRATEGIES]
    assert [sources(run.explain("rid = 4"))["orders"] for run in read] == [[4]] * len(read)
    shutil.rmtree(path)
    for run in read:
        try:
            found = lineage.get_run(run.id).explain("rid = 4", save=False)
        except SourceUnavailable:
            continue
        assert sources(found).get("orders", [4]) == [4]
        assert not exact(found)


def test_more_files_than_are_listed(lineage: Lineage, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.spark import local_files

    monkeypatch.setattr(local_files, "LISTED_FILES", 1)
    path, orders = str(tables / "many"), str(tables / "orders")
    runs = [
        lineage.run(sql(f"SELECT rid FROM {{orders}} WHERE rid % 2 = {at}", orders=orders), name="a", output=f"{path}+append")
        for at in (0, 1)
    ]
    b = lineage.run(sql("SELECT rid FROM {many}", many=path), name="b")
    version = lineage.get_run(b.id).record.inputs[0].version
    assert isinstance(version, FilesVersion)
    assert version.digest is not None
    found = b.explain("rid = 3")
    assert sources(found) == {"orders": [3]}
    assert runs_of(found)["many"] == runs[1].id
    assert exact(found)


def test_rows_are_compared_null_safe_and_with_nan(lineage: Lineage, tables: Path) -> None:
    out = str(tables / "out")
    text = "SELECT rid, CASE WHEN rid = 1 THEN double('NaN') WHEN rid = 2 THEN NULL ELSE 0.5 END AS x, array(rid, NULL) AS l FROM {orders}"
    lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"json:{out}")
    b = lineage.run(lambda spark: spark.read.schema("x double, l array<int>").json(out), name="b")
    assert {k: sources(b.explain(k)) for k in ("isnan(x)", "x IS NULL")} == {
        "isnan(x)": {"orders": [1]},
        "x IS NULL": {"orders": [2]},
    }


def test_nothing_is_invented_for_an_empty_target_table(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(sql("SELECT rid FROM {orders} WHERE rid > 100", orders=str(tables / "orders")), name="a", output=str(tables / "none"))
    found = lineage.run(sql("SELECT count(*) AS n FROM {none}", none=str(tables / "none")), name="b").explain("n = 0")
    assert found.sources == {}
    assert found.intermediate["none"].run.id == a.id
    assert links_of(found)["target"].num_rows == 0


@pytest.fixture
def jdbc(spark: SparkSession, store: Store) -> Iterator[dict[str, str]]:
    """What Spark needs to read PostgreSQL; the driver is Debian's libpostgresql-jdbc-java, or where POSTGRESQL_JDBC says."""
    jar = Path(os.environ.get("POSTGRESQL_JDBC", "/usr/share/java/postgresql.jar"))
    if not jar.exists():
        pytest.skip("PostgreSQL's JDBC driver is not installed")
    spark.sql(f"ADD JAR '{jar}'")
    parts = urlsplit(store.tcp_url)
    login = {"user": parts.username or "postgres", "password": parts.password or ""}
    for name, value in login.items():
        spark.conf.set(f"spark.airflow_lineage.jdbc.{name}", value)
    url = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
    yield {"driver": "org.postgresql.Driver", "url": url, **login}
    for name in login:
        spark.conf.unset(f"spark.airflow_lineage.jdbc.{name}")


def execute(url: str, statement: str) -> None:
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(statement)


def read_jdbc(options: dict[str, str], table: str) -> Any:
    return lambda spark: spark.read.format("jdbc").options(**options, dbtable=table).load().where("client IS NOT NULL")


def test_a_postgresql_table(lineage: Lineage, tables: Path, store: Store, jdbc: dict[str, str]) -> None:
    """Overwritten, then appended to: the version that was read says which runs wrote it."""
    table = "across_totals"
    text = "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client"
    output = Output.postgres(store.url, table, "overwrite")
    a = lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=output)
    b = lineage.run(read_jdbc(jdbc, table), name="b")
    found = b.explain("client = 'ann'")
    assert sources(found) == {"orders": [1, 2]}
    assert runs_of(found)[table] == a.id
    assert exact(found), guarantees_of(found)
    onward = a.forward("rid = 2", "orders", across=True)
    assert [(one, rows.rows.to_pylist()) for one, rows in onward.later.items()] == [(b.id, [{"client": "ann", "total": 30}])]
    assert onward.guarantee.level == "exact", onward.guarantee
    more = lineage.run(
        "SELECT 'new' AS client, CAST(1 AS bigint) AS total", name="more", output=Output.postgres(store.url, table, "append")
    )
    c = lineage.run(read_jdbc(jdbc, f"public.{table}"), name="c")
    assert {who: runs_of(c.explain(f"client = '{who}'"))[table] for who in ("new", "bob")} == {"new": more.id, "bob": a.id}
    # The first run read its own version; the other has rows of two runs.
    assert list(a.forward("rid = 3", "orders", across=True).later) == [b.id, c.id]
    execute(store.url, "INSERT INTO public.across_totals VALUES ('foreign', 5)")
    d = lineage.run(read_jdbc(jdbc, table), name="d")
    left = d.explain("client = 'bob'")  # a version that no recorded run made
    assert left.intermediate == {}
    assert list(left.sources) == [table]
    execute(store.url, "DELETE FROM public.across_totals WHERE client = 'foreign' OR client = 'new'")
    execute(store.url, "UPDATE public.across_totals SET total = total + 1 WHERE client = 'ann'")
    changed = b.explain("client = 'bob'")  # as many rows as there were, but others
    assert changed.stale == (f"{table}: {table} has other rows than it had",)
    assert sources(changed) == {"orders": [3, 4]}


def test_rows_that_a_later_run_replaced_are_that_run_s(lineage: Lineage, tables: Path, store: Store, jdbc: dict[str, str]) -> None:
    """The same rows, appended twice as one key: they were made once, and what others appended between is known still."""
    table, text = "across_replaced", "SELECT client, sum(amount) AS total FROM {orders} WHERE rid % 2 = 1 GROUP BY client"
    output, orders = Output.postgres(store.url, table, "append"), str(tables / "orders")
    lineage.run(sql(text, orders=orders), name="a", output=output, append_key="k").close()
    between = lineage.run("SELECT 'new' AS client, CAST(1 AS bigint) AS total", name="between", output=output)
    again = lineage.run(sql(text, orders=orders), name="a", output=output, append_key="k")
    reader = lineage.run(read_jdbc(jdbc, f"public.{table}"), name="b")
    assert {who: runs_of(reader.explain(f"client = '{who}'"))[table] for who in ("new", "ann")} == {"new": between.id, "ann": again.id}
    found = reader.explain("client = 'ann'")
    assert exact(found), guarantees_of(found)
    assert sources(found) == {"orders": [1]}
    execute(store.url, f"DROP TABLE public.{table}")
