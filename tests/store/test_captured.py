"""Parts of captured lineage are read as those of the index that a record tells of, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from airflow_lineage_provider.capture.encodings.written import to_bytes
from airflow_lineage_provider.capture.recorded import RecordedIndex
from airflow_lineage_provider.errors import IndexReplaced
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.captured import parts


def test_parts_of_an_index_that_was_replaced(store: Store, begin: Callable[[], str]) -> None:
    run = begin()
    store.publish_run(run)
    contents = [to_bytes(pa.array([n])) for n in range(3)]
    first, second = RecordedIndex.begun(), replace(RecordedIndex.begun(), problem='say "x"')

    def read(index: RecordedIndex, number: int, wanted: list[int]) -> list[int]:
        with store.session() as session:
            found = parts(session, run, index.id, number, wanted)
        there = {part: one for part, one in found.items() if isinstance(one, bytes)}
        assert there == found
        return [contents.index(there[part]) if part in there else -1 for part in wanted]

    with pytest.raises(IndexReplaced, match="captured anew, or forgotten"):
        read(first, 0, [0])
    store.save_captured(run, first, [(0, 0, contents[0]), (0, 1, contents[1]), (-1, 0, contents[2])])
    assert [read(first, 0, [0, 1, 2]), read(first, -1, [0]), read(first, 7, [0])] == [[0, 1, -1], [2], [-1]]
    store.save_captured(run, second, [(0, 0, contents[2])])
    assert read(second, 0, [0, 1]) == [2, -1]
    with pytest.raises(IndexReplaced):
        read(first, 0, [0])
    store.drop_captured(run)
    for index in (first, second):
        with pytest.raises(IndexReplaced):
            read(index, 0, [0])
