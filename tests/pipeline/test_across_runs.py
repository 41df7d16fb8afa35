"""Lineage across runs: what one run wrote and another read is traced through, by the version that was read, to the real sources."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.output import Output
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

ORDERS = [(1, "ann", 10), (2, "ann", 20), (3, "bob", 30), (4, "bob", 5), (5, "cy", 7), (6, None, 7)]
CLIENTS = [("ann", "UK"), ("bob", "US"), ("cy", "UK")]


@reasoned_udf("string")
def extent(x: int) -> str:
    return "big" if x >= 20 else "small"


@extent.with_reason
def _(x: int) -> tuple[str, Any]:
    return extent.main(x), {"x": x}


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    extent.register(spark)
    return Lineage(spark, store=store)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Path:
    spark.createDataFrame(ORDERS, "rid int, client string, amount int").repartition(2, "rid").write.parquet(str(tmp_path / "orders"))
    spark.createDataFrame(CLIENTS, "client string, country string").coalesce(1).write.parquet(str(tmp_path / "clients"))
    return tmp_path


def sql(text: str, **paths: str) -> str:
    """A query over Parquet files, each under the name that it is given."""
    return text.format(**{name: f"parquet.`{path}` AS {name}" for name, path in paths.items()})


def sources(found: Any, column: str = "rid") -> dict[str, list[Any]]:
    return {
        name: sorted(table.column(column).to_pylist(), key=repr) for name, table in found.source.items() if column in table.column_names
    }


def behind(found: Any, row: int, column: str = "rid", links: str = "target") -> dict[str, list[Any]]:
    """What stands behind one row, by source."""
    names: dict[str, list[Any]] = {}
    for link in found.links[links].to_pylist():
        if link["row"] == row:
            names.setdefault(link["source"], []).append(found.source[link["source"]].column(column)[link["source_row"]].as_py())
    return {name: sorted(values, key=repr) for name, values in names.items()}


def exact(found: Any) -> bool:
    return {one.level for one in found.guarantees.values()} <= {"exact"}


def totals(lineage: Lineage, tables: Path, name: str = "totals", **options: Any) -> Any:
    """Run A: one row for each client, out of two partitions."""
    text = "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client"
    return lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"{tables / name}+overwrite", **options)


def test_two_runs(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total FROM {totals} WHERE total > 20", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'ann'")
    assert sources(found) == {"orders": [1, 2]}
    assert list(found.intermediate) == ["totals"]
    between = found.intermediate["totals"]
    assert (between.run.id, between.run.pipeline, found.runs["totals"]) == (a.id, "a", a.id)
    assert between.rows.to_pylist() == [{"client": "ann", "total": 30}]
    assert behind(found, 0) == {"orders": [1, 2]}
    assert behind(found, 0, links="totals") == {"orders": [1, 2]}
    assert exact(found), found.guarantees
    whole = b.explain("true")
    assert {whole.target.column("client")[row].as_py(): behind(whole, row)["orders"] for row in (0, 1)} == {"ann": [1, 2], "bob": [3, 4]}


def test_without_across_a_derivation_ends_at_what_the_run_read(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    b = lineage.run(sql("SELECT client FROM {totals} WHERE total > 20", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'ann'", across=False)
    assert found.source["totals"].to_pylist() == [{"client": "ann", "total": 30}]
    assert found.intermediate == {}
    assert list(found.source) == ["totals"]


def test_three_runs_and_the_answer_is_kept(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    text = "SELECT country, total, clients.client FROM {totals} JOIN {clients} ON totals.client = clients.client"
    b = lineage.run(sql(text, totals=str(tables / "totals"), clients=str(tables / "clients")), name="b", output=str(tables / "joined"))
    c = lineage.run(sql("SELECT country, max(total) AS most FROM {joined} GROUP BY country", joined=str(tables / "joined")), name="c")
    found = c.explain("country = 'UK'")
    assert sources(found) == {"orders": [1, 2, 5]}
    assert sources(found, "client")["clients"] == ["ann", "cy"]
    assert {name: one.run.id for name, one in found.intermediate.items()} == {"joined": b.id, "totals": a.id}
    assert exact(found)
    again = lineage.derivation(found.id)
    assert (again.source, again.links, again.runs, again.guarantees) == (found.source, found.links, found.runs, found.guarantees)
    assert {name: (one.run.id, one.rows) for name, one in again.intermediate.items()} == {
        name: (one.run.id, one.rows) for name, one in found.intermediate.items()
    }


def test_a_diamond_is_one_derivation(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    where = str(tables / "totals")
    for name, condition in (("low", "total < 20"), ("high", "total >= 7")):
        lineage.run(sql(f"SELECT client, total FROM {{totals}} WHERE {condition}", totals=where), name=name, output=str(tables / name))
    d = lineage.run(
        sql(
            "SELECT low.client AS low, high.client AS high FROM {low} JOIN {high} ON low.total <= high.total",
            low=str(tables / "low"),
            high=str(tables / "high"),
        ),
        name="d",
    )
    found = d.explain("low = 'cy' AND high IN ('ann', 'cy')")
    assert sources(found) == {"orders": [1, 2, 5]}
    assert sorted(found.intermediate) == ["high", "low", "totals"]
    assert found.runs["totals"] == a.id
    assert sorted(found.intermediate["totals"].rows.column("client").to_pylist()) == ["ann", "cy"]
    high = {found.target.column("high")[row].as_py(): behind(found, row)["orders"] for row in (0, 1)}
    assert high == {"ann": [1, 2, 5], "cy": [5]}
    assert exact(found)


def test_one_real_source_on_two_paths(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    text = "SELECT rid, total FROM {totals} JOIN {purchases} ON totals.client = purchases.client"
    b = lineage.run(sql(text, totals=str(tables / "totals"), purchases=str(tables / "orders")), name="b")
    found = b.explain("rid = 1")
    assert len(found.source) == 1  # what run B calls otherwise is the same table in the same version
    assert behind(found, 0) == {next(iter(found.source)): [1, 2]}


def test_each_duplicate_has_its_own_lineage(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(sql("SELECT amount FROM {orders}", orders=str(tables / "orders")), name="a", output=str(tables / "amounts"))
    b = lineage.run(sql("SELECT amount AS x FROM {amounts}", amounts=str(tables / "amounts")), name="b")
    found = b.explain("x = 7")
    assert found.target.num_rows == 2
    assert found.runs["amounts"] == a.id
    assert sorted(behind(found, row)["orders"] for row in (0, 1)) == [[5], [6]]
    assert exact(found)


def test_duplicates_that_cannot_be_told_apart_are_marked(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    out = str(tables / "amounts")
    lineage.run(sql("SELECT amount FROM {orders}", orders=str(tables / "orders")), name="a", output=f"json:{out}")
    b = lineage.run(lambda spark: spark.read.schema("amount int").json(out).selectExpr("amount AS x"), name="b")
    found = b.explain("x = 7")
    assert sources(found) == {"orders": [5, 6]}
    assert behind(found, 0) == {"orders": [5, 6]}
    assert found.guarantees["orders"].level == "superset"
    assert found.guarantees["amounts"].level == "superset"
    alone = b.explain("x = 30")
    assert sources(alone) == {"orders": [3]}
    assert exact(alone)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_values_as_the_reader_types_them(lineage: Lineage, tables: Path, format: str) -> None:
    out = str(tables / "out")
    text = "SELECT rid, client, CAST(amount AS decimal(10, 2)) AS amount, amount / 3 AS third, DATE '2026-01-01' + rid AS day FROM {orders}"
    lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"{format}:{out}")
    schema = "rid bigint, client string, amount double, third double, day string"
    b = lineage.run(lambda spark: spark.read.schema(schema).format(format).load(out).where("rid > 2"), name="b")
    found = b.explain("rid IN (3, 6)")
    assert sources(found) == {"orders": [3, 6]}
    assert exact(found), found.guarantees


def test_values_that_the_format_lost_are_said(lineage: Lineage, tables: Path) -> None:
    out = str(tables / "out")
    text = "SELECT rid, TIMESTAMP '2026-01-01 10:00:00.123456' AS at FROM {orders}"
    a = lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"csv:{out}")
    b = lineage.run(lambda spark: spark.read.schema("rid int, at timestamp").csv(out), name="b")
    found = b.explain("rid = 3")
    assert sources(found) == {"out": [3]}
    assert found.intermediate == {}
    assert found.guarantee.level == "unavailable"
    assert a.id in found.guarantees["out"].cause


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
    assert {found.runs[name] for name in found.intermediate} == {run.id for run in runs}
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
    assert exact(three), three.guarantees


def test_rows_that_nobody_recorded_in_the_same_path(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    path = str(tables / "mixed")
    lineage.run(sql("SELECT rid, amount FROM {orders} WHERE rid = 1", orders=str(tables / "orders")), name="a", output=path)
    spark.createDataFrame([(99, 1)], "rid int, amount int").coalesce(1).write.mode("append").parquet(path)
    found = lineage.run(sql("SELECT sum(amount) AS s FROM {mixed}", mixed=path), name="b").explain("true")
    assert sources(found) == {"mixed": [99], "orders": [1]}
    assert found.intermediate["mixed_2"].rows.to_pylist() == [{"rid": 1, "amount": 10}]
    assert exact(found)


def test_the_version_that_was_read_decides(lineage: Lineage, tables: Path) -> None:
    path, orders = str(tables / "latest"), str(tables / "orders")
    old = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid < 3", orders=orders), name="old", output=path)
    early = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="early")
    assert early.explain("r = 2").runs["latest"] == old.id
    new = lineage.run(sql("SELECT client, rid FROM {orders} WHERE rid > 1", orders=orders), name="new", output=f"{path}+overwrite")
    late = lineage.run(sql("SELECT client, rid AS r FROM {latest}", latest=path), name="late")
    assert late.explain("r = 2").runs["latest"] == new.id
    # The files that the early run read are gone: what the run that wrote them stored is what was in them.
    found = early.explain("r = 2")
    assert (sources(found), found.runs["latest"]) == ({"orders": [2]}, old.id)
    assert found.stale
    assert exact(found), found.guarantees
    assert early.explain("r = 2", across=False).guarantee.level == "unavailable"


def test_a_catalog_table(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    try:
        text = "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client"
        a = lineage.run(sql(text, orders=str(tables / "orders")), name="a", output="table:across_totals")
        more = lineage.run("SELECT 'new' AS client, CAST(1 AS bigint) AS total", name="more", output="table:across_totals+append")
        b = lineage.run("SELECT client, total FROM across_totals", name="b")
        found = b.explain("client = 'bob'")
        assert sources(found) == {"orders": [3, 4]}
        assert found.runs["across_totals"] == a.id
        assert exact(found)
        assert b.explain("client = 'new'").runs["across_totals"] == more.id
    finally:
        spark.sql("DROP TABLE IF EXISTS across_totals")


def test_a_run_that_was_dropped(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    lineage.drop(a.id)
    found = b.explain("client = 'ann'")
    assert found.source["totals"].to_pylist() == [{"client": "ann", "total": 30}]
    assert found.intermediate == {}
    assert a.id in found.guarantees["totals"].cause
    assert "dropped" in found.guarantees["totals"].cause


@pytest.mark.parametrize("strategy", ["rerun", "full_materialization"])
def test_another_strategy_upstream(lineage: Lineage, tables: Path, strategy: str) -> None:
    a = totals(lineage, tables, strategy=strategy)
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    found = b.explain("client = 'bob' OR client IS NULL")
    assert sources(found) == {"orders": [3, 4, 6]}
    assert found.runs["totals"] == a.id
    assert exact(found)


def test_a_rerun_upstream_that_cannot_be_repeated_is_said(lineage: Lineage, tables: Path) -> None:
    a = totals(lineage, tables, strategy="rerun")
    b = lineage.run(sql("SELECT client, total FROM {totals}", totals=str(tables / "totals")), name="b")
    shutil.rmtree(tables / "orders")
    found = b.explain("client = 'bob'")
    assert list(found.source) == ["totals"]
    assert found.guarantee.level == "unavailable"
    assert a.id in found.guarantee.cause
    assert "orders" in found.guarantee.cause


def test_reasons_of_all_runs(lineage: Lineage, tables: Path) -> None:
    a = lineage.run(
        sql("SELECT rid, amount, extent(amount) AS s FROM {orders}", orders=str(tables / "orders")), name="a", output=str(tables / "sized")
    )
    b = lineage.run(sql("SELECT s, extent(CAST(sum(amount) AS int)) AS t FROM {sized} GROUP BY s", sized=str(tables / "sized")), name="b")
    found = b.explain("s = 'small'")
    assert list(found.reasons) == ["extent", "extent_2"]
    assert (found.runs["extent"], found.runs["extent_2"]) == (b.id, a.id)
    assert found.reasons["extent"].column("value").to_pylist() == ["big"]
    assert sorted(found.reasons["extent_2"].column(1).to_pylist()) == [5, 7, 10]
    assert behind(found, 0, links="extent") == {"orders": [1, 4, 5, 6]}
    calls = {row: found.reasons["extent_2"].column(1)[row].as_py() for row in range(3)}
    assert {amount: behind(found, row, links="extent_2")["orders"] for row, amount in calls.items()} == {10: [1], 5: [4], 7: [5, 6]}
    assert exact(found)


def test_a_difference_over_a_runs_output(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    text = "SELECT client FROM {clients} LEFT ANTI JOIN {totals} ON totals.client = clients.client AND total > 20"
    pipeline = sql(text, clients=str(tables / "clients"), totals=str(tables / "totals"))
    b = lineage.run(pipeline, name="b", output=str(tables / "left_over"))
    c = lineage.run(sql("SELECT upper(client) AS who FROM {left_over}", left_over=str(tables / "left_over")), name="c")
    found = c.explain("who = 'CY'")
    assert [(one.sources, one.rows, one.run) for one in found.controls] == [(("totals",), (0,), b.id)]
    assert found.intermediate["totals"].rows.num_rows == 0
    assert sources(found, "client") == {"clients": ["cy"]}


def test_verification_is_of_the_run_that_was_asked(lineage: Lineage, tables: Path) -> None:
    totals(lineage, tables)
    b = lineage.run(sql("SELECT client, total + 1 AS more FROM {totals}", totals=str(tables / "totals")), name="b")
    assert b.explain("client = 'ann'", verify=True).verified is True


def test_shown_and_as_a_document(lineage: Lineage, tables: Path) -> None:
    from io import StringIO

    from rich.console import Console

    a = totals(lineage, tables)
    found = lineage.run(sql("SELECT client FROM {totals}", totals=str(tables / "totals")), name="b").explain("client = 'ann'")
    document = found.to_dict()
    assert document["intermediate"]["totals"]["run"]["id"] == a.id
    assert document["intermediate"]["totals"]["rows"] == [["ann", 30]]
    assert document["runs"] == {"totals": a.id}
    out = StringIO()
    found.show(Console(file=out, width=200))
    assert f"Through totals, 1 row written by run {a.id} of a" in out.getvalue()


def test_another_writer_at_the_same_time(lineage: Lineage, tables: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files are whose cannot be told: none is taken for the run's."""
    path = str(tables / "shared")
    plain = Output._files
    seen: list[int] = []

    def files(self: Output, session: SparkSession) -> Any:
        seen.append(1)
        if len(seen) == 2:
            spark.range(3).selectExpr("CAST(id AS int) AS rid").coalesce(1).write.mode("append").parquet(path)
        return plain(self, session)

    monkeypatch.setattr(Output, "_files", files)
    a = lineage.run(sql("SELECT rid FROM {orders}", orders=str(tables / "orders")), name="a", output=f"{path}+append")
    assert "same time" in lineage.get(a.id).record.output["version"]["cause"]
    found = lineage.run(sql("SELECT rid FROM {shared}", shared=path), name="b").explain("rid = 1")
    assert list(found.source) == ["shared"]
    assert found.intermediate == {}


