"""Stored answers of a run: those that operators, Python and the command have kept, with the reasons that they computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.errors import (
    AnswerTooLarge,
    DerivationNotFound,
    InvalidOption,
    LineageError,
    RunNotFound,
    StoreUnavailable,
)
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import redaction_of
from airflow_lineage_provider.records.derivation_sets import ChunkPlace
from airflow_lineage_provider.render.answer_files import table_names
from airflow_lineage_provider.render.document import guarantee_dict, table_dict
from airflow_lineage_provider.render.withheld import lineage_rows_shown, why_not_shown
from airflow_lineage_provider.render.withheld import shown as explanation_shown
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import DerivationRecord
from airflow_lineage_provider.store.derivations import DerivationSize
from airflow_lineage_provider.web.api.explanations import explanation_answer, table_file
from airflow_lineage_provider.web.api.formats import FILES, Format, Wanted
from airflow_lineage_provider.web.api.models import (
    MOST_BYTES,
    MOST_ROWS,
    MOST_SHOWN,
    ChunkAnswer,
    DerivationAnswer,
    DerivationsAnswer,
    ExplanationAnswer,
    ExplanationForm,
    LinesAnswer,
)
from airflow_lineage_provider.web.asking import Asked, AskedLineage, Question
from airflow_lineage_provider.web.foreign import runs_behind
from airflow_lineage_provider.web.lines import kept_letters_lines, kept_lines
from airflow_lineage_provider.web.problems import Refused

router = APIRouter(tags=["derivations"])
_MOST = 100


@router.get("/runs/{run_id}/derivations")
async def derivations(run_id: str, question: Asked) -> DerivationsAnswer:
    """The newest stored answers about a run, 100 at most."""
    return await question.answered(lambda: _listed(question, run_id))


@router.get("/derivations/{derivation_id}", response_model=ExplanationAnswer, responses=FILES)
async def derivation(
    derivation_id: str,
    question: Asked,
    file: Wanted,
    form: Annotated[ExplanationForm, Query()] = "json",
    udf: Annotated[str | None, Query(max_length=500)] = None,
    table: Annotated[str | None, Query(max_length=500)] = None,
    sources: Annotated[int | None, Query(ge=1, le=MOST_SHOWN)] = None,
) -> ExplanationAnswer | Response:
    """A stored answer; as a file it is one of its tables, of which it has the first 10,000 rows. One with rows of runs that are not for
    this person is refused as a whole; so is as JSON one with a table of more rows. ``sources``: of an explanation's JSON only so many of
    the first rows of each source table, however many there are (``total``)."""
    return await question.answered(lambda: _answered(question, derivation_id, (form, udf), (table, sources), file), about="rows")


def _listed(question: Question, run_id: str) -> DerivationsAnswer:
    run = question.run(run_id)
    lineage = question.lineage()
    found = lineage.lasting(lambda: lineage.store.derivations(run.id, _MOST))
    return DerivationsAnswer(derivations=[told_of(one, lambda: run) for one in found])


def told_of(one: DerivationRecord, run: Callable[[], Run]) -> DerivationAnswer:
    """A stored answer without its tables; its run is read where columns are withheld, of which its target may tell."""
    created, asked = one.created.isoformat(timespec="seconds") if one.created else "", target_shown(one.target, run)
    dag_run = (one.airflow or {}).get("run_id")
    return DerivationAnswer(
        id=one.id, run_id=one.run_id, question=one.question, asked=asked, created=created, seconds=one.seconds, counts=dict(one.counts),
        dag_run_id=dag_run if isinstance(dag_run, str) else None, chunk=chunk_of(one.place),
    )  # fmt: skip


def target_shown(target: str, run: Callable[[], Run]) -> str:
    """What may be told of it: nothing, where the run's record, or its plan, is damaged, and nobody knows what its words are names of."""
    if not Discretion.of():
        return target
    try:
        found = run()
        return redaction_of(found.plan).text(target) if found.record.status == "complete" else ""
    except StoreUnavailable:
        raise
    except LineageError:
        return ""


def chunk_of(place: ChunkPlace | None) -> ChunkAnswer | None:
    """Which chunk an answer is of a question that has several."""
    return None if place is None else ChunkAnswer(number=place.chunk + 1, of=place.chunks, set_id=place.set_id)


def answer_for(question: Question, derivation_id: str) -> Answer:
    """A stored answer that is for this person, with what its columns carry.

    :raises DerivationNotFound: there is none, or its run is not for them. :raises HTTPException: it has rows of a run that is not.
    :raises Refused: it is too large to be loaded by an API server.
    """
    return _loaded(question, derivation_id, _size(question, derivation_id))


def _loaded(question: Question, derivation_id: str, size: DerivationSize) -> Answer:
    if size.bytes > MOST_BYTES:
        text = f"an answer of more than {MOST_BYTES:,} bytes is not loaded here, and this one has {size.bytes:,}, compressed"
        raise Refused(AnswerTooLarge(text), kept_lines(derivation_id))
    lineage = question.lineage()
    found = _found(question, lineage, derivation_id)
    question.in_time()
    _check(question, found)
    return lineage.shown_later(found)


