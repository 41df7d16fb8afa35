"""Of which tries of a task instance a try is a retry."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_lineage_provider.operators.run_context import earlier_tries


@pytest.mark.parametrize(
    ("try_number", "max_tries", "retries", "expected"),
    [
        (1, 2, 2, []), (2, 2, 2, [1]), (3, 2, 2, [2, 1]),  # two retries
        (4, 5, 2, []), (5, 5, 2, [4]),  # cleared after the third try, and tried as often again
        (1, 0, 0, []), (2, 1, 0, []), (2, None, 1, []), (2, 1, None, []),
    ],
)  # fmt: skip
def test_tries_before_a_task_was_cleared_are_not_retried(
    try_number: int, max_tries: int | None, retries: int | None, expected: list[int]
) -> None:
    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=2, try_number=try_number, max_tries=max_tries)
    found = earlier_tries({"ti": ti}, retries)
    assert [one["try_number"] for one in found] == expected
    assert all((one["dag_id"], one["run_id"], one["task_id"], one["map_index"]) == ("d", "r", "t", 2) for one in found)


def test_a_task_instance_that_does_not_say() -> None:
    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=3)
    assert earlier_tries({"ti": ti}, 3) == []
