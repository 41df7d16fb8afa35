"""Goals and bounds name what there is: else nothing would ever be held against them."""

from __future__ import annotations

import pytest

from tests.bench.gate import bounds
from tests.bench.goals import Goal, goals
from tests.bench.named import is_named


@pytest.mark.parametrize("goal", goals(), ids=lambda goal: goal.figure)
def test_a_goals_comparison_arms_and_figure_are_there(goal: Goal) -> None:
    wanted = {goal.comparison, goal.arm} | ({goal.over} if goal.over else set())
    assert [name for name in wanted if not is_named(goal.experiment, name, regular=True)] == []
    assert is_named(goal.experiment, goal.of)


@pytest.mark.parametrize("where", bounds())
def test_a_bounds_comparison_arm_and_figures_are_there(where: str) -> None:
    experiment, title, arm = where.split(" / ")
    assert [name for name in (title, arm, *bounds()[where]) if not is_named(experiment, name)] == []


def test_what_is_not_there() -> None:
    assert is_named("growth", "100 rows, 200 tables and views in the catalog")
    assert not is_named("growth", "100 lines, 200 tables and views in the catalog")
    assert is_named("queries", "TPC-H q(01|03), scale factor 1", regular=True)
    assert not is_named("queries", "TPC-H q(01|03), factor 1", regular=True)
    assert is_named("questions", "10,000 rows, as people ask")
    assert not is_named("questions", "10,000 rows, as nobody at all asks for them")
    assert not is_named("queries", "function_materialisation")
