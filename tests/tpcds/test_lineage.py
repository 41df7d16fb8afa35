"""Queries of TPC-DS's shapes: the result is plain Spark's, the derived rows alone make the target again, and where the lineage has been
worked out by hand, it is exactly that."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, sources_of
from tests.in_turn import STRATEGIES, in_turn, sampled
from tests.tpcds.data import KEYS, Tables
from tests.tpcds.worked_out import Ids, answer, has_answer
from tests.tpch.workloads import is_same_row

pytestmark = pytest.mark.spark

QUERIES = {path.stem: path for path in sorted((Path(__file__).parent / "queries").glob("q*.sql"))}
SAMPLE = ("q16", "q41", "q78", "q93")


def test_what_there_is() -> None:
    assert len(QUERIES) == 99
    assert sum(map(has_answer, QUERIES)) >= 30


@pytest.mark.parametrize(("query", "strategy"), in_turn(QUERIES if os.environ.get("TPCDS") == "all" else sampled(SAMPLE), STRATEGIES))
def test_lineage(query: str, strategy: Strategy, tpcds: SparkSession, tpcds_files: Tables, store: Store) -> None:
    text = QUERIES[query].read_text(encoding="utf-8")
    run = Lineage(tpcds, store=store).run(text, name=f"TPC-DS {query}", strategy=strategy)
    try:
        result = [row.asDict() for row in run.result.collect()]
        assert result, "an empty result says nothing"
        _same_rows([tuple(row.values()) for row in result], [tuple(row) for row in tpcds.sql(text).collect()])
        found = run.explain(result[:1], save=False)
    finally:
        run.close()
        Lineage(store=store).drop(run.id)
    assert {name: one for name, one in guarantees_of(found).items() if one.level != "exact"} == {}
    _made_again(text, result[0], found, tpcds, tpcds_files)
    if has_answer(query):
        expected = answer(query, result[0], tpcds)
        _same_ids({name: _ids(name, table) for name, table in found.sources.items() if table.num_rows}, expected.rows)
        assert frozenset(name for one in found.controls for name in one.sources) == expected.controls


def _same_rows(given: Sequence[tuple[Any, ...]], wanted: Sequence[tuple[Any, ...]]) -> None:
    """The same rows, but for the last digits of sums of doubles; in any order."""
    if Counter(given) == Counter(wanted):
        return
    left = list(wanted)
    for row in given:
        same = next((one for one in left if is_same_row(one, row)), None)
        assert same is not None, f"plain Spark does not give {row}"
        left.remove(same)
    assert not left, f"only plain Spark gives {left}"


def _made_again(text: str, target: Mapping[str, Any], found: Explanation, spark: SparkSession, files: Tables) -> None:
    """The query over the derived rows alone gives the target again (definition 5, condition 1)."""
    alone = spark.newSession()
    for name, path in files.items():
        whole = alone.read.parquet(str(path))
        rows = sources_of(found).get(name)
        if rows is None:
            whole.limit(0).createOrReplaceTempView(name)
        else:
            alone.createDataFrame(_plain(rows), schema=whole.schema).createOrReplaceTempView(name)
    again = [tuple(row) for row in alone.sql(text).collect()]
    assert any(is_same_row(row, tuple(target.values())) for row in again), f"{target} is not made again: {again[:5]}"


def _plain(rows: pa.Table) -> pa.Table:
    """One chunk a column: Spark 4.3 takes an empty first chunk for the end."""
    return pa.table(list(rows.columns), names=rows.column_names).combine_chunks()


def _ids(name: str, table: Any) -> Ids:
    return frozenset(_zipped([table.column(one).to_pylist() for one in KEYS[name]]))


def _zipped(columns: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    return zip(*columns, strict=True)


def _same_ids(given: Mapping[str, Ids], wanted: Mapping[str, Ids]) -> None:
    assert sorted(given) == sorted(wanted)
    for name, ids in wanted.items():
        missing, more = sorted(ids - given[name]), sorted(given[name] - ids)
        assert not missing, f"{name}: {len(missing)} of {len(ids)} rows are missing, such as {missing[:3]}"
        assert not more, f"{name}: {len(more)} rows too many, such as {more[:3]}"
