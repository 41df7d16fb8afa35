"""What is collected while a run is made, and what is read of it: plans of TPC-H's kind by hand, and lists as Spark gives them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check_unique
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.annotate import Context
from airflow_lineage_provider.tracing.collected import Collected, CollectedLost
from airflow_lineage_provider.tracing.collecting import Carried, sets_behind
from airflow_lineage_provider.tracing.program import programs
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import TracedRun, step
from tests.plan.shorthand import Shorthand

KEY = SourceIdentity(
    kind="file_position", columns=(KeyColumn(name="lineage_file", type="bigint"), KeyColumn(name="lineage_at", type="bigint"))
)
IDENTITIES = dict.fromkeys(range(3), KEY)


def query(having: bool = True) -> SegmentedPlan:
    """Orders joined with lines, in groups; the groups joined with a table, and some dropped."""
    s = Shorthand()
    lines = s.join(s.table("orders", "id, day"), s.table("lines", "order, price"), "id = order")
    groups = s.group(lines, by="day", give="day, sum(price) AS total")
    top: o.Plan = s.where(groups, "total > 5") if having else groups
    joined = s.join(top, s.table("days", "name, of"), "day = of")
    plan = s.project(joined, "name, total")
    return segment(plan, plan.output, ("name", "total"))


def context(plan: SegmentedPlan, *stored: int) -> Context:
    return Context(plan=plan, materialized=frozenset(stored), sources=IDENTITIES)


def test_groups_are_made_apart_and_what_is_stored_is_the_same() -> None:
    plan = query()
    behind = sets_behind(context(plan, 0))
    assert {n: (one.stored, one.problem, one.thinned, one.through) for n, one in behind.items()} == {1: (0, "", True, frozenset({None}))}
    (before,) = programs(plan, IDENTITIES, {0})
    (root,) = programs(plan, IDENTITIES, {0}, collected={1: 0})
    assert (root.materialized, root.stored) == (before.materialized, before.stored)
    assert (before.carried, before.groups) == (None, ())
    (groups,) = root.groups
    assert groups.segment == 1
    assert [a.name for a in groups.plan.output] == ["day", "total", "lineage_sets"]
    assert [(one.kind, one.number) for one in groups.carried.inputs] == [("source", 0), ("source", 1)]
    assert root.carried is not None
    assert [(one.kind, one.number) for one in root.carried.inputs] == [("segment", 1), ("source", 2)]
    assert set(root.carried.columns) <= {a.name for a in root.plan.output}
    assert not {a.name for a in root.stored} & {"lineage_segment_1_row", "lineage_sets"}
    check_unique(root.plan)
    check_unique(groups.plan)


def test_of_tables_that_nobody_wants_nothing_is_collected() -> None:
    plan = query()
    (root,) = programs(plan, IDENTITIES, {0}, collected={1: 0}, wanted=frozenset({1}))
    carried = root.groups[0].carried
    assert [(one.kind, one.number) for one in carried.inputs] == [("source", 1)]
    assert carried.left_out == (0,)
    assert sets_behind(context(plan, 0), frozenset({2}))[1].problem == "no table that is captured stands behind it"


def test_a_stored_segment_collects_by_itself() -> None:
    s = Shorthand()
    plan = s.group(s.group(s.table("T", "a, b, c"), by="a, b", give="a, b, max(c) AS c"), by="a", give="a, min(c) AS least")
    segments = segment(plan, plan.output, ("a", "least"))
    (root,) = programs(segments, IDENTITIES, {0}, collected={0: 0})
    assert root.carried is not None
    assert (root.carried.depth, root.groups) == (2, ())
    assert [a.name for a in root.plan.output] == ["a", "least", *root.carried.columns]
    assert [a.name for a in root.stored] == ["a", "least"]


def test_why_sets_cannot_be_collected() -> None:
    s = Shorthand()
    listed = s.group(s.table("T", "a, b"), by="a", give="a, collect_list(b) AS bs")
    segments = segment(listed, listed.output, ("a", "bs"))
    assert "order of a group's rows" in sets_behind(context(segments, 0))[0].problem
    s = Shorthand()
    grouped = s.group(s.table("T", "a, b"), by="a", give="a, count(b) AS n")
    over = s.window(grouped, "sum(n) AS total", "n")
    segments = segment(over, over.output, ("a", "n", "total"))
    behind = sets_behind(context(segments, 0))
    assert behind[0].problem == "rows of its frames are looked for by their positions"
    assert behind[1].problem == "its rows are found by way of segment 0: rows of its frames are looked for by their positions"


@pytest.mark.parametrize("stored", [(0,), (0, 1), (0, 1, 2)])
def test_no_order_is_changed_on_which_something_above_hangs(stored: tuple[int, ...]) -> None:
    """Also where rows that are stored stand between, as below a UDF that is called for each group."""
    s = Shorthand()
    groups = s.group(s.table("T", "a, b"), by="a, b", give="a, b, count(b) AS n")
    joined = s.join(s.where(groups, "n > 1"), s.table("U", "k"), "a = k")
    above = s.group(joined, by="k", give="k, first(n) AS one")
    plan = s.project(s.where(above, "one > 2"), "k")
    segments = segment(plan, plan.output, ("k",))
    behind = sets_behind(context(segments, *stored))
    of_groups = max(behind)
    assert "hangs on the order of its rows" in behind[of_groups].problem or "order of a group's rows" in behind[of_groups].problem
    assert all(one.problem for one in behind.values())


def kept(carried: dict[int, Carried], rows: dict[int, pa.Table]) -> Collected:
    return Collected(carried, lambda number: rows[number])


def identity(kind: Any, number: int, *names: str) -> InputIdentity:
    attributes = tuple(Attribute(id=100 + 10 * number + i, name=name, type="bigint") for i, name in enumerate(names))
    return InputIdentity(kind=kind, number=number, attributes=attributes)


SETS = Attribute(id=99, name="lineage_sets", type="array<struct<f0:bigint>>")


def test_lists_are_laid_out_by_the_numbers_of_their_rows() -> None:
    carried = Carried(inputs=(identity("source", 0, "key"),), sets=SETS, depth=1)
    lists = pa.array([[{"f0": 7}], [], [{"f0": 1}, {"f0": None}, {"f0": 3}]])
    table = pa.table({"row": pa.array([1 << 33, 5, 2], pa.int64()), "sets": lists})
    found = kept({1: carried}, {1: table}).behind(1, pa.table({TAG: [10, 11, 12, 13], "key_0": [2, 5, 1 << 33, 2]}))
    assert found.to_pylist() == [
        {TAG: tag, "key_0": key} for tag, key in [(10, 1), (10, None), (10, 3), (12, 7), (13, 1), (13, None), (13, 3)]
    ]


def test_lists_of_lists_and_none() -> None:
    carried = Carried(inputs=(identity("source", 0, "key"),), sets=SETS, depth=2)
    nested = pa.chunked_array([[[[{"f0": 1}], [{"f0": 2}, {"f0": 3}]]], [[], [[{"f0": 4}]]]])
    table = pa.table({"row": pa.array([0, 1, 2], pa.int64()), "sets": nested})
    one = kept({1: carried}, {1: table})
    assert one.behind(1, pa.table({TAG: [0, 1, 2], "key_0": [0, 1, 2]})).to_pydict() == {TAG: [0, 0, 0, 2], "key_0": [1, 2, 3, 4]}
    empty = pa.table({"row": pa.array([], pa.int64()), "sets": pa.chunked_array([], nested.type)})
    assert (
        kept({1: carried}, {1: empty}).behind(1, pa.table({TAG: pa.array([], pa.int64()), "key_0": pa.array([], pa.int64())})).num_rows == 0
    )


@pytest.mark.parametrize(("numbers", "why"), [([0, 1], "not among those"), ([], "not among those"), ([2, 2], "have one number")])
def test_rows_that_are_not_those_that_were_stored_are_noticed(numbers: list[int], why: str) -> None:
    carried = Carried(inputs=(identity("source", 0, "key"),))
    table = pa.table({"row": pa.array(numbers, pa.int64()), "key": pa.array(numbers, pa.int64())})
    with pytest.raises(CollectedLost, match=why):
        kept({0: carried}, {0: table}).behind(0, pa.table({TAG: [0], "key_0": [2]}))


class Nobody:
    """No tracing query is run where everything was collected."""

    def run(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str, str]:
        raise AssertionError(f"a tracing query was run: {plan}")


def test_a_step_by_what_was_collected_alone() -> None:
    plan = query()
    (root,) = programs(plan, IDENTITIES, {0}, collected={1: 0}, wanted=frozenset({1, 2}))
    run = TracedRun(plan=plan, materialized={0: root.materialized}, sources=IDENTITIES)
    assert root.carried is not None
    lists = pa.array([[{"f0": 1, "f1": 0}, {"f0": 1, "f1": 0}, {"f0": 1, "f1": 2}], [{"f0": 2, "f1": 5}]])
    rows = {
        0: pa.table({"row": pa.array([0, 1], pa.int64()), **{name: pa.array([3, 4], pa.int64()) for name in root.carried.columns}}),
        1: pa.table({"row": pa.array([4, 3], pa.int64()), "lineage_sets": lists}),
    }
    collected = kept({0: root.carried, 1: root.groups[0].carried}, rows)
    rows_of = pa.table({TAG: [0, 1], "key_0": [0, 1]})
    found, queries = step(run, 0, rows_of, Nobody(), collected=collected)
    assert {number: table.to_pydict() for number, table in found.sources.items()} == {2: {TAG: [0, 1], "key_0": [3, 4], "key_1": [3, 4]}}
    assert (dict(found.segments), dict(found.links), found.met) == ({}, {}, (1,))
    groups = found.groups[1]
    assert groups.to_pydict() == {TAG: [0, 1], "key_0": [3, 4]}
    further, more = step(run, 1, groups, Nobody(), "groups", collected=collected)
    assert {number: table.to_pydict() for number, table in further.sources.items()} == {
        0: {TAG: [], "key_0": [], "key_1": []},  # left out, and known to be
        1: {TAG: [0, 1, 1], "key_0": [2, 1, 1], "key_1": [5, 0, 2]},
    }
    assert (dict(further.groups), further.met) == ({}, (1,))
    assert [(one.segment, one.rows) for one in (*queries, *more)] == [(0, 2), (1, 4)]
    assert (dict(found.sets), dict(further.sets)) == ({}, {1: 4})


def test_nothing_goes_back_to_groups_that_no_row_has_to_do_with() -> None:
    plan = query(having=False)
    (root,) = programs(plan, IDENTITIES, {0}, collected={1: 0})
    run = TracedRun(plan=plan, materialized={0: root.materialized}, sources=IDENTITIES)
    assert root.carried is not None
    of_group = {name: pa.array([None if name == "lineage_segment_1_row" else 3], pa.int64()) for name in root.carried.columns}
    collected = kept({0: root.carried, 1: root.groups[0].carried}, {0: pa.table({"row": pa.array([0], pa.int64()), **of_group})})
    found, _ = step(run, 0, pa.table({TAG: [0], "key_0": [0]}), Nobody(), collected=collected)
    assert (sorted(found.sources), dict(found.segments), found.met, dict(found.sets)) == ([2], {}, (1,), {})
