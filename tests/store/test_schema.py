"""Schema versions: made, checked, upgraded; and stores that cannot be reached."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

from airflow_lineage_provider.errors import StoreError, StoreSchemaTooNew, StoreSchemaTooOld, StoreUnavailable
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store import DerivationRecord, DerivationTable, RunRecord, Store, migrate, schema
from airflow_lineage_provider.store.connection import Connector, make_engine, normalise, tcp_form
from tests.store.conftest import sql


def test_the_migrations_make_what_the_code_expects(empty_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    assert migrate.known_versions()[0] == schema.HEAD
    Store.open(empty_url).close()
    engine = make_engine(Connector(empty_url))
    indexes = {index.name: str(sa.schema.CreateIndex(index)) for table in schema.metadata.tables.values() for index in table.indexes}
    # Alembic sees no collations.
    collated = {name for name, text in indexes.items() if 'COLLATE "C"' in text}
    known = sql(empty_url, "SELECT indexname FROM pg_indexes WHERE schemaname = 'lineage' AND indexdef LIKE '%COLLATE \"C\"%'")
    assert collated == {name for (name,) in known} != set()
    options = {"include_schemas": True, "version_table_schema": "lineage", "version_table": schema.VERSION_TABLE, "compare_type": True}
    options["include_object"] = lambda _, name, kind, *__: kind != "index" or name not in collated
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


def test_many_open_an_empty_database_at_once(empty_url: str) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            Store.open(empty_url).close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sql(empty_url, "SELECT version_num FROM lineage.schema_version") == [(schema.HEAD,)]


def test_an_old_schema_names_the_command(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Store.open(empty_url).close()
    monkeypatch.setattr(migrate, "HEAD", "0002")
    with pytest.raises(StoreSchemaTooOld, match="airflow-lineage store upgrade") as caught:
        Store.open(empty_url)
    assert ":***@" in str(caught.value)


def test_a_new_schema_asks_for_a_new_package(empty_url: str) -> None:
    Store.open(empty_url).close()
    sql(empty_url, "UPDATE lineage.schema_version SET version_num = '9999'")
    for attempt in (Store.open, Store.upgrade):
        with pytest.raises(StoreSchemaTooNew, match="upgrade the package"):
            attempt(empty_url)


def test_upgrading(empty_url: str) -> None:
    Store.upgrade(empty_url)
    Store.upgrade(empty_url.replace("postgresql://", "postgresql+psycopg2://"))
    with Store.open(empty_url) as store:
        assert store.runs() == []


def test_down_and_up_again(empty_url: str) -> None:
    from alembic import command

    Store.open(empty_url).close()
    engine = make_engine(Connector(empty_url))
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        assert sa.inspect(connection).get_table_names("lineage") == [schema.VERSION_TABLE]
    engine.dispose()
    with Store.open(empty_url) as store:
        assert store.begin_run(RunRecord(pipeline="p"))


def test_answers_of_earlier_releases_are_explanations(empty_url: str) -> None:
    """And a store that goes back has no others."""
    from alembic import command

    def moved(way: Any, to: str) -> None:
        with engine.begin() as connection:
            config = migrate._config()
            config.attributes["connection"] = connection
            way(config, to)

    with Store.open(empty_url) as store:
        run_id = store.begin_run(RunRecord(pipeline="p"))
        store.publish_run(run_id)
        tables = {"asked:rows": DerivationTable("asked", pa.table({"n": [1]}), "exact")}
        before = store.save_derivation(DerivationRecord(run_id=run_id, target="n = 1"))
        store.save_derivation(DerivationRecord(run_id=run_id, question="why_not", target="n = 1", tables=tables))
    engine = make_engine(Connector(empty_url))
    moved(command.downgrade, "0016")
    moved(command.upgrade, "head")
    engine.dispose()
    with Store.open(empty_url) as store:
        assert [(one.id, one.question) for one in store.derivations(run_id)] == [(before, "explain")]


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://u:secret@h/d", "localhost", "postgresqlx://h"])
def test_only_postgresql(url: str) -> None:
    with pytest.raises(StoreError, match="is PostgreSQL") as caught:
        Store.open(url)
    assert "secret" not in str(caught.value)


def test_a_store_that_is_down_at_the_start() -> None:
    with pytest.raises(StoreUnavailable, match="refused") as caught:
        Store.open("postgresql://someone:secret@127.0.0.1:1/db?connect_timeout=2")
    assert "secret" not in str(caught.value)
    assert ":***@127.0.0.1" in str(caught.value)


def test_wrong_password_and_missing_database(server: object, empty_url: str) -> None:
    credentials = empty_url.split("@")[0]
    for wrong in (empty_url.replace(credentials, "postgresql://lineage:wrong-secret"), empty_url.replace("/test_", "/missing_")):
        with pytest.raises(StoreUnavailable) as caught:
            Store.open(wrong)
        assert "wrong-secret" not in str(caught.value)


def test_a_user_without_rights(store: Store, empty_url: str) -> None:
    sql(empty_url, "CREATE ROLE nobody_much LOGIN PASSWORD 'x'")
    try:
        with pytest.raises(StoreError, match="permission denied") as caught:
            Store.open(empty_url.replace(empty_url.split("@")[0], "postgresql://nobody_much:x"))
        assert not isinstance(caught.value, StoreUnavailable)
    finally:
        sql(empty_url, "DROP ROLE nobody_much")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p%40w@/d?host=%2Fs", "postgresql://u:***@/d?host=%2Fs"),
        ("postgresql://u@h/d?password=p&x=1", "postgresql://u@h/d?password=***&x=1"),
        ("could not connect to postgresql://u:p@h/d today", "could not connect to postgresql://u:***@h/d today"),
        ("postgresql://u:p/w:x@h/d", "postgresql://u:***@h/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert redact(url) == shown


def test_urls() -> None:
    assert normalise("postgresql+psycopg2://u@h/d") == "postgresql://u@h/d"
    assert normalise("postgres://u@h/d") == "postgresql://u@h/d"
    assert tcp_form("postgresql://u:p%2F@/d?host=%2Frun&port=99&sslmode=disable") == "postgresql://u:p%2F@127.0.0.1:99/d?sslmode=disable"
    assert tcp_form("postgresql://u@h:1/d") == "postgresql://u@h:1/d"
