"""Every encoding gives the edges that it was given, and the smallest is chosen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.encodings import ENCODINGS, choose, from_bytes, to_bytes
from airflow_lineage_provider.errors import RecordDamaged

OTHERS = 40


@st.composite
def relations(draw: st.DrawFn) -> Csr:
    """Edges from up to 30 rows to 40: single rows, ranges, all, none."""
    rows = draw(st.integers(0, 30))
    some = st.one_of(
        st.just(range(0)),
        st.integers(0, OTHERS - 1).map(lambda one: range(one, one + 1)),
        st.tuples(st.integers(0, OTHERS), st.integers(0, OTHERS)).map(lambda ends: range(min(ends), max(ends))),
        st.sets(st.integers(0, OTHERS - 1)),
        st.just(range(OTHERS)),
    )
    behind = [sorted(draw(some)) for _ in range(rows)]
    pairs = [(row, rid) for row, some in enumerate(behind) for rid in some]
    edges = np.array(draw(st.permutations(pairs + pairs[:3])), np.int64).reshape(-1, 2)
    return csr(Edges(edges[:, 0], edges[:, 1]), rows, OTHERS)


def _pairs(edges: Edges) -> list[tuple[int, int]]:
    return list(zip(edges.asked.tolist(), edges.rid.tolist(), strict=True))


@settings(deadline=None, max_examples=150)
@given(edges=relations(), data=st.data())
def test_every_encoding_gives_what_it_was_given(edges: Csr, data: st.DataObject) -> None:
    asked = np.array(data.draw(st.lists(st.integers(0, max(edges.rows - 1, 0)), max_size=8 if edges.rows else 0)), np.int64)
    behind = [set(edges.rids[edges.indptr[row] : edges.indptr[row + 1]].tolist()) for row in range(edges.rows)]
    expected = [(place, rid) for place, row in enumerate(asked.tolist()) for rid in sorted(behind[row])]
    assert _pairs(edges.of(asked)) == expected
    for name, encoding in ENCODINGS.items():
        if encoding.holds(edges, OTHERS):
            written = from_bytes(to_bytes(encoding.encode(edges, OTHERS)))
            assert len(written) == edges.rows
            assert _pairs(encoding.of(written, asked, OTHERS)) == expected, name


@settings(deadline=None, max_examples=100)
@given(edges=relations())
def test_the_inverse_has_the_same_pairs(edges: Csr) -> None:
    own = set(_pairs(edges.of(np.arange(edges.rows))))
    back = edges.inverse(OTHERS)
    assert {(row, rid) for rid, row in _pairs(back.of(np.arange(OTHERS)))} == own
    assert _pairs(back.inverse(edges.rows).of(np.arange(edges.rows))) == sorted(own)


def test_edges_of_very_large_row_sets_are_sorted_as_pairs() -> None:
    large = 1 << 40
    made = csr(Edges(np.array([1, 0, 1, 1]), np.array([large - 1, 5, 7, large - 1])), 2, large << 24)
    assert made.indptr.tolist() == [0, 1, 3]
    assert made.rids.tolist() == [5, 7, large - 1]


@pytest.mark.parametrize(
    ("behind", "others", "chosen"),
    [
        ([[3], [], [1]], 10, "rid array"),
        ([list(range(1000)), list(range(1000))], 1000, "whole"),
        ([list(range(at, at + 500)) for at in range(0, 1000, 10)], 2000, "intervals"),
        ([sorted(np.random.default_rng(row).choice(50_000, 200, replace=False).tolist()) for row in range(50)], 50_000, "rid index"),
    ],
)
def test_the_smallest_is_chosen(behind: list[list[int]], others: int, chosen: str) -> None:
    edges = csr(
        Edges(np.repeat(np.arange(len(behind)), list(map(len, behind))), np.array([rid for some in behind for rid in some])),
        len(behind), others,
    )  # fmt: skip
    assert choose([edges], others).name == chosen
    sizes = {name: len(to_bytes(one.encode(edges, others))) for name, one in ENCODINGS.items() if one.holds(edges, others)}
    assert min(sizes.values()) == sizes[chosen]


def test_no_rows_at_all() -> None:
    empty = csr(Edges(np.empty(0, np.int64), np.empty(0, np.int64)), 0, 0)
    assert choose([], 0).name == "whole"
    assert _pairs(empty.of(np.empty(0, np.int64))) == []
    assert empty.inverse(3).rows == 3


@pytest.mark.parametrize("content", [b"", b"nonsense", to_bytes(pa.array([[1, 2], [3]]))[:-40], to_bytes(pa.array([1, 2, 3]))[:60]])
def test_a_part_that_is_damaged_is_said_to_be(content: bytes) -> None:
    with pytest.raises(RecordDamaged, match="captured lineage cannot be read"):
        from_bytes(content)
