"""A planted word goes in by every door, and is looked for in everything that a run and its answers leave: store, home, output, errors."""

from __future__ import annotations

import json
import traceback
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, Secret, reasoned_udf
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import LineageError, ParameterError, SecretMismatch, SecretRequired
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.secrecy import is_digest
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark

CANARY = f"canary-{uuid.uuid4().hex[:12]}"


@reasoned_udf("int")
def tells_its_key(x: int) -> int:
    raise ValueError(f"the service at https://me:{CANARY}@host/v1 refused key {CANARY}")


def pipeline(spark: SparkSession, key: str, **_: Any) -> DataFrame:
    return spark.table("w").where(f"g <> '{key}' AND g <> 'x{key}y'").where(spark.table("w").rid != 4711)


def everywhere(url: str) -> Iterator[tuple[str, str]]:
    """Every table of the database with its rows as text, names of columns and Arrow tables among them."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname LIKE 'lineage%'")
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT * FROM {table}")
            rows = [[bytes(v).decode("latin-1") if isinstance(v, memoryview) else str(v) for v in row] for row in cursor.fetchall()]
            yield table, repr(([column.name for column in cursor.description or ()], rows))
    connection.close()


def check_nowhere(store: Store, home: Path, *texts: str) -> None:
    found = [table for table, text in everywhere(store.url) if CANARY in text]
    found += [str(path) for path in home.rglob("*") if path.is_file() and path.name.endswith((".log", ".key", ".json", ".conf"))
              and CANARY in path.read_text(errors="replace")]  # fmt: skip
    assert not found
    for text in texts:
        assert CANARY not in text


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b")], "rid int, g string")


def test_a_run_and_its_answers_keep_no_secret(
    lineage: Lineage, spark: SparkSession, store: Store, lineage_home: Path, table: None, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    run = lineage.run(
        pipeline,
        name="secrets",
        params={
            "key": Secret(CANARY),
            "db_pass": CANARY,
            "nested": {"a": [CANARY]},
            "json": json.dumps({"a": CANARY}),
            "pin": 4711,
            "day": "2025-12-01",
            "month": 12,
        },
        clear_params=["month"],
        context={"dag_id": "d", "anything": CANARY},
        progress=told.append,
    )
    params = run.record.params
    assert (params["month"], params["day"], (run.record.airflow or {})["dag_id"]) == (12, "2025-12-01", "d")
    assert is_digest(str(params["db_pass"]).removeprefix("withheld:"))
    assert str(params["key"]).removeprefix("secret:") == str(params["db_pass"]).removeprefix("withheld:"), "equality can be seen"
    with pytest.raises(SecretRequired, match="'key'"):
        run.explain("rid = 1")
    with pytest.raises(SecretMismatch, match="'key'"):
        run.why_not("rid = 1", params={"key": "another"})
    explanation = run.explain("rid = 1", params={"key": CANARY}, verify=True, progress=told.append)
    assert explanation.verified
    assert explanation.sources["w"].column("rid").to_pylist() == [1]
    assert "⟪secret:key:0⟫" in json.dumps(explanation.to_dict(), ensure_ascii=False)
    found = run.why_not(f"rid = 2 OR g = '{CANARY}'", params={"key": Secret(CANARY)})
    assert found.survived(0)
    restored = lineage.derivation(explanation.id)
    explanation.show()
    found.show()
    texts = [json.dumps(one.to_dict()) for one in (explanation, restored, found)] + [explanation.to_html(), restored.to_html()]
    assert "withheld, digest" in texts[3]
    assert main(["show", run.id]) == 0
    assert main(["show", run.id, "--json"]) == 0
    assert main(["explain-columns", run.id]) == 0
    out = capfd.readouterr()
    assert "parameter key" in out.out
    check_nowhere(store, lineage_home, repr(run), repr(run.record), repr(explanation), out.out, out.err, *told, *texts)


def test_the_arguments_of_a_sql_text_may_be_secret(lineage: Lineage, store: Store, lineage_home: Path, table: None) -> None:
    run = lineage.run(
        "SELECT g, count(*) AS n FROM w WHERE g <> :key GROUP BY g", params={"key": CANARY}, secret_params=["key"], strategy="rerun"
    )
    again = lineage.get_run(run.id)
    assert again.explain("g = 'a'", params={"key": CANARY}).sources["w"].num_rows == 1
    with pytest.raises(ParameterError, match="in the name of a column"):
        lineage.run("SELECT g = :key FROM w", params={"key": Secret(CANARY)})
    with pytest.raises(ParameterError, match="secret_params names other"):
        lineage.run("SELECT 1", params={"key": CANARY}, secret_params=["other"])
    assert lineage.run("SELECT :key AS key", params={"key": "plain"}).explain("key = 'plain'").target.num_rows == 1
    check_nowhere(store, lineage_home)


@pytest.fixture
def variables(spark: SparkSession) -> Iterator[None]:
    declared = {"api_key": f"STRING DEFAULT '{CANARY}'", "pin": "INT DEFAULT 471147", "moment": "TIMESTAMP DEFAULT current_timestamp()"}
    for name, told in declared.items():
        spark.sql(f"DECLARE OR REPLACE VARIABLE {name} {told}")
    yield
    for name in declared:
        spark.sql(f"DROP TEMPORARY VARIABLE {name}")


def test_session_variables_may_be_secret(lineage: Lineage, store: Store, lineage_home: Path, table: None, variables: None) -> None:
    query = "SELECT rid, g, rid + pin AS n FROM w WHERE g <> api_key AND rid IN (SELECT rid FROM w WHERE g <> concat(session.api_key, 'x'))"
    run = lineage.run(query, secret_params=["API_KEY", "session.pin"], strategy="rerun")
    assert sorted(run.record.params) == ["API_KEY", "session.pin"]
    assert all(str(recorded).startswith("secret:hmac") for recorded in run.record.params.values())
    with pytest.raises(SecretRequired, match="'API_KEY'"):
        lineage.get_run(run.id).explain("rid = 1")
    with pytest.raises(SecretMismatch, match=r"'session\.pin'"):
        run.explain("rid = 1", params={"API_KEY": CANARY, "session.pin": "471147"})
    found = lineage.get_run(run.id).explain("rid = 1", params={"API_KEY": CANARY, "session.pin": 471147}, verify=True)
    assert (found.sources["w"].column("rid").to_pylist(), found.verified) == ([1], True)
    assert "471147" not in lineage.store.run(run.id).plan
    check_nowhere(store, lineage_home, json.dumps(found.to_dict()), found.to_html(), repr(run.record))


def test_what_of_session_variables_cannot_be_secret_is_refused(
    lineage: Lineage, spark: SparkSession, store: Store, lineage_home: Path, table: None, variables: None
) -> None:
    def set_between(session: SparkSession) -> DataFrame:
        before = session.sql("SELECT * FROM w WHERE g <> api_key")
        session.sql(f"SET VAR api_key = '{CANARY}2'")
        return before.unionAll(session.sql("SELECT * FROM w WHERE g <> api_key"))

    def raises(session: SparkSession) -> DataFrame:
        raise RuntimeError(f"the service refused {session.sql('SELECT api_key').first()[0]}")  # type: ignore[index]

    refused: dict[str, tuple[Any, list[str]]] = {
        "is of type timestamp: a secret is": ("SELECT * FROM w WHERE current_timestamp() > moment", ["moment"]),
        "stands in the plan of the run outside of a literal": ("SELECT * FROM w LIMIT pin", ["pin"]),
        "neither a parameter nor a session variable": ("SELECT * FROM w WHERE rid <> pin", ["pin", "api_key"]),
        "has several values in the plan": (set_between, ["api_key"]),
        r"the service refused \*\*\*": (raises, ["api_key"]),
    }  # fmt: skip
    before = len(lineage.runs())
    told = []
    for text, (query, names) in refused.items():
        with pytest.raises(LineageError, match=text) as raised:
            lineage.run(query, secret_params=names)
        told.append(str(raised.value))
    assert len(lineage.runs()) == before
    check_nowhere(store, lineage_home, *told)


def test_reader_options_are_recorded_by_allow_list(
    lineage: Lineage, spark: SparkSession, store: Store, lineage_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.csv").write_text("rid;g\n1;a\n")
    options = {"header": "true", "sep": ";", "apiKey": CANARY, "sfPrivateKey": CANARY, "parquet.encryption.key": CANARY, "fs.x.y": CANARY}
    run = lineage.run(lambda session: session.read.options(**options).csv(f"file:{tmp_path}/c.csv"), strategy="rerun")
    check_nowhere(store, lineage_home, repr(run.plan))
    assert {"header": "true", "sep": ";"}.items() <= dict(run.plan.sources[0].source.relation.options).items()
    with pytest.raises(LineageError, match=r"'parquet\.encryption\.key' was not recorded.*spark\.airflow_lineage\.option\.NAME"):
        run.explain("rid = '1'")
    try:
        spark.conf.set("spark.airflow_lineage.option.parquet.encryption.key", CANARY)
        assert run.explain("rid = '1'").target.num_rows == 1
    finally:
        spark.conf.unset("spark.airflow_lineage.option.parquet.encryption.key")
    check_nowhere(store, lineage_home)


def test_settings_of_the_session_are_recorded_where_spark_knows_them(
    lineage: Lineage, spark: SparkSession, store: Store, lineage_home: Path, table: None
) -> None:
    names = ("spark.sql.catalog.bank.db_pass", "spark.sql.legacy.myKey", "spark.sql.parquet.sas", "spark.sql.session.private_key")
    for name in names:
        spark.conf.set(name, CANARY)
    try:
        run = lineage.run("SELECT * FROM w")
    finally:
        for name in names:
            spark.conf.unset(name)
    assert run.record.conf["spark.sql.session.timeZone"] == "UTC"
    check_nowhere(store, lineage_home, repr(run.record))


def failure(call: Any) -> tuple[str, str]:
    """The message of an error, and its traceback as Python prints it, without the lines of this file."""
    with pytest.raises(LineageError) as raised:
        call()
    lines = "".join(traceback.format_exception(raised.value)).splitlines()
    return str(raised.value), "\n".join(line for line in lines if "CANARY" not in line)


def test_errors_hold_no_secret(lineage: Lineage, spark: SparkSession, store: Store, lineage_home: Path, table: None) -> None:
    def raises(session: SparkSession, key: str) -> DataFrame:
        try:
            raise KeyError(key)
        except KeyError as cause:
            raise RuntimeError(f"postgresql://me:{key}@host is away") from cause

    def odd_sql(session: SparkSession, key: str) -> DataFrame:
        return session.sql(f"SELECT FROM WHERE '{key}'")

    with pytest.raises(LineageError, match="division by zero"):  # the server's log has the error, and not the statement
        store.query(f"SELECT 1 / (length('{CANARY}') - {len(CANARY)})")
    tells_its_key.register(spark)
    texts = [
        *failure(lambda: lineage.run(raises, name="failing", params={"key": CANARY})),
        *failure(lambda: lineage.run(odd_sql, name="failing", params={"key": CANARY})),
        *failure(lambda: lineage.run("SELECT tells_its_key(rid) AS x FROM w", name="failing", params={"key": CANARY})),
        *failure(lambda: lineage.run("SELECT * FROM w", name="failing", output=f"nofs://me:{CANARY}@bucket/x", params={"key": "x"})),
        *failure(lambda: lineage.run("SELECT * FROM w", name="failing", output=f"postgresql://me:{CANARY} x@host/db#t")),
    ]  # fmt: skip
    assert "RuntimeError" in texts[0]
    assert "KeyError" in texts[1], "the cause is told all the same"
    assert "refused key ***" in texts[4]
    assert [one.status for one in lineage.runs("failing")] == ["failed"], "the others were refused before"
    check_nowhere(store, lineage_home, *texts, repr(lineage.runs("failing")))


@pytest.mark.parametrize("form", ["{} x", "a@{}", "a/{}", "a?{}", "a#{}", "%{}", "{}"])
def test_urls_of_stores_are_shown_without_passwords(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    password = form.format(CANARY)
    url = f"postgresql://me:{password}@127.0.0.1:1/db"
    texts = [*failure(lambda: Store.open(url)), *failure(lambda: Lineage(store=f"{url}?sslpassword={password}"))]
    assert main(["--store", url, "runs"]) == 1
    out = capfd.readouterr()
    texts += [*failure(lambda: Output.parse(url))]
    if password != CANARY:
        texts += [*failure(lambda: Output.parse(f"{url}#t"))]
    for text in (*texts, out.out, out.err, repr(Output.parse("postgresql://me:x@h/db#t"))):
        assert CANARY not in text
