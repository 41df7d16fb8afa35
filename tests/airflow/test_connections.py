"""From Airflow connections to the store's URL and Spark's configuration."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.sdk import Connection

from airflow_lineage_provider.errors import SparkConnectUnsupported, StoreError
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.hooks.spark_session import spark_conf
from airflow_lineage_provider.hooks.store_url import store_url
from airflow_lineage_provider.store import Store


def postgres(**fields: object) -> Connection:
    return Connection(conn_id="lineage_store", conn_type="postgres", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"host": "db", "schema": "lineage", "login": "me", "password": "pw", "port": 5433}, "postgresql://me:pw@db:5433/lineage"),
        ({"host": "db", "schema": "my db", "login": "a@b", "password": "p/w:?#@é"}, "postgresql://a%40b:p%2Fw%3A%3F%23%40%C3%A9@db/my%20db"),
        ({"host": "::1", "schema": "l"}, "postgresql://[::1]/l"),
        ({"host": "/var/run/pg", "schema": "l", "login": "me"}, "postgresql://me@%2Fvar%2Frun%2Fpg/l"),
        ({"host": "db", "schema": "l", "extra": json.dumps({"sslmode": "require", "options": "-c x=1 y"})},
         "postgresql://db/l?sslmode=require&options=-c%20x%3D1%20y"),
    ],
)  # fmt: skip
def test_store_url(fields: dict[str, object], url: str) -> None:
    assert store_url(postgres(**fields)) == url


def test_libpq_reads_back_what_was_encoded() -> None:
    from psycopg2.extensions import parse_dsn

    connection = postgres(host="/tmp/a b", schema="a/b", login="u:s", password="é %@/", port=7, extra=json.dumps({"options": "-c a=b&c"}))
    found = parse_dsn(store_url(connection))
    assert found == {"host": "/tmp/a b", "dbname": "a/b", "user": "u:s", "password": "é %@/", "port": "7", "options": "-c a=b&c"}


def test_extras_of_airflows_own_hook_are_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "airflow_lineage_provider"):
        url = store_url(postgres(host="db", schema="l", extra=json.dumps({"cursor": "dictcursor"})))
    assert url == "postgresql://db/l"
    assert "'cursor'" in caplog.text


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        (
            Connection(conn_id="warehouse", conn_type="mysql", host="db"),
            "'warehouse' is of type 'mysql'.*one of type 'lineage_store' or 'postgres'",
        ),
        (postgres(host="db", extra=json.dumps({"iam": True})), "'lineage_store' asks for a token"),
    ],
)
def test_connections_that_are_no_store(connection: Connection, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        store_url(connection)


def test_the_store_cannot_be_given_twice() -> None:
    with pytest.raises(StoreError, match="given twice"):
        LineageHook("lineage_store", store="postgresql://db/l").store_url()


def test_the_hook_reads_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_MY_STORE", "postgres://me:pw@db:5432/lineage")
    assert LineageHook("my_store").store_url() == "postgresql://me:pw@db:5432/lineage"
    assert LineageHook(store="postgresql://db/l").store_url() == "postgresql://db/l"
    assert LineageHook().store_url() is None


def test_the_form_makes_a_connection_that_can_be_tried(airflow_home: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers_manager import ProvidersManager
    from psycopg2.extensions import parse_dsn

    found = ProvidersManager().hooks["lineage_store"]
    assert found is not None
    assert (found.hook_name, found.connection_id_attribute_name) == ("Lineage results store", "store_conn_id")
    parts = parse_dsn(store.url)
    fields = {"host": parts["host"], "schema": parts["dbname"], "login": parts["user"], "password": parts.get("password")}
    made = Connection(
        conn_id="my_lineage", conn_type="lineage_store", **fields, port=int(parts["port"]) if "port" in parts else None,
        extra=json.dumps({"sslmode": None, "sslrootcert": ""}),
    )  # fmt: skip
    monkeypatch.setenv("AIRFLOW_CONN_MY_LINEAGE", made.get_uri())
    tried, said = LineageHook("my_lineage").test_connection()
    assert tried, said
    assert re.match(r"PostgreSQL \d+.* answers ", said)
    monkeypatch.setenv("AIRFLOW_CONN_MY_LINEAGE", "lineage-store://me:hunter2@127.0.0.1:1/away")
    tried, said = LineageHook("my_lineage").test_connection()
    assert not tried
    assert "127.0.0.1" in said
    assert "hunter2" not in said
    assert LineageHook.get_ui_field_behaviour()["relabeling"]["schema"] == "Database"


def test_the_hook_opens_the_store(store: Store) -> None:
    with LineageHook(store=store.url) as lineage:
        assert lineage.runs("nobody has run this") == []


@pytest.mark.parametrize(
    ("host", "port", "master"),
    [
        ("", None, "local[*]"),
        ("local[2]", None, "local[2]"),
        ("yarn", None, "yarn"),
        ("spark://master", 7077, "spark://master:7077"),
        ("master", 7077, "spark://master:7077"),
        ("k8s://https://cluster", 6443, "k8s://https://cluster:6443"),
    ],
)
def test_spark_master(host: str, port: int | None, master: str) -> None:
    assert spark_conf(Connection(conn_id="s", conn_type="spark", host=host, port=port), None, "app")["spark.master"] == master


def test_spark_configuration_is_the_connections_under_the_tasks() -> None:
    extra = json.dumps({"spark.executor.memory": "2g", "spark.executor.cores": 1, "deploy-mode": "client"})
    connection = Connection(conn_id="s", conn_type="spark", host="yarn", extra=extra)
    conf = spark_conf(connection, {"spark.executor.cores": 4, "spark.ui.enabled": False}, "app")
    assert conf == {
        "spark.app.name": "app",
        "spark.master": "yarn",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "2g",
        "spark.executor.cores": "4",
        "spark.ui.enabled": "false",
    }


@pytest.mark.parametrize(
    "connection",
    [
        Connection(conn_id="c", conn_type="spark_connect", host="connect"),
        Connection(conn_id="c", conn_type="spark", host="sc://connect", port=15002),
        Connection(conn_id="c", conn_type="spark", host="", extra=json.dumps({"spark.remote": "sc://connect"})),
    ],
)
def test_spark_connect_is_refused_before_anything_is_started(connection: Connection) -> None:
    with pytest.raises(SparkConnectUnsupported, match="Spark Connect"):
        spark_conf(connection, None, "app")


@pytest.mark.spark
def test_a_session_of_the_hooks_own_uses_this_python_and_is_stopped() -> None:
    code = """
import sys
from airflow_lineage_provider.hooks.lineage import LineageHook
from pyspark.sql import SparkSession
hook = LineageHook(config_kwargs={"spark.master": "local[1]", "spark.ui.enabled": False})
with hook.spark("an app") as spark:
    with hook.spark("inside") as same:
        pass
    assert same is spark
    python = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").executable).collect()
    print("found", spark.sparkContext.appName, spark.sparkContext.master, python == [sys.executable])
print("left", SparkSession.getActiveSession())
"""
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, env=environment)
    said = [line for line in done.stdout.splitlines() if line.startswith(("found", "left"))]
    assert said == ["found an app local[1] True", "left None"]
