"""Rows of the result that were read where the target was looked for answer the tracing queries about them, as the store would."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.at_hand import RowsAtHand
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import TRUE, Alias, Attribute
from airflow_lineage_provider.plan.lineage_keys import ROW, InputIdentity, MaterializedSegment
from airflow_lineage_provider.tracing.by_number import columns_by_number, stored_keys
from airflow_lineage_provider.tracing.reserved import TAG, TARGET_PRESENT

FILE = Attribute(id=7, name="file", type="string", nullable=True)
PLACE = Attribute(id=8, name="place", type="bigint", nullable=True)
STORED = MaterializedSegment(
    segment=0,
    name="result",
    columns=((7, "lineage_0_file"), (8, "lineage_0_place"), (9, "kept")),
    inputs=(InputIdentity(kind="source", number=0, attributes=(FILE, PLACE)),),
)
KEYS = stored_keys(STORED).plan
NAMES = dict(STORED.columns)
FOUND = pa.table(
    {
        "kept": pa.array([1, 2, 3], pa.int32()),
        "lineage_0_file": pa.array(["a", None, "c"], pa.string()),
        "lineage_0_place": pa.array([10, None, 30], pa.int64()),
        ROW: pa.array([5, 8, 2**33 + 1], pa.int64()),
    }
)


def target(*numbers: int, first: int = 0) -> pa.Table:
    return pa.table({TAG: pa.array(range(first, first + len(numbers)), pa.int64()), "key_0": pa.array(numbers, pa.int64())})


def at_hand(found: pa.Table | None = FOUND) -> RowsAtHand:
    kept = RowsAtHand(tuple(found.column_names) if found is not None else ())
    kept.keep(found)
    return kept


def joined(asked: pa.Table, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """By the definition: every tag with the stored row that has its number."""
    rows = {row[ROW]: row for row in FOUND.to_pylist()}
    return [(tag, *(rows[number][one] for one in columns)) for tag, number in zip(*(c.to_pylist() for c in asked.columns), strict=True)]


@pytest.mark.parametrize("numbers", [(5, 8, 2**33 + 1), (2**33 + 1, 5, 8), (8, 5, 8, 2**33 + 1, 5)])
def test_lineage_keys_of_rows_at_hand(numbers: tuple[int, ...]) -> None:
    asked = target(*numbers, first=3)
    found = at_hand().looked_up(KEYS, asked, NAMES)
    assert found is not None
    assert [tuple(row.values()) for row in found.to_pylist()] == joined(asked, ["lineage_0_file", "lineage_0_place"])
    assert [found.schema.field(i).type for i in range(3)] == [pa.int64(), pa.string(), pa.int64()]


def test_keys_of_groups_at_hand() -> None:
    assert isinstance(KEYS, o.Project)
    columns = (KEYS.columns[0], Alias(child=TRUE, attribute=TARGET_PRESENT), PLACE)
    asked = target(8, 5, 2**33 + 1)
    found = at_hand().looked_up(o.Distinct(child=o.Project(child=KEYS.child, columns=columns)), asked, NAMES)
    assert found is not None
    assert [tuple(row.values()) for row in found.to_pylist()] == [(0, True, None), (1, True, 10), (2, True, 30)]


def test_what_is_not_at_hand_is_asked_for() -> None:
    """Other rows than these, or some of them; another segment's; a column that was not read, is not stored, or is of another type."""
    whole = target(5, 8, 2**33 + 1)
    assert at_hand(None).looked_up(KEYS, whole, NAMES) is None
    assert at_hand().looked_up(KEYS, target(5), NAMES) is None
    assert at_hand().looked_up(KEYS, target(5, 8, 9), NAMES) is None
    assert at_hand().looked_up(stored_keys(MaterializedSegment(**{**vars(STORED), "segment": 1})).plan, whole, NAMES) is None
    assert at_hand(FOUND.drop_columns(["lineage_0_place"])).looked_up(KEYS, whole, NAMES) is None
    assert at_hand().looked_up(KEYS, whole, {7: "lineage_0_file"}) is None
    other = FOUND.set_column(2, "lineage_0_place", pa.array([10, None, 30], pa.int32()))
    assert at_hand(other).looked_up(KEYS, whole, NAMES) is None


def test_no_other_query_is_taken_for_one() -> None:
    assert isinstance(KEYS, o.Project)
    assert columns_by_number(KEYS) == (0, (FILE, PLACE))
    assert columns_by_number(KEYS.child) is None
    computed = Alias(child=PLACE, attribute=Attribute(id=12, name="twice", type="bigint", nullable=True))
    assert columns_by_number(o.Project(child=KEYS.child, columns=(KEYS.columns[0], computed))) is None
    assert columns_by_number(o.Project(child=KEYS.child, columns=(FILE, PLACE))) is None
    assert columns_by_number(o.Filter(child=KEYS, condition=TRUE)) is None
