"""Which earlier run's costs count: one of the same plan, by its digest; of a run without one, by what people read of its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.digest import plan_digest
from airflow_lineage_provider.records.run import RunHead, RunRecord
from airflow_lineage_provider.running.costs import measured_costs
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing.strategies import SegmentCost
from airflow_lineage_provider.typed_json import read
from tests.records.test_records import old

RUN = read(RunRecord, old("latest"))
DIGEST = plan_digest(codec.from_json(RUN.plan))
COST = {0: SegmentCost(rows=2, compute=1, store=0.25)}


class Runs:
    """A store of these runs, the newest first; one of a damaged record cannot be read."""

    def __init__(self, *records: RunRecord) -> None:
        self.records = {one.id: one for one in records}
        self.opened: list[str] = []

    def runs(self, pipeline: str, limit: int) -> list[RunHead]:
        return [one for one in self.records.values() if one.pipeline == pipeline]

    def run(self, run_id: str) -> RunRecord:
        self.opened.append(run_id)
        found = self.records[run_id]
        if found.error == "damaged":
            raise RecordDamaged(f"the record of run {run_id} cannot be read: …")
        return found


def costs(runs: Runs, plan: str = RUN.plan) -> dict[int, SegmentCost]:
    return measured_costs(cast(Store, runs), "loan_examination", plan)


def one(run_id: str, **changes: Any) -> RunRecord:
    return replace(RUN, id=run_id, **changes)


def test_the_newest_run_of_the_same_plan_counts() -> None:
    runs = Runs(
        one("5", plan_digest=DIGEST, status="failed"), one("4", plan_digest="another"), one("3", plan_digest=DIGEST, timings={"total": 1}),
        one("2", plan_digest=DIGEST), one("1", plan_digest=DIGEST),
    )  # fmt: skip
    assert costs(runs) == COST
    assert runs.opened == ["3", "2"], "a run of another plan is not even read"


def test_a_run_without_a_digest_is_compared_by_what_people_read() -> None:
    other = RUN.plan.replace('"credit_exam"', '"credit_exam_2"')
    assert other != RUN.plan
    assert costs(Runs(one("1", plan=other), one("0"))) == COST
    assert costs(Runs(one("1", plan=other))) == {}
    assert costs(Runs(one("1", plan=""))) == {}


def test_a_run_that_cannot_be_read_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    assert costs(Runs(one("1", plan_digest=DIGEST, error="damaged"), one("0", plan_digest=DIGEST))) == COST
    assert "what run 1 cost is not known: the record of run 1 cannot be read" in caplog.text
