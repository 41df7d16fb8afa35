"""A run without Spark, but for that the same: a driver, a loading process a partition that is tried again when it dies, an output.

Usage: ``python -m tests.chaos.store_driver PAUSE`` (seconds between batches)
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from airflow_lineage_provider.store import Column, ResultTable, RunRecord, Store
from tests.chaos.work import OUTPUT, PARTITIONS, PIPELINE, batches, expected

COLUMNS = [Column("x", "bigint")]
TRIES = 4


def main(pause: float) -> None:
    with Store.open() as store:
        run = store.begin_run(RunRecord(pipeline=PIPELINE))
        print("begun", run, flush=True)
        try:
            _work(store, run, pause)
        except BaseException as error:
            with suppress(Exception):
                store.fail_run(run, f"{type(error).__name__}: {error}"[:2000])
            raise
    print("complete", run, flush=True)


def _work(store: Store, run: str, pause: float) -> None:
    for name, kind in (("segment_1", "segment"), ("result", "result")):
        made = store.create_materialization(run, name, kind, COLUMNS)
        _load(made.loader(), pause)
    with ResultTable.staged(store.tcp_url, OUTPUT, COLUMNS, "overwrite") as output:
        _load(output, pause)
        output.publish()
    store.publish_run(run, row_counts={"result": expected()[0]}, indexes={"segment_1": [["x"]]})


def _load(loader: Any, pause: float) -> None:
    """Every partition in a process of its own, tried again when that dies."""
    context = multiprocessing.get_context("forkserver")  # which has imported everything: a process is there at once
    context.set_forkserver_preload(["tests.chaos.store_driver"])
    going = {part: (context.Process(target=load_partition, args=(loader, part, 0, pause)), 0) for part in range(PARTITIONS)}
    for process, _ in going.values():
        process.start()
    while going:
        for part, (process, attempt) in list(going.items()):
            process.join()
            del going[part]
            if process.exitcode:
                if attempt + 1 == TRIES:
                    raise RuntimeError(f"partition {part} failed {TRIES} times")
                again = context.Process(target=load_partition, args=(loader, part, attempt + 1, pause))
                again.start()
                going[part] = (again, attempt + 1)


def load_partition(loader: Any, partition: int, attempt: int, pause: float) -> None:
    """What an executor does."""
    load: Callable[..., int] = loader.load
    given = (partition, _paced(partition, pause)) if isinstance(loader, ResultTable) else (partition, attempt, _paced(partition, pause))
    load(*given)


def _paced(partition: int, pause: float) -> Iterator[pa.RecordBatch]:
    for each in batches(partition):
        time.sleep(pause)
        yield each


if __name__ == "__main__":
    main(float(sys.argv[1]))
