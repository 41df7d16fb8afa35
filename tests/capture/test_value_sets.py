"""Lineage that leads to values in place of rows: against the rows, mapped to their values in plain Python."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture import writing
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.classes import Classes, classes_of
from airflow_lineage_provider.capture.csr import Csr
from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.rids import RidSpace
from airflow_lineage_provider.capture.spooled import ROOM, Room
from airflow_lineage_provider.capture.value_sets import ValueSets, descendants_of_values
from airflow_lineage_provider.capture.wanted import CaptureTable, Cube
from airflow_lineage_provider.capture.writing import BuiltIndex, Counts, RowSetKey
from airflow_lineage_provider.tracing.maps import Rows, RowSet
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step
from airflow_lineage_provider.words import CaptureDirection

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Numbers

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class _Kept:
    """Of leaf 4 the values of its rows, those that are ``kept``; keys are the rows' numbers."""

    tables: Mapping[int, CaptureTable]
    values: list[Any]
    kept: list[bool] | None

    def classes(self, leaf: int, space: RidSpace, rids: Numbers) -> Classes:
        rows = space.keys(rids).column(0).to_pylist()
        kept = None if self.kept is None else pa.chunked_array([pa.array([self.kept[row] for row in rows], pa.bool_())])
        return classes_of(rids, space.rows, kept, pa.table({"name": pa.array([self.values[row] for row in rows], pa.string())}))

    def cells(self, leaf: int, cube: Cube, edges: Csr) -> pa.Array:
        raise AssertionError


def _step(pairs: Pairs) -> pa.Table:
    return pa.table({TAG: pa.array([one for one, _ in pairs], pa.int64()), "key_0": pa.array([other for _, other in pairs], pa.int64())})


def _built(direction: CaptureDirection, direct: Pairs, down: Pairs, below: Pairs, kept: _Kept, outputs: int, inner: int) -> BuiltIndex:
    """Leaf 4 behind the result, and behind segment 2, which is behind it, too; leaf 3 beside it, row by row."""
    # The rows are counted, or the keys of all are listed.
    many: dict[RowSetKey, int] = {("segment", 0): outputs, ("segment", 2): inner, ("source", 4): len(kept.values)}
    counts: dict[RowSetKey, Counts] = {key: ("numbered", [(0, rows)]) for key, rows in many.items() if outputs % 2}
    building = Building(counts=counts, most=10_000, room=Room(0 if inner % 2 else ROOM))
    building.begin(0, pa.table({"key_0": list(range(outputs))}))
    building.add(0, 0, Step(sources={4: _step(direct), 3: _step(direct)}, segments={2: _step(down)}, controls={}, met=(1,)))
    building.begin(2, pa.table({"key_0": list(range(inner))}))
    building.add(2, 0, Step(sources={4: _step(below)} if below else {}, segments={}, controls={}, met=(3,)))
    return building.indexes(direction, datetime.now(UTC), 0.5, "", kept)


def _asked(built: BuiltIndex) -> LookedUpLineage:
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}
    return LookedUpLineage(built.index, lambda number, wanted: {one: parts[number, one] for one in wanted if (number, one) in parts})


def _pairs(chance: random.Random, most: int, left: int, right: int) -> Pairs:
    return {(chance.randrange(left), chance.randrange(right)) for _ in range(chance.randint(0, most))}


@pytest.mark.parametrize("direction", ["both", "backward", "forward"])
@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_the_rows(seed: int, direction: CaptureDirection, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(writing, "ROWS_OF_A_PART", 1 + seed % 3)
    outputs, inner, rows = chance.randint(1, 6), chance.randint(1, 6), chance.randint(1, 12)
    values = [chance.choice(["a", "b", "c", None]) for _ in range(rows)]
    kept = [chance.random() < 0.7 for _ in range(rows)] if seed % 2 else None
    direct, down, below = (_pairs(chance, 12, left, right) for left, right in ((outputs, rows), (outputs, inner), (inner, rows)))
    whole = direct | {(o, r) for o, i in down for j, r in below if i == j}
    table = CaptureTable(granularity=["name"], where="true" if kept else None)
    built = _built(direction, direct, down, below, _Kept({4: table}, values, kept), outputs, inner)
    lineage, one = _asked(built), built.index.values_of(4)
    if not {r for _, r in whole} and one is None:
        return
    assert one is not None
    sets = ValueSets(lineage, one)
    names = sets.values.column(0).to_pylist()
    assert len(set(names)) == len(names)
    of_row = {r: names.index(values[r]) for _, r in direct | below}
    for asked in ([0], list(range(outputs)), chance.sample(range(outputs), chance.randint(0, outputs))):
        found = sets.behind(asked)
        assert found is not None
        assert set(found.numbers.tolist()) == {of_row[r] for o, r in whole if o in asked and (kept is None or kept[r])}
    partly = {of_row[r] for r in of_row if kept is not None and not kept[r]}
    assert partly == (set() if sets.are_left_out is None else set(np.flatnonzero(sets.are_left_out).tolist()))
    for chosen in [[at] for at in range(len(names))] + [list(range(len(names)))]:
        down_again = descendants_of_values({4: np.array(chosen, np.int64)}, lineage)
        assert down_again is not None
        assert down_again[0].tolist() == sorted({o for o, r in whole if of_row[r] in chosen and (kept is None or kept[r])})


def test_of_rows_it_is_as_if_nothing_were_captured() -> None:
    pairs = {(0, 0), (1, 1)}
    built = _built("both", pairs, {(0, 0)}, {(0, 1)}, _Kept({4: CaptureTable(granularity=["name"])}, ["a", "a"], None), 2, 1)
    lineage = _asked(built)
    target = pa.table({TAG: [0], "key_0": [0]})
    assert lineage.step(0, target) is None
    assert lineage.step(0, target, frozenset({4})) is None
    found = lineage.step(0, target, frozenset({3}))
    assert found is not None
    assert set(found[0].sources) == {3}
    keys = pa.table({TAG: [0], "key_0": pa.array([0], pa.int64())})
    assert lineage.descendants(Rows(of=RowSet("source", (4,)), keys=keys), RowSet("segment", (0,))) is None
    assert lineage.descendants(Rows(of=RowSet("source", (3,)), keys=keys), RowSet("segment", (0,))) is not None
    # No number of a row of the leaf is written: two rows have one value.
    assert [(one.side, one.number, one.rows) for one in built.index.spaces if one.number == 4] == [("value", 4, 1)]
    sets = ValueSets(lineage, built.index.classes[0])
    both = sets.behind([0, 1])
    assert both is not None
    assert (both.numbers.tolist(), sorted(both.met)) == ([0], [1, 3])


def test_segments_that_do_not_lead_there_are_not_looked_at() -> None:
    built = _built("both", {(0, 0)}, {(0, 0)}, set(), _Kept({4: CaptureTable(granularity=["name"])}, ["a"], None), 1, 1)
    asked: list[int] = []
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}

    def fetch(number: int, wanted: Any) -> Mapping[int, pa.Array]:
        asked.append(number)
        return {one: parts[number, one] for one in wanted}

    found = ValueSets(LookedUpLineage(built.index, fetch), built.index.classes[0]).behind([0])
    assert found is not None
    (own,) = [one.number for one in built.index.maps if (one.side, one.direction, one.segment) == ("value", "backward", 0)]
    assert found.numbers.tolist() == [0]
    assert {number for number in asked if number >= 0} == {own}
