"""What a condition says of classes of rows, by their values alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.narrowing import holding, holds

VALUES = pa.table({"a": ["x", "y"], "b": [2023, 2024], "c": [1, None]})
BY = ["Mode", "year(day)", '"true"']


@pytest.mark.parametrize(("condition", "wanted"), [
    ("mode = 'x'", [True, False]), ('"MODE" = \'x\' AND year( DAY ) = 2023', [True, False]), ('"true" = 1', [True, False]),
    ("true", [True, True]),    ('"true" IS NULL', [False, True]), ("mode = :mode", [False, True]), ("NULL", [False, False]),
    # Other columns, also such as are called as values might be; other rows; and what another time is otherwise.
    ("value_1 = 2023", None), ("day = 1", None), ('"row" < 1', None), ("mode = 'x' AND row = 0", None), ("mode = (SELECT 'x')", None),
    ("random() < 2", None), ("max(mode) = 'x'", None), ("mode = :other", None), ("rows IS NULL", None),
])  # fmt: skip
def test_classes_for_which_a_condition_holds(condition: str, wanted: list[bool] | None) -> None:
    found = holds(condition, BY, VALUES, {"mode": "y"}, "")
    assert (None if found is None else found.tolist()) == wanted


@pytest.mark.parametrize(("by", "condition", "wanted"), [
    (["maße"], "masse = 'x'", None), (["maße"], "MAßE = 'x'", [True, False]),
    # A name that begins with a quote, and values that are no columns: none is called as another column is.
    (['"""mode"'], "mode = 'x'", None), (['"""mode"'], "\"\"\"Mode\" = 'x'", [True, False]), (["'mode'"], "mode = 'x'", None),
    (["mode", "MODE"], "mode_ = 'x'", None), (["date"], "DATE = 'x'", [True, False]), (["(mode)", "s"], "s IN (mode)", None),
])  # fmt: skip
def test_values_stand_for_the_columns_that_they_are_of_alone(by: list[str], condition: str, wanted: list[bool] | None) -> None:
    found = holds(condition, by, VALUES.select(range(len(by))), {}, "")
    assert (None if found is None else found.tolist()) == wanted


def test_conditions_that_are_about_the_values_are_told_from_others() -> None:
    by, values, params = ["mode", "kind"], pa.table({"mode": ["x", "y", "y", None], "kind": [1, 0, 2, 3]}), {"mode": "y"}
    cases: list[tuple[list[str], str, list[str]]] = [
        (["mode = :mode", "kind > 0"], "mode = :mode AND kind > 0", []),
        (["mode = :mode", "elsewhere = 1"], "mode = :mode", ["elsewhere = 1"]),
        (["elsewhere = 1"], "true", ["elsewhere = 1"]),
        ([], "true", []),
    ]
    for conditions, wanted, left in cases:
        expected = holds(wanted, by, values, params, "")
        assert expected is not None
        there, others = holding(conditions, by, values, params, "")
        assert (there.tolist(), others) == (expected.tolist(), left), conditions
