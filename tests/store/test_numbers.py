"""Rows named by their numbers: the same rows, however many there are and whatever is left out between them."""

from __future__ import annotations

import random

import pytest

from airflow_lineage_provider.deriving.stored_tables import numbers_at, positions_of
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.read import _among

HIGH = 3 << PARTITION_BITS
SETS = {
    "none": [],
    "one": [5],
    "few, not in order, twice": [9, 2, 9],
    "a range": range(10, 900),
    "ranges of several partitions": [*range(50, 300), *range(HIGH, HIGH + 40), 990],
    "every second": range(0, 1000, 2),
    "some of them": random.Random(3).sample(range(1000), 400),
    "more than there are": range(-50, 2000),
}


@pytest.mark.parametrize("name", SETS)
def test_the_rows_of_numbers(store: Store, name: str) -> None:
    numbers = SETS[name]
    there = f"(SELECT generate_series(0, 999) AS n UNION ALL SELECT generate_series({HIGH}, {HIGH + 99})) AS rows"
    found = store.query(f"SELECT n FROM {there} WHERE {_among('n', numbers)} ORDER BY n").column(0).to_pylist()
    assert found == sorted({*numbers} & {*range(1000), *range(HIGH, HIGH + 100)})


def test_many_numbers_without_gaps_are_a_short_text() -> None:
    assert _among("n", range(HIGH, HIGH + 100_000)) == f"(n BETWEEN {HIGH} AND {HIGH + 99_999})"


@pytest.mark.parametrize("seed", range(5))
def test_positions_and_numbers(seed: int) -> None:
    draw = random.Random(seed)
    partitions = [(number, draw.choice([0, 1, 4])) for number in sorted(draw.sample(range(8), 4))]
    all_numbers = [(number << PARTITION_BITS) + at for number, rows in partitions for at in range(rows)]
    positions = draw.choices(range(len(all_numbers) + 3), k=6)
    assert numbers_at(partitions, positions) == [all_numbers[at] for at in sorted({*positions}) if at < len(all_numbers)]
    chosen = draw.choices(all_numbers, k=6) if all_numbers else []
    assert positions_of(partitions, chosen) == [all_numbers.index(one) for one in chosen]
    for other in (*((number << PARTITION_BITS) + rows for number, rows in partitions), 9 << PARTITION_BITS):
        with pytest.raises(InvalidTarget):
            positions_of(partitions, [other])


def test_a_result_without_rows_has_no_positions() -> None:
    assert numbers_at([], [0, 1]) == []
    assert positions_of([], []) == []
