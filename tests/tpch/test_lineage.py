"""Every query under every strategy: the result is plain Spark's, the lineage and the reasons are the oracle's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, links_of
from tests.in_turn import STRATEGIES, in_turn, sampled
from tests.tpch.annotated import Call, Rid, Row
from tests.tpch.data import KEYS
from tests.tpch.workloads import QUERIES, Workload, is_same_row, sql

pytestmark = pytest.mark.spark

TARGETS = 2


@pytest.mark.parametrize(
    ("workload", "query", "strategy"),
    [(workload, query, strategy) for (workload, query), strategy in in_turn(sampled(QUERIES, 7), STRATEGIES)],
    indirect=["workload"],
)
def test_lineage(workload: Workload, query: str, strategy: Strategy, spark: SparkSession, store: Store) -> None:
    run = Lineage(spark, store=store).run(sql(workload.name, query), name=f"{workload.name} {query}", strategy=strategy)
    try:
        result = run.result.collect()
        plain = workload.plain(query, spark)
        assert [tuple(row) for row in result] == plain, "the result is not what plain Spark gives"
        # The first row and the last.
        chosen = {0: result[0], len(result) - 1: result[-1]}
        found = run.explain([row.asDict() for row in chosen.values()][:TARGETS], save=False)
    finally:
        run.close()
        Lineage(store=store).drop(run.id)
    assert {name: one for name, one in guarantees_of(found).items() if one.level != "exact"} == {}
    _check(found, [_annotated(tuple(row), workload.expected(query)) for row in chosen.values()])


def _annotated(row: tuple[Any, ...], expected: Sequence[Row]) -> Row:
    (same,) = [one for one in expected if is_same_row(one.values, row)]
    return same


def _check(found: Explanation, expected: Sequence[Row]) -> None:
    sources = {name: _ids(name, table) for name, table in found.sources.items()}
    given = {one for ids in sources.values() for one in ids}
    wanted = frozenset().union(*(row.lineage for row in expected))
    assert given == wanted, f"source rows: missing {sorted(wanted - given)}, too many {sorted(given - wanted)}"
    behind = _behind(found, "target", sources)
    assert found.target.num_rows == len(expected)
    for at, target in enumerate(found.target.to_pylist()):
        row = _annotated(tuple(target.values()), expected)
        assert behind.get(at, frozenset()) == row.lineage, f"source rows behind {target}"
    calls: dict[Any, frozenset[Rid]] = {}
    for call in frozenset().union(*(row.calls for row in expected)):
        calls[_known(call)] = calls.get(_known(call), frozenset()) | call.behind
    assert _reasons(found, sources) == calls
    # The tables that stand behind a difference as a whole.
    given_controls = frozenset(name for one in found.controls for name in one.sources)
    assert given_controls == frozenset().union(*(row.control for row in expected))


def _ids(name: str, table: Any) -> list[Rid]:
    """The primary keys of a source table of the explanation, in its order."""
    columns = KEYS[name]
    return [(name, key) for key in zip(*(table.column(one).to_pylist() for one in columns), strict=True)]


def _behind(found: Explanation, name: str, sources: dict[str, list[Rid]]) -> dict[int, frozenset[Rid]]:
    """The source rows behind each row of a table of the explanation."""
    behind: dict[int, frozenset[Rid]] = {}
    for link in links_of(found)[name].to_pylist():
        behind[link["row"]] = behind.get(link["row"], frozenset()) | {sources[link["source"]][link["source_row"]]}
    return behind


def _reasons(found: Explanation, sources: dict[str, list[Rid]]) -> dict[Any, frozenset[Rid]]:
    """⟨UDF, E, value, reason⟩ and the source rows behind, of all function operators of a UDF together."""
    merged: dict[Any, frozenset[Rid]] = {}
    for name, table in found.reasons.items():
        behind = _behind(found, name, sources)
        for row, *arguments, value, reason in zip(*(column.to_pylist() for column in table.columns), strict=True):
            call = (re.sub(r"_\d+$", "", name), tuple(arguments), value, reason)
            merged[call] = merged.get(call, frozenset()) | behind.get(row, frozenset())
    return merged


def _known(call: Call) -> Any:
    return (call.udf, call.arguments, call.value, call.reason)
