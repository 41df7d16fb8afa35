"""The results store that the tab reads: opened once for the process, at the first question.

Who asks while it is being opened waits for that one attempt, and is told how it ended: where the store is away nobody waits for the
time-outs of those before them. When another is meant (a connection's password was changed), the one before is closed as soon as nobody
has it any more.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.connection import normalise, with_lock_timeout

_lock = threading.Lock()
_attempts: dict[str | None, Future[Store]] = {}
"""That to open the store that is meant, by its URL: the last alone."""


def opened_store() -> Store:
    """The store of the connection ``AIRFLOW_LINEAGE_WEB_CONN_ID``, else of ``AIRFLOW_LINEAGE_STORE``, else the embedded one.

    :raises StoreUnavailable: it does not answer; or none is said, and no pipeline has made one here.
    :raises StoreError: it cannot be opened.
    """
    url = _url()
    with _lock:
        attempt = _attempts.get(url)
        if begins := attempt is None:
            _attempts.clear()
            attempt = _attempts[url] = Future()
    assert attempt is not None
    if begins:
        _open(url, attempt)
    return attempt.result()


def _open(url: str | None, attempt: Future[Store]) -> None:
    try:
        # (Nobody's answer waits for longer than it may for somebody else's lock; and who asks drops no runs, and fails none.)
        limited = None if url is None else with_lock_timeout(normalise(url), settings.web_seconds())
        attempt.set_result(Store.open(limited, tidies=False))
    except BaseException as problem:
        with _lock:  # the next who asks tries again
            if _attempts.get(url) is attempt:
                del _attempts[url]
        attempt.set_exception(problem)


def _url() -> str | None:
    conn_id = settings.web_conn_id()
    if conn_id is not None:
        return _of_connection(conn_id)
    url = settings.store_url()
    if url is None and not settings.home().is_dir():
        raise StoreUnavailable(
            "no results store is known here: set AIRFLOW_LINEAGE_STORE, or AIRFLOW_LINEAGE_WEB_CONN_ID, for Airflow's API server"
        )
    return url


def _of_connection(conn_id: str) -> str:
    from airflow.models.connection import Connection

    from airflow_lineage_provider.hooks.store_url import store_url

    return store_url(Connection.get_connection_from_secrets(conn_id))