def test_more_files_than_are_listed(lineage: Lineage, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.spark import local_files

    monkeypatch.setattr(local_files, "LISTED_FILES", 1)
    path, orders = str(tables / "many"), str(tables / "orders")
    runs = [
        lineage.run(sql(f"SELECT rid FROM {{orders}} WHERE rid % 2 = {at}", orders=orders), name="a", output=f"{path}+append")
        for at in (0, 1)
    ]
    b = lineage.run(sql("SELECT rid FROM {many}", many=path), name="b")
    assert "digest" in lineage.get(b.id).record.inputs[0]["version"]
    found = b.explain("rid = 3")
    assert sources(found) == {"orders": [3]}
    assert found.runs["many"] == runs[1].id
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
    assert found.source == {}
    assert found.intermediate["none"].run.id == a.id
    assert found.links["target"].num_rows == 0


def test_without_spark(lineage: Lineage, tables: Path, store: Store) -> None:
    """Stored rows and Parquet files need no session; what does need one says for which run."""
    out = str(tables / "picked")
    a = lineage.run(sql("SELECT rid, amount FROM {orders}", orders=str(tables / "orders")), name="a", output=out)
    b = lineage.run(sql("SELECT rid AS r FROM {picked}", picked=out), name="b")
    found = Lineage(store=store).get(b.id).explain("r = 3")
    assert sources(found) == {"orders": [3]}
    assert found.runs == {"picked": a.id}
    again = totals(lineage, tables, strategy="rerun")
    c = lineage.run(sql("SELECT client FROM {totals}", totals=str(tables / "totals")), name="c")
    with pytest.raises(SparkRequired, match=again.id):
        Lineage(store=store).get(c.id).explain("client = 'ann'")
    assert list(Lineage(store=store).get(c.id).explain("client = 'ann'", across=False).source) == ["totals"]


def test_equal_rows_of_two_runs(lineage: Lineage, tables: Path) -> None:
    """The same row out of two runs, in a format that does not tell where a row stands: both are shown, and it is said."""
    out, orders = str(tables / "twice"), str(tables / "orders")
    text = "SELECT amount FROM {orders} WHERE rid = "
    runs = [lineage.run(sql(text + str(rid), orders=orders), name="a", output=f"json:{out}+append") for rid in (5, 6)]
    b = lineage.run(lambda spark: spark.read.schema("amount int").json(out), name="b")
    found = b.explain("amount = 7")
    assert sources(found) == {"orders": [5, 6]}
    assert {one.run.id for one in found.intermediate.values()} == {run.id for run in runs}
    assert found.guarantees["orders"].level == "superset"


@pytest.fixture
def jdbc(spark: SparkSession, store: Store) -> Iterator[dict[str, str]]:
    """What Spark needs to read PostgreSQL; the driver is Debian's libpostgresql-jdbc-java."""
    jar = Path("/usr/share/java/postgresql.jar")
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
    assert found.runs[table] == a.id
    assert exact(found), found.guarantees
    more = lineage.run(
        "SELECT 'new' AS client, CAST(1 AS bigint) AS total", name="more", output=Output.postgres(store.url, table, "append")
    )
    c = lineage.run(read_jdbc(jdbc, f"public.{table}"), name="c")
    assert {who: c.explain(f"client = '{who}'").runs[table] for who in ("new", "bob")} == {"new": more.id, "bob": a.id}
    execute(store.url, "INSERT INTO public.across_totals VALUES ('foreign', 5)")
    d = lineage.run(read_jdbc(jdbc, table), name="d")
    left = d.explain("client = 'bob'")  # a version that no recorded run made
    assert left.intermediate == {}
    assert list(left.source) == [table]
    execute(store.url, "DELETE FROM public.across_totals WHERE client = 'foreign' OR client = 'new'")
    execute(store.url, "UPDATE public.across_totals SET total = total + 1 WHERE client = 'ann'")
    changed = b.explain("client = 'bob'")  # as many rows as there were, but others
    assert changed.stale == (f"{table}: {table} has other rows than it had",)
    assert sources(changed) == {"orders": [3, 4]}
