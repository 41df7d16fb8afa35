"""Parts that are kept on disk are mapped, and what is there is what was put or nothing."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.capture.csr import Edges, csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.deriving.part_cache import PartCache, PartKey

INDEX = "0123456789abcdef" * 2
ROWS, OTHERS = 40, 700
SCATTERED = csr(Edges(np.repeat(np.arange(ROWS), 3) % 39, np.arange(3 * ROWS) * 17 % OTHERS), ROWS, OTHERS)
SINGLE = csr(Edges(np.arange(ROWS - 1), np.arange(ROWS - 1) * 13), ROWS, OTHERS)
ALL = csr(Edges(np.repeat(np.arange(3), OTHERS), np.tile(np.arange(OTHERS), 3)), 3, OTHERS)
BESIDE = {
    "none": pa.array([], pa.int64()),
    "nulls": pa.array([None, "x", None]),
    "flags": pa.array([True, False, None]),
    "structs": pa.array([{"a": 1, "b": [None, 2.5]}, {"a": None, "b": None}]),
}


def key(number: int = 0, part: int = 0, index: str = INDEX) -> PartKey:
    return (index, number, part)


def path_of(cache: PartCache, one: PartKey) -> Path:
    return cache.folder / one[0] / f"{one[1]}-{one[2]}"


@pytest.fixture
def cache(tmp_path: Path) -> PartCache:
    return PartCache(tmp_path / "cache" / "parts", 1 << 20)


@pytest.mark.parametrize("name", [*ENCODINGS, *BESIDE])
def test_a_part_is_mapped_and_answers_as_it_did(cache: PartCache, name: str) -> None:
    encoding = ENCODINGS.get(name)
    edges = next(one for one in (SCATTERED, SINGLE, ALL) if encoding is None or encoding.holds(one, OTHERS))
    array = BESIDE[name] if encoding is None else encoding.encode(edges, OTHERS)
    assert cache.get(key()) is None
    before = pa.total_allocated_bytes()
    mapped = cache.put(key(), array)
    again = cache.get(key())
    assert again is not None
    assert mapped.equals(array)
    assert again.equals(array)
    assert pa.total_allocated_bytes() == before, "its values stand in the map"
    assert all(one is None or not one.is_mutable for one in again.buffers())
    if encoding is not None:
        wanted = np.arange(OTHERS)
        for one in (mapped, again):
            asked = np.arange(edges.rows)
            for got, own in ((encoding.of(one, asked, OTHERS), encoding.of(array, asked, OTHERS)),
                             (encoding.having(one, wanted, OTHERS), encoding.having(array, wanted, OTHERS))):  # fmt: skip
                assert (got.asked.tolist(), got.rid.tolist()) == (own.asked.tolist(), own.rid.tolist())
    assert oct(cache.folder.parent.stat().st_mode)[-3:] == "700"
    shutil.rmtree(cache.folder)
    assert again.equals(array), "a map keeps what it has"
    assert cache.get(key()) is None
    assert cache.get(key(index="../" + INDEX)) is None
    assert cache.put(key(index="../../elsewhere"), array) is array
    assert not cache.folder.exists()


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_damaged_is_fetched_again(cache: PartCache, data: st.DataObject) -> None:
    array = pa.array([*range(50), None])
    cache.put(key(), array)
    path = path_of(cache, key())
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    damage: dict[str, Callable[[], object]] = {
        "flipped": lambda: path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]),
        "cut": lambda: path.write_bytes(whole[:at]),
        "longer": lambda: path.write_bytes(whole + whole[at:]),
        "another": lambda: path.write_text("x" * at),
    }
    damage[data.draw(st.sampled_from(sorted(damage)))]()
    assert cache.get(key()) is None
    assert not path.exists()
    assert cache.put(key(), array).equals(array)
    kept = cache.get(key())
    assert kept is not None
    assert kept.equals(array)


def test_what_cannot_be_kept_is_used_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    array = pa.array([1, 2])
    cache = PartCache(tmp_path / "file" / "parts", 1000)
    with caplog.at_level(logging.WARNING, "airflow_lineage_provider"):
        assert [cache.put(key(part), array) is array for part in range(3)] == [True] * 3
    assert len(caplog.records) == 1, "it is said once"
    other = PartCache(tmp_path / "cache" / "parts", 1000)
    path_of(other, key()).mkdir(parents=True)
    assert other.get(key()) is None
    assert other.put(key(), array) is array
    assert [one.name for one in path_of(other, key()).parent.iterdir()] == ["0-0"], "nothing half written stays"


def test_what_was_not_used_for_the_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = pa.array(np.arange(1000))  # 8 kB, and some
    cache = PartCache(tmp_path / "parts", 30_000)
    other = "f" * 32
    for part, index in ((0, other), (0, INDEX), (1, INDEX)):
        cache.put(key(part=part, index=index), array)
        os.utime(path_of(cache, key(part=part, index=index)), (1_000_000 + part, 1_000_000 + part))
    assert cache.get(key(part=0)) is not None, "it is used now"
    cache.put(key(part=2), array)
    assert {one.name for one in cache.folder.glob("*/*")} == {"0-0", "0-1", "0-2"}
    assert not (cache.folder / other).exists(), "nor does an empty folder stay"
    cache.put(key(part=3), array)
    assert {one.name for one in cache.folder.glob("*/*")} == {"0-0", "0-2", "0-3"}
    assert sum(one.stat().st_size for one in cache.folder.glob("*/*")) <= cache.most
    gone = cache.get(key(part=1))
    assert gone is None
    # It is looked through each minute, or when an eighth of what there may be was written.
    much = PartCache(tmp_path / "parts", 30_000)
    much._looked, much.most = float("inf"), 10**9
    much.put(key(part=4), array)
    assert len([*cache.folder.glob("*/*")]) == 4
    assert PartCache(tmp_path / "parts", 20_000).put(key(part=5), array) is not array
    assert len([*cache.folder.glob("*/*")]) == 2


def test_two_that_keep_the_same_part_at_once(cache: PartCache) -> None:
    array, problems = pa.array(np.arange(5000)), list[object]()

    def use() -> None:
        own = PartCache(cache.folder, cache.most)
        for _ in range(30):
            if not own.put(key(), array).equals(array):
                problems.append("another")
            found = own.get(key())
            if found is not None and not found.equals(array):
                problems.append("half")

    threads = [threading.Thread(target=use) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not problems
    assert [one.name for one in cache.folder.glob("*/*")] == ["0-0"]
