"""`Lineage.safe_columns`, over Spark's own plans; what it prints, and as JSON; and so one sketch."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from airflow_lineage_provider import Lineage, Secret
from airflow_lineage_provider.answers.kept_sketches import KeptSketch, SketchInDetail
from airflow_lineage_provider.answers.safe_columns import SafeColumns
from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOption, PlanError
from airflow_lineage_provider.running.safe_columns import judged_columns
from airflow_lineage_provider.sketches.columns import SafeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.store import Store

pytest.importorskip("z3")

TOP = (
    "SELECT state, sum(popden) AS total FROM sketch_cities WHERE popden > :least GROUP BY state HAVING sum(popden) > :bound "
    "ORDER BY total DESC LIMIT 1"
)


@pytest.fixture(scope="module")
def cities(spark: SparkSession) -> Any:
    rows = [(4200, "Anchorage", "AK", [1]), (6000, "San Diego", "CA", [2]), (7000, "New York", "NY", [])]
    spark.createDataFrame(rows, "popden int, city string, state string, tags array<int>").createOrReplaceTempView("sketch_cities")
    yield
    spark.catalog.dropTempView("sketch_cities")


@pytest.mark.usefixtures("cities")
def test_every_column_is_judged_by_this_instances_constants(spark: SparkSession, store: Store) -> None:
    lineage = Lineage(spark, store=store)
    found = lineage.safe_columns(TOP, params={"least": 0, "bound": 100}, name="top")
    assert {one.column: (one.safe, one.rule) for one in found} == {
        "popden": (True, "selection"), "city": (True, "selection"), "state": (True, "limit"), "tags": (False, "type"),
    }  # fmt: skip
    assert repr(found) == "<columns of the sources of top: 3 of 4 safe for a sketch>"
    assert all(one.ties for one in found.safe)
    with pytest.raises(InvalidOption, match="keys"):
        lineage.safe_columns(TOP, keys=["a"])  # type: ignore[arg-type]
    other = lineage.safe_columns(TOP, params={"least": -5, "bound": 100})
    assert [one.column for one in other.safe] == ["state"]
    (unsafe,) = [one for one in other if one.column == "city"]
    assert unsafe.rule == "selection"
    assert unsafe.counter
    assert unsafe.ms > 0


@pytest.mark.usefixtures("cities")
def test_a_models_value_keys_and_secrets(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    def judged(spark: SparkSession, bound: int) -> DataFrame:
        size = F.udf(lambda popden: popden // 1000, "int")
        grouped = spark.table("sketch_cities").groupBy("city").agg(F.min("popden").alias("least"))
        return grouped.where((size("least") > 3) & (F.col("least") > bound))

    table = judged_columns(spark, judged, params={"bound": 4711}).columns[0].table
    found = judged_columns(spark, judged, params={"bound": Secret(4711)}, keys={table: ["city"]})
    assert [one.column for one in found.safe] == ["popden", "city", "state"]
    assert not [one.column for one in judged_columns(spark, judged, params={"bound": 1}).safe if one.column != "city"]
    assert "4711" not in json.dumps(found.to_dict())
    hidden = judged_columns(spark, judged, params={"bound": Secret(4711)})
    assert "4711" not in json.dumps(hidden.to_dict())
    for keys, told in (({"towns": ["city"]}, "keys name towns"), ({table: ["town"]}, "the table has popden, city, state, tags")):
        with pytest.raises(PlanError, match=told):
            judged_columns(spark, judged, params={"bound": 1}, keys=keys)


def test_what_is_wrong_is_said_before_spark_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "z3", None)
    with pytest.raises(EnvironmentProblem, match="sketches"):
        judged_columns(None, "SELECT 1")  # type: ignore[arg-type]


FOUND = SafeColumns(
    "best",
    (
        SafeColumn(0, "orders", "key", "bigint", True, "group", "α key", "each group is whole", ties=True, needs_rows=True, ms=1.23456),
        SafeColumn(0, "orders", "x[red]", "int", False, "selection", "σ (n > 3)", "a row may pass", (("n", "1", "NULL"),), ms=0.5),
    ),
)


def test_it_is_shown_by_source() -> None:
    out = io.StringIO()
    FOUND.show(Console(file=out, width=400, color_system=None))
    shown = " ".join(out.getvalue().split())
    assert "1 of 2 columns of the sources of best safe for a sketch" in shown
    assert "orders (source 0)" in shown
    assert "x[red]" in shown
    assert "n = 1 in a plain run, NULL over a sketch" in shown
    assert "where rows tie" in shown
    assert "if the result that the sketch is" in shown


def test_it_is_json() -> None:
    document = json.loads(json.dumps(FOUND.to_dict()))
    assert document["document"] == "airflow_lineage.safe_columns"
    assert document["columns"][1]["counter"] == [{"column": "n", "plain": "1", "sketched": "NULL"}]
    assert document["columns"][0]["ms"] == 1.235
    assert len(FOUND) == 2
    assert FOUND.safe == FOUND.columns[:1]


def in_detail(values: Sequence[tuple[str | None, str | None]], **more: Any) -> SketchInDetail:
    kept = KeptSketch(
        id="s1", pipeline="best", run_id="r1", table="orders", column="x[red]", template="t", constants=("3", None), fragments=2, count=9,
        rows=40, total=1000, bytes=80, uses=0, proof="group", created=None,
    )  # fmt: skip
    whole: dict[str, Any] = {"null": False, "nan": False, "runs": ()} | more
    return SketchInDetail(sketch=kept, values=tuple(values), **whole)


def test_a_sketch_is_shown_with_its_values() -> None:
    out = io.StringIO()
    many = [(str(at), str(at + 1)) for at in range(0, 60, 2)]
    in_detail(many, null=True).show(Console(file=out, width=200, color_system=None))
    in_detail([(None, "5"), ("7", None)], nan=True, runs=("r9", "r8")).show(Console(file=out, width=200, color_system=None))
    in_detail([(None, None)]).show(Console(file=out, width=200, color_system=None))
    shown = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    first, second, third = (shown[at:end] for at, end in pairwise([*(at for at, line in enumerate(shown) if line == "sketch s1"), None]))
    assert first[1:7] == [
        "of orders.x[red]", "captured of run r1 of best", "constants 3, NULL", "has 40 of 1,000 rows, in 2 of 9 fragments", "safe by group",
        "read by no run yet",
    ]  # fmt: skip
    assert first[7:] == [*(f"values from {at}, below {at + 1}" for at in range(0, 40, 2)), "and 10 further ranges", "values NULL"]
    assert second[6:] == ["read by r9, r8", "values below 5", "values from 7", "values NaN"]
    assert third[7:] == ["values all"]


def test_a_sketch_is_json() -> None:
    document = json.loads(json.dumps(in_detail([(None, "5")], runs=("r9",)).to_dict()))
    assert (document["document"], document["id"], document["constants"]) == ("airflow_lineage.sketch", "s1", ["3", None])
    assert (document["values"], document["null"], document["runs"]) == ([{"least": None, "below": "5"}], False, ["r9"])
