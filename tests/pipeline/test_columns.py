"""Column-level lineage of recorded runs: the loan examination, in this process and in another one, without Spark."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import RunNotComplete
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.tracing.told_columns import texts
from udfs import paper_credit_exam

pytestmark = pytest.mark.spark

DAY = datetime.date(2022, 12, 7)
TABLES = {
    "client": ([("0001", "Havey", 3400), ("0002", "Joa", 2200)], "client_id string, name string, income int"),
    "debt": ([("0001", 810), ("0002", 1350)], "client_id string, debt int"),
    "loan": ([("0001", 4000, DAY), ("0002", 20000, DAY)], "client_id string, loan_amount int, date date"),
}
# The loan examination (figure 1 of the augmented-lineage paper), each application judged, and then counted (example 4).
EXAMINED = """
SELECT client.client_id, upper(name) AS name, CASE WHEN loan_amount > 10000 THEN 'large' ELSE 'small' END AS size,
       credit_exam(income, debt, loan_amount) AS judge
FROM client JOIN debt ON client.client_id = debt.client_id JOIN loan ON client.client_id = loan.client_id WHERE month(date) = 12
"""
SUMMARISED = f"SELECT judge, count(*) AS count, avg(length(name)) AS letters FROM ({EXAMINED}) GROUP BY judge"

ARGUMENTS = ("client.income", "debt.debt", "loan.loan_amount")
ROWS = {"client.client_id JOIN", "debt.client_id JOIN", "loan.client_id JOIN", "loan.date FILTER"}
JUDGE = {f"{one} TRANSFORMATION by credit_exam" for one in ARGUMENTS}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    folder = tmp_path_factory.mktemp("columns")
    for name, (rows, schema) in TABLES.items():
        path = str(folder / name)
        spark.createDataFrame(rows, schema).coalesce(1).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)
    paper_credit_exam.credit_exam.register(spark)
    yield Lineage(spark, store=store)
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def examined(lineage: Lineage) -> Iterator[Run]:
    run = lineage.run(EXAMINED, name="examined")
    yield run
    run.close()


def test_the_loan_examination(examined: Run) -> None:
    assert texts(examined.columns()) == {
        "client_id": {"client.client_id IDENTITY"},
        "name": {"client.name TRANSFORMATION"},
        "size": {"loan.loan_amount CONDITIONAL"},
        "judge": JUDGE,
        "*": ROWS,
    }


def test_the_summary_groups_by_what_the_model_saw(lineage: Lineage) -> None:
    run = lineage.run(SUMMARISED, name="summarised", reasons="eager")
    run.close()
    assert texts(run.columns()) == {
        "judge": JUDGE,
        "count": set(),
        "letters": {"client.name AGGREGATION"},
        "*": ROWS | {f"{one} GROUP_BY by credit_exam" for one in ARGUMENTS},
    }


def test_a_new_process_needs_neither_spark_nor_the_code(examined: Run) -> None:
    code = f"""if True:
        import json, sys
        from airflow_lineage_provider import Lineage
        with Lineage() as lineage:
            print(json.dumps(lineage.get_run({examined.id!r}).columns().to_openlineage()))
        sys.exit(bool({{"pyspark", "udfs"}} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    facet = json.loads(done.stdout)
    assert facet == examined.columns().to_openlineage()
    (income, debt, amount) = facet["fields"]["judge"]["inputFields"]
    assert (income["namespace"], income["field"]) == ("file", "income")
    assert income["name"].endswith("/client")
    assert [one["transformations"][0]["description"] for one in (income, debt, amount)] == ["UDF credit_exam"] * 3


def test_the_command(examined: Run, lineage_home: object, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["columns", examined.id, "--json", "--column", "JUDGE"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert [one["name"] for one in document["columns"]] == ["judge"]
    assert document["columns"][0]["inputs"][0] == {
        "source": "client", "column": "income", "type": "DIRECT", "subtype": "TRANSFORMATION", "masking": False, "opaque": False,
        "udfs": ["credit_exam"],
    }  # fmt: skip
    assert main(["columns", "latest", "--pipeline", "examined"]) == 0
    shown = capfd.readouterr().out
    assert "client.income" in shown
    assert "transformed by credit_exam" in shown
    assert "only influences it: condition" in shown
    assert main(["columns", examined.id, "--column", "nothing"]) == 2
    assert "the result has no column 'nothing'; it has client_id, name, size, judge" in capfd.readouterr().err


def test_a_dropped_run_has_none(lineage: Lineage) -> None:
    run = lineage.run("SELECT name FROM client", name="dropped columns")
    run.close()
    lineage.drop(run.id)
    with pytest.raises(RunNotComplete):
        lineage.get_run(run.id).columns()
