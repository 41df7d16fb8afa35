"""What a task hands on of its run, and tells its log."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import PropertyMock

import pytest

from airflow_lineage_provider.answers.storage import StoredTable
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.operators.run_result import log_stored, run_result
from airflow_lineage_provider.records.sketches import SketchUse


def use(state: Any, rows: int | None, total: int | None) -> SketchUse:
    return SketchUse(leaf=0, table="t", state=state, because="", rows=rows, total=total)


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ((), {"used": 0, "rows_skipped": 0}),
        ((use("used", 6_150, 1_500_000),), {"used": 1, "rows_skipped": 1_493_850}),
        ((use("used", 3, 10), use("used", 0, 7), use("unused", None, None)), {"used": 2, "rows_skipped": 14}),
        ((use("captured", 3, 10),), {"used": 0, "rows_skipped": 0}),  # it read everything
    ],
)
def test_rows_that_were_not_read(uses: tuple[SketchUse, ...], expected: dict[str, int]) -> None:
    summary = SimpleNamespace(id="1", pipeline="p", rows=4, seconds=1.0, lineage_cost=None)
    run: Any = SimpleNamespace(summary=summary, record=SimpleNamespace(output=None), lineage_lost="", sketches=uses)
    assert run_result(run)["sketches"] == expected


def test_what_was_stored_is_told() -> None:
    def table(segment: int | None, name: str, rows: int | None, size: int, folder: str | None = None) -> StoredTable:
        return StoredTable(segment=segment, kind=None, name=name, operator="x", rows=rows, bytes=size, because="", folder=folder)

    class _Run:
        id, lineage_lost = "7", ""
        record = SimpleNamespace(timings={"lineage": 0.25, "total": 1.5})
        stored: Any = (table(0, "result", 1_200, 24_576), table(None, "source_3", None, 0, "file:///kept\n/a"))

    run: Any = _Run()
    told = list[str]()
    log_stored(run, told.append)
    assert told == [
        "stored result (segment 0): 1,200 rows, 24 kB in PostgreSQL",
        "stored source_3 (of a source): 0 bytes in files in file:///kept↵/a",
        "seconds of 7: total 1.50, lineage 0.25",
    ]
    _Run.stored = PropertyMock(side_effect=StoreUnavailable("it is away"))
    told.clear()
    log_stored(run, told.append)
    assert told == ["what 7 stored is not known: it is away"]
    run.lineage_lost = "the store was away"  # then nobody is asked
    told.clear()
    log_stored(run, told.append)
    assert told == ["seconds of 7: total 1.50, lineage 0.25"]
