"""Sketches that only a result of another size could have are not looked for: nothing is traced, and nothing is learned of their size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.deriving import sketching
from airflow_lineage_provider.running.asked_sketches import Sketching
from airflow_lineage_provider.sketches.choice import ChosenColumn
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.wanted import SketchOn


def column(leaf: int, **needs: Any) -> ChosenColumn:
    safe = SafeColumn(leaf=leaf, table=f"t{leaf}", column="k", type="int", safe=True, rule="uncut", **needs)
    return ChosenColumn(safe, SketchOn(column="k"))


def asked(rows: int | None) -> Any:
    return SimpleNamespace(on_demand=SimpleNamespace(needed=lambda error: object()), total=rows, progress=lambda text: None)


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The leaves that each trace was of; what comes after it is not reached."""
    found: list[set[int]] = []

    def behind(run: Any, wanted: Any, most: int) -> Any:
        found.append(set(wanted))
        raise LookupError

    monkeypatch.setattr(sketching, "check_unchanged", lambda run: None)
    monkeypatch.setattr(sketching, "_behind", behind)
    return found


@pytest.mark.parametrize(("needs", "rows"), [({"needs_fewer": 5}, 5), ({"needs_rows": True}, 0), ({"needs_fewer": 5}, None)])
def test_nothing_is_traced_of_a_result_of_the_wrong_size(traced: list[set[int]], needs: dict[str, Any], rows: int | None) -> None:
    found = sketching.sketched(asked(rows), Sketching(capture={0: column(0, **needs), 1: column(1, **needs)}), 100)
    assert (traced, found.made, found.share) == ([], [], None)
    assert [(one.leaf, one.state) for one in found.told] == [(0, "unused"), (1, "unused")]
    assert all("safe only for a result" in one.because for one in found.told)


def test_the_others_are_traced(traced: list[set[int]]) -> None:
    with pytest.raises(LookupError):
        sketching.sketched(asked(5), Sketching(capture={0: column(0, needs_fewer=5), 1: column(1)}), 100)
    assert traced == [{1}]
