"""Derivations as tasks: of new and changed rows, in chunks, tried again and cleared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget, StoreUnavailable
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.airflow.submitting import context, execute

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("airflow_home")]


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def recorded(lineage: Lineage, path: Path, *ids: int) -> Run:
    """A run of one pipeline of its own over these rows."""
    assert lineage.spark is not None
    lineage.spark.createDataFrame([(one, one % 3) for one in ids], "id int, x int").coalesce(1).write.parquet(str(path))
    lineage.spark.read.parquet(str(path)).createOrReplaceTempView("derived")
    return lineage.run("SELECT id, x * 2 AS twice FROM derived", name=str(path.parent))


def task(path: Path, **options: Any) -> Any:
    return DeriveAugmentedLineageOperator(task_id="derive", pipeline=str(path), **options)


def in_run(night: str) -> dict[str, Any]:
    """The context of the task in a DAG run."""
    given = context()
    given["ti"].run_id, given["ti"].task_id, given["ti"].dag_id = night, "derive", "nightly"
    return given


def ids(lineage: Lineage, found: dict[str, Any]) -> list[int]:
    return [one for each in found["derivation_ids"] for one in lineage.derivation(each).target.column("id").to_pylist()]


def test_rows_that_are_new_since_the_last_derivation(lineage: Lineage, tmp_path: Path) -> None:
    first = recorded(lineage, tmp_path / "1", 1, 2, 3)
    derive = task(tmp_path, since="last_derivation", target="id < 9")
    found = execute(derive, in_run("mon"))
    assert (ids(lineage, found), found["since"], found["counts"]) == ([1, 2, 3], None, {"target": 3, "source.derived": 3})
    assert found["derivation_id"] == found["derivation_ids"][0]
    kept = lineage.store.derivation(found["derivation_id"])
    assert dict(kept.airflow or {})["run_id"] == "mon"

    second = recorded(lineage, tmp_path / "2", 1, 2, 3, 4, 9)
    found = execute(derive, in_run("tue"))
    assert (ids(lineage, found), found["since"], found["lineage_run_id"]) == ([4], first.id, second.id)

    # Nothing is new: that is an answer. So is the same again where the task is cleared.
    nothing = execute(derive, in_run("wed"))
    assert (nothing["derivation_id"], nothing["derivation_ids"], nothing["counts"]) == (None, [], {"target": 0})
    assert sorted(nothing) == sorted(found)
    assert ids(lineage, execute(derive, in_run("tue"))) == [4]
    # Each task has answers of its own, and so has each index of a mapped one.
    mapped = in_run("wed")
    mapped["ti"].map_index = 1
    assert ids(lineage, execute(derive, mapped)) == [1, 2, 3, 4]

    by_id = execute(task(tmp_path, since=first.id, target="id > 2"), in_run("wed"))
    assert (ids(lineage, by_id), by_id["since"]) == ([4, 9], first.id)
    with pytest.raises(EmptyTarget):
        execute(task(tmp_path, target="id > 99"), in_run("wed"))


def test_a_try_goes_on_where_the_one_before_was_stopped(lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(lineage, tmp_path / "1", *range(7))
    derive, save = task(tmp_path, target="true", chunk_rows=3), Store.save_derivation

    def failing(store: Store, record: Any, session: Any) -> str:
        if record.place.chunk == 1:
            raise StoreUnavailable("the store is away")
        return save(store, record, session)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "save_derivation", failing)
        with pytest.raises(StoreUnavailable):
            execute(derive, in_run("mon"))
    (first,) = lineage.store.derivations(run.id)
    again = execute(derive, in_run("mon"))
    assert (again["derivation_ids"][0], len(again["derivation_ids"]), again["derivation_id"]) == (first.id, 3, None)
    assert sorted(ids(lineage, again)) == list(range(7))
    assert again["counts"] == {"target": 7}
    found = lineage.explanation_set(again["derivation_set_id"])
    assert (found.ids, found.is_complete) == (tuple(again["derivation_ids"]), True)
    # Cleared after its end it begins anew, and so does the next night's.
    cleared, next_night = execute(derive, in_run("mon")), execute(derive, in_run("tue"))
    assert len({again["derivation_set_id"], cleared["derivation_set_id"], next_night["derivation_set_id"]}) == 3
    assert sorted(ids(lineage, again)) == sorted(ids(lineage, cleared)) == list(range(7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_rows": 0, "target": "true"}, "task 'derive': chunk_rows=0 is not a number of rows"),
        ({"since": "", "target": "true"}, "task 'derive': since="),
        ({"since": "last_derivation", "at": [0]}, "positions \\(at\\) are rows of one result alone"),
        ({}, "exactly one way"),
    ],
)
def test_what_cannot_be_asked_is_refused_when_the_dag_is_read(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        task(tmp_path, **options)
