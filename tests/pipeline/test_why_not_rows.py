"""The source rows of a why-not question: by their values, of every type, and by their positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, TargetTooLarge
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

NESTED = (
    "rid int, tags array<string>, counts map<string, int>, spot struct<x: int, y: double>, loose string",
    [
        (1, ["a", "b"], {"p": 1, "q": 2}, (1, 0.5), "x"),
        (2, [], {}, (2, float("nan")), "y"),
        (3, None, None, None, "z"),
        (4, ["a", "b"], None, (1, 0.5), "w"),
    ],
)


@pytest.fixture(scope="module")
def nested(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = str(tmp_path_factory.mktemp("nested") / "n")
    schema, rows = NESTED
    spark.createDataFrame(rows, schema).repartition(2, "rid").write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("nested_rows")
    run = Lineage(spark, store=store).run("SELECT rid, tags FROM nested_rows WHERE rid > 1 AND size(tags) > 0", name="nested")
    run.close()
    yield run.id
    spark.catalog.dropTempView("nested_rows")


GIVEN: list[tuple[Any, list[int]]] = [
    ({"tags": ["a", "b"]}, [1, 4]),
    ({"tags": ("a", "b"), "counts": {"q": 2, "p": 1}}, [1]),
    ({"counts": {}}, [2]),
    ({"spot": {"x": 2, "y": float("nan")}}, [2]),
    ([{"spot": (1, 0.5), "loose": "w"}, {"rid": 3}], [3, 4]),
    ([{"tags": ["a", "b"]}, {"rid": 1}], [1, 4]),
    ({"tags": None}, [3]),
]


@pytest.mark.parametrize(("given", "expected"), sampled(GIVEN, 2), ids=[str(given)[:40] for given, _ in sampled(GIVEN, 2)])
def test_rows_by_values_of_every_type(lineage: Lineage, nested: str, given: Any, expected: list[int]) -> None:
    found = lineage.get_run(nested).why_not(given)
    assert sorted(found.rows.column("rid").to_pylist()) == expected
    survived = dict(zip(found.rows.column("rid").to_pylist(), map(found.survived, range(len(expected))), strict=True))
    assert survived == {rid: rid == 4 for rid in expected}


def test_rows_of_spark_arrow_and_pandas(lineage: Lineage, spark: SparkSession, nested: str) -> None:
    run = lineage.get_run(nested)
    frame = spark.table("nested_rows").where("rid = 4")
    for given in (frame.collect(), frame.toArrow(), frame.select("rid", "loose").toPandas()):
        assert run.why_not(given, table="nested_rows").rows.column("rid").to_pylist() == [4]


def test_values_that_no_row_has(lineage: Lineage, nested: str) -> None:
    run = lineage.get_run(nested)
    with pytest.raises(EmptyTarget, match=r"no row of nested_rows matches tags = \['c'\]"):
        run.why_not({"tags": ["c"]})
    with pytest.raises(TargetTooLarge, match="more than 1 rows of nested_rows"):
        run.why_not({"tags": ["a", "b"]}, max_rows=1)


def test_rows_by_their_positions(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    for name, rows in (("b", [(7,), (3,)]), ("a", [(5,), (9,)])):
        spark.createDataFrame(rows, "rid int").coalesce(1).write.parquet(str(tmp_path / "t" / name))
    parts = [str(tmp_path / "t" / name) for name in ("b", "a")]
    run = lineage.run(lambda session: session.read.parquet(*parts).where("rid > 4"), name="positions")
    run.close()
    run = lineage.get_run(run.id)
    assert [run.why_not(at=at).rows.column("rid").to_pylist() for at in (0, [1], "2,3")] == [[5], [9], [7, 3]]
    found = run.why_not(at=[3])
    assert found.asked.startswith("position 3 of ")
    assert not found.survived(0)
    with pytest.raises(InvalidTarget, match=r"^position 4 of .* does not exist: .* has 4 rows"):
        run.why_not(at=4)
    with pytest.raises(InvalidTarget, match="is not a position"):
        run.why_not(at=-1)
    with pytest.raises(InvalidTarget, match="in exactly one way"):
        run.why_not("rid = 3", at=0)
    with pytest.raises(InvalidTarget, match="in exactly one way"):
        run.why_not()
    with pytest.raises(TargetTooLarge, match="2 positions are more than 1 rows; name fewer, or raise max_rows"):
        run.why_not(at=[0, 1], max_rows=1)


@pytest.mark.usefixtures("nested")
def test_positions_of_data_of_the_session_and_of_tables_without(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    made = spark.createDataFrame([(2, "b"), (1, "a")], "rid int, g string").coalesce(1)
    run = lineage.run(made.where("rid > 1"), name="session")
    assert run.why_not(at=1).rows.to_pylist() == [{"rid": 1, "g": "a"}]
    made.write.csv(str(tmp_path / "plain"))
    plain = lineage.run(lambda session: session.read.schema("rid int, g string").csv(str(tmp_path / "plain")), name="plain")
    with pytest.raises(InvalidTarget, match=r"the rows of plain have no positions.*keys="):
        plain.why_not(at=0)
    keyed = lineage.run(
        lambda session: session.read.schema("rid int, g string").csv(str(tmp_path / "plain")), name="keyed", keys={"plain": ["rid"]}
    )
    assert keyed.why_not(at=0).rows.column("rid").to_pylist() == [1]
    both = lineage.run(lambda session: made.join(session.table("nested_rows").select("rid"), "rid"), name="both")
    with pytest.raises(InvalidTarget, match="positions are those of one table"):
        both.why_not(at=0)
    assert both.why_not(at=0, table="NESTED_ROWS").table == "nested_rows"
