"""Decisions about equal arguments that are not equal, of functions that go by more than these."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.deriving.calls import digests
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.answers.explanation import Explanation

pytestmark = pytest.mark.spark


@reasoned_udf("bigint", name="place_in_batch", vectorized="pandas")
def place_in_batch(x: pd.Series) -> pd.Series:
    return pd.Series(range(len(x)))


@place_in_batch.with_reason
def _(x: pd.Series) -> tuple[pd.Series, list[dict[str, int]]]:
    return pd.Series(range(len(x))), [{"place": at} for at in range(len(x))]


@reasoned_udf("bigint", name="drawn", deterministic=False)
def drawn(x: int) -> int:
    return DRAWS.pop()


@drawn.with_reason
def _(x: int) -> tuple[int, dict[str, int]]:
    return 1, {"drawn": 1}


DRAWS = [2, 1, 0]


def reasons_by_value(found: Explanation, udf: str) -> dict[int, object]:
    rows = found.reasons[udf].rows.to_pylist()
    return {row["value"]: json.loads(row["reason"])["value"] if row["reason"] else None for row in rows}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    assert write_parquet(tmp_path / "equal", [(at, 1) for at in range(3)], "id int, x bigint")
    return f"parquet.`{tmp_path / 'equal'}`"


def test_each_has_the_reason_of_its_own_value(spark: SparkSession, store: Store, table: str) -> None:
    place_in_batch.register(spark)
    run = Lineage(spark, store=store).run(f"SELECT id, place_in_batch(x) AS v FROM {table}", name="places")
    # What a release before kept, by the arguments alone, is the reason of the call with that value.
    (udf,) = store.run(run.id).udfs
    (digest,) = digests(udf.version, [pa.chunked_array([[1]])], 1)
    store.save_reasons(run.id, str(udf.function), {digest: ("1", payload.to_json({"place": 1, "kept": True}))})
    found = run.explain("id >= 0", save=False)
    # (In the question's batch, which has the other two.)
    assert reasons_by_value(found, "place_in_batch")[1] == {"place": 1, "kept": True}
    assert "decided 2" in (found.reasons["place_in_batch"].guarantee.cause or "")
    again = run.explain("id = 0", save=False)
    assert reasons_by_value(again, "place_in_batch") == {0: {"place": 0}}
    assert again.reasons["place_in_batch"].guarantee.level == "exact"


def test_of_draws_those_that_come_out_alike_are_explained(spark: SparkSession, store: Store, table: str) -> None:
    drawn.register(spark)
    run = Lineage(spark, store=store).run(f"SELECT id, drawn(x) AS v FROM {table}", name="draws")
    found = run.explain("id >= 0", save=False)
    assert reasons_by_value(found, "drawn") == {0: None, 1: {"drawn": 1}, 2: None}
    worth = found.reasons["drawn"].guarantee
    assert worth.level == "unavailable"
    assert re.fullmatch(r"UDF drawn decided [02] for {'x': 1} in the run, and gives 1 now: .* \(for 2 of 3 decisions\)", worth.cause or "")
    assert reasons_by_value(run.explain("v = 2", save=False), "drawn") == {2: None}
