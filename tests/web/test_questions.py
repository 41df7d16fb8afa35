"""Questions that wait for the derivation DAG, or that it is answering: who is told of which, and what of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from airflow_lineage_provider.operators.stages import Stages
from airflow_lineage_provider.store import Store, embedded
from airflow_lineage_provider.words import STAGE
from tests.airflow.conftest import DagResult
from tests.statements import noted

API = "/lineage/api/v1"
DAG_RUNS = "/api/v2/dags/lineage_derivation/dagRuns"
Client = Callable[..., Any]


@pytest.fixture
def asked(client: Client, derived: DagResult) -> Iterator[Callable[..., str]]:
    """Has the derivation DAG asked, which nothing schedules here; the DAG runs are gone after the test."""
    made: list[str] = []
    for dag_id, dag_run in {(one["dag_id"], one["dag_run_id"]) for one in told(client())}:  # of other tests; Airflow deletes none that runs
        path = f"/api/v2/dags/{dag_id}/dagRuns/{dag_run}"
        client().patch(path, json={"state": "failed"})
        assert client().delete(path).status_code == 204

    def trigger(**conf: Any) -> str:
        answer = client().post(DAG_RUNS, json={"logical_date": None, "conf": conf})
        assert answer.status_code == 200, answer.text
        made.append(answer.json()["dag_run_id"])
        return made[-1]

    yield trigger
    for one in made:
        assert client().delete(f"{DAG_RUNS}/{one}").status_code == 204


def becomes(dag_run: str, **values: Any) -> None:
    """What a scheduler and a worker would write of its task."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    with create_session() as session:
        session.execute(sa.update(TaskInstance).where(TaskInstance.run_id == dag_run).values(**values))


def told(client: Any, **params: str) -> list[dict[str, Any]]:
    answer = client.get(f"{API}/questions", params=params)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["questions"])


def test_what_waits_runs_and_failed_is_told(client: Client, runs: dict[str, str], asked: Callable[..., str]) -> None:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    waiting = asked(lineage_run_id=runs["judged"], target="client_id = 7")
    running = asked(lineage_run_id=runs["again"], question="why_not", target="client_id = 8", table="judged")
    failed, ended, long_ago = (asked(lineage_run_id=runs["judged"], at=at) for at in ("0,1", "2", "3"))
    becomes(running, state="running", start_date=datetime(2026, 1, 2, tzinfo=UTC))
    becomes(failed, state="failed", end_date=datetime.now(UTC))
    becomes(ended, state="success", end_date=datetime.now(UTC))
    becomes(long_ago, state="failed", end_date=datetime.now(UTC) - timedelta(days=2))
    with create_session() as session:
        XComModel.set(
            key=STAGE, value="following the rows through segment 1", dag_id="lineage_derivation", task_id="derive", run_id=running,
            session=session,
        )  # fmt: skip
    found = {one["dag_run_id"]: one for one in told(client())}
    assert set(found) == {waiting, running, failed}
    assert {run: one["state"] for run, one in found.items()} == {waiting: "waiting", running: "running", failed: "failed"}
    assert (found[waiting]["question"], found[waiting]["asked"], found[waiting]["stage"]) == ("explain", "client_id = 7", None)
    assert (found[waiting]["run_id"], found[waiting]["pipeline"], found[waiting]["chunk"]) == (runs["judged"], "loans.examine", None)
    assert found[failed]["asked"] == "rows 0,1"
    one = found[running]
    assert (one["question"], one["asked"], one["pipeline"]) == ("why_not", "client_id = 8 of judged", "loans.again")
    assert (one["stage"], one["since"]) == ("following the rows through segment 1", "2026-01-02T00:00:00+00:00")
    assert [each["dag_run_id"] for each in told(client(), dag_run_id=running)] == [running]
    assert told(client(), dag_id="loan_examination") == []


def test_the_store_is_asked_as_often_about_many_as_about_one(
    client: Client, runs: dict[str, str], asked: Callable[..., str], lineage_home: Path, store: Store
) -> None:
    taken = []
    for names in (["judged"], ["again", "reported", "judged"]):
        for name in names:
            becomes(asked(lineage_run_id=runs[name], target="client_id = 7"), state="running", start_date=datetime(2026, 1, 2, tzinfo=UTC))
        told(client())
        with noted(embedded.ensure_running(lineage_home), store.url) as statements:
            told(client())
        taken.append(len(statements.statements))
    assert taken[0] == taken[1], taken


