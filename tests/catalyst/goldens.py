"""Recorded plans: what Spark said of a pipeline, and the operator tree that it must become.

``python -m tests.catalyst.goldens`` records them again from `tests.spark.pipelines` (needs a JVM), or those that are named after it; read
the difference before keeping it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_lineage_provider.catalyst.context import Settings
from airflow_lineage_provider.catalyst.convert import Converted, convert
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.text import plan_text

FOLDER = Path(__file__).parent / "documents"
# Operators of `tests.spark.operator_pipelines`.
OPERATORS = Path(__file__).parent / "operators"
_RECORDED = (
    "not_in_correlated", "exists_case", "scalar_twice", "scalar_nested", "correlated_count", "correlated_single", "lateral_left",
    "ranks", "offsets", "choosing", "range_of_types", "explode_map", "inline_outer", "unpivot", "cube", "pivot", "intersect_all",
    "except_all", "drop_duplicates", "tablesample", "by_expression", "frames", "two_windows", "correlated_single_unequal",
    "exists_grouped", "in_or", "listagg", "time_window_sliding", "top_of_each",
)  # fmt: skip
# What no converter reads, and what differs from run to run.
_NOISE = ("metadata", "jvmId", "qualifier", "nonInheritableMetadataKeys", "explicitMetadata", "hint", "hints", "catalogTable", "session")


@dataclass(frozen=True, kw_only=True)
class Golden:
    """One recorded plan."""

    name: str
    document: list[dict[str, Any]]
    function_names: Mapping[str, str]
    relations: tuple[Relation, ...]
    plan: list[str]

    def convert(self, **settings: Any) -> Converted:
        chosen = Settings(**({"time_zone": "UTC"} | settings))
        return convert(self.document, function_names=self.function_names, relations=self.relations, settings=chosen)


def load(name: str) -> Golden:
    folder = FOLDER if name in names() else OPERATORS
    text = json.loads((folder / f"{name}.json").read_text())
    relations = tuple(Relation(**relation) for relation in text["relations"])
    return Golden(name=name, document=text["document"], function_names=text["function_names"], relations=relations, plan=text["plan"])


def names(folder: Path = FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.json"))


def slim(value: Any) -> Any:
    """The document without noise, its numbers counted from 0 in the order in which they appear."""
    return _slim(value, {})


def _slim(value: Any, numbers: dict[int, int]) -> Any:
    if isinstance(value, list):
        return [_slim(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    if str(value.get("product-class", "")).endswith(".ExprId"):
        return {"product-class": value["product-class"], "id": numbers.setdefault(value["id"], len(numbers))}
    if "desc" in value:
        value = value | {"desc": {"identifier": {"table": value["desc"]["identifier"]["table"]}}}
    return {key: _slim(item, numbers) for key, item in value.items() if key not in _NOISE}


def _classes(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _classes(item)
    elif isinstance(value, dict):
        if "class" in value:
            yield value["class"]
        for item in value.values():
            yield from _classes(item)


def record(*wanted: str) -> None:
    import os
    import tempfile

    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from airflow_lineage_provider.spark.capturing.capture import read
    from airflow_lineage_provider.spark.capturing.function_names import function_names
    from airflow_lineage_provider.spark.capturing.relations import relation_of
    from tests.spark import operator_pipelines
    from tests.spark.operator_pipelines import make
    from tests.spark.pipelines import PIPELINES, PYTHON, frame
    from tests.spark.tables import make_tables

    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
        spark = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
        make_tables(spark, Path(folder))
        make(spark)
        FOLDER.mkdir(exist_ok=True)
        OPERATORS.mkdir(exist_ok=True)
        operators = {name: operator_pipelines.PIPELINES[name] for name in _RECORDED}
        chosen = {name: one for name, one in (PIPELINES | operators | PYTHON).items() if not wanted or name in wanted}
        for name, pipeline in chosen.items():
            analyzed = frame(spark, pipeline)._jdf.queryExecution().analyzed()
            document, completion, _ = read(spark, analyzed)
            document = slim(document)
            known = {key: value for key, value in function_names(spark).items() if key in set(_classes(document))}
            relations: list[dict[str, Any]] = [
                {"name": f"t{i}", "kind": relation_of(spark, leaf, "").kind} for i, leaf in enumerate(completion.leaves)
            ]
            golden = Golden(name=name, document=document, function_names=known, relations=tuple(Relation(**r) for r in relations), plan=[])
            plan = plan_text(golden.convert().plan).split("\n")
            stored = {"plan": plan, "relations": relations, "function_names": known, "document": document}
            folder_of = FOLDER if name in PIPELINES else OPERATORS
            (folder_of / f"{name}.json").write_text(_text(stored))
        spark.stop()


def _text(stored: Mapping[str, Any]) -> str:
    """JSON with one operator a line, so that a difference can be read."""
    nodes = ",\n  ".join(json.dumps(node, ensure_ascii=False) for node in stored["document"])
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(stored[key], ensure_ascii=False)}" for key in ("relations", "function_names"))
    plan = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in stored["plan"])
    return f'{{"plan": [\n  {plan}],\n{head},\n"document": [\n  {nodes}]}}\n'


if __name__ == "__main__":
    record(*sys.argv[1:])
