"""Several sources read through sketches at once: those under one limit through sketches of one run, whatever another run took.

``make test`` checks a sample that is always the same; ``make fuzz-sketches`` checks SKETCH_EXAMPLES from FUZZ_SEED.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.records.sketches import StoredSketch
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching
from airflow_lineage_provider.running.fitting_sketches import fitting
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.template import Binding, instance_of
from airflow_lineage_provider.sketches.ties import cut_together
from tests.in_turn import few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Row
from tests.sketches import beside
from tests.sketches.against import accurate, over_sketch, values_of
from tests.sketches.beside import leaf_of
from tests.sketches.planned import apart, planned
from tests.sketches.test_golden import table
from tests.sketches.tied import any_that_tie

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, BLOCK = few(36, 2), 250

T, S = table("k v", (1, 0), (1, 0), (1, 0), (2, 0), (3, 7)), table("k w", (1, 5), (2, 5), (2, 6), (2, 7), (3, 5))
PAIRS = q.Join("inner", q.Table("t"), q.Table("s"), q.Op("=", (q.Col(1), q.Col(4))))
KEYS = Partition(type="bigint", cuts=(1, 2, 3))


def first(count: int) -> tuple[q.Node, dict[str, q.Data]]:
    """The first values of v in pairs of t and s, all columns of which are ordered by; t's are alike, and each has a partner."""
    return apart(q.TopK(q.Project(PAIRS, (q.Col(2),)), count), {"t": T, "s": S})


def pipeline_of(node: q.Node, leaves: Mapping[str, q.Data]) -> Pipeline:
    plan = planned(node, dict(leaves))
    return Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))


def by_key(run: str, rows: Sequence[Row], leaves: Mapping[str, q.Data], binding: Binding, only: str = "ts") -> list[StoredSketch]:
    """The sketches of a run's result, on k."""
    found = []
    for name, data in leaves.items():
        if name[0] not in only:
            continue
        fragments = accurate(list(rows), name, data, "k", KEYS)
        content = Sketch(leaf=leaf_of(name), column="k", count=KEYS.count, fragments=fragments).to_bytes()
        found.append(
            StoredSketch(
                id=f"{run}{name}", run_id=run, pipeline="p", template="", binding=binding, leaf=leaf_of(name), table=name, column="k",
                versions={leaf_of(each): "now" for each in leaves}, content=content, cuts=kept_cuts.to_bytes(KEYS),
                rows=len(over_sketch(data, "k", KEYS, fragments).rows), total=len(data.rows),
            )
        )  # fmt: skip
    return found


def fit(pipeline: Pipeline, stored: list[StoredSketch]) -> Sketching:
    """What a run of the pipeline does where a store has these sketches."""
    sources = {one.leaf: SimpleNamespace(source=one) for one in all_operators(pipeline.plan) if isinstance(one, o.Source)}
    for one in sources.values():
        one.primary_key, one.version = (), None
    stands_in: Any = SimpleNamespace(
        request=None, captured=SimpleNamespace(pipeline=pipeline), named={},
        recorded=SimpleNamespace(sources=sources, plan=SimpleNamespace(conf=())),
        instance=instance_of(pipeline), versions=dict.fromkeys(sources, "now"), statistics=SimpleNamespace(bounds=lambda *_: {}),
    )  # fmt: skip
    store: Any = SimpleNamespace(ask=lambda *_: stored)
    return fitting(Asked(**vars(stands_in)), store)


def read(found: Sketching, stored: list[StoredSketch], leaves: Mapping[str, q.Data]) -> dict[str, q.Data]:
    """The tables as that run reads them."""
    fragments = {one.id: Sketch.from_bytes(one.content).fragments for one in stored}
    used = {one.leaf: fragments[one.sketch] for one in found.uses if one.state == "used"}
    return {name: over_sketch(data, "k", KEYS, used[leaf_of(name)]) if leaf_of(name) in used else data for name, data in leaves.items()}


def two_runs(node: q.Node, leaves: dict[str, q.Data]) -> list[list[Row]]:
    """The first run takes the first of t's rows that are alike, the second the last."""
    turned = {name: q.Data(data.columns, data.rows[::-1]) for name, data in leaves.items()}
    return [evaluate.rows(node, one) for one in (leaves, turned)]


def test_sketches_are_read_together_or_not_at_all() -> None:
    """Over both it was counted that no rows tie at the limit: over one alone others may."""
    node, leaves = first(1)
    with any_that_tie():
        pipeline, rows = pipeline_of(node, leaves), two_runs(node, leaves)[0]
        made = by_key("one", rows, leaves, instance_of(pipeline).binding)
        both = [replace(one, content=replace(Sketch.from_bytes(one.content), together=(0, 1)).to_bytes()) for one in made]
        assert {one.state for one in fit(pipeline, both).uses} == {"used"}
        for alone in both:
            uses = {one.leaf: one for one in fit(pipeline, [alone]).uses}
            assert {one.state for one in uses.values()} == {"unused"}
            assert "was counted over sketches of its run together" in uses[alone.leaf].because
        for at, alone in enumerate(made):
            assert [one.leaf for one in fit(pipeline, [alone, both[1 - at]]).uses if one.state == "used"] == [0, 1]


