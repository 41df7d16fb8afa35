"""A rule of what is carried that is left out: the random queries find what is wrong then (else what they find right would say nothing)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import pytest

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches import capture
from airflow_lineage_provider.sketches.equal_columns import EqualColumns
from tests.sketches.carrying import Carried, check

MOST = 400


def _any_key(mark: capture.Mark, keys: Any, _equal: EqualColumns) -> Attribute | None:
    """Whatever a group has in common tells the fragment."""
    told = isinstance(mark, capture.One) and mark.value is not None
    return next((key for key in keys if isinstance(key, Attribute)), None) if told else None


def _left_alone(node: Any, how: Any, ordered: bool) -> capture.Carried:
    """What the right side has is nobody's."""
    left = capture.carry(node.left, how, ordered=ordered)
    return replace(left, plan=replace(node, left=left.plan))


MUTATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "a value tells the fragment of rows that may be missing": ("_beside", lambda side, may_lack, node: side.marks),
    "any key tells the fragment": ("_key", _any_key),
    "what stands on the right side is nobody's": ("_one_sided", _left_alone),
    "of partners there is nothing": ("_semi", _left_alone),
    "a branch of a union has the others' numbers": ("_nothing", lambda attribute: e.Literal(value="0", type="int")),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_random_queries_see_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute, mutated = MUTATIONS[name]
    monkeypatch.setattr(capture, attribute, mutated)
    counted = Carried()
    for seed in range(MOST):
        try:
            check(seed, counted)
        except (duckdb.Error, SketchError) as problem:  # no query, or the values of another column
            counted.violations.append(str(problem))
        if counted.violations:
            return
    raise AssertionError(f"{MOST} queries do not see it: {vars(counted)}")
