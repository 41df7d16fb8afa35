"""The example DAG in Airflow: real applications, a real model, Spark and PostgreSQL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from airflow_lineage_provider import Lineage
from dags import run_demo
from udfs import credit_exam

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def december(run_dag: Callable[..., DagResult], tmp_path_factory: pytest.TempPathFactory) -> DagResult:
    return run_dag("loan_examination", folder=str(tmp_path_factory.mktemp("loans") / "data"))


@pytest.fixture(scope="module")
def judged(december: DagResult) -> Any:
    """The month's applications and their judgements, worked out with pandas from the files: nothing of the product takes part."""
    places = december.result("prepare")["places"]
    client, debt, loan = (pd.read_parquet(places[name]) for name in ("client", "debt", "loan"))
    joined = client.merge(debt, on="client_id").merge(loan, on="client_id")
    joined = joined[pd.to_datetime(joined["application_date"]).dt.month == 12]
    udf = credit_exam.load(places["model"])
    return joined.assign(judge=list(udf(*[joined[name] for name in credit_exam.FEATURES]))).set_index("application_id")


def test_the_dag(dags: dict[str, Any]) -> None:
    dag = dags["loan_examination"]
    downstream = {task.task_id: set(task.downstream_task_ids) for task in dag.tasks}
    assert downstream == {"prepare": {"examine", "summarise"}, "examine": {"derive"}, "summarise": set(), "derive": set()}
    assert dag.task_dict["examine"].custom_operator_name == "@task.lineage_pyspark"


def test_every_task_succeeds(december: DagResult) -> None:
    assert set(december.states.values()) == {"success"}
    assert december.result("prepare")["month"] == 12


def test_the_examination_judges_every_application_of_the_month(december: DagResult, judged: Any) -> None:
    with Lineage() as lineage:
        rows = lineage.get_run(december.result("examine")["lineage_run_id"]).result_table().to_pylist()
    expected = [(number, row.client_id, row.amount, row.judge) for number, row in judged.sort_index().iterrows()]
    assert sorted(tuple(row.values()) for row in rows) == expected
    assert december.result("examine")["rows"] == len(expected) > 100


def test_the_summary_is_the_papers_query(december: DagResult, judged: Any) -> None:
    with Lineage() as lineage:
        rows = lineage.get_run(december.result("summarise")["lineage_run_id"]).result_table().to_pylist()
    assert {row["judge"]: row["count"] for row in rows} == judged["judge"].value_counts().to_dict()


def test_every_rejection_is_derived_with_its_source_rows_and_its_reasons(december: DagResult, judged: Any) -> None:
    rejected = judged[judged["judge"] == "Reject"]
    answer = december.result("derive")
    tables = ("target", "source.client", "source.debt", "source.loan", "reasons.credit_exam")
    assert answer["counts"] == dict.fromkeys(tables, len(rejected))
    assert (answer["guarantee"], answer["stale"]) == ("exact", [])
    with Lineage() as lineage:
        explanation = lineage.derivation(answer["derivation_id"])
    assert sorted(explanation.target.column("application_id").to_pylist()) == sorted(rejected.index)
    for name in ("client", "debt", "loan"):
        stored = pd.read_parquet(december.result("prepare")["places"][name])
        expected = stored[stored["client_id"].isin(rejected["client_id"])].reset_index(drop=True)
        found = explanation.sources[name].to_pandas().sort_values("client_id").reset_index(drop=True)
        assert list(found.columns) == list(expected.columns)
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_the_reasons_are_those_of_the_model(december: DagResult, judged: Any) -> None:
    with Lineage() as lineage:
        reasons = lineage.derivation(december.result("derive")["derivation_id"]).reasons["credit_exam"].to_pylist()
    by_inputs = {tuple(row[name] for name in credit_exam.FEATURES): number for number, row in judged.iterrows()}
    for row in reasons:
        application = judged.loc[by_inputs[tuple(row[name] for name in credit_exam.FEATURES)]]
        reason = json.loads(row["reason"])
        assert row["value"] == application["judge"] == "Reject"
        assert {each["feature"]: each["value"] for each in reason["features"]} == {name: application[name] for name in credit_exam.FEATURES}
        assert reason["output"] < credit_exam.REJECT_BELOW
        total = reason["base_value"] + sum(each["contribution"] for each in reason["features"])
        assert total == pytest.approx(reason["output"], abs=1e-6)


def test_letters_tell_what_lowered_the_probability_of_approval(december: DagResult) -> None:
    with Lineage() as lineage:
        explanation = lineage.derivation(december.result("derive")["derivation_id"])
    decided = explanation.reasons["credit_exam"].to_pylist()
    letters = explanation.letters(most=len(credit_exam.FEATURES))
    assert len(letters) == len(decided) > 0
    for row, letter in zip(decided, letters, strict=True):
        reason = json.loads(row["reason"])
        assert reason["label"] == "approved"
        against = {each["feature"] for each in reason["features"] if each["contribution"] < 0}
        assert {name for one in letter.reasons for name in one.features} == against


def test_a_rejection_of_the_summary_has_all_rejected_applications_behind_it(december: DagResult, judged: Any) -> None:
    """Example 8 of the paper, on the real data."""
    with Lineage() as lineage:
        explanation = lineage.get_run(december.result("summarise")["lineage_run_id"]).explain("judge = 'Reject'")
    rejected = judged[judged["judge"] == "Reject"]
    assert sorted(explanation.sources["loan"].column("application_id").to_pylist()) == sorted(rejected.index)
    assert explanation.guarantee.level == "exact"


def test_the_month_can_be_chosen_and_the_data_are_prepared_once(december: DagResult, run_dag: Callable[..., DagResult]) -> None:
    places = december.result("prepare")["places"]
    before = Path(places["loan"]).stat()
    may = run_dag("loan_examination", folder=str(Path(places["loan"]).parent), month=5)
    assert set(may.states.values()) == {"success"}
    assert may.result("prepare")["month"] == 5
    assert Path(places["loan"]).stat() == before
    loan = pd.read_parquet(places["loan"])
    assert may.result("examine")["rows"] == sum(day.month == 5 for day in loan["application_date"])


def test_the_demo_reads_the_tasks_progress_from_airflows_database(
    december: DagResult, airflow_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_demo, "AIRFLOW_DB", airflow_home / "airflow.db")
    states = run_demo.task_states(since=0)
    assert {task: state for task, (state, _) in states.items()} == dict.fromkeys(run_demo.TASKS, "success")
    assert next(iter(states)) == "prepare"
    assert run_demo.task_states(since=time.time() + 60) == {}


def test_the_demo_says_which_program_failed_and_shows_the_end_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_demo, "HOME", tmp_path)
    monkeypatch.setattr(run_demo, "LOGS", tmp_path)
    with pytest.raises(run_demo.DemoFailed, match=r"python -c .* ended with code 3; the end of .*step\.log:\n(.*\n)*the last words"):
        run_demo.run("step", ["python", "-c", "print('the last words'); raise SystemExit(3)"])
