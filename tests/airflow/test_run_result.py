"""What a task hands on of the sketches of its run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.operators.run_result import run_result
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
