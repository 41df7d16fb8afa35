"""Stored answers of a run: those that operators, Python and the command have kept, with the reasons that they computed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.errors import DerivationNotFound, RunNotFound
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import redaction_of
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import DerivationRecord
from airflow_lineage_provider.web.api.explanations import explanation_answer, table_file
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted
from airflow_lineage_provider.web.api.models import ChunkAnswer, DerivationAnswer, DerivationsAnswer, ExplanationAnswer, ExplanationForm
from airflow_lineage_provider.web.asking import Asked, Question
from airflow_lineage_provider.web.foreign import runs_behind

router = APIRouter(tags=["derivations"])
_MOST = 100


@router.get("/runs/{run_id}/derivations")
async def derivations(run_id: str, question: Asked) -> DerivationsAnswer:
    """The newest stored answers about a run."""
    return await question.answered(lambda: _listed(question, run_id))


@router.get("/derivations/{derivation_id}", response_model=ExplanationAnswer, responses=FILES)
async def derivation(
    derivation_id: str,
    question: Asked,
    file: Wanted,
    form: Annotated[ExplanationForm, Query()] = "json",
    udf: Annotated[str | None, Query(max_length=500)] = None,
    table: Annotated[str, Query(max_length=500)] = "target",
) -> ExplanationAnswer | Response:
    """A stored answer; as a file it is one of its tables. One with rows of runs that are not for this person is refused as a whole."""
    return await question.answered(lambda: _answered(question, derivation_id, (form, udf), table, file), about="rows")


def _listed(question: Question, run_id: str) -> DerivationsAnswer:
    run = question.run(run_id)
    lineage = question.lineage()
    found = lineage.lasting(lambda: lineage.store.derivations(run.id))[:_MOST]
    return DerivationsAnswer(derivations=[told_of(one, run) for one in found])


def told_of(one: DerivationRecord, run: Run | None) -> DerivationAnswer:
    """A stored answer without its tables; ``run`` is needed where columns are withheld, of which its target may tell."""
    created = one.created.isoformat(timespec="seconds") if one.created else ""
    asked = one.target if run is None else redaction_of(run.plan).text(one.target) if run.record.status == "complete" else ""
    dag_run = (one.airflow or {}).get("run_id")
    return DerivationAnswer(
        id=one.id, run_id=one.run_id, asked=asked, created=created, seconds=one.seconds, counts=dict(one.counts),
        dag_run_id=dag_run if isinstance(dag_run, str) else None, chunk=_chunk(one),
    )  # fmt: skip


def _chunk(one: DerivationRecord) -> ChunkAnswer | None:
    return None if one.place is None else ChunkAnswer(number=one.place.chunk + 1, of=one.place.chunks, set_id=one.place.set_id)


def _answered(
    question: Question, derivation_id: str, wanted: tuple[ExplanationForm, str | None], table: str, file: Format
) -> ExplanationAnswer | Response:
    found = _found(question, derivation_id)
    _check(question, found)
    form, udf = wanted
    return explanation_answer(found, form, None, udf) if file == "json" else table_file(found, table, file)


def _found(question: Question, derivation_id: str) -> Explanation:
    """:raises DerivationNotFound: there is none, or its run is not for this person: which of the two is not told."""
    try:
        found = question.lineage().derivation(derivation_id)
        question.head(found.run.id)
    except (DerivationNotFound, RunNotFound):
        raise DerivationNotFound(f"there is no stored answer {shown(derivation_id)} here that you may see") from None
    return found


def _check(question: Question, found: Explanation) -> None:
    secret = [one for one in runs_behind(question.lineage(), found) if one is None or not question.rights.may_see(one)]
    if secret:
        raise HTTPException(403, "this answer has rows of runs of other DAGs, which you may not read: ask anew, and it has the others")
