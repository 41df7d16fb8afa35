"""What lineage cost a run, from what the run measured."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.records.cost import LineageCost, ended, lineage_cost
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.render.document import run_dict
from airflow_lineage_provider.render.wording import cost_text, share_text
from airflow_lineage_provider.typed_json import read
from tests.records.test_records import old


def test_it_is_a_share_of_the_rest_of_the_run() -> None:
    timings = {"lineage": 0.5, "result": 3.0}
    assert lineage_cost(timings | ended(timings, 3.0, with_lineage=False)) == LineageCost(seconds=0.5, share=0.2, at_least=False)
    assert lineage_cost(timings | ended(timings, 3.0, with_lineage=True)) == LineageCost(seconds=0.5, share=0.2, at_least=True)


def test_a_run_that_was_nothing_but_lineage_has_no_share() -> None:
    found = lineage_cost({"lineage": 2.0, "total": 2.0})
    assert found == LineageCost(seconds=2.0, share=None, at_least=False)
    assert (share_text(found), cost_text(found)) == ("–", "2.0 s")


@pytest.mark.parametrize("timings", [{}, {"total": 3.0}, {"lineage": 1.0}])
def test_a_run_that_did_not_measure_it_does_not_tell(timings: dict[str, float]) -> None:
    assert lineage_cost(timings) is None
    assert share_text(None) == "–"


def test_a_record_of_an_earlier_release_does_not_tell() -> None:
    summary = summary_of(read(RunRecord, old("latest")))
    assert summary.lineage_cost is None
    assert run_dict(summary)["lineage_cost"] is None


@pytest.mark.parametrize(
    ("share", "at_least", "told"), [(0.031, False, "3.1 %"), (0.124, True, "≥ 12 %"), (1.5, True, "≥ 150 %"), (0.0, False, "0.0 %")]
)
def test_what_people_read(share: float, at_least: bool, told: str) -> None:
    found = LineageCost(seconds=0.31, share=share, at_least=at_least)
    assert share_text(found) == told
    least = "at least " if at_least else ""
    assert cost_text(found) == f"{least}0.3 s, {told.removeprefix('≥ ')} of what the pipeline took"
