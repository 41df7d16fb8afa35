"""Intervals in sources and results: stored, read again, and asked for."""

from __future__ import annotations

import datetime as dt
import io
import json
import uuid
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import sources_of

pytestmark = pytest.mark.spark

ROWS = """
    (1, interval '1 02:03:04.5' day to second, interval '1-2' year to month, interval '26' hour, interval '1' year),
    (2, interval '0 00:30:00' day to second, interval '-0-1' year to month, interval '-1' hour, interval '-3' year),
    (3, NULL, NULL, NULL, NULL)
"""
# make_interval gives an interval of no fixed length, which Spark writes into no file and compares with nothing.
MADE = (
    "array(dur) AS durs",
    "map('k', named_struct('d', dur, 'h', hours, 'y', years)) AS deep",
    "make_interval(1, 2, 3, id, 5, 6, 7.5) AS loose",
)


@pytest.fixture(scope="module")
def run(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = str(tmp_path_factory.mktemp("intervals") / "spans")
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, gap, dur, hours, years)").write.parquet(path)
    return Lineage(spark, store=store).run(lambda session: session.read.parquet(path).selectExpr("*", *MADE), name="spans")


TARGETS: list[tuple[Any, list[int]]] = [
    ("gap > interval '1' hour", [1]),
    ("gap = interval '1 02:03:04.5' day to second", [1]),
    ("gap between interval 1 minute and interval 1 hour", [2]),
    ("gap + interval '30' minute = interval '1' hour", [2]),
    ("hours < interval '0' second", [2]),
    ("dur = interval '1-2' year to month", [1]),
    ("dur < interval '1' month", [2]),
    ("years in (interval '12' month, interval '2' year)", [1]),
    ("dur is null", [3]),
    ({"gap": dt.timedelta(minutes=30)}, [2]),
    ([{"gap": None, "dur": None}], [3]),
    ({"dur": 14, "hours": dt.timedelta(hours=26)}, [1]),
    ({"dur": "INTERVAL '1-2' YEAR TO MONTH"}, [1]),
    ({"years": "INTERVAL '-36' MONTH"}, [2]),
    ({"durs": [14]}, [1]),
    ({"loose": "1 years 2 months 23 days 5 hours 6 minutes 7.5 seconds"}, [2]),
]


@pytest.mark.parametrize(("target", "expected"), TARGETS, ids=[str(target)[:40] for target, _ in TARGETS])
def test_targets(run: Run, target: Any, expected: list[int]) -> None:
    found = run.explain(target)
    assert found.guarantee.level == "exact"
    assert found.sources["spans"].column("id").to_pylist() == expected
    assert found.target.column("id").to_pylist() == expected


def test_values_are_those_of_spark(run: Run) -> None:
    rows = {row["id"]: row for row in run.result_table().to_pylist()}
    assert rows[1]["gap"] == dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)
    assert [rows[i]["dur"] for i in (1, 2, 3)] == [14, -1, None]
    assert [rows[i]["years"] for i in (1, 2, 3)] == [12, -36, None]
    assert rows[2]["durs"] == [-1]
    assert rows[2]["deep"] == [("k", {"d": -1, "h": dt.timedelta(hours=-1), "y": -36})]
    assert rows[1]["loose"] == run.result.where("id = 1").selectExpr("CAST(loose AS string)").collect()[0][0]
    assert rows[1]["gap"] == run.result.where("id = 1").select("gap").collect()[0][0]


def test_a_column_of_spark(run: Run) -> None:
    assert run.explain(F.col("dur") > F.expr("interval '1' month")).target.column("id").to_pylist() == [1]


def test_by_position_and_every_value_of_a_row(run: Run) -> None:
    table = run.result_table()
    at = table.column("id").to_pylist().index(2)
    assert sources_of(run.explain(at=at))["spans"].column("dur").to_pylist() == [-1]
    assert sources_of(run.explain(table.slice(at, 1)))["spans"].column("id").to_pylist() == [2]


def test_without_spark(run: Run, store: Store) -> None:
    """What is compared with constants needs no session: the rows to show are Spark's to read."""
    again = Lineage(None, store=store).get_run(run.id)
    for target in ("gap > interval '1' hour", "dur = interval '1-2' year to month", {"hours": dt.timedelta(hours=26), "dur": 14}):
        assert again.explain(target).target.column("id").to_pylist() == [1]


def test_what_is_no_interval(run: Run) -> None:
    for target in ("gap > 3600", "dur = '1-2'", "gap > interval '1' month", {"gap": 5}, {"dur": "1-2"}):
        with pytest.raises(InvalidTarget, match="interval"):
            run.explain(target)
    with pytest.raises(EmptyTarget):
        run.explain("dur = interval '100' year")