def test_that_airflows_database_is_slow_is_told(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is PostgreSQL, which ends the query then."""
    engine = sa.create_engine(store.url)

    @contextmanager
    def session() -> Iterator[Session]:
        with Session(engine) as made:
            yield made

    class Slow:
        def __init__(self, session: Session, *_: object) -> None:
            self.session = session

        def __iter__(self) -> Iterator[Slow]:
            return iter([self])

        def limit(self, _: int) -> Any:
            return self.session.execute(sa.text("SELECT pg_sleep(20)"))

    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_SECONDS", "0.3")
    monkeypatch.setattr("airflow_lineage_provider.web.asked_tasks.create_session", session)
    monkeypatch.setattr("airflow_lineage_provider.web.asked_tasks._queries", Slow)
    answer = client().get(f"{API}/questions")
    engine.dispose()
    assert (answer.status_code, answer.json()["error"]["name"]) == (504, "QueryTooSlow")
    assert "Airflow's database took longer than 0.3 s" in answer.json()["error"]["message"]


def test_how_far_a_question_in_chunks_is(client: Client, runs: dict[str, str], derived_in_chunks: DagResult) -> None:
    """Of a task that goes on with what it has stored: one that was derived is made to look as if it still were."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    def dag_run_is(state: str) -> None:
        with create_session() as session:
            session.execute(sa.update(DagRun).where(DagRun.run_id == derived_in_chunks.run_id).values(state=state))

    dag_run_is("running")
    becomes(derived_in_chunks.run_id, state="running")
    try:
        (one,) = told(client(), dag_run_id=derived_in_chunks.run_id)
    finally:
        dag_run_is("success")
        becomes(derived_in_chunks.run_id, state="success")
    assert (one["chunk"]["number"], one["chunk"]["of"]) == (3, 3)


def test_tasks_of_other_dags_that_derive_are_told_without_what_they_ask(
    client: Client, runs: dict[str, str], asked: Callable[..., str]
) -> None:
    mine = asked(lineage_run_id=runs["judged"], target="client_id = 7")
    becomes(mine, operator="DeriveAugmentedLineageOperator", state="deferred")
    (one,) = told(client())
    assert (one["state"], one["task_id"], one["asked"], one["run_id"]) == ("running", "derive", "", None)
    becomes(mine, operator="PythonOperator")
    assert told(client()) == []


def test_who_may_not_read_the_run_is_not_told(
    client: Client, runs: dict[str, str], asked: Callable[..., str], only_dag: Callable[..., None]
) -> None:
    about = {asked(lineage_run_id=runs[name], target="client_id = 7"): name for name in ("judged", "reported")}
    asked(lineage_run_id="no run at all", target="client_id = 7")
    assert {one["dag_run_id"] for one in told(client("viewer"))} == set(about)
    only_dag("ann", "lineage_derivation", "loan_report")
    assert [about[one["dag_run_id"]] for one in told(client("viewer", "ann"))] == ["reported"]
    only_dag("bob", "loan_report")
    assert told(client("viewer", "bob")) == []
    assert client(None).get(f"{API}/questions").status_code == 401


def test_columns_that_are_withheld(
    client: Client, runs: dict[str, str], asked: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(lineage_run_id=runs["judged"], target="amount = 187.0")
    assert "187" in client().get(f"{API}/questions").text
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "loan.amount")
    text = client().get(f"{API}/questions").text
    assert "187" not in text
    assert "amount" not in text


def test_stages_are_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is in the log; who waits is told at most one in two seconds, and that this fails costs no answer."""
    now, pushed, logged = [100.0], [], []
    monkeypatch.setattr("airflow_lineage_provider.operators.stages.time.monotonic", lambda: now[0])

    class Task:
        def xcom_push(self, key: str, value: str) -> None:
            pushed.append((key, value))
            if len(pushed) == 3:
                raise RuntimeError("Airflow is away")

    class Log:
        def info(self, stage: str) -> None:
            logged.append(stage)

        warning = staticmethod(lambda *_: None)

    log: Any = Log()
    stages = Stages(log, {"ti": Task()}, kept=True)
    for at, stage in ((100.0, "a"), (101.0, "b"), (102.0, "c"), (105.0, "d"), (109.0, "e")):
        now[0] = at
        stages(stage)
    assert logged == list("abcde")
    assert pushed == [(STAGE, "a"), (STAGE, "c"), (STAGE, "d")]
    Stages(log, {"ti": None}, kept=False)("f")
