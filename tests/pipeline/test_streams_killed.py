"""A streaming query whose driver is killed, and started again: every batch is recorded, and written, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.pipeline.stream_driver import NAME, stream
from tests.store.conftest import sql

pytestmark = pytest.mark.spark


def drive(folder: Path, when: str) -> int:
    """The code with which the driver ended."""
    return subprocess.run([sys.executable, "-m", "tests.pipeline.stream_driver", str(folder), when], timeout=500, check=False).returncode


def come(loans: Path, number: int) -> None:
    """A file of loans; the stream takes the older first."""
    table = pa.table({"id": pa.array([2 * number, 2 * number + 1], pa.int32()), "amount": [10.0, 300.0 + number]})
    pq.write_table(table, loans / f"{number}.parquet")
    seconds = time.time() - 100 + number
    os.utime(loans / f"{number}.parquet", (seconds, seconds))


def written(folder: Path) -> list[int]:
    """The ids in the output, however often."""
    return sorted(pq.read_table(folder / "judged").column("id").to_pylist())


def test_killed_and_started_again(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    (tmp_path / "loans").mkdir()
    for number in range(3):
        come(tmp_path / "loans", number)

    assert drive(tmp_path, "written") == -signal.SIGKILL
    assert [(one.batch, one.head.status) for one in store.batches(NAME)] == [(0, "complete"), (1, "running")]
    assert written(tmp_path) == [0, 1, 2, 3]
    interrupted = store.batches(NAME)[1].head.id

    assert drive(tmp_path, "recorded") == -signal.SIGKILL
    assert [(one.batch, one.head.status) for one in store.batches(NAME)] == [(0, "complete"), (1, "complete")]
    # What the interrupted run had appended was taken out before its batch was appended again.
    assert written(tmp_path) == [0, 1, 2, 3]
    assert store.find_head(interrupted).status == "failed"
    recorded = store.batches(NAME)[1].head.id

    stream(Lineage(spark, store=store), str(tmp_path), "never")
    assert [(one.batch, one.head.status) for one in store.batches(NAME)] == [(number, "complete") for number in range(3)]
    assert written(tmp_path) == list(range(6))
    assert store.batches(NAME)[1].head.id == recorded  # Spark gave it again, and nothing was done
    assert len({one.query for one in store.batches(NAME)}) == 1
    assert sorted(one.status for one in store.runs(NAME)) == ["complete", "complete", "complete", "failed"]

    answers = Lineage(store=store).explain_batches(NAME, "large")
    rows = [(one.batch, one.explanation.sources["loans"].rows.to_pylist()) for one in answers]
    assert rows == [(number, [{"id": 2 * number + 1, "amount": 300.0 + number}]) for number in range(3)]

    # One table for all of them, without a row of the interrupted one.
    made = [store.materializations(one.head.id)["result"] for one in store.batches(NAME)]
    (name,) = {one.table_name for one in made}
    there = sql(store.url, f'SELECT DISTINCT "_materialization" FROM lineage_data."{name}" ORDER BY 1')
    assert there == [(one.id,) for one in made]
