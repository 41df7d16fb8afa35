"""Rows in classes: what is left out, and the order of the others, against plain Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture.classes import classes_of
from airflow_lineage_provider.capture.csr import Edges, csr


@pytest.mark.parametrize("seed", range(20))
def test_edges_of_kept_rows_by_class(seed: int) -> None:
    chance = random.Random(seed)
    rows, outputs = chance.randint(1, 40), chance.randint(1, 8)
    rids = np.array(sorted(chance.sample(range(rows), chance.randint(0, rows))), np.int64)
    values: dict[str, list[Any]] = {
        "value_0": [chance.choice(["a", "b", None]) for _ in rids],
        "value_1": [chance.choice([0.5, None, float("nan")]) for _ in rids],
    }
    kept = [chance.choice([True, False, None]) for _ in rids]
    made = classes_of(
        rids,
        rows,
        pa.chunked_array([pa.array(kept, pa.bool_())]),
        pa.table(values, schema=pa.schema([("value_0", pa.string()), ("value_1", pa.float64())])),
    )
    pairs = {(chance.randrange(outputs), int(chance.choice(rids))) for _ in range(3 * rows)} if len(rids) else set()
    edges = csr(Edges(np.array([o for o, _ in pairs], np.int64), np.array([r for _, r in pairs], np.int64)), outputs, rows)
    found = made.divided(made.kept(edges))
    assert made.values is not None
    told = list(zip(*([repr(one) for one in values[name]] for name in ("value_0", "value_1")), strict=True))
    of_class = [tuple(map(repr, row.values())) for row in made.values.to_pylist()]
    assert len(of_class) == len(set(of_class)) == len(set(told))
    place = {int(rid): at for at, rid in enumerate(rids)}
    wanted = {(o, of_class.index(told[place[r]]), r) for o, r in pairs if kept[place[r]]}
    assert {(*divmod(row, made.number), int(rid)) for row in range(found.rows) for rid in found.part(row, 1).rids} == wanted


def test_without_conditions_or_values_all_is_one() -> None:
    edges = csr(Edges(np.array([0, 0]), np.array([1, 2])), 1, 3)
    made = classes_of(np.array([1, 2]), 3, None, None)
    assert (made.number, made.kept(edges), made.divided(edges)) == (1, edges, edges)
