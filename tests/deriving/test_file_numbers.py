"""Rows of a result and their places in the files that were written out, both ways."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_lineage_provider.deriving.across.file_numbers import FileNumbers
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS

FILES = [f"file:/out/part-{at:05}-6cf911ae-5614-4b9f-b2bf-cc90d19a5a9c-c000.snappy.parquet" for at in range(4)]


def numbered(partition: int, *places: int) -> list[int]:
    return [(partition << PARTITION_BITS) + place for place in places]


WRITTEN_FROM_FILES = FileNumbers(
    # Three stored files, the largest first, two of which came into one partition; no row came into the third.
    {FILES[0]: range(5), FILES[1]: range(5, 7), FILES[2]: range(7, 7), FILES[3]: range(7, 9)},
    ((2, 4), (0, 2), (7, 3)),
)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (0, numbered(2, 0, 1, 2, 3) + numbered(0, 0)),
        (1, numbered(0, 1) + numbered(7, 0)),
        (2, []),
        (3, numbered(7, 1, 2)),
    ],
)  # fmt: skip
def test_rows_written_out_from_files(file: int, expected: list[int]) -> None:
    positions = np.arange(len(expected))
    found = WRITTEN_FROM_FILES.numbers(FILES[file], positions)
    assert found is not None
    assert found.tolist() == expected
    everything = np.array([*numbered(0, 0, 1, 2), *numbered(1, 0), *numbered(2, 0, 1, 2, 3), *numbered(7, 0, 1, 2)])
    back, own = WRITTEN_FROM_FILES.among(FILES[file], everything)
    assert dict(zip(back.tolist(), own.tolist(), strict=True)) == dict(enumerate(expected))


def test_rows_written_by_partition() -> None:
    found = FileNumbers().numbers(FILES[3], np.array([4, 0]))
    assert found is not None
    assert found.tolist() == numbered(3, 4, 0)
    back, own = FileNumbers().among(FILES[3], np.array([*numbered(2, 4), *numbered(3, 1, 9)]))
    assert (back.tolist(), own.tolist()) == ([1, 9], numbered(3, 1, 9))


def test_files_in_folders_by_values_tell_nothing() -> None:
    of = FileNumbers(folders=frozenset({"m"}))
    file = FILES[0].rpartition("/")[2]
    assert of.numbers(f"file:/out/M=1/{file}", np.array([0])) is None
    assert not len(of.among(f"file:/out/M=1/{file}", np.array([0]))[0])
    assert of.numbers(f"file:/out/day=1/{file}", np.array([0])) is not None


@pytest.mark.parametrize("of", [FileNumbers(), WRITTEN_FROM_FILES])
def test_a_file_whose_name_tells_nothing(of: FileNumbers) -> None:
    assert of.numbers("file:/out/other.parquet", np.array([0])) is None
    assert [one.tolist() for one in of.among("file:/out/other.parquet", np.array(numbered(0, 0)))] == [[], []]
