"""Indexes that were built answer as the steps that they were built of; what they do not know they do not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture import writing
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.recorded import ROWS_OF_A_PART
from airflow_lineage_provider.capture.rids import InFiles, Listed, Numbered
from airflow_lineage_provider.capture.spooled import ROOM, Room
from airflow_lineage_provider.capture.writing import BuiltIndex, Counts, RowSetKey
from airflow_lineage_provider.errors import IndexTooLarge, RecordDamaged
from airflow_lineage_provider.tracing.maps import Rows, RowSet
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step

FILE = 1 << 40
SECOND = 1 << 33
# Two partitions with rows 0, 1 and 2³³: three results. Segment 2 has two rows; its rows stand behind results, sources behind them.
RESULTS, INNER = [0, 1, SECOND], [0, 1]
COUNTS: Mapping[RowSetKey, Counts] = {
    ("segment", 0): ("numbered", [(0, 2), (1, 1)]),
    ("segment", 2): ("numbered", [(0, 2)]),
    ("source", 3): ("in_files", [(-FILE, 2), (FILE, 3)]),
}


def _rows(pairs: Sequence[tuple[Any, ...]], *types: pa.DataType) -> pa.Table:
    columns = list(zip(*pairs, strict=True)) or [()] * (1 + len(types))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, (pa.int64(), *types), strict=True)]
    return pa.table(dict(zip([TAG, *(f"key_{at}" for at in range(len(types)))], arrays, strict=True)))


TO_INNER = [(0, 0), (0, 1), (2, 1)]
TO_FILES = [(0, -FILE, 1), (1, FILE, 0), (1, FILE, 2)]
TO_LISTED = [(0, "x", 1.5), (0, None, 2.5), (1, "x", 1.5)]


def _built(directions: Any = "both", counts: Mapping[RowSetKey, Counts] = COUNTS, most: int = 100, room: int = ROOM) -> BuiltIndex:
    building = Building(counts=counts, most=most, room=Room(room))
    building.begin(0, pa.table({"key_0": RESULTS}))
    # In two parts, as large segments are asked about.
    first = _rows([pair for pair in TO_INNER if pair[0] < 2], pa.int64())
    building.add(0, 0, Step(sources={}, segments={2: first}, controls={1: (1,)}, met=(1,)))
    building.add(0, 2, Step(sources={}, segments={2: _rows([(0, 1)], pa.int64())}, controls={}, met=()))
    assert building.reached() == {2}
    building.begin(2, pa.table({"key_0": INNER}))
    sources = {3: _rows(TO_FILES, pa.int64(), pa.int64()), 4: _rows(TO_LISTED, pa.string(), pa.float64())}
    building.add(2, 0, Step(sources=sources, segments={}, controls={}, met=()))
    return building.indexes(directions, datetime.now(UTC), 0.5, "duckdb")


def _asked(built: BuiltIndex) -> LookedUpLineage:
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}
    return LookedUpLineage(built.index, lambda number, wanted: {one: parts[number, one] for one in wanted if (number, one) in parts})


def _set(table: pa.Table) -> set[tuple[Any, ...]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("room", [0, ROOM])
@pytest.mark.parametrize("counts", [COUNTS, {}, *({**COUNTS, key: (kind, parts)} for key, kind, parts in [
    (("source", 3), "in_files", [(-FILE, 1), (FILE, 3)]), (("segment", 2), "numbered", [(0, 3)]), (("segment", 2), "numbered", [(0, 1)]),
    (("segment", 0), "numbered", [(0, 1), (1, 2)])])])  # fmt: skip
def test_backward_and_forward(counts: Mapping[RowSetKey, Counts], room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rows are numbered by: parts, lists, or lists since the parts have fewer rows than there are, or more; in one part or in
    several."""
    monkeypatch.setattr(writing, "ROWS_OF_A_PART", ROWS_OF_A_PART if room else 1)
    built = _built(counts=counts, room=room)
    (listed,) = (one for one in built.index.spaces if (one.side, one.number) == ("source", 4))
    assert listed.key_parts == (1 if room else listed.rows) == len([number for number, *_ in built.parts if number == listed.keys])
    lineage = _asked(built)
    found = lineage.step(0, pa.table({TAG: [7, 8, 9, 9], "key_0": [SECOND, 0, 1, 0]}))
    assert found is not None
    step, _ = found
    assert _set(step.segments[2]) == {(7, 1), (8, 0), (8, 1), (9, 0), (9, 1)}
    assert (step.sources, step.controls, step.met) == ({}, {1: (9,)}, (1,))
    found = lineage.step(2, pa.table({TAG: [5, 6], "key_0": [1, 0]}))
    assert found is not None
    assert _set(found[0].sources[3]) == {(5, FILE, 0), (5, FILE, 2), (6, -FILE, 1)}
    assert _set(found[0].sources[4]) == {(5, "x", 1.5), (6, "x", 1.5), (6, None, 2.5)}
    rows = Rows(of=RowSet("source", (3,)), keys=_rows([(0, FILE, 2), (1, -FILE, 1), (2, FILE, 1)], pa.int64(), pa.int64()))
    down = lineage.descendants(rows, RowSet("segment", (0,)))
    assert down is not None
    assert _set(down[0]) == {(0, 0), (0, SECOND), (1, 0)}
    named = Rows(of=RowSet("source", (4,)), keys=_rows([(0, None, 2.5), (1, "y", 1.5), (2, "x", 1.5)], pa.string(), pa.float64()))
    down = lineage.descendants(named, RowSet("segment", (0,)))
    assert down is not None
    assert _set(down[0]) == {(0, 0), (2, 0), (2, SECOND)}


