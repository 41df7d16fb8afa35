"""Which tables go to the place of stored rows: those that pass either of its bounds."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.errors import InvalidSetting
from airflow_lineage_provider.store.data_place import IN_STORE, DataPlace

MIB = 1 << 20


@pytest.mark.parametrize(
    ("settings", "taken", "left"),
    [
        ({}, [(200_000, 0), (0, 64 * MIB), (1, 1 << 40)], [(199_999, 64 * MIB - 1), (0, 0)]),
        ({"ROWS": "0"}, [(0, 0), (1, 1)], []),
        ({"BYTES": "0"}, [(0, 0), (1, 1)], []),
        ({"ROWS": "5", "BYTES": "10"}, [(5, 0), (0, 10), (5, 10)], [(4, 9)]),
    ],
)
def test_either_bound_is_enough(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], taken: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    for name in ("ROWS", "BYTES"):
        monkeypatch.setenv(f"AIRFLOW_LINEAGE_DATA_{name}", settings.get(name, ""))
    place = DataPlace.of("/stored/")
    assert place is not None
    assert [place.takes(*one) for one in (*taken, *left)] == [True] * len(taken) + [False] * len(left)
    assert DataPlace.of(IN_STORE) is None


@pytest.mark.parametrize("text", ["-1", "64 MB", "1.5", "1e6", "9" * 30])
def test_a_bound_that_is_no_number_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_DATA_BYTES", text)
    with pytest.raises(InvalidSetting, match=r"AIRFLOW_LINEAGE_DATA_BYTES is .*a whole number from 0"):
        DataPlace.of("/stored")
