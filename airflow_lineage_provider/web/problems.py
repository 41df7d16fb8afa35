"""Errors of the API: one shape, whatever went wrong.

::

    {"error": {"name": "SparkRequired", "message": "…", "ask": {"python": "…", "command": "…"}}}

``name`` is that of `errors`, or ``NotAuthenticated``, ``NotPermitted``, ``InvalidRequest``, ``NotFound``, ``InternalError``. ``ask`` is
there where the answer can be had otherwise, and says how.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from airflow_lineage_provider import errors
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction
from airflow_lineage_provider.web.lines import Lines

log = logging.getLogger(__name__)

# The first that fits counts.
_STATUS: tuple[tuple[type[errors.LineageError], int], ...] = (
    (errors.RunNotFound, 404),
    (errors.DerivationNotFound, 404),
    (errors.SparkRequired, 409),
    (errors.SourceUnavailable, 409),
    (errors.RunNotComplete, 409),
    (errors.ResultNotStored, 409),
    (errors.ParameterError, 409),
    (errors.TargetError, 422),
    (errors.InvalidOption, 422),
    (errors.QueryTooSlow, 504),
    (errors.StoreUnavailable, 503),
)
_ASKED_ELSEWHERE = (
    errors.SparkRequired,
    errors.ResultNotStored,
    errors.ParameterError,
    errors.AnswerTooLarge,
    errors.TargetTooLarge,
    errors.QueryTooSlow,
)
_MOST_CAUSES = 10
HTTP_NAMES = {401: "NotAuthenticated", 403: "NotPermitted", 404: "NotFound", 405: "NotAllowed"}


class Ask(BaseModel):
    """How the same is asked elsewhere."""

    python: str
    command: str | None
    conf: dict[str, Any] | None = None


class Problem(BaseModel):
    """What went wrong."""

    name: str
    message: str
    ask: Ask | None = None


class ProblemAnswer(BaseModel):
    """The body of every answer that is an error."""

    error: Problem


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "description": text}
    for status, text in {
        401: "No login.",
        403: "This person may not have it.",
        404: "There is none, or it is not for this person.",
        409: "It cannot be answered here, or the run has no such answer; `ask` says how it can be.",
        422: "The question cannot be meant so.",
        500: "Something went wrong that was not foreseen; the API server's log says where.",
        503: "The results store does not answer.",
        504: "The answer took longer than it may.",
    }.items()
}


class Refused(Exception):
    """An error of this package's with what else an answer tells: how to ask elsewhere, and which columns are not to be named."""

    def __init__(self, error: errors.LineageError, lines: Lines | None = None, redaction: Redaction = NOTHING_WITHHELD) -> None:
        super().__init__(str(error))
        self.error, self.lines, self.redaction = error, lines, redaction


def install(app: FastAPI) -> None:
    """Have the application answer all errors so."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(errors.LineageError, _lineage_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Unforeseen)


def answer(status: int, name: str, message: str, lines: Lines | None = None) -> JSONResponse:
    """An error as it is sent."""
    ask = None if lines is None else Ask(python=lines.python, command=lines.command, conf=lines.conf)
    body = ProblemAnswer(error=Problem(name=name, message=message, ask=ask))
    return JSONResponse(body.model_dump(), status_code=status)


async def _refused(_request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, Refused)
    error, lines = problem.error, problem.lines
    text = problem.redaction.text(str(error))
    if lines is not None and isinstance(error, errors.ParameterError):  # what is secret is given again, and no DAG run's to keep
        lines = replace(lines, conf=None)
    return answer(_status(error), type(error).__name__, text, lines if isinstance(error, _ASKED_ELSEWHERE) else None)


async def _lineage_error(_request: Request, error: Exception) -> JSONResponse:
    return answer(_status(error), type(error).__name__, str(error))


def _status(error: Exception) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Without the values that were given: a predicate is data.
    told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    return answer(422, "InvalidRequest", told)


async def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return answer(error.status_code, HTTP_NAMES.get(error.status_code, "Error"), str(error.detail))


class Unforeseen:
    """Middleware that answers what nobody has foreseen, and puts down where it was, and of what kind.

    Its message may have values of rows in it, as those of Arrow, DuckDB and PostgreSQL have: it goes nowhere, and so the error is not
    raised on to Airflow, which would put it down with all.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        begun = False

        async def sent(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:
            log.error("lineage tab: unforeseen %s", _places(error))
            if not begun:
                text = "something went wrong that was not foreseen; the API server's log says where"
                await answer(500, "InternalError", text)(scope, receive, send)


def _places(error: BaseException) -> str:
    """The kinds of an error and of what caused it, each with the lines of code where it was raised; nothing that they say."""
    found: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(found) < _MOST_CAUSES:
        found.append(f"{type(cause).__name__} at\n{''.join(traceback.format_tb(cause.__traceback__))}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "caused by ".join(found)
