"""Rerun, function materialization, full materialization and auto: the same answers, from what each has stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_lineage_provider import Lineage, Run, reasoned_udf
from airflow_lineage_provider.errors import PlanError, SourceUnavailable, SparkRequired, UdfVersionMismatch
from airflow_lineage_provider.reasons import registry
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark

CALLS: list[int] = []


@reasoned_udf("string")
def grade(x: int | None) -> str:
    return "none" if x is None else "high" if x >= 30 else "low"


@grade.with_reason
def _(x: int | None) -> tuple[str, Any]:
    return grade.main(x), {"x": x}


T_ROWS = [(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, None, 40), (5, "b", 30), (6, None, None)]
U_ROWS = [(11, "a"), (12, "b"), (13, "c")]
PIPELINE = """SELECT g, grade, count(*) AS n FROM (SELECT t.g, grade(t.x) AS grade FROM t JOIN u ON t.g = u.g) GROUP BY g, grade"""


@pytest.fixture
def lineage(spark: SparkSession, store: Store, tmp_path: Path) -> Iterator[Lineage]:
    for name, rows, schema in (("t", T_ROWS, "rid int, g string, x int"), ("u", U_ROWS, "rid int, g string")):
        view(spark, tmp_path, name, rows, schema)
    grade.register(spark)
    yield Lineage(spark, store=store)
    for name in ("t", "u"):
        spark.catalog.dropTempView(name)


def stored(lineage: Lineage, run_id: str) -> set[str]:
    return set(lineage.store.materializations(run_id))


@pytest.mark.parametrize(
    ("strategy", "tables"),
    [
        ("function_materialization", {"result", "segment_1"}),
        ("rerun", set()),
        ("full_materialization", {"result", "segment_1"}),
        ("auto", {"result", "segment_1"}),
    ],
)
def test_the_same_answer_from_what_is_stored(lineage: Lineage, spark: SparkSession, strategy: Strategy, tables: set[str]) -> None:
    run = lineage.run(PIPELINE, name=f"strategies {strategy}", strategy=strategy)
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, spark.sql(PIPELINE).collect()))
    run.close()
    assert stored(lineage, run.id) == tables
    found = lineage.get_run(run.id).explain("g = 'b'", save=False)
    assert found.target.to_pylist() == [{"g": "b", "grade": "high", "n": 2}]
    assert sorted(found.sources["t"].column("rid").to_pylist()) == [3, 5]
    assert found.sources["u"].column("rid").to_pylist() == [12]
    assert found.reasons["grade"].to_pylist() == [
        {"row": 0, "x": 30, "value": "high", "reason": '{"kind":"json","value":{"x":30},"version":1}'}
    ]
    assert found.guarantee.level == "exact"


def test_full_materialization_stores_segments_without_functions(lineage: Lineage) -> None:
    pipeline = "SELECT n, count(*) AS groups FROM (SELECT g, count(*) AS n FROM t GROUP BY g) GROUP BY n"
    counts = {strategy: lineage.run(pipeline, strategy=strategy) for strategy in ("function_materialization", "full_materialization")}
    assert {strategy: stored(lineage, run.id) for strategy, run in counts.items()} == {
        "function_materialization": {"result"},
        "full_materialization": {"result", "segment_1"},
    }
    for run in counts.values():
        found = run.explain("n = 2", save=False)
        assert sorted(found.sources["t"].column("rid").to_pylist()) == [1, 2, 3, 4, 5, 6]
        run.close()


def test_a_rerun_judges_only_rows_that_the_target_may_come_from(lineage: Lineage, spark: SparkSession) -> None:
    """Semi-join push-down: the target's group reaches the source below the function operator."""
    from airflow_lineage_provider.spark.rereading import restore as module

    run = lineage.run(PIPELINE, strategy="rerun")
    run.close()
    seen: dict[int, int] = {}
    original = module.Restored.read

    def counting(self: module.Restored, number: int, columns: Any, rows: Any) -> Any:
        seen.update({n: frame.count() for n, frame in self.frames.items()})
        return original(self, number, columns, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.Restored, "read", counting)
        lineage.get_run(run.id).explain("g = 'b'", save=False)
    assert seen[1] == 2, "only the two rows of group b are judged again, of the four that the join gives"