@pytest.mark.parametrize(("direction", "back", "forth"), [
    ("both", "rid index", "rid array, rid index"), ("backward", "rid index", "rid index, searched"),
    ("forward", "rid array, searched, rid index, searched", "rid array, rid index"),
])  # fmt: skip
def test_what_was_captured_one_way_is_searched_for_the_other(direction: Any, back: str, forth: str) -> None:
    both, lineage = _asked(_built()), _asked(_built(direction))
    target = pa.table({TAG: [7, 8, 9, 9], "key_0": [SECOND, 0, 1, 0]})
    for segment, asked in ((0, target), (2, target.slice(1))):
        expected, found = both.step(segment, asked), lineage.step(segment, asked)
        assert expected is not None
        assert found is not None
        for side in ("sources", "segments"):
            own, wanted = getattr(found[0], side), getattr(expected[0], side)
            assert {number: _set(rows) for number, rows in own.items()} == {number: _set(rows) for number, rows in wanted.items()}
        assert found[0].controls == expected[0].controls
    rows = Rows(of=RowSet("source", (3,)), keys=_rows([(0, FILE, 2), (1, -FILE, 1), (2, FILE, 1)], pa.int64(), pa.int64()))
    down, known = lineage.descendants(rows, RowSet("segment", (0,))), both.descendants(rows, RowSet("segment", (0,)))
    assert down is not None
    assert known is not None
    assert _set(down[0]) == _set(known[0]) == {(0, 0), (0, SECOND), (1, 0)}


def test_what_was_not_captured_is_not_answered() -> None:
    lineage = _asked(_built())
    rows = Rows(of=RowSet("source", (3,)), keys=_rows([(0, FILE, 2)], pa.int64(), pa.int64()))
    assert lineage.step(1, pa.table({TAG: [0], "key_0": [0]})) is None
    assert lineage.descendants(rows, RowSet("segment", (1,))) is None
    # Where what stands behind was not captured, some ways down would be missed.
    half = replace(lineage.index, met={"0": ()}, maps=tuple(one for one in lineage.index.maps if one.segment == 0))
    assert replace(lineage, index=half).descendants(rows, RowSet("segment", (0,))) is None
    assert {one.side for one in _built("forward").index.maps if one.direction == "backward"} == {"control"}


