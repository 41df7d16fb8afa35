"""The oracle's values are plain Spark's: only then is its lineage worth comparing with."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.in_turn import sampled
from tests.tpch.workloads import QUERIES, Workload, is_same_row

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("workload", "query"), sampled(QUERIES, 4), indirect=["workload"])
def test_the_oracle_gives_what_spark_gives(workload: Workload, query: str, spark: SparkSession) -> None:
    left = list(workload.expected(query))
    assert left, "an empty result says nothing"
    for row in workload.plain(query, spark):
        same = next((one for one in left if is_same_row(one.values, row)), None)
        assert same is not None, f"the oracle does not give {row}; it gives {[one.values for one in left]}"
        left.remove(same)
    assert not left, f"Spark does not give {[one.values for one in left]}"
    assert any(value is not None for row in workload.expected(query) for value in row.values)
