"""The comparison itself: it sees a control that is missing, one too many, and one of other tables."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from tests.oracle import evaluate
from tests.oracle.check import check_controls
from tests.oracle.examples import EXAMPLES, TABLES

EXPECTED = evaluate.rows(EXAMPLES["EXISTS as a column"], TABLES)
"""The second and the fourth row have no partner."""


def found(*controls: tuple[tuple[str, ...], frozenset[int]]) -> SimpleNamespace:
    target = pa.table({name: [row.values[at] for row in EXPECTED] for at, name in enumerate(("s", "x1"))})
    return SimpleNamespace(target=target, controls=tuple(SimpleNamespace(sources=sources, rows=rows) for sources, rows in controls))


def test_the_same_controls_in_one_entry_or_in_two() -> None:
    check_controls(found((("t1",), frozenset({1, 3}))), EXPECTED)
    check_controls(found((("t1",), frozenset({1})), (("t1",), frozenset({1, 3}))), EXPECTED)


@pytest.mark.parametrize(
    "controls",
    [
        (),
        ((("t1",), frozenset({1})),),
        ((("t1",), frozenset({0, 1, 3})),),
        ((("t0",), frozenset({1, 3})),),
        ((("t0", "t1"), frozenset({1, 3})),),
        ((("t1",), frozenset({1, 3, 99})),),
    ],
)
def test_other_controls(controls: tuple[tuple[tuple[str, ...], frozenset[int]], ...]) -> None:
    with pytest.raises(AssertionError):
        check_controls(found(*controls), EXPECTED)