def test_more_pairs_than_there_may_be() -> None:
    with pytest.raises(IndexTooLarge, match="more than 2 pairs of rows between segment 0"):
        _built(most=1 + 1)


def test_damage_is_an_error_and_never_a_shorter_answer() -> None:
    built = _built()
    target = pa.table({TAG: [0], "key_0": [0]})
    gone = LookedUpLineage(built.index, lambda number, wanted: {})
    with pytest.raises(RecordDamaged, match="part 0 of captured lineage is gone"):
        gone.step(0, target)
    shorter = LookedUpLineage(built.index, lambda number, wanted: {0: pa.array([], pa.uint8())})
    with pytest.raises(RecordDamaged, match="has 0 rows, and there are more"):
        shorter.step(0, target)
    beyond = LookedUpLineage(built.index, lambda number, wanted: {0: pa.array([[9]] * 3, pa.large_list(pa.uint8()))})
    with pytest.raises(RecordDamaged, match="leads to row 9, and there are 2"):
        beyond.step(0, target)
    maps = tuple(replace(one, encoding="of a later release") for one in built.index.maps)
    with pytest.raises(RecordDamaged, match="'of a later release', which this release does not know"):
        replace(_asked(built), index=replace(built.index, maps=maps)).step(0, target)


def test_large_indexes_are_written_in_parts() -> None:
    """A question fetches those that it needs."""
    rows = ROWS_OF_A_PART * 2 + 5
    building = Building(counts={}, most=10 * rows)
    numbers = np.arange(rows) * 3
    building.begin(0, pa.table({"key_0": numbers}))
    keys = pa.table({TAG: np.arange(rows), "key_0": np.full(rows, 7), "key_1": np.arange(rows)[::-1]})
    building.add(0, 0, Step(sources={1: keys}, segments={}, controls={}, met=()))
    built = building.indexes("backward", datetime.now(UTC), 0.5, "")
    (one,) = built.index.maps
    assert (one.parts, one.encoding, one.edges) == (3, "rid array", rows)
    fetched: list[tuple[int, Sequence[int]]] = []
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}

    def fetch(number: int, wanted: Sequence[int]) -> Mapping[int, pa.Array]:
        fetched.append((number, list(wanted)))
        return {each: parts[number, each] for each in wanted}

    found = LookedUpLineage(built.index, fetch).step(0, pa.table({TAG: [0, 1], "key_0": [0, (rows - 1) * 3]}))
    assert found is not None
    assert _set(found[0].sources[1]) == {(0, 7, rows - 1), (1, 7, 0)}
    assert (0, [0, 2]) in fetched


def test_rows_are_numbered_by_where_they_stand() -> None:
    stored = Numbered([(0, 2), (5, 1)])
    assert stored.rows == 3
    assert stored.rids(pa.table({"key_0": [5 << 33, 1, 2, (5 << 33) + 1, 3 << 33]})).tolist() == [2, 1, -1, -1, -1]
    assert stored.keys(np.array([2, 0])).column(0).to_pylist() == [5 << 33, 0]
    files = InFiles([(9, 0), (-4, 2)])
    assert files.rids(pa.table({"key_0": [9, -4, -4], "key_1": [0, 1, -1]})).tolist() == [-1, 1, -1]
    listed = Listed(pa.table({"key_0": [None, 1.0, float("nan")], "key_1": ["a", "a", "b"]}))
    assert listed.rids(pa.table({"key_0": [float("nan"), None, None], "key_1": ["b", "a", "b"]})).tolist() == [2, 0, -1]
    assert Numbered([]).rids(pa.table({"key_0": [0]})).tolist() == [-1]
    assert InFiles([]).rows == 0
