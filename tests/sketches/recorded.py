"""The plans of TPC-H's queries, captured once (``python -m tests.sketches.recorded``): what the prover is asked about without Spark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import transform_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
PLANS = HERE / "tpch_plans.jsonl"


def recorded() -> dict[str, Pipeline]:
    """The queries' pipelines by name."""
    lines = (json.loads(line) for line in PLANS.read_text(encoding="utf-8").splitlines())
    return {name: codec.from_document(document) for name, document in lines}


def _captured(spark: SparkSession) -> Iterator[tuple[str, dict[str, Any]]]:
    from airflow_lineage_provider.spark.capturing.capture import capture
    from tests.tpch.data import write_tpch
    from tests.tpch.workloads import FOLDERS, Workload, sql

    with tempfile.TemporaryDirectory() as folder, Workload("tpch", write_tpch(Path(folder))).views(spark):
        for path in sorted(FOLDERS["tpch"].glob("q*.sql")):
            found = capture(spark.sql(sql("tpch", path.stem))).pipeline
            yield path.stem, codec.to_document(replace(found, plan=transform_up(found.plan, _placeless)))


def _placeless(node: o.Plan) -> o.Plan:
    return replace(node, relation=replace(node.relation, paths=())) if isinstance(node, o.Source) else node


if __name__ == "__main__":
    from tests.local_session import local_session

    lines = [json.dumps(one, separators=(",", ":")) for one in _captured(local_session("plans", {"spark.ui.enabled": "false"}))]
    PLANS.write_text("\n".join(lines) + "\n", encoding="utf-8")
