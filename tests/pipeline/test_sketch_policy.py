"""Runs that capture a sketch, and read through it, when that pays: what is decided on is what earlier runs took."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EnvironmentProblem
from airflow_lineage_provider.store.schema import sketch_runs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark
pytest.importorskip("z3")


def test_a_sketch_is_captured_and_used_when_it_pays(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it would have served an earlier run; the next ones read through it, until that proves slower."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_SKETCH_AFTER", "1")
    place, lineage = str(tmp_path / "t"), Lineage(spark, store=store)
    spark.range(1_000).selectExpr("id AS k").coalesce(1).write.parquet(place)

    def small(spark: SparkSession, most: int) -> DataFrame:
        return spark.read.parquet(place).where(f"k < {most}")

    def made(most: int) -> tuple[str, str]:
        run = lineage.run(small, name="by policy", params={"most": most}, sketches="auto")
        assert lineage.get_run(run.id).sketches == run.sketches
        assert run.result_table().num_rows == most
        return run.sketches[0].state, run.sketches[0].because

    assert made(40) == (
        "unused",
        "no sketch was captured of a run of this pipeline; "
        "a sketch of this run would have served 0 earlier runs over the same sources, and is captured from 1 on",
    )
    assert made(30)[0] == "unused"  # the other one is no part of it
    state, because = made(50)
    assert state == "captured"
    assert because.endswith("would have served 2 earlier runs over the same sources, and what one costs is not known yet")
    (sketch,) = lineage.sketches("by policy")
    runs = store.measured_runs(sketch.template)
    assert [(run.binding, run.through, run.capture is not None) for run in runs] == [
        (("50",), False, True), (("30",), False, False), (("40",), False, False),
    ]  # fmt: skip
    assert runs[0].share == sketch.rows / sketch.total == 0.05
    assert all(run.seconds is not None and run.seconds > 0 for run in runs)
    assert [made(most)[0] for most in (40, 50)] == ["used", "used"]
    assert [run.through for run in store.measured_runs(sketch.template)] == [True, True, False, False, False]
    with store._transaction("a test") as connection:
        connection.execute(sketch_runs.update().where(sketch_runs.c.through).values(seconds=1_000))
    state, because = made(40)
    assert state == "unused"
    assert because.startswith("runs through sketches take 1000.00 s here, and plain runs ")
    lineage.drop(sketch.run_id)
    assert ("50",) not in {run.binding for run in store.measured_runs(sketch.template) if not run.through}
    monkeypatch.setitem(__import__("sys").modules, "z3", None)
    with pytest.raises(EnvironmentProblem, match="sketches"):  # at once, not at the run that captures
        made(40)
