"""Every way to say which rows are meant: positions, rows by values of every type, a Column; and what a pipeline may be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, ResultNotStored, SparkRequired, TargetTooLarge
from airflow_lineage_provider.recorded_run import Run

pytestmark = pytest.mark.spark

ALL = """
    SELECT id, id AS id, name, CAST(id / 2 AS float) AS f, IF(id = 2, double('NaN'), CAST(id AS double)) AS d,
        CAST(id AS decimal(10, 2)) AS n, IF(id = 3, NULL, id) AS maybe, date_add(DATE '2025-01-01', id) AS day,
        TIMESTAMP '2025-01-01 12:00:00Z' + make_interval(0, 0, 0, id) AS moment, array(id, NULL) AS list, map('a', id, 'b', 1) AS pairs,
        named_struct('x', id, 'y', double('NaN')) AS both, make_dt_interval(id) AS span, CAST(name AS binary) AS raw
    FROM targets
"""


@pytest.fixture(scope="module")
def made(spark: SparkSession, store: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run whose result has two columns of one name and columns of many types; row n at position n."""
    path = str(tmp_path_factory.mktemp("targets") / "targets")
    spark.createDataFrame([(n, f"name {n}") for n in range(6)], "id int, name string").coalesce(1).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("targets")
    yield Lineage(spark, store=store).run(ALL, name="targets")
    spark.catalog.dropTempView("targets")


def ids(found: Any) -> list[int]:
    return sorted(found.sources["targets"].column("id").to_pylist())


def without_spark(run: Run) -> Run:
    return Lineage(store=run._lineage.store).get_run(run.id)


@pytest.mark.parametrize(("at", "expected"), [(3, [3]), ([0, 3], [0, 3]), ("5,0", [0, 5]), (range(2), [0, 1])])
def test_rows_by_their_positions(made: Run, at: Any, expected: list[int]) -> None:
    found = without_spark(made).explain(at=at, save=False)
    assert ids(found) == expected
    assert found.target.column(2).to_pylist() == [f"name {n}" for n in expected]
    assert "of the result" in found.asked
    whole = made.result_table().take(expected)
    assert [repr(column.to_pylist()) for column in found.target.columns] == [repr(column.to_pylist()) for column in whole.columns]


def test_positions_that_are_not_there(made: Run) -> None:
    with pytest.raises(InvalidTarget, match="it has 6 rows, at positions 0 to 5"):
        made.explain(at=[1, 6])
    with pytest.raises(TargetTooLarge, match="3 positions are more than 2 rows; name fewer, or raise max_rows"):
        made.explain(at=[0, 1, 2], max_rows=2)
    wrongs: tuple[dict[str, Any], ...] = ({}, {"target": "true", "at": 0})
    for wrong in wrongs:
        with pytest.raises(InvalidTarget, match="name the rows to explain in exactly one way"):
            made.explain(**wrong)


def test_positions_are_refused_where_the_result_is_made_again(made: Run) -> None:
    assert made._lineage.spark is not None
    run = made._lineage.run("SELECT id FROM targets", name="rerun targets", strategy="rerun")
    with pytest.raises(ResultNotStored, match=r"strategy rerun.*have no positions"):
        run.explain(at=0)
    assert ids(run.explain({"id": 2}, save=False)) == [2]


def test_positions_narrow_what_is_made_again(made: Run) -> None:
    """Segments below a stored result are made again for these rows alone."""
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.deriving.stored_tables import StoredTables
    from airflow_lineage_provider.deriving.target_rows import PositionTarget
    from airflow_lineage_provider.plan.text import expression_text

    store = made._lineage.store
    tables = StoredTables(store, store, SparkOnDemand())
    target = PositionTarget([2], made.plan, store.materializations(made.id)["result"], tables, 10, "auto")
    assert "'name 2'" in expression_text(target.condition())


