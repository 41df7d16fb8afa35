"""Runs that write to one place at once: each writes when the other has ended, and what is there is the rows of the last, or of both."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("mode", "place", "rows"), [("overwrite", "files", 4), ("append", "files", 8), ("overwrite", "table", 4)])
def test_one_writes_after_the_other(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, place: str, rows: int
) -> None:
    name = f"at_once_{tmp_path.name}"
    output = f"{tmp_path / 'out' if place == 'files' else f'table:{name}'}+{mode}"
    if place == "table":  # one that is not there yet has another name for those who wait than when it is there
        spark.range(1).write.saveAsTable(name)
    writing, waiting, writers = threading.Event(), threading.Event(), [0, 0]
    save = Output._save

    def slow(self: Output, frame: DataFrame, *further: Any) -> None:
        writers[0] += 1
        writers[1] = max(writers)
        writing.set()
        assert waiting.wait(60)
        save(self, frame, *further)
        writers[0] -= 1

    def told(stage: str) -> None:
        if "waiting until it has ended" in stage:
            waiting.set()

    monkeypatch.setattr(Output, "_save", slow)
    made = []

    def run(first: bool) -> None:
        if not first:
            assert writing.wait(60)
        with Lineage(spark, store=store) as lineage:
            made.append(lineage.run("SELECT id FROM range(4)", name=name, output=output, progress=told))

    threads = [threading.Thread(target=run, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [run.record.status for run in made] == ["complete", "complete"]
    assert writers == [0, 1]
    found = spark.read.parquet(str(tmp_path / "out")) if place == "files" else spark.table(name)
    assert found.count() == rows
    assert {type(run.record.output.version).__name__ for run in made if run.record.output} == {"FilesVersion"}
    if place == "table":
        spark.sql(f"DROP TABLE {name}")


def test_the_second_of_two_that_may_not_replace_anything_is_refused(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """Both have found the place free."""
    start, ended = threading.Barrier(2), list[str]()

    def run() -> None:
        with Lineage(spark, store=store) as lineage:
            start.wait(60)
            try:
                lineage.run("SELECT id FROM range(4)", name="at once", output=str(tmp_path / "out"), progress=False)
                ended.append("written")
            except Exception as refused:
                ended.append(str(refused))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert ended.count("written") == 1
    assert "exists" in min(ended, key=lambda text: text == "written")
    assert spark.read.parquet(str(tmp_path / "out")).count() == 4
