"""Mapped tasks, a branch that joins again, and a DAG that waits for what came of it, by an alias: what the two make of nine numbers."""

from __future__ import annotations

from typing import Any

from airflow.sdk import AssetAlias, Param, dag, task

REPORT = AssetAlias("report_of_parts")
FIRST = (0, 3, 6)
"""Where each of the three parts begins: it has three numbers."""


@dag(schedule=None, params={"folder": Param("", type="string")})
def mapped_and_branched() -> None:
    @task.lineage_pyspark(output="{{ params.folder }}/part-{{ ti.map_index }}+overwrite", lineage_name="part")
    def part(spark: Any, first: int) -> Any:
        return spark.sql(f"SELECT id, id * id AS square FROM range({first}, {first + 3})")

    @task.branch
    def which() -> str:
        return "large"

    @task.lineage_pyspark(output="{{ params.folder }}/chosen+overwrite", lineage_name="large")
    def large(spark: Any, folder: str) -> Any:
        return spark.read.parquet(*(f"{folder}/part-{number}" for number in range(len(FIRST)))).where("square > 10")

    @task.lineage_pyspark(output="{{ params.folder }}/chosen+overwrite", lineage_name="small")
    def small(spark: Any, folder: str) -> Any:
        return spark.read.parquet(f"{folder}/part-0")

    @task.lineage_pyspark(
        output="{{ params.folder }}/report+overwrite", lineage_name="report", outlets=[REPORT], trigger_rule="none_failed_min_one_success"
    )
    def report(spark: Any, folder: str) -> Any:
        return spark.read.parquet(f"{folder}/chosen").selectExpr("count(*) AS numbers", "sum(square) AS total")

    folder = "{{ params.folder }}"
    chosen = which()
    part.expand(first=list(FIRST)) >> chosen >> [large(folder), small(folder)] >> report(folder)


@dag(schedule=[REPORT])
def reported() -> None:
    @task.lineage_pyspark(inlets=[REPORT], lineage_name="mean")
    def mean(spark: Any, inlet_events: Any) -> Any:
        return spark.read.parquet(inlet_events[REPORT][-1].asset.uri).selectExpr("total / numbers AS mean")

    mean()


mapped_and_branched()
reported()