@pytest.mark.parametrize(
    "row",
    [
        {"name": "name 2"}, {"NAME": "name 2"}, [{"name": "name 2", "day": dt.date(2025, 1, 3)}], {"f": 1.0, "n": Decimal(2)},
        {"n": "2.00"}, {"d": float("nan")}, {"moment": "2025-01-03 12:00:00+00:00"}, {"moment": dt.datetime(2025, 1, 3, 12)},
        {"raw": b"name 2"},
        {"list": [2, None]}, {"pairs": {"b": 1, "a": 2}}, {"pairs": [("a", 2), ("b", 1)]}, {"both": {"x": 2, "y": float("nan")}},
        {"both": (2, float("nan"))}, {"span": dt.timedelta(days=2)}, {"name": "name 2", "list": (2, None)},
        Row(name="name 2", maybe=2), [Row(name="name 2")], pa.table({"name": ["name 2"], "maybe": [2]}),
        pd.DataFrame({"name": ["name 2"], "maybe": [2.0]}), pd.Series({"name": "name 2"}),
        pa.RecordBatch.from_pydict({"maybe": [2]}), pd.DataFrame({"d": [float("nan")]}),
    ],
    ids=lambda row: f"{type(row).__name__} {row!r:.30}",
)  # fmt: skip
def test_rows_by_their_values(made: Run, row: Any) -> None:
    assert ids(without_spark(made).explain(row, save=False)) == [2]


def test_whole_rows_as_they_come_back(made: Run) -> None:
    """Two columns of one name: rows of Spark, of Arrow and of pandas have all their values in order."""
    rows = made.result.collect()
    for given in (rows[2], [tuple(rows[2])], made.result_table().slice(2, 1)):
        assert ids(made.explain(given, save=False)) == [2]
    assert ids(made.explain(rows[1:3], save=False)) == [1, 2]


def test_missing_values_of_pandas_are_null(made: Run) -> None:
    assert ids(made.explain(pd.DataFrame({"maybe": [None, 4.0]}), save=False)) == [3, 4]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": 1}, r"more than one column is named 'id'; name the row by its position, at=\[…\]"),
        ({"maybe": 2.5}, "no whole number"),
        ({"maybe": "abc"}, "no value of column 'maybe', which is int"),
        ({"nothing": 1}, "no column is named 'nothing'"),
        ({7: 1}, "no column is named 7"),
        ({"n": "1.234"}, "more digits"),
        ([(1, 2)], "needs all 14 values"),
        ([1], "is not a row"),
        (7, "is not a target"),
        ([{}], "no columns"),
        (pd.DataFrame({"name": []}), "no rows"),
    ],
    ids=lambda one: repr(one)[:30],
)
def test_rows_that_are_none(made: Run, row: Any, message: str) -> None:
    with pytest.raises(InvalidTarget, match=message):
        made.explain(row)


def test_rows_that_are_not_there(made: Run) -> None:
    with pytest.raises(EmptyTarget, match=r"list = \[2\]"):
        made.explain({"list": [2]})
    with pytest.raises(TargetTooLarge, match="more than 10,000 rows"):
        made.explain([{"maybe": n} for n in range(10_001)])
    with pytest.raises(TargetTooLarge, match="name the rows by their positions"):
        made.explain([{"list": [n]} for n in range(101)])


def test_a_column_as_a_predicate(made: Run) -> None:
    found = made.explain((F.col("name") == "name 2") | (F.col("maybe") > 4) & F.col("name").like("name%"), save=False)
    assert ids(found) == [2, 5]
    assert "name 2" in found.asked
    assert ids(made.explain(F.array_contains("list", 4) & (F.col("day") >= "2025-01-02"), save=False)) == [4]
    fates = made.why_not(F.col("id") == 3, table="targets")
    assert fates.survived(0)
    with pytest.raises(SparkRequired, match="read by Spark"):
        without_spark(made).explain(F.col("name") == "name 2")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda: F.col("id") == 1, "AMBIGUOUS_REFERENCE"),
        (lambda: F.col("nothing") == 1, "nothing"),
        (lambda: F.col("name"), "cannot be read"),
        (lambda: F.rand() > 0.5, "not a fixed condition"),
        (lambda: F.udf(lambda x: True, "boolean")("name"), "not a fixed condition"),
        (lambda: F.count("name") > 1, "cannot be read"),
    ],
)
def test_columns_that_are_no_predicate(made: Run, column: Any, message: str) -> None:
    with pytest.raises(InvalidTarget, match=message):
        made.explain(column())
