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
from airflow_lineage_provider.sketches.marks import Carried as Marked
from airflow_lineage_provider.sketches.marks import Mark, One
from tests.oracle import query as q
from tests.sketches.carrying import Carried, check
from tests.sketches.drawn import Drawer

MOST = 200
"""Queries that are looked through, from the first that sees it today."""


def _any_key(mark: Mark, keys: Any, _equal: EqualColumns) -> tuple[Attribute, ...]:
    """Whatever a group has in common tells the fragment."""
    first = next((key for key in keys if isinstance(key, Attribute)), None)
    return () if first is None or not isinstance(mark, One) else tuple(first for _ in mark.values)


def _one_key(mark: Mark, keys: Any, equal: EqualColumns) -> tuple[Attribute, ...]:
    """What tells one column's value is taken to tell those of all that are cut together."""
    values = mark.values if isinstance(mark, One) else ()
    found = [next((key for key in keys if isinstance(key, Attribute) and key.id in equal.to(value)), None) for value in values]
    told = next((one for one in found if one is not None), None)
    return () if told is None else tuple(one or told for one in found)


def _left_alone(node: Any, how: Any, ordered: bool) -> Marked:
    """What the right side has is nobody's."""
    left = capture.carry(node.left, how, ordered=ordered)
    return replace(left, plan=replace(node, left=left.plan))


MUTATIONS: dict[str, tuple[str, Callable[..., Any], Callable[[Drawer, int], q.Node], int]] = {
    "a value tells the fragment of rows that may be missing": ("_beside", lambda side, may_lack, node: side.marks, Drawer.outer, 1),
    "any key tells the fragment": ("_keys", _any_key, Drawer.grouped, 1),
    "the key of one column tells the fragment of several": ("_keys", _one_key, Drawer.grouped, 1),
    "what stands on the right side is nobody's": ("_one_sided", _left_alone, Drawer.semi, 26),
    "of partners there is nothing": ("_semi", _left_alone, Drawer.semi, 16),
    "a branch of a union has the others' numbers": ("_nothing", lambda attribute: e.Literal(value="0", type="int"), Drawer.union, 1),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_random_queries_see_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute, mutated, query, first = MUTATIONS[name]
    monkeypatch.setattr(capture, attribute, mutated)
    counted = Carried()
    for seed in range(first, first + MOST):
        try:
            check(seed, counted, query)
        except (duckdb.Error, SketchError) as problem:  # no query, or the values of another column
            counted.violations.append(str(problem))
        if counted.violations:
            return
    raise AssertionError(f"{MOST} queries do not see it: {vars(counted)}")
