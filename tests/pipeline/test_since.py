"""`explain(since=…)`: rows that an earlier run's result has not, as Spark's own EXCEPT ALL says which they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import InvalidTarget, NothingChanged, RunNotComplete, RunNotFound, TargetTooLarge
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.in_turn import in_turn

pytestmark = pytest.mark.spark

NAN = float("nan")
BEFORE = [(1, "a", 0.5), (1, "a", 0.5), (2, None, NAN), (3, "b", None), (4, "c", 2.0), (5, "d", 0.1 + 0.2)]
AFTER = [*[(1, "a", 0.5)] * 4, (2, None, NAN), (2, None, NAN), (3, "b", 1.0), (5, "d", 0.3), (6, "e", None)]
QUERY = "SELECT g, x, rid FROM w"


def recorded(lineage: Lineage, rows: list[Any], path: Path, query: str = QUERY, **options: Any) -> Run:
    """A run of one pipeline over these rows, which lie in a file of their own."""
    assert lineage.spark is not None
    lineage.spark.createDataFrame(rows, "rid int, g string, x double").coalesce(1).write.parquet(str(path))
    lineage.spark.read.parquet(str(path)).createOrReplaceTempView("w")
    return lineage.run(query, name="since", **options)


def bag(table: Any) -> Counter[str]:
    return Counter(map(repr, table.to_pylist()))


def except_all(now: Run, then: Run, where: str) -> Counter[str]:
    """What Spark says is new, of numbers with so many digits as count."""
    after, before = (run.result.where(where).selectExpr("g", "round(x, 12) AS x", "rid") for run in (now, then))
    return Counter(repr(row.asDict()) for row in after.exceptAll(before).collect())


@pytest.mark.parametrize(("target", "strategy"), in_turn([None, "rid < 4", "x IS NULL"], ["function_materialization", "rerun"]))
def test_they_are_what_except_all_gives(lineage: Lineage, tmp_path: Path, strategy: Strategy, target: str | None) -> None:
    then = recorded(lineage, BEFORE, tmp_path / "before", strategy=strategy)
    now = recorded(lineage, AFTER, tmp_path / "after", strategy=strategy)
    expected = except_all(now, then, target or "true")
    assert expected
    found = now.explain(target, since=then.id)
    assert bag(found.target) == expected
    assert f"since run {then.id}" in found.asked
    assert found.sources["w"].rows.num_rows == sum(expected.values())  # each row has one source row
    kept = lineage.derivation(found.id)
    assert (kept.asked, bag(kept.target)) == (found.asked, expected)


def test_rows_by_their_values(lineage: Lineage, tmp_path: Path) -> None:
    then, now = recorded(lineage, BEFORE, tmp_path / "before"), recorded(lineage, AFTER, tmp_path / "after")
    found = now.explain([{"rid": 1}, {"rid": 5}], since=then.id, save=False)
    assert found.target.to_pylist() == [{"g": "a", "x": 0.5, "rid": 1}] * 2


def test_nothing_is_new(lineage: Lineage, store: Store, tmp_path: Path) -> None:
    then, now = recorded(lineage, BEFORE, tmp_path / "before"), recorded(lineage, BEFORE[::-1], tmp_path / "after")
    before = len(store.derivations(now.id))
    for target in (None, "rid = 99"):
        with pytest.raises(NothingChanged, match=f"no rows that are new or have changed since run {then.id}"):
            now.explain(target, since=then.id)
    with pytest.raises(NothingChanged):
        now.explain(since=now.id)
    assert len(store.derivations(now.id)) == before == 0


def test_no_spark_is_needed_for_stored_rows(lineage: Lineage, store: Store, tmp_path: Path) -> None:
    then, now = recorded(lineage, BEFORE, tmp_path / "before"), recorded(lineage, AFTER, tmp_path / "after")
    found = Lineage(store=store).get_run(now.id).explain("rid = 6", since=then.id[:20], save=False)
    assert found.target.to_pylist() == [{"g": "e", "x": None, "rid": 6}]


def judging(limit: float) -> Any:
    @reasoned_udf("string")
    def judge_since(x: float | None) -> str:
        return "high" if (x or 0) > limit else "low"

    @judge_since.with_reason
    def _(x: float | None) -> tuple[str, Any]:
        return judge_since.main(x), {"limit": limit}

    return judge_since


def test_another_version_of_a_udf_makes_every_row_count(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    """The decisions are the same, and their reasons are not."""
    query = "SELECT rid, judge_since(x) AS judge FROM w"
    told: list[str] = []
    judging(1.0).register(spark)
    then = recorded(lineage, BEFORE, tmp_path / "before", query)
    same = recorded(lineage, [*BEFORE, (9, "z", 9.0)], tmp_path / "same", query)
    assert same.explain(since=then.id).target.to_pylist() == [{"rid": 9, "judge": "high"}]
    judging(1.5).register(spark)
    now = recorded(lineage, BEFORE, tmp_path / "after", query)
    assert bag(now.result_table()) == bag(then.result_table())
    found = now.explain(since=then.id, progress=told.append)
    assert bag(found.target) == bag(now.result_table())
    assert any("UDF judge_since is not of the version" in line for line in told)
    assert all("1.5" in reason for reason in found.reasons["judge_since"].column("reason").to_pylist())


def test_other_columns_make_every_row_count(lineage: Lineage, tmp_path: Path) -> None:
    then = recorded(lineage, BEFORE, tmp_path / "before")
    now = recorded(lineage, BEFORE, tmp_path / "after", "SELECT g, x, CAST(rid AS bigint) AS rid FROM w")
    assert now.explain("rid < 3", since=then.id).target.num_rows == 3


def test_what_is_refused(lineage: Lineage, tmp_path: Path) -> None:
    then, now = recorded(lineage, BEFORE, tmp_path / "before"), recorded(lineage, AFTER, tmp_path / "after")
    with pytest.raises(InvalidTarget, match="positions are rows of one result alone"):
        now.explain(at=[0], since=then.id)
    with pytest.raises(InvalidTarget, match="wrong"):
        now.explain("wrong = 1", since=then.id)
    with pytest.raises(TargetTooLarge, match="more than 2 of the result's"):
        now.explain(since=then.id, max_rows=2)
    with pytest.raises(RunNotFound):
        now.explain(since=lineage.run("SELECT 1 AS one", name="another").id)
    lineage.drop(then.id)
    with pytest.raises(RunNotComplete, match="dropped"):
        now.explain(since=then.id)
