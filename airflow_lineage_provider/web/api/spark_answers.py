"""Answers that need Spark: whether the derivation DAG is there, for the page to trigger it through Airflow's own API."""

from __future__ import annotations

from typing import Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from fastapi import APIRouter
from pydantic import BaseModel

from airflow_lineage_provider import settings
from airflow_lineage_provider.web.asking import Asked, Question

router = APIRouter(tags=["derivations"])
_LINES = (
    "A file in the DAG folder makes it: from airflow_lineage_provider.operators.derivation_dag import derivation_dag; "
    "dag = derivation_dag()"
)
State = Literal["ready", "missing", "paused", "not_permitted"]


class DerivationDagAnswer(BaseModel):
    """The DAG that answers what needs Spark. ``message`` says what is to be done, where it is not ready for this person."""

    dag_id: str
    state: State
    message: str


@router.get("/derivation-dag")
async def derivation_dag(question: Asked) -> DerivationDagAnswer:
    """Whether this person can have answers from Spark: by triggering this DAG through Airflow's API, as themselves."""
    return await question.answered(lambda: _told(question))


def _told(question: Question) -> DerivationDagAnswer:
    dag_id = settings.derivation_dag()
    state = _state(question, dag_id)
    messages: dict[State, str] = {
        "ready": "",
        "missing": f"There is no DAG {dag_id} here, which would ask Spark. {_LINES}",
        "paused": f"The DAG {dag_id}, which would ask Spark, is paused: unpause it.",
        "not_permitted": f"Asking Spark needs the right to trigger the DAG {dag_id}.",
    }
    return DerivationDagAnswer(dag_id=dag_id, state=state, message=messages[state])


def _state(question: Question, dag_id: str) -> State:
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    manager = get_auth_manager()
    if not manager.is_authorized_dag(method="POST", access_entity=DagAccessEntity.RUN, details=details, user=question.user):
        return "not_permitted"
    found = DagModel.get_dagmodel(dag_id)
    if found is None or found.is_stale:
        return "missing"
    return "paused" if found.is_paused else "ready"
