"""Lineage between row sets, as tracing that is lazy answers it: over hand-made plans, with tracing queries that find one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import EXACT
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.tracing import maps
from airflow_lineage_provider.tracing.lazy import LazyLineage
from airflow_lineage_provider.tracing.maps import RESULT, Rows, RowSet, distinct_rows, numbered_rows, tagged_rows
from airflow_lineage_provider.tracing.program import programs
from airflow_lineage_provider.tracing.trace import TracedRun
from tests.plan.paper_plans import CLIENT, LOAN, equal, example_4

KEYS = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="id", type="bigint"),))
LEAVES = (0, 1, 2)


class Answering:
    """Answers every tracing query with one row of zeros."""

    def __init__(self) -> None:
        self.asked = 0

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        self.asked += 1
        columns = {
            a.name: pa.array([0 if a.type in ("int", "bigint") else False if a.type == "boolean" else None], to_arrow(a.type))
            for a in plan.output
        }
        return pa.table(list(columns.values()), names=[f"c{i}" for i in range(len(columns))]), "postgresql", "SELECT"


class Following:
    """Says that every row descends to the output's row 7."""

    def follow(self, rows: Rows, output: RowSet) -> Rows:
        return numbered_rows(output, [7])


def lazy(pipeline: Pipeline, stored: set[int], answering: Answering) -> LazyLineage:
    plan = rewrite(pipeline)
    leaves = dict.fromkeys(LEAVES, KEYS)
    materialized = {one.segment.number: one.materialized for one in programs(plan, leaves, stored)}
    return LazyLineage(run=TracedRun(plan=plan, materialized=materialized, sources=leaves), executor=answering, follower=Following())


def of_python(udf: str, keys: tuple[Attribute, ...]) -> Pipeline:
    """A Python function over groups of clients, or over batches of them."""
    made = Attribute(id=60, name="made", type="int")
    kind = {"kind": "grouped", "keys": keys} if keys else {"kind": "map"}
    plan = o.PythonMap(children=(CLIENT,), udf=udf, call=1, eval_type=201, output=(made,), columns=("client_id",), **kind)
    return Pipeline(plan=plan, names=("made",))


def test_everything_below_a_result_is_traced_once() -> None:
    answering = Answering()
    lineage = lazy(example_4(), {0, 1}, answering)
    rows = numbered_rows(RESULT, [0])
    found = [lineage.between(RESULT, RowSet("source", (leaf,))).backward(rows) for leaf in LEAVES]
    assert [one.of.numbers for one in found] == [(0,), (1,), (2,)]
    assert {one.keys.num_rows for one in found} == {1}
    assert {(one.engine, one.guarantee) for one in found} == {("lazy: postgresql", EXACT)}
    asked = answering.asked
    lineage.behind(rows)
    assert answering.asked == asked
    lineage.behind(numbered_rows(RESULT, [0]))
    # What keys of these rows lead to is known already, whoever asks.
    assert answering.asked == asked
    lineage.behind(numbered_rows(RESULT, [1]))
    assert answering.asked > asked
    lineage.anew().behind(rows)
    assert answering.asked > 2 * asked


def test_a_table_that_is_read_twice_is_one_row_set() -> None:
    rows = numbered_rows(RESULT, [0])
    both = lazy(example_4(), {0, 1}, Answering()).between(RESULT, RowSet("source", (0, 2))).backward(rows)
    assert both.each_once().to_pydict() == {"key_0": [0]}


def test_what_is_not_reached_has_the_columns_of_its_set() -> None:
    nothing = lazy(example_4(), {0, 1}, Answering()).between(RESULT, RowSet("source", (0,))).backward(numbered_rows(RESULT, []))
    assert nothing.keys.schema == pa.schema([("lineage_tag", pa.int64()), ("key_0", pa.int64())])
    assert (nothing.keys.num_rows, nothing.engine) == (0, "lazy")


class FromEndToEnd:
    """Captured lineage that has nothing but one index, from the result to leaf 0, and says what it was asked."""

    pruned = frozenset[int]()

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def step(self, segment: int, target: pa.Table, wanted: frozenset[int] | None = None, *, differences: bool = False) -> None:
        return None

    def descendants(self, rows: Rows, output: RowSet, *, differences: bool = False) -> None:
        return None

    def from_end_to_end(self, rows: Rows, leaves: Sequence[int]) -> tuple[dict[int, pa.Table], str] | None:
        self.asked.append(tuple(leaves))
        found = pa.table({"lineage_tag": [0, 0, 1, 0], "key_0": pa.array([5, 9, 5, 5], pa.int32())})
        return ({0: found}, "rid index, from end to end") if tuple(leaves) == (0,) else None


