"""The task that captures sketches of a recorded run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.derive_sketch import DeriveSketchOperator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store

pytest.importorskip("z3")


@pytest.fixture
def lineage(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> Lineage:
    """What the operator's hook gives."""
    found = Lineage(spark, store=store)

    @contextmanager
    def given(self: LineageHook, **_: Any) -> Iterator[Lineage]:
        yield found

    monkeypatch.setattr(LineageHook, "lineage", given)
    return found


@pytest.mark.spark
def test_a_task_captures_what_the_next_run_skips_by(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    place = str(tmp_path / "numbers")
    spark.range(1000).selectExpr("id AS k", "id % 10 AS v").coalesce(1).write.parquet(place)
    sql = f"SELECT k, sum(v) AS s FROM parquet.`{place}` GROUP BY k HAVING sum(v) > 8"
    run = lineage.run(sql, name="sketch_task", sketches="use")
    task = DeriveSketchOperator(task_id="sketch", lineage_run_id=run.id, pipeline="sketch_task")
    answer = task.execute({})
    (one,) = answer["captured"]
    assert (answer["lineage_run_id"], answer["pipeline"], answer["not_captured"]) == (run.id, "sketch_task", {})
    assert (one["column"], one["rows"], one["total"]) == ("k", 100, 1000)
    assert [each.id for each in lineage.sketches("sketch_task")] == [one["id"]]
    through = lineage.run(sql, name="sketch_task", sketches="use")
    assert [each.sketch for each in through.sketches] == [one["id"]]
    with pytest.raises(AirflowSkipException, match="has read through a sketch of"):
        DeriveSketchOperator(task_id="sketch", pipeline="sketch_task").execute({})
    lineage.run(sql, name="sketch_task")
    with pytest.raises(SketchError, match="sketches='off'"):
        DeriveSketchOperator(task_id="sketch", pipeline="sketch_task").execute({})


def test_options_are_checked_when_the_dag_is_read_and_when_the_task_starts() -> None:
    with pytest.raises(ValueError, match="task 'sketch': sketch_on='k' is not understood"):
        DeriveSketchOperator(task_id="sketch", pipeline="p", sketch_on="k")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'sketch' does not say which run it is about"):
        DeriveSketchOperator(task_id="sketch")
    late = DeriveSketchOperator(task_id="sketch", pipeline="p", sketch_on={"{{ params.table }}": "k"})
    assert {"sketch_on", "lineage_run_id", "pipeline", "store"} <= set(late.template_fields)
    late.sketch_on = {"": "k"}
    with pytest.raises(ValueError, match="task 'sketch': sketch_on="):
        late.execute({})
