"""The results store that the tab reads: opened once for the process, at the first question."""

from __future__ import annotations

import threading

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.store import Store

_lock = threading.Lock()
_opened: dict[str | None, Store] = {}


def opened_store() -> Store:
    """The store of the connection ``AIRFLOW_LINEAGE_WEB_CONN_ID``, else of ``AIRFLOW_LINEAGE_STORE``, else the embedded one.

    :raises StoreUnavailable: it does not answer; or none is said, and no pipeline has made one here.
    :raises StoreError: it cannot be opened.
    """
    url = _url()
    with _lock:
        if url not in _opened:
            _opened[url] = Store.open(url)
        return _opened[url]


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
