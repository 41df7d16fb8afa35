"""What the bars of a run are called: each row of its result by a text of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.answers.crossfilter import code_of
from airflow_lineage_provider.deriving.run_bars import _bars


@pytest.mark.parametrize(("rows", "called"), [
    (["x", "x", "x (2)"], ["x", "x (3)", "x (2)"]),
    (["x (2)", "x", "x"], ["x (2)", "x", "x (3)"]),
    (["x", "x", "x", "x (3)", "x (3)"], ["x", "x (2)", "x (4)", "x (3)", "x (3) (2)"]),
    (["x", None, None, "NULL"], ["x", "NULL", "NULL (2)", "NULL (3)"]),
])  # fmt: skip
def test_rows_that_are_the_same_are_numbered(rows: list[str | None], called: list[str]) -> None:
    values, order, columns = _bars(pa.table({"text": rows}), in_none=False)
    assert [values.to_pylist()[at] for at in order.argsort().tolist()] == called
    assert [one.name for one in columns] == ["text"]


@given(st.lists(st.sampled_from(["x", "x (2)", "x (3)", "x (2) (2)", "NULL", None]), min_size=1, max_size=12))
def test_each_row_has_a_name_of_its_own(rows: list[str | None]) -> None:
    values, order, _ = _bars(pa.table({"text": pa.array(rows, pa.string())}), in_none=True)
    names = values.to_pylist()
    assert len(set(names)) == len(rows) + 1
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [code_of(name, values) for name in names] == list(range(len(names)))
    for name, at in zip(names, order.tolist(), strict=False):
        assert name.startswith("NULL" if rows[at] is None else rows[at])
