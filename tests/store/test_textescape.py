"""Which texts are escaped for PostgreSQL, by their bytes: the same that Python finds letter by letter, in arrays of every form."""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.store.textescape import MARK, escape, escape_array, needs_escape, unescape, unescape_array

LETTERS = ("", "a", "0", "\x00", "\x01", "\x7f", "é", "€", "\U0001f600", "\U000f0000", "\U000fffff", "\U00100000", "\U0010fffe", MARK)
TEXTS = [None, *map("".join, product(LETTERS, repeat=2))]


def rows(array: Any) -> list[str | None]:
    found: list[str | None] = array.to_pylist()
    return found


def check(array: Any) -> None:
    there = rows(array)
    assert needs_escape(array) == any(letter in text for text in there if text is not None for letter in ("\x00", MARK))
    stored = escape_array(array)
    assert rows(stored) == [text if text is None else escape(text) for text in there]
    assert "\x00" not in "".join(text for text in rows(stored) if text is not None)
    assert rows(unescape_array(stored)) == there == [text if text is None else unescape(escape(text)) for text in there]
    assert rows(unescape_array(array)) == [text if text is None else unescape(text) for text in there]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_every_text_alone_and_among_others(kind: pa.DataType) -> None:
    whole = pa.array(TEXTS, kind)
    for array in (whole, whole[:0], whole[3:3], pa.array([], kind), pa.nulls(3, kind), pa.array(["", ""], kind)):
        check(array)
    for at in range(len(TEXTS)):
        check(whole.slice(at, 1))
        check(whole.slice(at, 2))
    for at in range(0, len(TEXTS), 20):
        check(pa.chunked_array([whole.slice(at, 7), whole[:0], whole.slice(at + 9, 1)], kind))
        check(pa.chunked_array([], kind))


def test_what_stands_behind_a_null_is_no_text() -> None:
    texts = pa.array(["a", "\x00", MARK, "b"])
    hidden = pa.Array.from_buffers(pa.string(), 4, [pa.py_buffer(b"\x09"), *texts.buffers()[1:]])
    assert rows(hidden) == ["a", None, None, "b"]
    check(hidden)
    assert not needs_escape(hidden)
    assert needs_escape(texts)


def test_a_column_is_marked_where_a_text_is_escaped_alone() -> None:
    """A letter that begins as the mark does is none."""
    near = pa.array(["\U00100000", "\U0010fffe"])
    assert not needs_escape(near)
    assert unescape_array(near).equals(near)
