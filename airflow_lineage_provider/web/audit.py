"""The audit record: who asked what of which run, and how it ended. No row, no predicate and no parameter's value is in it.

One line of JSON a question, of the logger ``airflow_lineage_provider.audit``, so that it can be sent where a house keeps such records::

    {"event": "lineage_tab", "user": "ann", "action": "explanation", "run_id": "01a…", "format": "csv", "outcome": "answered", …}

``action`` is the route's, ``outcome`` is ``answered`` or the name of the error. ``runs`` are other runs whose rows the question is about,
where it names some, as views of a crossfilter. Airflow's own table of events can be read and not written through its public interface.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fastapi import Request
from starlette.exceptions import HTTPException

from airflow_lineage_provider.web.problems import HTTP_NAMES, Refused

log = logging.getLogger("airflow_lineage_provider.audit")

_NAMED = ("run_id", "derivation_id", "dag_id", "dag_run_id", "task_id", "map_index", "format", "form")
"""What of an address names things, and is no data."""
_MOST_CHARACTERS = 300


@contextmanager
def put_down(request: Request, user: str, runs: Sequence[str] = ()) -> Iterator[None]:
    """A record of the question that is answered within; ``runs`` are those beside the address's, which it may still come by."""
    started, outcome = time.monotonic(), "answered"
    try:
        yield
    except BaseException as problem:
        outcome = _name(problem)
        raise
    finally:
        record = {"event": "lineage_tab", "user": user, "action": request.scope["endpoint"].__name__, **_asked(request)}
        record |= {"runs": list(runs)} if runs else {}
        log.info("%s", json.dumps(record | {"outcome": outcome, "seconds": round(time.monotonic() - started, 3)}))


def _asked(request: Request) -> dict[str, str]:
    given = {**request.query_params, **request.path_params}
    return {name: str(given[name])[:_MOST_CHARACTERS] for name in _NAMED if name in given}


def _name(problem: BaseException) -> str:
    if isinstance(problem, Refused):
        return type(problem.error).__name__
    if isinstance(problem, HTTPException):
        return HTTP_NAMES.get(problem.status_code, str(problem.status_code))
    return type(problem).__name__
