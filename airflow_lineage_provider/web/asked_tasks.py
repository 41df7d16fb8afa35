"""The tasks that derive, as Airflow's database has them: those that wait, those that run, and those that failed a short while ago."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import QueryTooSlow
from airflow_lineage_provider.store.connection import sqlstate
from airflow_lineage_provider.words import STAGE

State = Literal["waiting", "running", "failed"]
ASKED = "AskedDerivationOperator"
"""The one whose question are the parameters of its DAG run."""
OPERATORS = (ASKED, "DeriveAugmentedLineageOperator")
_STATES: dict[str | None, State] = {
    None: "waiting", "scheduled": "waiting", "queued": "waiting", "up_for_retry": "waiting", "up_for_reschedule": "waiting",
    "running": "running", "restarting": "running", "deferred": "running", "failed": "failed",
}  # fmt: skip
_FAILED_SINCE = timedelta(days=1)
MOST = 200
_Key = tuple[str, str, str, int]


@dataclass(frozen=True, kw_only=True)
class AskedTask:
    """A task instance that derives. ``conf``: the parameters of its DAG run, where these are its question. ``stage``: what it told last."""

    dag_id: str
    dag_run_id: str
    task_id: str
    map_index: int
    state: State
    since: datetime | None
    conf: Mapping[str, Any] | None
    stage: str | None


def asked_tasks(dag_id: str | None, dag_run_id: str | None) -> list[AskedTask]:
    """So many of them (`MOST`), the newest first: of all DAGs, or of one, or of one DAG run.

    :raises QueryTooSlow: Airflow's database, where it is PostgreSQL, takes longer than an answer may.
    """
    with _limited_session() as session:
        found = [one for query in _queries(session, dag_id, dag_run_id) for one in query.limit(MOST)]
        rows = sorted(found, key=lambda one: (-one.id, one.task_id, one.map_index))[:MOST]
        stages = _stages(session, [one.run_id for one in rows])
    return [
        AskedTask(
            dag_id=one.dag_id, dag_run_id=one.run_id, task_id=one.task_id, map_index=one.map_index,
            state=_STATES[one.state], since=one.start_date or one.run_after,
            conf=(one.conf or {}) if one.operator == ASKED else None,
            stage=stages.get((one.dag_id, one.run_id, one.task_id, one.map_index)),
        )
        for one in rows
    ]  # fmt: skip


@contextmanager
def _limited_session() -> Iterator[Any]:
    """Of Airflow's database, which the scheduler works with: no statement takes longer there than an answer may."""
    seconds = settings.web_seconds()
    try:
        with create_session() as session:
            if session.get_bind().dialect.name == "postgresql":
                session.connection().exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")
            yield session
    except Exception as problem:
        if sqlstate(problem) != "57014":
            raise
        told = f"Airflow's database took longer than {seconds:g} s (AIRFLOW_LINEAGE_WEB_SECONDS) to tell which tasks derive"
        raise QueryTooSlow(told) from problem


def _queries(session: Any, dag_id: str | None, dag_run_id: str | None) -> Iterator[Any]:
    """Of those that wait or run, and of those that failed. Each begins with what Airflow has an index of: the DAG runs that go on, which
    are few however many have been, and the tasks that failed."""
    ti, run = TaskInstance, DagRun
    going = [state for state in _STATES if state not in (None, "failed")]
    # (Airflow has an index for each of the two states, which a list of both would not use.)
    goes_on = ((run.state == "queued") | (run.state == "running")) & (ti.state.is_(None) | ti.state.in_(going))
    recently = (ti.state == "failed") & (ti.end_date > datetime.now(UTC) - _FAILED_SINCE)
    columns = (run.id, ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.state, ti.operator, ti.start_date, run.run_after, run.conf)
    for wanted in (goes_on, recently):
        query = session.query(*columns).join(run, (run.dag_id == ti.dag_id) & (run.run_id == ti.run_id))
        query = query.filter(ti.operator.in_(OPERATORS), wanted).order_by(run.id.desc(), ti.task_id, ti.map_index)
        yield query.filter(*(column == given for column, given in ((ti.dag_id, dag_id), (ti.run_id, dag_run_id)) if given is not None))


def _stages(session: Any, dag_runs: Sequence[str]) -> dict[_Key, str]:
    x = XComModel
    told = session.query(x.dag_id, x.run_id, x.task_id, x.map_index, x.value).filter(x.key == STAGE, x.run_id.in_(dag_runs))
    found = told.all() if dag_runs else ()
    return {(one.dag_id, one.run_id, one.task_id, one.map_index): str(XComModel.deserialize_value(one)) for one in found}