def _answered(
    question: Question,
    derivation_id: str,
    wanted: tuple[ExplanationForm, str | None],
    part: tuple[str | None, int | None],
    file: Format,
) -> ExplanationAnswer | Response:
    (form, udf), (table, sources), size = wanted, part, _size(question, derivation_id)
    if file == "json" and form == "json" and sources is None and size.rows > MOST_ROWS:
        text = (
            f"an answer with a table of more than {MOST_ROWS:,} rows is not told as JSON here, and this one has a table of {size.rows:,}: "
            "the page has the first"
        )
        raise Refused(AnswerTooLarge(text), kept_lines(derivation_id))
    found = _loaded(question, derivation_id, size)
    question.in_time()
    if file != "json":
        _check_size(found, derivation_id)
        return table_file(found, table, file)
    if form == "json" and sources is not None:
        return _first_sources(found, sources)
    in_files = MOST_ROWS if size.rows > MOST_ROWS else None
    return stored_answer(found, form, udf).model_copy(update={"rows_in_files": in_files})


def _first_sources(found: Answer, most: int) -> ExplanationAnswer:
    """:raises InvalidOption: the answer is no explanation."""
    if not isinstance(found, Explanation):
        raise InvalidOption("source rows stand in an explanation, and this answers another question")
    told, lines = explanation_shown(found), kept_lines(found.id)
    source = {
        name: table_dict(one.rows.slice(0, most)) | {"guarantee": guarantee_dict(one.guarantee), "total": one.rows.num_rows}
        for name, one in told.sources.items()
    }
    return ExplanationAnswer(asked=told.asked, document={"source": source}, ask=LinesAnswer(python=lines.python, command=lines.command))


def stored_answer(found: Answer, form: ExplanationForm, udf: str | None) -> ExplanationAnswer:
    """A stored answer in the form that is asked for, shown under the settings that withhold columns.

    :raises InvalidOption: letters are asked for, and there are none.
    """
    lines = kept_letters_lines(found.id, udf) if form == "letters" else kept_lines(found.id)
    ask = LinesAnswer(python=lines.python, command=lines.command)
    if isinstance(found, Explanation):
        return explanation_answer(found, form, None, udf).model_copy(update={"ask": ask})
    if form == "letters":
        raise InvalidOption("letters are about the decisions in an explanation, and this answers another question")
    made = found.to_html() if form == "page" else found.to_dict()
    return ExplanationAnswer(
        question="why_not" if isinstance(found, WhyNot) else "forward",
        asked=_asked(found),
        document=made if isinstance(made, dict) else None,
        page=made if isinstance(made, str) else None,
        tables=table_names(found),
        ask=ask,
    )


def _asked(found: WhyNot | LineageRows | Descendants) -> str:
    if isinstance(found, WhyNot):
        return why_not_shown(found).asked
    return lineage_rows_shown(next(found.parts())).asked


def _check_size(found: Answer, derivation_id: str) -> None:
    """What became of a row is put into words when it is looked at; of very many rows, not in an API server."""
    if isinstance(found, WhyNot) and found.rows.num_rows > MOST_ROWS:
        text = (
            f"more than {MOST_ROWS:,} rows are not put into words here, and the answer has {found.rows.num_rows:,}: the page has the first"
        )
        raise Refused(AnswerTooLarge(text), kept_lines(derivation_id))


def _size(question: Question, derivation_id: str) -> DerivationSize:
    """How large an answer is, of which nothing is loaded before it is known that its run is for this person.

    :raises DerivationNotFound: there is none, or its run is not for them: which of the two is not told.
    """
    lineage = question.lineage()
    try:
        size: DerivationSize = lineage.lasting(lambda: lineage.store.derivation_size(derivation_id))
        question.head(size.run_id)
    except (DerivationNotFound, RunNotFound):
        raise _not_there(derivation_id) from None
    return size


def _found(question: Question, lineage: AskedLineage, derivation_id: str) -> Answer:
    """:raises DerivationNotFound: it is not there any more, or its tables are of a run that is not for this person."""
    try:
        found = lineage.restored(derivation_id)
        question.head(found.here.run.id if isinstance(found, Descendants) else found.run.id)
    except (DerivationNotFound, RunNotFound):
        raise _not_there(derivation_id) from None
    return found


def _not_there(derivation_id: str) -> DerivationNotFound:
    return DerivationNotFound(f"there is no stored answer {shown(derivation_id)} here that you may see")


def _check(question: Question, found: Answer) -> None:
    secret = [one for one in runs_behind(question.lineage(), found) if one is None or not question.rights.may_see(one)]
    if secret:
        anew = ": ask anew, and it has the others" if isinstance(found, Explanation) else ""
        raise HTTPException(403, f"this answer has rows of runs of other DAGs, which you may not read{anew}")
