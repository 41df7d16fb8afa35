"""Rows that are inserted by the places of their columns have the names that they have in the table, and are found again by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

SOURCE = [(1, 2), (2, 1), (5, 6), (6, 5), (6, 6)]
Insert = Callable[[SparkSession, str], object]


def _by_writer(spark: SparkSession, table: str) -> None:
    spark.table("inserted_from").selectExpr("b", "a", "9 AS p").write.insertInto(table)


def _sql(statement: str) -> Insert:
    return lambda spark, table: spark.sql(statement.format(t=table))


# Everywhere the table's ``a`` is the source's ``b``, and the other way round.
INSERTS: dict[str, Insert] = {
    "by place": _sql("INSERT INTO {t} SELECT b, a, 9 FROM inserted_from"),
    "by place, under the other's name": _sql("INSERT INTO {t} SELECT b AS b, a AS a, 9 AS p FROM inserted_from"),
    "columns listed": _sql("INSERT INTO {t} (b, a, p) SELECT a, b, 9 FROM inserted_from"),
    "a static partition": _sql("INSERT INTO {t} PARTITION (P = 9) SELECT b, a FROM inserted_from"),
    "a static partition, columns listed": _sql("INSERT INTO {t} PARTITION (p = 9) (b, a) SELECT a, b FROM inserted_from"),
    "a dynamic partition": _sql("INSERT INTO {t} PARTITION (p) SELECT b, a, 9 FROM inserted_from"),
    "overwriting": _sql("INSERT OVERWRITE {t} SELECT b, a, 9 FROM inserted_from"),
    "by name": _sql("INSERT INTO {t} BY NAME SELECT 9 AS p, a AS b, b AS a FROM inserted_from"),
    "of two columns with one name": _sql("INSERT INTO {t} SELECT b AS x, a AS x, 9 FROM inserted_from"),
    "by the writer": _by_writer,
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Iterator[Lineage]:
    spark.sql("DROP TABLE IF EXISTS inserted_from")
    spark.createDataFrame(SOURCE, "a INT, b INT").write.saveAsTable("inserted_from")
    with Lineage(spark, store=store) as lineage:
        yield lineage
    spark.sql("DROP TABLE inserted_from")


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    spark.sql("DROP TABLE IF EXISTS inserted_into")
    spark.sql("CREATE TABLE inserted_into (a INT, b INT, p INT) USING parquet PARTITIONED BY (p)")
    yield "inserted_into"
    spark.sql("DROP TABLE inserted_into")


@pytest.mark.parametrize("name", sampled(INSERTS))
def test_the_source_rows_are_those_of_the_rows_in_the_table(lineage: Lineage, spark: SparkSession, table: str, name: str) -> None:
    with lineage.recording(progress=False) as recording:
        INSERTS[name](spark, table)
    (run,) = recording.runs
    assert sorted(map(tuple, spark.table(table).collect())) == sorted((b, a, 9) for a, b in SOURCE)
    later = lineage.run(lambda spark: spark.table(table), progress=False)
    for asked in (run, later):
        for value in (1, 6):
            answer = asked.explain(f"a = {value}", progress=False)
            found = sorted((row["a"], row["b"]) for row in answer.sources["inserted_from"].rows.to_pylist())
            assert found == sorted((a, b) for a, b in SOURCE if b == value), (name, value)
