"""How many rows a plan is likely to give, and whether somebody minds how they are laid out."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expected_rows import Leaf, expected_rows, is_laid_out
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from tests.plan.shorthand import Shorthand

ROWS = {"T": 1_000, "S": 20, "U": 3}
q = Shorthand()
T, S, U = q.table("T", "a, b"), q.table("S", "c, d"), q.table("U", "e, f")


def of_leaf(leaf: Leaf) -> int:
    return ROWS[leaf.relation.name] if isinstance(leaf, o.Source) else 7


@pytest.mark.parametrize(("plan", "rows"), [
    (q.where(q.project(T, "a"), "a > 1"), 1_000),
    (q.function(T, "judged(a) AS verdict"), 1_000),
    (q.window(T, "sum(b) AS s", "a"), 1_000),
    (q.join(S, T, "c = a"), 1_000),
    (q.join(S, T, "c = a", "left"), 1_000),
    (q.join(S, T, "c = a", "left_semi"), 20),
    (q.join(S, T, "c = a", "left_anti"), 20),
    (q.union(T, S, U), 1_023),
    (q.group(T, "a", "a, sum(b) AS s"), 0),
    (q.distinct(T), 0),
    (q.limit(T, 3), 0),
    (q.join(q.distinct(T), S, "a = c"), 20),
    (o.SegmentOutput(segment=1, output=T.output), 7),
])  # fmt: skip
def test_expected_rows(plan: o.Plan, rows: int) -> None:
    assert expected_rows(plan, of_leaf) == rows


def segmented(*plans: Any, pinned: bool = False) -> SegmentedPlan:
    segments = tuple(Segment(number=at, kind="non_d", plan=plan, pinned=pinned) for at, plan in enumerate(plans))
    return SegmentedPlan(segments=segments, output=plans[0].output, names=tuple(a.name for a in plans[0].output), conf=())


def test_rows_in_an_order_or_in_partitions_of_somebodys_choice_are_laid_out() -> None:
    assert not is_laid_out(segmented(T, q.where(S, "c > 1")))
    assert is_laid_out(segmented(T, pinned=True))
    for wished in (q.sort(S, "c"), q.limit(S, 1), o.Repartition(child=S, spread="repartition", count=3)):
        assert is_laid_out(segmented(T, wished))
