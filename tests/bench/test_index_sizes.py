"""Indexes that were built have the sizes that they say, and others in other ways."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.spooled import ROOM, Room
from airflow_lineage_provider.capture.writing import BuiltIndex
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step
from tests.bench.index_sizes import compared_sizes, sizes

ROWS, LINES = 70_000, 200_000
"""In two parts; each row of the result has three neighbours of a table behind it, and each tenth one row more."""


def _built() -> BuiltIndex:
    tags = np.concatenate([np.repeat(np.arange(ROWS), 3), np.arange(0, ROWS, 10)])
    lines = np.concatenate([(np.repeat(np.arange(ROWS) * 2, 3) + np.tile(np.arange(3), ROWS)), np.full(ROWS // 10, LINES - 1)])
    building = Building(
        counts={("segment", 0): ("numbered", [(0, ROWS)]), ("source", 1): ("in_files", [(7, LINES)])}, most=10**6, room=Room(ROOM)
    )
    building.begin(0, pa.table({"key_0": np.arange(ROWS)}))
    step = pa.table({TAG: tags, "key_0": np.full(len(tags), 7), "key_1": lines})
    building.add(0, 0, Step(sources={1: step}, segments={}, controls={}, met=()))
    return building.indexes("both", datetime.now(UTC), 0.5, "duckdb")


@pytest.mark.long
def test_a_map_has_the_size_that_is_told_and_no_way_is_smaller_that_is_as_quick() -> None:
    built = _built()
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}
    looked = LookedUpLineage(built.index, lambda number, wanted: {one: parts[number, one] for one in wanted})
    found = [(one, sizes(looked, one)) for one in built.index.maps]
    assert [(one.direction, one.parts > 1) for one, _ in found] == [("backward", True), ("forward", True)]
    for one, ways in found:
        assert ways[one.encoding] == one.bytes
        assert {"rid index", "roaring bitmaps", "shared roBDD"} <= {*ways}
    told = compared_sizes(found)
    assert told["sets, bytes"] == sum(ways["rid index"] for _, ways in found)
    assert told["as chosen, bytes"] == sum(one.bytes for one, _ in found) < told["sets, bytes"]
    assert told["as chosen ÷ smallest"] == max(one.bytes / min(ways.values()) for one, ways in found) >= 1