def test_they_are_shown_as_spark_shows_them(run: Run) -> None:
    explanation = run.explain("id = 1", save=False)
    page, said = Console(width=400, record=True, file=io.StringIO()), Console(width=400, record=True, file=io.StringIO())
    explanation.show(page)
    run.why_not("id = 2").show(said)
    rows = {row["id"]: row for row in run.result.selectExpr("id", *(f"CAST({one} AS string)" for one in SHOWN)).collect()}
    first, second, html = page.export_text(), said.export_text(), explanation.to_html()
    for name in ("gap", "dur", "hours", "years"):
        assert rows[1][name] in first
        assert rows[1][name].replace("'", "&#39;") in html or rows[1][name] in html
        assert rows[2][name] in second
    assert json.loads(json.dumps(explanation.to_dict()))["target"]["rows"][0][2] == "INTERVAL '1-2' YEAR TO MONTH"
    assert "interval year to month" in first
    kept = run._lineage.derivation(run.explain("id = 1").id)
    again = Console(width=400, record=True, file=io.StringIO())
    kept.show(again)
    assert rows[1]["dur"] in again.export_text()


SHOWN = ("gap", "dur", "hours", "years")


def test_verified(run: Run) -> None:
    for target in ("dur = interval '1-2' year to month", {"gap": None}, "hours < interval '0' second"):
        assert run.explain(target, verify=True, save=False).verified is True


WHY_NOT: list[tuple[Any, list[int]]] = [
    ("dur < interval '1' month", [2]),
    ({"gap": dt.timedelta(minutes=30)}, [2]),
    ({"dur": "INTERVAL '1-2' YEAR TO MONTH", "hours": dt.timedelta(hours=26)}, [1]),
    ([{"years": -36}, {"dur": None}], [2, 3]),
]


@pytest.mark.parametrize(("rows", "expected"), WHY_NOT, ids=[str(rows)[:40] for rows, _ in WHY_NOT])
def test_why_not(lineage: Lineage, spark: SparkSession, run: Run, rows: Any, expected: list[int]) -> None:
    found = run.why_not(rows)
    assert sorted(found.rows.column("id").to_pylist()) == expected
    assert all(found.survived(row) for row in range(len(expected)))


def test_why_an_interval_was_not_long_enough(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "spans")
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, gap, dur, hours, years)").write.parquet(path)
    (fate,) = lineage.run(f"SELECT id FROM parquet.`{path}` WHERE dur > interval '1' year", name="long").why_not("id = 2").fates
    assert fate.drop is not None
    assert "dur = INTERVAL '-0-1' YEAR TO MONTH" in fate.drop.text


def test_a_table_in_the_users_database(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """PostgreSQL has no interval as Spark's: months, and microseconds, as the store has them."""
    path, name = str(tmp_path / "spans"), f"spans_{uuid.uuid4().hex[:8]}"
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, gap, dur, hours, years)").write.parquet(path)
    output = Output.postgres(store.url, f"public.{name}")
    run = lineage.run(lambda session: session.read.parquet(path).selectExpr("*", *MADE), name="to a table", output=output)
    try:
        written = store.query(f"SELECT id, gap, dur, hours, years, durs, loose FROM public.{name} ORDER BY id").to_pylist()
        day = ((26 * 60 + 3) * 60 + 4) * 1_000_000 + 500_000
        assert written[0] == {
            "id": 1, "gap": day, "dur": 14, "hours": 26 * 3_600_000_000, "years": 12, "durs": "[14]",
            "loose": "1 years 2 months 22 days 5 hours 6 minutes 7.5 seconds",
        }  # fmt: skip
        assert [row["dur"] for row in written] == [14, -1, None]
        assert run.explain("dur = interval '1-2' year to month").target.column("id").to_pylist() == [1]
    finally:
        run.close()
        with psycopg2.connect(store.url.replace("+psycopg2", "")) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE public.{name}")


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun"])
def test_groups_and_data_of_the_session(lineage: Lineage, spark: SparkSession, strategy: Strategy) -> None:
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(id, gap, dur, hours, years)").createOrReplaceTempView("spans_here")
    sql = "SELECT dur, max(gap) AS longest, count(*) AS n FROM spans_here GROUP BY dur"
    found = lineage.run(sql, name="groups", strategy=strategy).explain("dur = interval '14' month")
    assert found.target.to_pylist() == [{"dur": 14, "longest": dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5), "n": 1}]
    assert found.guarantee.level == "exact"
    assert [table.column("id").to_pylist() for table in sources_of(found).values()] == [[1]]
