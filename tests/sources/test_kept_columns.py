"""Columns that are asked for again and again are kept whole: what they give is what the file has, and they are let go with it."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.sources.kept_columns import MANY_ROWS, KeptColumns

ROWS = 50_000
EVERY_OTHER = np.arange(1, ROWS, 2)


def _columns() -> dict[str, pa.Array]:
    number = np.random.default_rng(7).integers(-(10**6), 10**6, ROWS)
    some = number % 5 == 0
    small = number % 100 - 50
    return {
        "few texts": pa.array([f"text {one}" for one in small.tolist()], mask=some),
        "many texts": pa.array([f"text {at}" for at in range(ROWS)]),
        "bytes": pa.array([b"\xff" + str(one).encode() for one in small.tolist()], pa.binary()),
        "small": pa.array(small, pa.int64()),
        "long": pa.array(number * 10**12, pa.int64(), mask=some),
        "byte": pa.array(small, pa.int8()),
        "unsigned": pa.array(small + 50, pa.uint16()),
        "money": pa.array([Decimal(one) / 100 for one in number.tolist()], pa.decimal128(15, 2), mask=some),
        "wide": pa.array([Decimal(one) * 10**25 for one in number.tolist()], pa.decimal128(38, 0)),
        "day": pa.array(number % 40_000 - 20_000, pa.int32(), mask=some).cast(pa.date32()),
        "moment": pa.array(number * 10**9, pa.timestamp("us", "UTC"), mask=some),
        "nothing": pa.nulls(ROWS, pa.decimal128(9, 2)),
        "float": pa.array(np.where(some, np.nan, number / 3)),
        "flag": pa.array(some, mask=~some),
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "rows.parquet"
    pq.write_table(pa.table(_columns()), path, row_group_size=12_345)
    return path


def kept(most: int = 1 << 26) -> KeptColumns:
    return KeptColumns(lambda: most)


def asked(columns: KeptColumns, path: Path, *names: str, positions: Any = EVERY_OTHER) -> dict[str, pa.ChunkedArray]:
    return columns.at(path, ROWS, names, positions)


def test_values_are_those_of_the_file(file: Path) -> None:
    columns, whole = kept(), pq.read_table(file)
    assert asked(columns, file, *whole.column_names) == {}  # once is no reason to read all of it
    for positions in (EVERY_OTHER, np.arange(ROWS - MANY_ROWS - 1, ROWS)):
        found = asked(columns, file, *whole.column_names, positions=positions)
        for name in whole.column_names:
            expected = whole.column(name).take(pa.array(positions))
            assert found[name].type == expected.type, name
            found[name].validate(full=True)
            # As bytes: of floating-point numbers NaN is itself.
            same = found[name].combine_chunks().equals(expected.combine_chunks()) or name == "float"
            assert same, name
        assert np.array_equal(found["float"].to_numpy(), whole.column("float").to_numpy()[positions], equal_nan=True)


def test_they_take_little(file: Path) -> None:
    """Fifty thousand decimals below 10,000.00 as four bytes each, not sixteen; texts of a hundred values as one byte each."""
    for name, each in {"money": 5, "few texts": 2, "small": 1, "day": 3}.items():
        columns = kept()
        asked(columns, file, name), asked(columns, file, name)
        (one,) = columns._columns._kept.values()
        assert one.nbytes < ROWS * each + 4_000, name


def test_few_rows_and_no_room(file: Path) -> None:
    for columns, positions in ((kept(), EVERY_OTHER[:MANY_ROWS]), (kept(0), EVERY_OTHER)):
        assert [asked(columns, file, "small", positions=positions) for _ in range(3)] == [{}, {}, {}]
    columns = kept()
    assert [set(asked(columns, file, "small")) for _ in range(2)] == [set(), {"small"}]
    assert asked(columns, file, "small", "long", positions=EVERY_OTHER[:3])["small"].to_pylist() == _columns()["small"].to_pylist()[1:7:2]
    tight = kept(2 * ROWS + 1_000)
    assert [set(asked(tight, file, "small", "many texts", "long")) for _ in range(3)] == [set(), {"small"}, {"small"}]


def test_a_file_that_is_another_is_read_anew(tmp_path: Path) -> None:
    path, columns = tmp_path / "rows.parquet", kept()
    for value in (1, 2):
        pq.write_table(pa.table({"n": np.full(ROWS, value)}), tmp_path / "new")
        os.replace(tmp_path / "new", path)
        assert asked(columns, path, "n") == {}
        assert asked(columns, path, "n")["n"].unique().to_pylist() == [value]
    path.unlink()
    assert asked(columns, path, "n") == {}


def test_columns_that_push_each_other_out_are_read_every_other_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, read = kept(3 * ROWS), list[str]()
    own = columns._read

    def counted(key: Any) -> Any:
        read.append(key[-1])
        return own(key)

    monkeypatch.setattr(columns, "_read", counted)
    for _ in range(8):
        asked(columns, file, "few texts", "small", "byte")
    assert 3 <= len(read) <= 12, read


def test_what_cannot_be_kept_is_read_as_before(tmp_path: Path) -> None:
    lists = pa.array([[at] for at in range(ROWS)])
    views = pa.array([str(at % 9) for at in range(ROWS)]).cast(pa.string_view())
    pq.write_table(pa.table({"list": lists, "view": views, "n": np.arange(ROWS)}), tmp_path / "odd.parquet")
    columns = kept()
    for _ in range(3):
        found = asked(columns, tmp_path / "odd.parquet", "list", "view", "n", "no such")
    assert "list" not in found
    assert "no such" not in found
    assert found["n"].to_pylist() == EVERY_OTHER.tolist()
