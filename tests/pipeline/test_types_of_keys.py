"""Grouping keys and primary keys of every type are found again in the store and in the sources."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from tests.answers import guarantees_of, links_of, sources_of
from tests.in_turn import in_turn, sampled
from tests.pipeline.small_files import rids

pytestmark = pytest.mark.spark


KEY_ROWS: dict[str, tuple[str, list[Any], Any]] = {
    "double": ("double", [math.nan, math.nan, 0.0, -0.0, 1.5, None], None),
    "float": ("float", [math.nan, math.nan, 0.0, -0.0, 0.1, None], None),
    "array": ("array<int>", [[1, None], [1, None], [], None, [2], [1]], None),
    "array double": ("array<double>", [[0.0], [-0.0], [math.nan], [math.nan], None, [1.0]], None),
    "struct": ("struct<a:int,b:string>", [(1, "x"), (1, "x"), (1, None), (None, None), None, (2, "y")], None),
    "binary": ("binary", [b"\x00", b"\x00", b"", None, b"\xff", b"a"], None),
    "decimal": ("decimal(38,3)", ["1.000", "1.000", None, "-1.5", "0", "2"], None),
    "boolean": ("boolean", [True, True, False, None, None, False], None),
    "ntz": (
        "timestamp_ntz",
        ["2024-03-31 02:30:00", "2024-03-31 02:30:00", "2024-03-31 03:30:00", None, "1600-01-01 00:00:00", "9999-01-01 00:00:00"],
        None,
    ),
    "timestamp": (
        "timestamp",
        ["2024-03-31 02:30:00", "2024-03-31 02:30:00", "2024-10-27 02:30:00", None, "1600-01-01 00:00:00", "1970-01-01 00:00:00"],
        None,
    ),
    "date": ("date", ["2024-03-31", "2024-03-31", "0001-01-01", None, "1582-10-10", "9999-12-31"], None),
    "string": ("string", ["a", "a", "a ", "A", None, "\u0000"], None),
    "collated": ("string collate UTF8_LCASE", ["a", "A", "a ", "b", None, "B"], None),
    "char": ("string", ["a", "a ", "a", "b", None, "B"], None),
    "interval": ("interval day to second", ["1", "1", "2", None, "3", "4"], None),
}


# Files that have rows' numbers, in which DuckDB looks, with every kind; of the others in turn. JSON does not hold day-time intervals.
_FORMATS = [*(("parquet", kind) for kind in KEY_ROWS), *((form, kind) for kind, form in in_turn(KEY_ROWS, ("local", "json key")))]
FORMATS = [one for one in _FORMATS if one != ("json key", "interval")]


@pytest.mark.parametrize(("format", "kind"), sampled(FORMATS, 8))
def test_groups_of_every_type(lineage: Lineage, spark: SparkSession, tmp_path: Path, kind: str, format: str) -> None:
    type_text, values, _ = KEY_ROWS[kind]
    plain = {"decimal", "ntz", "timestamp", "date", "collated"}
    rows = [(i, v) for i, v in enumerate(values)]
    raw = spark.createDataFrame(rows, f"rid int, k {'string' if kind in plain or kind == 'interval' else type_text}")
    made = f"CAST(k AS {type_text})" if kind != "interval" else "make_dt_interval(CAST(k AS int))"
    frame = raw.selectExpr("rid", f"{made} AS k")
    keys = None
    if format == "parquet":
        frame.coalesce(1).write.parquet(str(tmp_path / "typed"))
        frame = spark.read.parquet(str(tmp_path / "typed"))
    elif format == "json key":
        frame.coalesce(1).write.json(str(tmp_path / "typed"), ignoreNullFields=False)
        frame = spark.read.schema(frame.schema).json(str(tmp_path / "typed"))
        keys = {"typed": ["rid"]}
    frame.createOrReplaceTempView("typed")
    groups = frame.groupBy("k").agg(F.collect_list("rid").alias("r"), F.min("rid").alias("m")).collect()
    run = lineage.run("SELECT k, min(rid) AS m FROM typed GROUP BY k", keys=keys)
    assert sorted(row["m"] for row in run.result.collect()) == sorted(g["m"] for g in groups)
    by_first = {group["m"]: sorted(group["r"]) for group in groups}
    found = run.explain("true", save=False)
    (name,) = sources_of(found)
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}
    ids, asked = found.sources[name].column("rid").to_pylist(), found.target.column("m").to_pylist()
    behind: dict[int, list[int]] = {}
    for link in links_of(found)["target"].to_pylist():
        behind.setdefault(asked[link["row"]], []).append(ids[link["source_row"]])
    assert {first: sorted(some) for first, some in behind.items()} == by_first, found.queries
    # NULL alone is asked about in another way than among others.
    for first in [group["m"] for group in groups if group["k"] is None]:
        assert rids(run.explain(f"m = {first}", save=False), name) == by_first[first]
    if format != "parquet":
        return
    nested = lineage.run("SELECT DISTINCT k FROM (SELECT k, count(*) AS c FROM typed GROUP BY k HAVING count(*) > 1)", keys=keys)
    found = nested.explain("true", save=False)
    assert rids(found, next(iter(sources_of(found)))) == sorted(r for g in groups if len(g["r"]) > 1 for r in g["r"])


@pytest.mark.parametrize("kind", sampled(["double", "array", "struct", "binary", "timestamp", "date", "decimal"], 3))
def test_primary_keys_of_every_type(lineage: Lineage, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    known: dict[str, tuple[str, list[Any]]] = {
        "double": ("double", [math.nan, 1.0, None]),
        "array": ("array<double>", [[math.nan], [1.0, None], None]),
        "struct": ("struct<a:int,b:string>", [(1, "x"), (1, None), None]),
        "binary": ("binary", [b"a", b"", None]),
        "timestamp": ("timestamp", [datetime.datetime(2020, 1, 1), datetime.datetime(1900, 1, 1, 0, 0, 0, 5), None]),
        "date": ("date", [datetime.date(1, 1, 1), datetime.date(2020, 1, 1), None]),
        "decimal": ("decimal(20,2)", [None, None, None]),
    }
    values = known[kind]
    schema = f"rid int, k {values[0]}"
    spark.createDataFrame(list(enumerate(values[1])), schema).coalesce(1).write.json(str(tmp_path / "keyed"), ignoreNullFields=False)
    run = lineage.run(lambda s: s.read.schema(schema).json(str(tmp_path / "keyed")), keys={"keyed": ["rid", "k"]})
    for rid in range(3):
        found = run.explain(f"rid = {rid}")
        assert rids(found, "keyed") == [rid]
        assert guarantees_of(found)["keyed"].level == "exact", guarantees_of(found)
        assert links_of(found)["target"].num_rows == 1
