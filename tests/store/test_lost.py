"""Which of the drivers' errors say that the server is gone."""

from __future__ import annotations

import psycopg2
import pytest

from airflow_lineage_provider.errors import StoreError, StoreUnavailable
from airflow_lineage_provider.store.connection import translate

CLOSED = "server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally"


@pytest.mark.parametrize("error", [psycopg2.OperationalError(CLOSED), psycopg2.InterfaceError("connection already closed"),
                                   psycopg2.DatabaseError(CLOSED)])  # fmt: skip
def test_a_lost_connection_is_no_refusal(error: psycopg2.Error) -> None:
    """psycopg2's bare DatabaseError is what it raises where libpq tells of the end before the connection's status does."""
    assert isinstance(translate(error, "asking"), StoreUnavailable)


@pytest.mark.parametrize("error", [psycopg2.DatabaseError("no result"), psycopg2.ProgrammingError("the cursor is a named one")])
def test_a_refusal_is_no_lost_connection(error: psycopg2.Error) -> None:
    assert type(translate(error, "asking")) is StoreError
