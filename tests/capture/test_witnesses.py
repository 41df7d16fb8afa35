"""Witnesses as they are kept are those that were found."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture import writing
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.wanted import Capture
from airflow_lineage_provider.capture.witnesses import looked_up_witnesses
from airflow_lineage_provider.errors import IndexTooLarge, InvalidCapture, RecordDamaged
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step
from airflow_lineage_provider.tracing.witnesses import FoundWitnesses

PLACES = {(0, 3): 3, (1, 2, 0, 4): 4}
Told = list[tuple[Any, ...]]


def _found(rows: Told) -> FoundWitnesses:
    """Rows of a tag, and of each place a key of one or two columns, or None."""
    keys = {
        (0, 3): pa.table({"key_0": pa.array([row[1] for row in rows], pa.int64())}),
        (1, 2, 0, 4): pa.table({
            "key_0": pa.array([row[2] and row[2][0] for row in rows], pa.string()),
            "key_1": pa.array([row[2] and row[2][1] for row in rows], pa.float64()),
        }),
    }  # fmt: skip
    return FoundWitnesses(np.array([row[0] for row in rows], np.int64), keys)


def _step(pairs: set[tuple[int, Any]], *types: pa.DataType) -> pa.Table:
    values = [pa.array([key[at] for _, key in pairs], kind) for at, kind in enumerate(types)]
    return pa.table([pa.array([tag for tag, _ in pairs], pa.int64()), *values], names=[TAG, *(f"key_{at}" for at in range(len(types)))])


def _building(parts: list[tuple[int, Told]], outputs: int, most: int = 10_000) -> Building:
    building = Building(counts={}, most=most)
    building.begin(0, pa.table({"key_0": [7 * at for at in range(outputs)]}))
    whole = [(first + row[0], *row[1:]) for first, rows in parts for row in rows]
    three = {(row[0], (row[1],)) for row in whole if row[1] is not None}
    four = {(row[0], row[2]) for row in whole if row[2] is not None}
    sources = {3: _step(three, pa.int64()), 4: _step(four, pa.string(), pa.float64())}
    building.add(0, 0, Step(sources=sources, segments={}, controls={}, met=()))
    for first, rows in parts:
        building.add_witnesses(first, _found(rows))
    return building


@pytest.mark.parametrize("seed", range(10))
def test_what_is_kept_is_what_was_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS_OF_A_PART", 3)
    chance = random.Random(seed)
    outputs, first = chance.randint(1, 9), 0
    parts: list[tuple[int, Told]] = []
    while first < outputs:
        size = chance.randint(1, 4)
        rows = {
            (
                chance.randrange(min(size, outputs - first)),
                chance.choice([None, 5, 6, 1 << 40]),
                chance.choice([None, ("x", 1.5), ("y", 0.5)]),
            )
            for _ in range(chance.randint(0, 8))
        }
        parts.append((first, sorted(rows, key=repr)))
        first += size
    built = _building(parts, outputs).indexes("both", datetime.now(UTC), 0.5, "")
    kept = built.index.witnesses
    assert kept is not None
    written = {(number, part): from_bytes(content) for number, part, content in built.parts}
    lineage = LookedUpLineage(built.index, lambda number, wanted: {one: written[number, one] for one in wanted if (number, one) in written})
    for asked in (list(range(outputs)), [outputs - 1], chance.sample(range(outputs), outputs)):
        found = looked_up_witnesses(lineage, kept, [7 * at for at in asked])
        given = zip(found.tags.tolist(), *(table.to_pylist() for table in found.keys.values()), strict=True)
        told = sorted(repr((asked[tag], *(tuple(key.values()) for key in keys))) for tag, *keys in given)
        wanted = [(first + row[0], (row[1],), row[2] or (None, None)) for first, rows in parts for row in rows if first + row[0] in asked]
        assert told == sorted(map(repr, wanted))
    assert (kept.count, kept.bytes > 0) == (sum(len(rows) for _, rows in parts), True)
    assert len(kept.starts) == -(-outputs // 3)
    with pytest.raises(RecordDamaged, match="is gone"):
        looked_up_witnesses(LookedUpLineage(built.index, lambda number, wanted: {}), kept, [0])


def test_of_a_plan_that_reads_nothing() -> None:
    building = Building(counts={}, most=10)
    building.begin(0, pa.table({"key_0": [0, 1]}))
    building.add_witnesses(0, FoundWitnesses(np.array([0, 1]), {}))
    built = building.indexes("both", datetime.now(UTC), 0.5, "")
    written = {(number, part): from_bytes(content) for number, part, content in built.parts}
    lineage = LookedUpLineage(built.index, lambda number, wanted: {one: written[number, one] for one in wanted})
    assert built.index.witnesses is not None
    found = looked_up_witnesses(lineage, built.index.witnesses, [1, 0])
    assert (found.tags.tolist(), dict(found.keys)) == ([0, 1], {})


def test_more_than_there_may_be() -> None:
    with pytest.raises(IndexTooLarge, match="more than 5 pairs of rows in the witnesses of the result's rows"):
        _building([(0, [(0, 5, ("x", 1.5)), (0, 6, ("x", 1.5))])], 1, most=5)


@pytest.mark.parametrize(("given", "message"), [
    ({"witnesses": 1}, "witnesses=1 is not understood"), ({"witnesses": True, "tables": ["a"]}, "give them without tables"),
    ({"witnesses": True, "subqueries": "data"}, "without tables and subqueries"),
])  # fmt: skip
def test_what_cannot_be_meant(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCapture, match=message):
        Capture(**given)
