"""Rows that are followed forwards: each lineage key once, with the tags of all that have it, against the same one by one."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.descent import _by_key
from airflow_lineage_provider.tracing.key_index import key_tuples
from airflow_lineage_provider.tracing.maps import RESULT, Rows
from airflow_lineage_provider.tracing.reserved import TAG


@pytest.mark.parametrize("seed", range(20))
def test_each_key_once_with_all_its_tags(seed: int) -> None:
    rng = random.Random(seed)
    many = rng.choice([0, 1, 2, 40])
    one = pa.array([rng.choice([None, 1.5, math.nan, 0.0]) for _ in range(many)], pa.float64())
    other = pa.array([rng.choice(["a", "b", None]) for _ in range(many)], pa.string())
    tags = pa.array([rng.randrange(100) for _ in range(many)], pa.int64())
    keys, found = _by_key(Rows(of=RESULT, keys=pa.table({TAG: tags, "key_0": one, "key_1": other})))
    expected: dict[object, list[int]] = {}
    for key, tag in zip(key_tuples(pa.table([one, other], names=["a", "b"])), tags.to_pylist(), strict=True):
        expected.setdefault(repr(key), []).append(tag)
    assert {repr(key): one for key, one in zip(key_tuples(keys), found.to_pylist(), strict=True)} == expected
    assert keys.num_rows == len(expected)