def test_what_is_kept_from_end_to_end_is_asked_for_rows_of_the_result_alone() -> None:
    answering, captured = Answering(), FromEndToEnd()
    lineage = replace(lazy(example_4(), {0, 1}, answering), captured=captured)
    rows, source = numbered_rows(RESULT, [3, 4]), RowSet("source", (0,))
    found = lineage.between(RESULT, source).backward(rows)
    assert (found.engine, found.guarantee, found.of, answering.asked) == ("index: rid index, from end to end", EXACT, source, 0)
    assert sorted(zip(*found.keys.to_pydict().values(), strict=True)) == [(0, 5), (0, 9), (1, 5)]
    assert found.keys.schema.field("key_0").type == pa.int64()
    judged = RowSet("segment", (1,))
    others = [(RESULT, RowSet("source", (0, 2))), (RESULT, judged), (judged, RowSet("source", (1,)))]
    for output, to in others:
        assert lineage.between(output, to).backward(numbered_rows(output, [0])).engine.startswith("lazy")
    assert captured.asked == [(0,), (0, 2)]
    # What a Python function leaves of the answer hangs on the way.
    grouped = replace(lazy(of_python("totals", CLIENT.output[:1]), {0}, answering), captured=FromEndToEnd())
    assert grouped.between(RESULT, source).backward(rows).guarantee.level == "superset"
    # Of right sides it knows nothing.
    without = o.Join(left=CLIENT, right=LOAN, kind="left_anti", condition=equal(CLIENT.output[0], LOAN.output[0]))
    sides = replace(lazy(Pipeline(plan=without, names=CLIENT.columns), {0}, answering), captured=FromEndToEnd(), difference="rows")
    assert sides.between(RESULT, source).backward(rows).engine.startswith("lazy")
    assert sides.between(RESULT, RowSet("source", (2,))).backward(rows).keys.num_rows
    assert replace(sides, difference="control").between(RESULT, source).backward(rows).engine.endswith("from end to end")


def test_a_segment_in_between_is_a_row_set_too() -> None:
    lineage = lazy(example_4(), {0, 1}, Answering())
    judged = lineage.between(RESULT, RowSet("segment", (1,))).backward(numbered_rows(RESULT, [0]))
    assert lineage.between(judged.of, RowSet("source", (1,))).backward(judged).keys.num_rows == 1


def test_forwards_somebody_follows() -> None:
    one = lazy(example_4(), {0, 1}, Answering()).between(RESULT, RowSet("source", (2,)))
    assert one.forward(tagged_rows(one.input, pa.table({"key_0": [3]}))).keys.column("key_0").to_pylist() == [7]


def test_a_map_is_worth_what_python_functions_leave_of_it() -> None:
    assert lazy(example_4(), {0, 1}, Answering()).between(RESULT, RowSet("source", (0,))).guarantee == EXACT
    grouped = lazy(of_python("totals", CLIENT.output[:1]), {0}, Answering()).between(RESULT, RowSet("source", (0,)))
    assert grouped.guarantee.level == grouped.backward(numbered_rows(RESULT, [0])).guarantee.level == "superset"
    assert lazy(of_python("totals", ()), {0}, Answering()).between(RESULT, RowSet("source", (0,))).guarantee.level == "unavailable"


def test_controls_are_part_of_the_answer() -> None:
    without = o.Join(left=CLIENT, right=LOAN, kind="left_anti", condition=equal(CLIENT.output[0], LOAN.output[0]))
    pipeline = Pipeline(plan=without, names=CLIENT.columns)
    lineage = lazy(pipeline, {0}, Answering())
    rows = numbered_rows(RESULT, [0])
    assert lineage.behind(rows).controls == {0: (0,)}
    assert not lineage.behind(rows).rows(RowSet("source", (2,))).keys.num_rows
    assert lineage.behind(rows, differences=True).rows(RowSet("source", (2,))).keys.num_rows == 1


@settings(deadline=None, max_examples=80)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-(2**63), 2**63 - 1, 0, 7]), st.integers(-2, 2)), max_size=12))
def test_large_tables_of_numbers_are_seen_to_be_different(rows: list[tuple[int, int, int]]) -> None:
    table = pa.table([pa.array([row[at] for row in rows], pa.int64()) for at in range(3)], names=["a", "b", "c"])
    with pytest.MonkeyPatch.context() as small:
        small.setattr(maps, "_MANY", 1)
        assert maps._surely_different(table) <= (len(set(rows)) == len(rows))
        found = [tuple(row.values()) for row in distinct_rows(table).to_pylist()]
    assert sorted(found) == sorted(set(rows))
    assert maps._surely_different(table) == (len(rows) < 2)


def test_most_large_tables_are_different() -> None:
    numbers = pa.array(range(maps._MANY), pa.int64())
    hashes = pa.array([hash_of % 3 * 2**61 for hash_of in range(maps._MANY)], pa.int64())
    assert maps._surely_different(pa.table({"tag": numbers, "file": hashes, "position": numbers}))
    assert not maps._surely_different(pa.table({"tag": numbers, "name": numbers.cast(pa.string())}))
    assert not maps._surely_different(pa.table({"tag": pa.concat_arrays([numbers, pa.array([None], pa.int64())])}))