def test_what_cannot_be_made_again_is_stored_even_under_rerun(lineage: Lineage) -> None:
    limited = lineage.run("SELECT rid, grade(x) AS grade FROM (SELECT * FROM t ORDER BY rid LIMIT 3)", strategy="rerun")
    limited.close()
    assert stored(lineage, limited.id) == {"segment_1"}
    because = {choice.segment: choice.because for choice in lineage.store.run(limited.id).choices}
    assert "could not be made again" in because[1]
    found = lineage.get_run(limited.id).explain("grade = 'high'", save=False)
    assert found.sources["t"].column("rid").to_pylist() == [3]

    random = lineage.run("SELECT rid, r FROM (SELECT rid, rand(7) AS r FROM t) WHERE r >= 0", strategy="rerun")
    random.close()
    assert stored(lineage, random.id) == {"segment_1"}
    assert lineage.get_run(random.id).explain("rid = 2", save=False).sources["t"].column("rid").to_pylist() == [2]


def test_a_udf_that_nobody_could_find_again_is_stored(lineage: Lineage, spark: SparkSession) -> None:
    plain = F.udf(lambda x: None if x is None else x + 1, T.IntegerType())
    run = lineage.run(lambda spark: spark.table("t").select("rid", plain("x").alias("y")), name="plain udf", strategy="rerun")
    run.close()
    assert stored(lineage, run.id) == {"result"}
    assert lineage.get_run(run.id).explain("y = 21", save=False).sources["t"].column("rid").to_pylist() == [2]


def test_a_rerun_over_changed_sources_is_refused(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    run = lineage.run(PIPELINE, strategy="rerun")
    run.close()
    spark.createDataFrame([(9, "b", 1)], "rid int, g string, x int").write.mode("append").parquet(str(tmp_path / "t"))
    for path in (tmp_path / "u").glob("*.parquet"):
        path.unlink()
    with pytest.raises(SourceUnavailable, match="changed after the run"):
        lineage.get_run(run.id).explain("g = 'b'", save=False)


def test_a_rerun_needs_spark_and_the_very_udf(lineage: Lineage) -> None:
    run = lineage.run(PIPELINE, strategy="rerun")
    run.close()
    with pytest.raises(SparkRequired, match="rerun"):
        Lineage(store=lineage.store).get_run(run.id).explain("g = 'b'", save=False)
    other = registry.get("grade")
    try:

        @reasoned_udf("string", name="grade")
        def changed(x: int | None) -> str:
            return "other"

        with pytest.raises(UdfVersionMismatch):
            lineage.get_run(run.id).explain("g = 'b'", save=False)
    finally:
        registry.add(other)


def test_auto_explains_its_choice_by_what_was_measured(lineage: Lineage) -> None:
    first = lineage.run(PIPELINE, name="auto", strategy="auto")
    first.close()
    assert {c.segment: c.stored for c in first.record.choices} == {0: True, 1: True}
    assert all("nothing was measured yet" in choice.because for choice in first.record.choices)
    second = lineage.run(PIPELINE, name="auto", strategy="auto")
    second.close()
    for choice in second.record.choices:
        assert "in an earlier run" in choice.because or "which is not stored" in choice.because, choice
    found = lineage.get_run(second.id).explain("g = 'b'", save=False)
    assert sorted(found.sources["t"].column("rid").to_pylist()) == [3, 5]


def test_the_result_is_written_where_the_user_says(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    run = lineage.run(PIPELINE, strategy="rerun", output=str(tmp_path / "out"))
    run.close()
    assert spark.read.parquet(str(tmp_path / "out")).count() == 2
    assert run.record.output is not None
    assert run.record.output.target == str(tmp_path / "out")


def test_two_runs_of_one_pipeline_keep_their_own_rows(lineage: Lineage) -> None:
    """Spark keeps rows by plan: the first run that is closed must not take the other's rows from Spark."""
    first, second = lineage.run(PIPELINE), lineage.run(PIPELINE)
    first.close()
    assert second.result.storageLevel.useMemory or _kept(second)
    assert second.result.count() == 2
    second.close()


def test_what_the_user_keeps_stays_the_users(lineage: Lineage, spark: SparkSession) -> None:
    frame = spark.sql("SELECT rid FROM t WHERE x > 10").cache()
    frame.count()
    run = lineage.run(lambda _: frame, name="cached", strategy="rerun")
    run.close()
    assert frame.storageLevel.useMemory
    frame.unpersist()


def test_an_unknown_strategy_is_named(lineage: Lineage) -> None:
    with pytest.raises(PlanError, match="full_materialization"):
        lineage.run(PIPELINE, strategy="everything")  # type: ignore[arg-type]


def _kept(run: Run) -> bool:
    assert run._execution is not None
    return bool(run._execution.kept[-1].storageLevel.useMemory)