def test_sketches_of_two_runs_lose_a_row() -> None:
    """Each of the one run's sketches has fewer rows of one table; what they have together meets nothing."""
    node, leaves = first(1)
    with any_that_tie():
        one, other = two_runs(node, leaves)
        assert [row.values for row in one] == [row.values for row in other] == [(0,)]
        pipeline = pipeline_of(node, leaves)
        binding = instance_of(pipeline).binding
        stored = by_key("one", one, leaves, binding) + by_key("other", other, leaves, binding)
        assert [(each.table[0], each.rows) for each in stored] == [("t", 3), ("s", 1), ("t", 1), ("s", 3)]
        smallest = {name: min((each for each in stored if each.table == name), key=lambda each: each.rows) for name in leaves}
        mixed = {name: over_sketch(leaves[name], "k", KEYS, Sketch.from_bytes(each.content).fragments) for name, each in smallest.items()}
        assert evaluate.rows(node, mixed) == []
        found = fit(pipeline, stored)
        assert [each.run_id for each in found.uses] in (["one"] * 2, ["other"] * 2)
        assert values_of(evaluate.rows(node, read(found, stored, leaves))) == values_of(one)


def test_the_run_of_which_the_fewest_rows_are_read_in_all() -> None:
    node, leaves = first(1)
    with any_that_tie():
        one, other = two_runs(node, leaves)
    pipeline = pipeline_of(node, leaves)
    binding = instance_of(pipeline).binding
    both = by_key("one", one, leaves, binding)
    alone = by_key("other", other, leaves, binding, only="t")
    found = fit(pipeline, [*alone, *both])
    assert [each.run_id for each in found.uses] == ["one", "one"], "4 of 10 rows, and 6 with the smaller sketch of t alone"
    found = fit(pipeline, [*alone, *by_key("one", one, leaves, binding, only="s")])
    assert [(each.table, each.state, each.run_id) for each in found.uses] == [("t@0", "used", "other"), ("s@1", "unused", "")]
    assert found.uses[1].because == "no sketch was captured of it with that of t@0, of run other, and a limit is above both"


def test_of_other_constants_they_are_of_one_run_too() -> None:
    """Sketches of the first two rows serve for the first row; those of this very instance go before them."""
    node, leaves = first(1)
    before, _ = first(2)
    with any_that_tie():
        one, other = two_runs(before, leaves)
        same, _ = two_runs(node, leaves)
        pipeline, binding = pipeline_of(node, leaves), instance_of(pipeline_of(before, leaves)).binding
        stored = by_key("one", one, leaves, binding) + by_key("other", other, leaves, binding)
        found = fit(pipeline, stored)
        assert len({each.run_id for each in found.uses}) == 1
        assert {each.state for each in found.uses} == {"used"}
        assert values_of(evaluate.rows(node, read(found, stored, leaves))) == values_of(same)
        stored += by_key("same", same, leaves, instance_of(pipeline).binding)
        assert {each.run_id for each in fit(pipeline, stored).uses} == {"same"}


def test_sources_under_no_limit_have_each_its_smallest() -> None:
    node, leaves = apart(PAIRS, {"t": T, "s": S})
    pipeline = pipeline_of(node, leaves)
    binding = instance_of(pipeline).binding
    some = q.Filter(node, q.Op("=", (q.Col(1), q.Lit(1, "int")))), q.Filter(node, q.Op("=", (q.Col(1), q.Lit(2, "int"))))
    runs = [evaluate.rows(one, leaves) for one in some]
    stored = by_key("one", runs[0], leaves, binding) + by_key("other", runs[1], leaves, binding)
    assert [each.run_id for each in fit(pipeline, stored).uses] == ["other", "one"]


def test_leaves_that_a_limit_cuts_together() -> None:
    t, s = q.Table("t"), q.Table("s")
    below, other = q.TopK(q.Join("cross", t, s, None), 1), q.TopK(q.Join("cross", s, t, None), 2)
    node, leaves = apart(q.Union(q.Union(below, q.Join("cross", t, s, None)), other), {"t": T, "s": S})
    assert set(cut_together(planned(node, leaves))) == {frozenset({0, 1}), frozenset({2}), frozenset({3}), frozenset({4, 5})}
    node, leaves = apart(q.TopK(q.Join("cross", below, t, None), 1), {"t": T, "s": S})
    assert cut_together(planned(node, leaves)) == (frozenset({0, 1, 2}),)


@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_several_sketches_lose_nothing(block: int) -> None:
    told: Counter[str] = Counter()
    first = SEED * 1_000_000 + block * BLOCK
    wrong = [
        one
        for seed in range(first, first + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE))
        for one in beside.check(seed, told) + (beside.check_where_rows_tie(seed, told) if seed % 2 else [])
    ]
    print(dict(told))
    assert not wrong, wrong[0]
    assert told["checks"] > 0
    assert told["of several runs"] > 0
    assert told["tied over one alone"] > 0
    assert told["plans with a limit"] >= 0.2 * told["plans"]
