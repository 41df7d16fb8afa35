"""Combinations of rows over hand-made plans, whose tracing queries find rows that the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.witnesses import WitnessTracer
from tests.plan.paper_plans import CLIENT, LOAN, equal, example_4
from tests.tracing.test_maps import Answering, lazy, of_python


class _Told:
    """Answers a tracing query with the same rows for every tag of its target: for each column what ``of`` says."""

    def __init__(self, of: Callable[[str], list[Any]]) -> None:
        self.of = of
        self.asked = 0

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        self.asked += 1
        tags = target.column(0).to_pylist()
        many = max(len(self.of(a.name)) for a in plan.output)
        columns = [
            pa.array([tag for tag in tags for _ in range(many)], pa.int64())
            if at == 0
            else pa.array([one for _ in tags for one in (self.of(a.name) * many)[:many]], to_arrow(a.type))
            for at, a in enumerate(plan.output)
        ]
        return pa.table(columns, names=[f"c{at}" for at in range(len(columns))]), "postgresql", "SELECT"


def told(plan: Pipeline, stored: set[int], executor: Any, rows: int = 1) -> tuple[list[int], dict[int, list[Any]]]:
    tracer = WitnessTracer(run=lazy(plan, stored, Answering()).run, executor=executor)
    found = tracer.of_result(pa.table({TAG: pa.array(range(rows), pa.int64()), "key_0": pa.array(range(rows), pa.int64())}))
    assert tracer.engines <= {"postgresql"}
    return found.tags.tolist(), {place[-1]: keys.column(0).to_pylist() for place, keys in found.keys.items()}


def test_every_leaf_of_a_join_takes_part() -> None:
    assert told(example_4(), {0, 1}, Answering()) == ([0], {0: [0], 1: [0], 2: [0]})


def _joined(kind: str) -> Pipeline:
    plan = o.Join(left=CLIENT, right=LOAN, kind=kind, condition=equal(CLIENT.output[0], LOAN.output[0]))  # type: ignore[arg-type]
    return Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))


def test_rows_stay_together_and_partners_may_be_missing() -> None:
    """Three rows of one query: two with a partner, one without."""

    def of(name: str) -> list[Any]:
        return [7, 8, 9] if f"lineage_{CLIENT.leaf}" in name else [1, 1, None] if f"lineage_{LOAN.leaf}" in name else [0]

    tags, keys = told(_joined("left"), {0}, _Told(of), rows=2)
    found = sorted(zip(tags, keys[CLIENT.leaf], keys[LOAN.leaf], strict=True), key=repr)
    assert found == [(tag, *keys) for tag in (0, 1) for keys in ((7, 1), (8, 1), (9, None))]


@pytest.mark.parametrize("keys", [(), CLIENT.output[:1]])
def test_python_functions_read_sets_of_rows(keys: Any) -> None:
    with pytest.raises(UnsupportedOperator, match=r"witnesses: .* reads sets of rows as a whole"):
        told(of_python("totals", keys), {0}, Answering())
