"""SQL texts of several statements: where Spark parts them, and what running them gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.spark.sql_script import run_script, script, statements
from airflow_lineage_provider.sql.asked_sql import is_comment, statements_of

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;;\n ; SELECT 2 ;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';', \";\", `;` FROM t; SELECT 2", ["SELECT ';', \";\", `;` FROM t", "SELECT 2"]),
        ("SELECT 'it\\'s;'; SELECT 2", ["SELECT 'it\\'s;'", "SELECT 2"]),
        ("SELECT 1 -- one; really\n; SELECT 2", ["SELECT 1 -- one; really", "SELECT 2"]),
        ("SELECT 1; -- done", ["SELECT 1"]),
        ("SELECT 1; /* that; is /* all; */ */ ;", ["SELECT 1"]),
        ("-- first\nSELECT 1", ["-- first\nSELECT 1"]),
        ("BEGIN SELECT 1; SELECT 2; END; SELECT 3", ["BEGIN SELECT 1; SELECT 2; END", "SELECT 3"]),
    ],
)
def test_statements_are_parted_as_spark_parts_them(spark: SparkSession, text: str, parts: list[str]) -> None:
    if text.startswith("BEGIN") and spark.version < "4.3":
        pytest.skip("before Spark 4.3 nothing knows where BEGIN … END ends")
    assert statements(spark, text) == parts
    if not text.startswith("BEGIN"):  # as for Spark 4.0, which has nothing that parts them
        assert [one.strip() for one in statements_of(text) if not is_comment(one)] == parts


@pytest.mark.parametrize("text", [";", "-- nothing", "/* nothing; */"])
def test_a_text_without_a_statement_is_refused(spark: SparkSession, text: str) -> None:
    with pytest.raises(PlanError, match="no SQL statement"):
        statements(spark, text)


def test_the_last_statement_is_the_result_where_it_is_a_query(spark: SparkSession) -> None:
    told: list[str] = []
    text = "CREATE OR REPLACE TEMP VIEW of_script AS SELECT 2 AS a;\nSELECT raise_error('computed');\nSELECT\n a FROM of_script"
    frame = run_script(spark, text, told.append, with_text=True)
    assert frame is not None
    assert frame.collect() == [(2,)]
    assert told == [
        "statement 1 of 3: 'CREATE OR REPLACE TEMP VIEW of_script AS SELECT 2 AS a'",
        "statement 2 of 3: \"SELECT raise_error('computed')\"",
        "statement 2 is a query whose rows go nowhere: it is not computed",
        "statement 3 of 3: 'SELECT a FROM of_script'",
    ]


@pytest.mark.parametrize("last", ["SHOW TABLES", "SET spark.of.script = 1", "DROP VIEW IF EXISTS of_no_script"])
def test_what_a_command_gives_is_no_result(spark: SparkSession, last: str) -> None:
    told: list[str] = []
    assert run_script(spark, f"SELECT 1; {last}", told.append) is None
    assert told[-1] == "statement 2 of 2"


def test_a_statement_that_spark_refuses_ends_the_script(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="of_nowhere"):
        run_script(spark, "SET spark.of.script = first; SELECT * FROM of_nowhere; SET spark.of.script = third", lambda _: None)
    assert spark.conf.get("spark.of.script") == "first"
    with pytest.raises(ParseException):
        run_script(spark, "SELEC 1", lambda _: None)


def test_a_file_of_statements_is_read(tmp_path: Path) -> None:
    (tmp_path / "judge.sql").write_text("SELECT 1;\n")
    assert script(f" {tmp_path}/judge.sql ") == "SELECT 1;"
    assert script("SELECT 1") == "SELECT 1"
    with pytest.raises(PlanError, match="cannot be read"):
        script(f"{tmp_path}/none.hql")
    with pytest.raises(PlanError, match="the text is empty"):
        script(" ")
