"""Lineage from end to end: kept beside what it is composed of where that takes long, and the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture import ends
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.writing import BuiltIndex
from airflow_lineage_provider.tracing.maps import RESULT, Rows
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step

MANY, FEW, SOURCES = 30_000, 3, 200
"""The first result goes back to many rows of segment 2, the second to few; each of these to one row of leaf 3, of which there are few."""


def _pairs(asked: Any, keys: Any) -> pa.Table:
    return pa.table({TAG: pa.array(np.asarray(asked, np.int64)), "key_0": pa.array(np.asarray(keys, np.int64))})


def _built(direction: Any = "both", apart: bool = False, unknown: bool = False) -> BuiltIndex:
    """``apart``: by way of sets of segment 1 as well, which all results have in common. ``unknown``: by way of segment 5, too."""
    inner = MANY + FEW
    counts: Any = {
        ("segment", 0): ("numbered", [(0, 2)]),
        ("segment", 2): ("numbered", [(0, inner)]),
        ("source", 3): ("numbered", [(0, SOURCES)]),
    }
    building = Building(counts=counts, most=10_000_000)
    building.begin(0, pa.table({"key_0": [0, 1]}))
    behind = _pairs(np.repeat([0, 1], [MANY, FEW]), np.arange(inner))
    links = {1: pa.table({TAG: [0, 1], "present": [True, True]})} if apart else {}
    building.add(0, 0, Step(sources={}, segments={2: behind} | ({5: _pairs([0], [7])} if unknown else {}), controls={}, links=links))
    for _, first, _ in building.begin_sets(1) if apart else ():
        building.add(1, first, Step(sources={4: _pairs(np.zeros(MANY), np.arange(MANY))}, segments={}, controls={}), "sets")
    building.begin(2, pa.table({"key_0": np.arange(inner)}))
    building.add(2, 0, Step(sources={3: _pairs(np.arange(inner), np.arange(inner) * 7 % SOURCES)}, segments={}, controls={}))
    return building.indexes(direction, datetime.now(UTC), 0.5, "")


def _by_hand(result: int) -> list[int]:
    return sorted({at * 7 % SOURCES for at in (range(MANY) if result == 0 else range(MANY, MANY + FEW))})


def test_what_is_slow_by_the_way_is_kept_from_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "SLOW", 0.0)
    built = _built("backward")
    (whole,) = [one for one in built.index.maps if one.whole]
    assert (whole.node, whole.side, whole.input, whole.direction, whole.edges) == (("segment", 0), "source", 3, "backward", SOURCES + FEW)
    assert "from end to end: " in whole.because
    assert " ms by way of segment 2, " in whole.because
    lineage = built.lineage
    asked = Rows(of=RESULT, keys=_pairs([5, 6, 7], [1, 0, 1]))
    found = lineage.from_end_to_end(asked, (3,))
    assert found is not None
    tables, name = found
    assert name.endswith(", from end to end")
    given = sorted(zip(*(column.to_pylist() for column in tables[3].columns), strict=True))
    assert given == [(tag, row) for tag, result in ((5, 1), (6, 0), (7, 1)) for row in _by_hand(result)]
    # By the way it is the same, and a step goes no further than it did.
    assert [lineage.rids_behind(np.array([one]), 3).tolist() for one in (0, 1)] == [_by_hand(0), _by_hand(1)]
    stepped = lineage.step(0, asked.keys)
    assert stepped is not None
    assert (dict(stepped[0].sources), stepped[0].segments[2].num_rows) == ({}, MANY + 2 * FEW)
    assert lineage.from_end_to_end(asked, (3, 4)) is None


def test_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(direction: Any = "backward", apart: bool = False) -> list[tuple[int, str]]:
        return [(one.input, one.because) for one in _built(direction, apart).index.maps if one.whole]

    monkeypatch.setattr(ends, "SLOW", 10.0)
    assert whole() == []
    monkeypatch.setattr(ends, "SLOW", 0.0)
    assert whole("forward") == []
    # Both results have all that the sets have behind them: from end to end these are twice the pairs, and those of the segment half.
    monkeypatch.setattr(ends, "_TIMES", 1)
    assert [leaf for leaf, _ in whole(apart=True)] == [3]
    monkeypatch.setattr(ends, "_TIMES", 0.4)
    assert whole(apart=True) == []
    monkeypatch.setattr(ends, "_TIMES", 4)
    for bound, pairs in (("_FEW", 3 * MANY), ("_MOST", MANY)):
        with monkeypatch.context() as patched:
            patched.setattr(ends, bound, pairs)
            assert whole() == []
    assert whole() != []
    # A stored segment that was not asked about is behind the first result, too: nobody knows of what is behind it.
    assert [one.whole for one in _built("backward", unknown=True).index.maps] == [False] * 3
