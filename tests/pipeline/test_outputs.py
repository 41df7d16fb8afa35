"""An output that cannot be written is refused before the pipeline is computed, in our own words, and leaves no trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import InvalidOutput
from airflow_lineage_provider.running.output import Output

pytestmark = pytest.mark.spark

JAVA = ("Exception in", "org.apache", "\tat ", "An error occurred while calling")


@reasoned_udf("int")
def computed(x: int) -> int:
    raise AssertionError("the pipeline was computed")


@contextmanager
def _places(folder: Path, spark: SparkSession, table: str) -> Iterator[dict[str, str]]:
    spark.sql("SELECT 1 AS id, 'a' AS name").write.parquet(str(folder / "there"))
    for format in ("csv", "json"):
        spark.sql("SELECT 1 AS id, 'a' AS name").write.format(format).save(str(folder / format))
    (folder / "file").write_text("x")
    (folder / "empty").mkdir()
    spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (id INT, name STRING) USING parquet")
    yield {"folder": str(folder), "table": table}
    spark.sql(f"DROP TABLE {table}")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[dict[str, str]]:
    """Of which none is written."""
    with _places(tmp_path_factory.mktemp("places"), spark, "output_there") as made:
        yield made


@pytest.fixture
def own_places(tmp_path: Path, spark: SparkSession) -> Iterator[dict[str, str]]:
    with _places(tmp_path, spark, "output_written") as made:
        yield made


REFUSED = [
    ("{folder}/there", "x", r"/there exists already; use \+overwrite or \+append"),
    ("{folder}/there+append", "x AS id", "has rows of other columns.*id int, name string there, id int here"),
    ("{folder}/there+append", "CAST(x AS bigint) AS id, 'b' AS name", "has rows of other columns"),
    ("csv:{folder}/csv+append", "x AS id", "has rows of other columns"),
    ("json:{folder}/json+append", "x AS id, 1 AS other", "has rows of other columns"),
    ("{folder}/file/below", "x", "/file is a file, not a folder"),
    ("{folder}/file+append", "x", "/file is a file, not a folder"),
    ("/proc/nowhere", "x", "/proc takes no new files"),
    ("nosuch://host/place", "x", "this Spark has no file system for 'nosuch'"),
    ("s3a://bucket/place", "x", "this Spark has no file system for 's3a'"),
    ("csv:{folder}/new", "x, array(x) AS many", r"column many is of type array<int>, which csv cannot hold"),
    ("orc:{folder}/new", "x, NULL AS nothing", "column nothing is of type void, which orc cannot hold"),
    ("{folder}/new", "x AS a, x AS A", "several columns named A, a"),
    ("table:output_there", "x", "output_there exists already"),
    ("table:output_there+append", "x AS id, 1 AS other", "has other columns.*id int, name string there, id int, other int here"),
    ("table:output_there+append", "x AS id, DATE'2020-01-01' AS name, 1 AS more", "has other columns"),
    ("table:output_there+append", "'no number' AS id, 'a' AS name, x AS more", "has other columns"),
    ("table:no_such_database.t", "x", "there is no database no_such_database"),
    ("table:a b c", "x", "the output table a b c cannot be used"),
]


@pytest.mark.parametrize(("output", "columns", "message"), REFUSED)
def test_refused_before_anything_is_computed(
    lineage: Lineage, spark: SparkSession, places: dict[str, str], output: str, columns: str, message: str
) -> None:
    computed.register(spark)
    with pytest.raises(InvalidOutput, match=message) as refused:
        lineage.run(f"SELECT {columns} FROM (SELECT computed(1) AS x)", name="impossible", output=output.format(**places))
    assert not any(text in str(refused.value) for text in JAVA)
    assert lineage.runs("impossible") == []
    assert sorted(os.listdir(places["folder"])) == ["csv", "empty", "file", "json", "there"]
    assert not [name for name in os.listdir(f"{places['folder']}/there") if name.startswith(".lineage")]


def test_a_format_that_only_code_can_name(lineage: Lineage, tmp_path: Path) -> None:
    with pytest.raises(InvalidOutput, match="output format 'delta' is not known to this Spark; it can be parquet, csv, json, orc"):
        lineage.run("SELECT 1 AS x", output=Output.path(str(tmp_path / "x"), format="delta"))


def test_what_can_be_written_is(lineage: Lineage, spark: SparkSession, own_places: dict[str, str]) -> None:
    folder, table = own_places["folder"], own_places["table"]
    for output in ("{folder}/there+append", "{folder}/empty+append", "{folder}/deep/down/below", "{folder}/there+overwrite"):
        lineage.run("SELECT 2 AS id, 'b' AS name", output=output.format(**own_places)).close()
    lineage.run("SELECT 2 AS id, CAST(NULL AS string) AS name", output=f"json:{folder}/json+append").close()
    lineage.run("SELECT 'b' AS NAME, 2 AS id", output=f"table:{table}+append").close()
    assert spark.read.parquet(f"{folder}/there").collect() == [(2, "b")]
    assert spark.table(table).collect() == [(2, "b")]


class TestPostgres:
    @pytest.fixture
    def there(self, lineage: Lineage) -> Iterator[str]:
        from tests.store.conftest import sql

        sql(lineage.store.url, "CREATE TABLE public.output_there (id int, name text); CREATE ROLE output_stranger LOGIN PASSWORD 'x'")
        yield lineage.store.url
        sql(lineage.store.url, "DROP TABLE public.output_there; DROP ROLE output_stranger")

    @pytest.mark.parametrize(
        ("place", "columns", "message"),
        [
            ("public.output_there", "x AS id", "exists already"),
            ("output_there+append", "x AS id, 1 AS other", 'column "other" of relation "output_there" does not exist'),
            ("output_there+append", "x AS id, DATE'2020-01-01' AS name", None),
            ("output_there+append", "DATE'2020-01-01' AS id, x AS name", 'column "id" is of type integer'),
            ("no_such_schema.t", "x", 'schema "no_such_schema" does not exist'),
        ],
    )
    def test_tables(self, lineage: Lineage, spark: SparkSession, there: str, place: str, columns: str, message: str | None) -> None:
        frame = spark.sql(f"SELECT {columns} FROM (SELECT 1 AS x)")
        with pytest.raises(InvalidOutput, match=message) if message else nullcontext():
            Output.parse(f"{there}#{place}").check(frame)

    def test_a_table_of_another_user(self, spark: SparkSession, there: str) -> None:
        other = there.replace(there.split("@")[0], "postgresql://output_stranger:x")
        frame = spark.sql("SELECT 1 AS id")
        with pytest.raises(InvalidOutput, match="permission denied"):
            Output.parse(f"{other}#output_there+overwrite").check(frame)

    def test_nothing_stays(self, lineage: Lineage, spark: SparkSession, there: str) -> None:
        Output.parse(f"{there}#output_new").check(spark.sql("SELECT 1 AS id"))
        tables = lineage.store.query("SELECT relname FROM pg_class WHERE relname LIKE 'lineage_trial%' OR relname = 'output_new'")
        assert tables.num_rows == 0


def test_options_are_checked_before_the_pipeline_is_called(lineage: Lineage) -> None:
    def never(_spark: SparkSession) -> Any:
        raise AssertionError("the pipeline was called")

    wrong: tuple[dict[str, Any], ...] = (
        {"output": "delta:/x"},
        {"reasons": "eagre"},
        {"keys": {"t": "id"}},
        {"strategy": "magic"},
        {"params": [1]},
    )
    for options in wrong:
        with pytest.raises(ValueError):
            lineage.run(never, **options)
