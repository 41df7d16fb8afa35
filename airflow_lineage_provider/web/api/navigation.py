"""What the navigation view has beside runs: tables and columns by name, stored answers, and the store itself."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import discretion_of
from airflow_lineage_provider.records.run import RunHead, RunOrigin
from airflow_lineage_provider.store.derivation_list import AnswersWanted
from airflow_lineage_provider.store.run_list import RunsWanted
from airflow_lineage_provider.web.api.derivations import told_of
from airflow_lineage_provider.web.api.models import FoundAnswer, HitAnswer, SearchAsked, StoreAnswer, StoredAnswersFound, WithRun
from airflow_lineage_provider.web.asking import Asked, AskedLineage, Question
from airflow_lineage_provider.web.found_tables import Hit, TableNames, hits, names_of, newest_of_each

router = APIRouter(tags=["navigation"])
MOST_PIPELINES = 200
MOST_HITS = 100
_RUNS_LOOKED_AT = 2_000
_MOST_KNOWN = 2_000
_names: dict[str, tuple[TableNames, ...]] = {}
"""Of runs that were looked at: each search looks at the newest of all pipelines, and to read their records is most of what it takes."""

Search = Annotated[str, Query(min_length=2, max_length=200)]


@router.get("/found")
async def found(question: Asked, search: Search, before: Annotated[str | None, Query(max_length=500)] = None) -> FoundAnswer:
    """Tables and columns with this text in their names, in the newest complete run of each pipeline that this person may see.

    So many pipelines are looked at for one answer, as long as people wait for a page: ``next`` is what ``before`` is for the others.
    """
    return await question.answered(lambda: _found(question, search, before), about="names")


@router.post("/found")
async def search_names(question: Asked, asked: SearchAsked, before: Annotated[str | None, Query(max_length=500)] = None) -> FoundAnswer:
    """The same of a search that is in no address."""
    return await question.answered(lambda: _found(question, asked.search, before), about="names")


@router.get("/derivations")
async def stored_answers(
    question: Asked,
    search: Annotated[str | None, Query(max_length=200)] = None,
    dag_id: Annotated[str | None, Query(max_length=500)] = None,
    before: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> StoredAnswersFound:
    """The newest stored answers about runs that this person may see, of all DAGs or of one; ``search`` as of runs, and, where no columns
    are withheld, a part of what was asked."""
    wanted = AnswersWanted(text=search or None, dag_id=dag_id, before=before, by_target=not Discretion.of())
    return await question.answered(lambda: _stored_answers(question, wanted, limit))


@router.post("/derivations")
async def search_answers(
    question: Asked,
    asked: SearchAsked,
    dag_id: Annotated[str | None, Query(max_length=500)] = None,
    before: Annotated[str | None, Query(max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> StoredAnswersFound:
    """The same of a search that is in no address."""
    wanted = AnswersWanted(text=asked.search, dag_id=dag_id, before=before, by_target=not Discretion.of())
    return await question.answered(lambda: _stored_answers(question, wanted, limit))


@router.get("/store")
async def store(question: Asked) -> StoreAnswer:
    """How large the store is, for those who may read Airflow's connections, and how long runs stay."""
    return await question.answered(lambda: _store(question))


def _found(question: Question, search: str, before: str | None) -> FoundAnswer:
    lineage, ends = question.lineage(), time.monotonic() + settings.web_seconds_to_look()
    wanted = RunsWanted(status="complete", before=before)
    listed = lineage.lasting(lambda: lineage.store.list_origins(wanted, question.rights.may_see, _RUNS_LOOKED_AT))
    made: list[Hit] = []
    newest, rest, cut = newest_of_each(listed.runs), listed.last, False
    for looked, (run, previous) in enumerate(newest):
        if looked and (looked >= MOST_PIPELINES or len(made) >= MOST_HITS or time.monotonic() > ends):
            rest = previous.id
            break
        if before is not None and not _is_newest(lineage, run):  # it was looked at for an answer before this one
            continue
        of_run = _hits(lineage, run, search)
        made += of_run[:MOST_HITS]
        cut |= len(of_run) > MOST_HITS
    return FoundAnswer(hits=[HitAnswer(**asdict(one)) for one in made], more=cut, next=rest)


def _is_newest(lineage: AskedLineage, run: RunOrigin) -> bool:
    """Whether a run is the newest complete one of its pipeline and DAG."""
    context = () if run.dag_id is None else (("dag_id", run.dag_id),)
    wanted = RunsWanted(pipeline=run.pipeline, status="complete", context=context)
    found = lineage.lasting(lambda: lineage.store.list_origins(wanted, lambda one: one.dag_id == run.dag_id, 1)).runs
    return not found or found[0].id == run.id


def _hits(lineage: AskedLineage, run: RunOrigin, search: str) -> list[Hit]:
    """None where the run's record cannot be read, or was dropped meanwhile."""
    try:
        return list(islice(hits(run, *_named(lineage, run), search), MOST_HITS + 1))
    except StoreUnavailable:
        raise
    except LineageError:
        return []


def _named(lineage: AskedLineage, run: RunOrigin) -> tuple[tuple[TableNames, ...], Discretion]:
    """The tables of a run, and what is withheld of them, for which its plan is read."""
    known = _names.get(run.id)
    if known is not None and not Discretion.of():
        return known, Discretion()
    found = lineage.get_run(run.id, whole=True)
    if found.record.status != "complete":
        return (), Discretion()
    if len(_names) >= _MOST_KNOWN:
        _names.clear()
    tables = _names[run.id] = names_of(found.record, found.plan)
    return tables, discretion_of(found.plan)


def _stored_answers(question: Question, wanted: AnswersWanted, limit: int) -> StoredAnswersFound:
    lineage = question.lineage()
    listed = lineage.lasting(lambda: lineage.store.list_derivations(wanted, question.rights.may_see, limit))
    told = []
    for record, run in listed.found:
        asked = told_of(record, partial(lineage.get_run, run.id, whole=True))
        told.append(WithRun(derivation=asked, pipeline=run.pipeline, dag_id=_text(run, "dag_id"), task_id=_text(run, "task_id")))
    return StoredAnswersFound(derivations=told, next=listed.last)


def _text(run: RunHead, name: str) -> str | None:
    found = (run.airflow or {}).get(name)
    return found if isinstance(found, str) else None


def _store(question: Question) -> StoreAnswer:
    lineage = question.lineage()
    size = lineage.lasting(lineage.store.size) if question.rights.may_see_store() else None
    return StoreAnswer(bytes=size, retention_days=settings.retention_days())
