"""Reasons of a script's UDF, asked for when the script has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.store import Store
from tests.store.conftest import sql

pytestmark = pytest.mark.spark

EXPLAIN = """
    import json, sys
    from airflow_lineage_provider import Lineage
    with Lineage(store=sys.argv[1]) as lineage:
        found = lineage.get_run(sys.argv[2]).explain("judge")
        one = found.reasons["of_a_notebook"].guarantee
        print(json.dumps([found.reasons["of_a_notebook"].column("reason").to_pylist(), one.level, one.cause]))
"""


def explained(store: Store, run_id: str, **environment: str) -> Any:
    command = [sys.executable, "-c", textwrap.dedent(EXPLAIN), store.url, run_id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_it_is_kept_with_the_run_and_dropped_with_it(lineage: Lineage, store: Store, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [0, 1, 2, 3]}), tmp_path / "debts.parquet")
    limits = {"debt": 2}
    udf = ReasonedUdf(
        lambda debt: debt > limits["debt"], "boolean", name="of_a_notebook", module="__main__",
        main_with_reason=lambda debt: (debt > limits["debt"], {"debt"}),
    )  # fmt: skip

    def pipeline(spark: Any) -> Any:
        return spark.read.parquet(str(tmp_path / "debts.parquet")).select("id", udf.column("id").alias("judge"))

    run = lineage.run(pipeline, name="notebook")
    (told,) = run.udfs
    assert (told.name, told.found_in, told.version) == ("of_a_notebook", "store", udf.version)
    assert told.bytes is not None
    assert told.bytes < 20_000
    reasons, level, _ = explained(store, run.id)
    assert level == "exact"
    assert "debt" in reasons[0]

    again = lineage.run(pipeline, name="notebook")
    reasons, level, cause = explained(store, again.id, AIRFLOW_LINEAGE_LOAD_KEPT_UDFS="0")
    assert (reasons, level) == ([None], "unavailable")
    assert "loading it is switched off (AIRFLOW_LINEAGE_LOAD_KEPT_UDFS=0)" in cause

    count = f"SELECT count(*) FROM lineage.kept_udfs WHERE run_id = '{run.id}'"
    assert sql(store.url, count) == [(1,)]
    lineage.drop(run.id)
    assert sql(store.url, count) == [(0,)]
