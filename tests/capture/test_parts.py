"""Parts of indexes that went through a file are those that were put, and memory has as many of them as it may."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.capture import parts as module
from airflow_lineage_provider.capture.encodings.written import checksum
from airflow_lineage_provider.capture.parts import Parts

INDEXES = st.lists(st.tuples(st.booleans(), st.lists(st.binary(max_size=40), max_size=5)), max_size=6)


@given(INDEXES, st.integers(0, 120), st.integers(1, 30))
def test_what_went_through_a_file_is_what_was_put(indexes: list[tuple[bool, list[bytes]]], most: int, piece: int) -> None:
    wanted, numbers = list[tuple[int, int, bytes]](), list[int]()
    with Parts(most) as parts, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", piece)
        for beside, contents in indexes:
            if beside:
                numbers.append(parts.put_beside(contents))
            else:
                numbers.append(len([one for one in numbers if one >= 0]))
                assert parts.put(numbers[-1], iter(contents)) == len(contents)
            wanted += [(numbers[-1], part, content) for part, content in enumerate(contents)]
            assert [*parts] == wanted, "it may be read between"
            assert [*islice(parts, 1)] == wanted[:1]
            assert sum(map(len, parts._waiting)) <= most
        assert [one for one in numbers if one < 0] == [-at - 1 for at in range(sum(beside for beside, _ in indexes))]
        for number in numbers:
            assert parts.bytes_of(number) == sum(len(content) for of, _, content in wanted if of == number)
        whole = b"".join(parts.pieces())
        assert whole == b"".join(content for *_, content in wanted)
        assert parts.total == len(whole)
        assert max(map(len, parts.pieces()), default=0) <= max(piece, most, 40)
        ends = [*accumulate(len(content) for *_, content in wanted)]
        assert [(one.number, one.part, one.at, one.length, one.crc) for one in parts.places] == [
            (number, part, end - len(content), len(content), checksum(content, number, part))
            for (number, part, content), end in zip(wanted, ends, strict=True)
        ]
        assert all(whole[one.at : one.at + one.length] == content for one, (*_, content) in zip(parts.places, wanted, strict=True))


def test_memory_is_bounded_and_no_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 40 MB in a room of 4 MB; their file has no name, and is closed with them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def contents() -> Iterator[bytes]:
        for at in range(160):
            yield bytes([at]) * (1 << 18)

    tracemalloc.start()
    with Parts(4 << 20) as parts:
        parts.put(0, contents())
        for at, (_, part, content) in enumerate(parts):
            assert (part, content[:1], len(content)) == (at, bytes([at]), 1 << 18)
        assert sum(map(len, parts.pieces())) == parts.total == 40 << 20
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 4 << 20 < most < 13 << 20
        assert not os.listdir(tmp_path)
        assert parts._file is not None
    assert parts._file.closed
