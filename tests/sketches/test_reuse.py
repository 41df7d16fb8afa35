"""A sketch of one instance for another: the paper's examples, where it must be refused, and random queries with other constants."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sketches import reuse
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.statistics import Bounds, ColumnBounds
from airflow_lineage_provider.sketches.template import instance_of
from tests.in_turn import few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous
from tests.sketches.against import SEVERAL, accurate, bounds_of, over_sketch, partitions, values_of, with_steps
from tests.sketches.drawn import Drawer, tables
from tests.sketches.planned import NoPlan, apart, planned
from tests.sketches.test_golden import CITIES, table
from tests.sketches.tied import any_that_tie, behind

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, BLOCK = few(200, 2), 500


def pipeline_of(node: q.Node, given: dict[str, q.Data]) -> Pipeline:
    plan = planned(node, given)
    return Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))


def reused(new: q.Node, old: q.Node, given: dict[str, q.Data]) -> str:
    """Why a sketch of the old query does not serve the new one; they are of one template."""
    (apart_new, leaves), (apart_old, _) = apart(new, given), apart(old, given)
    pipeline, before = pipeline_of(apart_new, leaves), instance_of(pipeline_of(apart_old, leaves))
    assert instance_of(pipeline).template == before.template
    return why_not_reused(pipeline, before.binding)


def number(value: int) -> q.Lit:
    return q.Lit(value, "int")


def more(left: q.Expr, right: q.Expr) -> q.Op:
    return q.Op("<", (right, left))


def counted(popden: int, least: int) -> q.Node:
    """σ cnt > least (γ state; count (σ popden > … (cities)))."""
    dense = q.Filter(q.Table("cities"), more(q.Col(1), number(popden)))
    return q.Filter(q.Aggregate(dense, (q.Col(3),), (q.Call("count", q.Col(1)),)), more(q.Col(1), number(least)))


@pytest.mark.parametrize(
    ("old", "new", "serves"),
    [
        ((100, 10), (100, 15), True),
        ((100, 10), (100, 5), False),
        ((100, 10), (100, 10), True),
        ((100, 10), (200, 10), True),
        ((100, 10), (50, 10), False),
        ((100, 10), (200, 9), False),
    ],
)
def test_the_papers_example(old: tuple[int, int], new: tuple[int, int], serves: bool) -> None:
    """Example 8, and the selection below: fewer rows in each group, of which more must be left."""
    assert (not reused(counted(*new), counted(*old), {"cities": CITIES})) is serves


def test_what_a_selection_above_says_is_known_below() -> None:
    """σ a = 40 (σ a > 30) of a sketch of σ a = 40 (σ a > 10), and the other way round: the subqueries are contained in one way only."""

    def nested(least: int, value: int = 40) -> q.Node:
        return q.Filter(q.Filter(q.Table("t"), more(q.Col(1), number(least))), q.Op("=", (q.Col(1), number(value))))

    given = {"t": table("a f", (40, 1), (20, 2))}
    assert not reused(nested(30), nested(10), given)
    assert not reused(nested(10), nested(30), given)
    assert reused(nested(10, 20), nested(30), given)


def grouped(function: str, floor: int, least: int, at: q.Expr | None = None) -> q.Node:
    child = q.Filter(q.Table("t"), more(q.Col(2), number(floor)))
    return q.Filter(q.Aggregate(child, (q.Col(1),), (q.Call(function, q.Col(2)),)), more(q.Col(1), number(least)))  # type: ignore[arg-type]


GROUPS = {"t": table("g x", (1, 5), (1, 50), (2, 7))}


@pytest.mark.parametrize(
    ("function", "old", "new", "serves"),
    [
        ("sum", (0, 10), (1, 20), True),
        ("sum", (-5, 10), (0, 20), False),  # what is left out may be negative, and the whole sum less
        ("max", (0, 10), (3, 10), True),
        ("max", (3, 10), (0, 10), False),
        ("min", (0, 10), (3, 10), False),  # with fewer rows a minimum is more
        ("min", (3, 10), (0, 10), False),
    ],
)
def test_aggregations_over_fewer_rows(function: str, old: tuple[int, int], new: tuple[int, int], serves: bool) -> None:
    assert (not reused(grouped(function, *new), grouped(function, *old), GROUPS)) is serves


def test_a_condition_on_the_groups_keys_leaves_groups_whole() -> None:
    """Even a minimum, or a test that it is small, is the same then: the other groups are not there, these are whole."""

    def of(least: int, most: int) -> q.Node:
        child = q.Filter(q.Table("t"), more(q.Col(1), number(least)))
        groups = q.Aggregate(child, (q.Col(1),), (q.Call("min", q.Col(2)),))
        return q.Filter(groups, q.Op("<", (q.Col(1), number(most))))

    assert not reused(of(1, 10), of(0, 10), GROUPS)
    assert reused(of(0, 10), of(1, 10), GROUPS)
    assert reused(of(1, 11), of(0, 10), GROUPS)


def since(constant: e.Expression) -> Pipeline:
    """σ day >= constant (t)."""
    day = e.Attribute(id=0, name="day", type="date")
    source = o.Source(relation=Relation(name="t", kind="local"), output=(day,), columns=("day",), leaf=0)
    plan = o.Filter(child=source, condition=e.Call(function=">=", arguments=(day, constant), type="boolean"))
    return Pipeline(plan=plan, names=("day",))


def days_before(day: str, days: int) -> e.Expression:
    return e.Call(function="date_sub", arguments=(e.Literal(value=day, type="date"), e.Literal(value=str(days), type="int")), type="date")


def months_after(day: str, months: int) -> e.Expression:
    written = e.Cast(child=e.Literal(value=day, type="string"), type="date")
    return e.Call(
        function="+", arguments=(written, e.Literal(value=f"INTERVAL '{months}' MONTH", type="interval month")), type="date"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "serves"),
    [
        (days_before("2025-12-01", 7), days_before("2025-12-01", 3), True),
        (days_before("2025-12-01", 3), days_before("2025-12-01", 7), False),
        (days_before("2025-11-30", 7), days_before("2025-12-01", 8), True),  # the same day
        (days_before("2025-12-01", 7), days_before("2026-01-01", 30), True),
        (months_after("2025-01-31", 1), months_after("2025-02-28", 0), True),  # February's last day, both
        (months_after("2025-01-31", 2), months_after("2025-02-28", 0), False),
        (days_before("2025", 7), days_before("2025", 3), False),  # what Spark makes of that is not known here
    ],
)
def test_dates_that_are_computed_of_constants_are_known(old: e.Expression, new: e.Expression, serves: bool) -> None:
    assert (not why_not_reused(since(new), instance_of(since(old)).binding)) is serves


def texts_since(constant: e.Expression) -> Pipeline:
    """σ ds >= constant (t), of a column of texts like 20251201."""
    ds = e.Attribute(id=0, name="ds", type="string")
    source = o.Source(relation=Relation(name="t", kind="local"), output=(ds,), columns=("ds",), leaf=0)
    plan = o.Filter(child=source, condition=e.Call(function=">=", arguments=(ds, constant), type="boolean"))
    return Pipeline(plan=plan, names=("ds",))


def formatted(day: e.Expression) -> e.Expression:
    pattern = e.Literal(value="yyyyMMdd", type="string")
    return e.Call(function="date_format", arguments=(e.Cast(child=day, type="timestamp"), pattern), type="string")


@pytest.mark.parametrize(
    ("old", "new", "serves"),
    [
        (days_before("2025-12-01", 7), days_before("2025-12-01", 3), True),
        (days_before("2025-12-01", 3), days_before("2025-12-01", 7), False),
        (days_before("2025-11-30", 7), days_before("2025-12-01", 8), True),
    ],
)
def test_texts_that_are_computed_of_dates_are_known(old: e.Expression, new: e.Expression, serves: bool) -> None:
    """As a column is compared that has {{ ds_nodash }}."""
    assert (not why_not_reused(texts_since(formatted(new)), instance_of(texts_since(formatted(old))).binding)) is serves


def test_months_that_days_are_in() -> None:
    """``date >= trunc(day, 'MM')``: of two days of a month the sketch is one."""

    def of(day: str) -> e.Expression:
        return e.Call(function="trunc", arguments=(e.Literal(value=day, type="date"), e.Literal(value="MM", type="string")), type="date")

    for old, new, serves in (("2025-12-03", "2025-12-30", True), ("2025-11-30", "2025-12-01", True), ("2025-12-01", "2025-11-30", False)):
        assert (not why_not_reused(since(of(new)), instance_of(since(of(old))).binding)) is serves


def test_limits() -> None:
    """The same rows are cut, and no more of them."""

    def first(count: int, least: int = 0) -> q.Node:
        return q.TopK(q.Filter(q.Table("t"), more(q.Col(2), number(least))), count)

    assert not reused(first(2), first(3), GROUPS)
    assert "takes more rows" in reused(first(3), first(2), GROUPS)
    assert "cuts other rows" in reused(first(2, 1), first(2, 0), GROUPS)


def test_limits_over_the_same_rows_by_other_words() -> None:
    """Where the statistics say that no x is below 5, ``x > 1`` and ``x > 3`` are one; ``x > 5`` is another."""
    given = {"t": table("g x", (1, 5), (1, 50), (2, 7))}
    bounds = {(0, "x"): ColumnBounds("5", "50", has_null=False)}

    def first(count: int, least: int) -> q.Node:
        return q.TopK(q.Filter(q.Table("t"), more(q.Col(2), number(least))), count)

    def served(new: q.Node, old: q.Node) -> bool:
        (apart_new, leaves), (apart_old, _) = apart(new, given), apart(old, given)
        binding = instance_of(pipeline_of(apart_old, leaves)).binding
        return not why_not_reused(pipeline_of(apart_new, leaves), binding, bounds=bounds)

    assert served(first(2, 3), first(2, 1))
    assert served(first(2, 1), first(3, 3))
    assert not served(first(3, 1), first(2, 3))
    assert not served(first(2, 5), first(2, 3)), "other rows are the first"
    assert not served(first(2, 3), first(2, 5))


def of_the_first(count: int, most: int) -> q.Node:
    """Groups of few rows: σ n < most (γ g; count (limit count (t)))."""
    groups = q.Aggregate(q.TopK(q.Project(q.Table("t"), (q.Col(0), q.Col(1))), count), (q.Col(1),), (q.Call("count"),))
    return q.Filter(groups, q.Op("<", (q.Col(1), number(most))))


def of_the_first_at_least(count: int, least: int) -> q.Node:
    node = of_the_first(count, 0)
    assert isinstance(node, q.Filter)
    return replace(node, condition=more(q.Col(1), number(least)))


def test_groups_above_a_limit_are_parts() -> None:
    """Of fewer rows a group has fewer, and passes where the whole one does not; where it passes by having many the whole one does, too."""
    given = {"t": table("g x", (1, 1), (1, 2), (2, 3), (1, 4))}
    new, old = (evaluate.rows(*apart(of_the_first(count, 3), given)) for count in (3, 4))
    assert [[row.values for row in rows] for rows in (new, old)] == [[(1, 2), (2, 1)], [(2, 1)]]
    assert "what passes with these constants need not pass" in reused(of_the_first(3, 3), of_the_first(4, 3), given)
    assert not reused(of_the_first_at_least(3, 1), of_the_first_at_least(4, 1), given)


def test_a_global_aggregation_over_other_rows_is_refused() -> None:
    """Its row is there where nothing is below it: what no row meets would say everything."""

    def beside(least: int, most: int) -> q.Node:
        some = q.Filter(q.Filter(q.Table("t"), more(q.Col(1), number(least))), q.Op("<", (q.Col(1), number(most))))
        return q.Join("inner", q.Table("t"), q.Aggregate(some, (), (q.Call("max", q.Col(2)),)), None)

    assert "no rule" in reused(beside(5, 3), beside(0, 9), GROUPS)


def test_sides_that_must_be_whole() -> None:
    def without(least: int, most: int) -> q.Node:
        right = q.Filter(q.Table("t"), more(q.Col(2), number(most)))
        left = q.Filter(q.Table("t"), more(q.Col(2), number(least)))
        return q.Semi("anti", left, right, q.Op("=", (q.Col(1), q.Col(4))))

    assert not reused(without(1, 40), without(0, 40), GROUPS)
    assert "other partners" in reused(without(1, 41), without(1, 40), GROUPS)


# --- random queries ----------------------------------------------------------------------------------------------------


def other_constants(node: Any, random: Random) -> Any:
    """The query with some of the constants of its conditions and limits changed."""
    match node:
        case q.TopK():
            count, skip = (max(least, now + random.choice((0, 0, -1, 1))) for now, least in ((node.count, 1), (node.skip, 0)))
            return replace(node, child=other_constants(node.child, random), count=count, skip=skip)
        case q.Filter():
            return replace(node, child=other_constants(node.child, random), condition=moved(node.condition, random))
        case q.Join() | q.Semi() if node.condition is not None:
            left, right = other_constants(node.left, random), other_constants(node.right, random)
            return replace(node, left=left, right=right, condition=moved(node.condition, random))
    sides = ("left", "right") if hasattr(node, "left") else ("child",) if hasattr(node, "child") else ()
    return replace(node, **{side: other_constants(getattr(node, side), random) for side in sides})


def moved(part: Any, random: Random) -> Any:
    if isinstance(part, q.Lit):
        if isinstance(part.value, bool) or not isinstance(part.value, int) or random.random() < 0.4:
            return part
        return q.Lit(part.value + random.choice((-2, -1, 1, 2)), part.type)
    if is_dataclass(part) and not isinstance(part, type):
        found = {one.name: getattr(part, one.name) for one in fields(part)}
        made = {name: tuple(moved(each, random) for each in value) if isinstance(value, tuple) else value for name, value in found.items()}
        return replace(part, **made)
    return part


def wrong(seed: int, told: Counter[str]) -> Iterator[str]:
    """The sketches of an old query over which a new one, that they are said to serve, gives other rows."""
    random = Random(seed)
    query = Drawer.groups_of_first if random.random() < 0.2 else Drawer.query
    new, names = apart(query(Drawer(random), random.choice((1, 2, 2, 3, 3))), tables(random, ("t0", "t1"), 0))
    old = other_constants(new, random)
    if old == new:
        return
    full = random.random() < 0.3
    drawn = (tables(random, ("t0", "t1"), 0, full=full) for _ in range(4))
    given = [{name: made[name.split("@")[0]] for name in names} for made in drawn]
    try:
        pipeline, before = pipeline_of(new, given[0]), instance_of(pipeline_of(old, given[0]))
    except NoPlan:
        return
    if instance_of(pipeline).template != before.template:
        return
    told["pairs"] += 1
    bounds = bounds_of(given) if random.random() < 0.5 else {}
    if why_not_reused(pipeline, before.binding, bounds=bounds):
        return
    told["reused"] += 1
    told["reused by bounds"] += bool(bounds and why_not_reused(pipeline, before.binding))
    told["reused with groups"] += any(isinstance(one, q.Aggregate) for one in q.nodes(new))
    told["reused above a limit"] += any(isinstance(one, q.TopK) for node in q.nodes(new) for one in q.children(node))
    for leaves in given:
        yield from not_contained(seed, new, old, leaves, told)
    aside = Random(repr(new))
    together = [(int(aside.choice(sorted(names)).split("@")[1]), aside.choice(SEVERAL))]
    earlier = {(one.leaf, one.column): one for one in judged(pipeline_of(old, given[0]), bounds, together)}
    for safe in (one for one in judged(pipeline, bounds, together) if one.safe and not one.why_not_of(None)):
        was = earlier[safe.leaf, safe.column]
        told["several together"] += safe.column in SEVERAL
        if safe.at_limit and not was.safe:
            continue  # no sketch was captured
        for leaves in given:
            drawing = aside if safe.column in SEVERAL else random
            yield from compared(drawing, seed, new, old, leaves, replace(safe, at_limit=was.at_limit), told)


def judged(pipeline: Pipeline, bounds: Bounds, together: list[tuple[int, str]]) -> list[SafeColumn]:
    """Each column, and some together."""
    return [one for only in (None, together) for one in safe_columns(pipeline, bounds=bounds, only=only)]


def not_contained(seed: int, new: q.Node, old: q.Node, leaves: dict[str, q.Data], told: Counter[str]) -> Iterator[str]:
    """The source rows behind the new result and not the old one, whatever columns are safe."""
    try:
        with any_that_tie():
            behind, before = (frozenset().union(*(row.lineage for row in evaluate.rows(node, leaves))) for node in (new, old))
    except Ambiguous:
        return
    told["contained"] += bool(behind)
    if behind - before:
        yield f"seed {seed}: {sorted(behind - before)} are not behind the old result\nnew {new}\nold {old}\n{leaves}"


def compared(
    random: Random, seed: int, new: q.Node, old: q.Node, leaves: dict[str, q.Data], safe: Any, told: Counter[str]
) -> Iterator[str]:
    """The sketches of the old query, cut at random and with more than they need, over which the new one gives other rows."""
    name = next(one for one in leaves if one.endswith(f"@{safe.leaf}"))
    data = leaves[name]
    try:
        expected, before = values_of(evaluate.rows(new, leaves)), evaluate.rows(old, leaves)
    except Ambiguous:
        return
    for drawn_partition in partitions(random, data, safe.column):
        partition = with_steps(drawn_partition, safe.aligned)
        least = accurate(behind(old, leaves, safe, before), name, data, safe.column, partition)
        more = frozenset(one for one in range(partition.count) if random.random() < 0.3)
        for fragments in {least, least | more}:
            part = over_sketch(data, safe.column, partition, fragments)
            if len(part.rows) == len(data.rows):
                continue
            try:
                found = values_of(evaluate.rows(new, {**leaves, name: part}))
            except Ambiguous:
                continue
            told["checks"] += 1
            told["checks at a limit"] += safe.at_limit
            if found != expected:
                yield f"seed {seed}: {safe}\nnew {new}\nold {old}\n{data.rows}: {found} and not {expected}"


@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_a_reused_sketch_loses_nothing(block: int) -> None:
    told: Counter[str] = Counter()
    first = SEED * 1_000_000 + block * BLOCK
    violations = [
        one for seed in range(first, first + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE)) for one in wrong(seed, told)
    ]
    print(dict(told))
    assert not violations, violations[0]
    assert told["checks"] > 0
    # A check that refuses everything would pass.
    assert told["reused"] >= 0.1 * told["pairs"]
    assert told["reused with groups"] > 0
    assert told["reused above a limit"] > 0
    assert told["contained"] > 0
    assert told["reused by bounds"] > 0


def alike(floor: int) -> q.Node:
    """Groups of groups that have equally many rows: σ n > 1 (γ c; count (γ g; count AS c (σ x > floor (t))))."""
    inner = q.Aggregate(q.Filter(q.Table("t"), more(q.Col(2), number(floor))), (q.Col(1),), (q.Call("count"),))
    return q.Filter(q.Aggregate(inner, (q.Col(1),), (q.Call("count"),)), more(q.Col(1), number(1)))


def alone(least: int) -> q.Node:
    right = q.Filter(q.Table("t"), more(q.Col(2), number(least)))
    return q.Semi("anti", q.Table("t"), right, q.Op("=", (q.Col(1), q.Col(4))))


RULES: dict[str, tuple[str, Any, q.Node, q.Node, tuple[tuple[int, int], ...]]] = {
    "conditions follow": ("_follows", lambda *_: True, grouped("sum", 0, 4), grouped("sum", 0, 90), ((1, 5), (2, 99))),
    "groups are whole": ("_is_whole", lambda *_: True, grouped("min", 3, 10), grouped("min", 0, 10), ((1, 2), (1, 50), (2, 20))),
    "keys are the same": ("_require_unchanged", lambda *_: None, alike(3), alike(0), ((1, 50), (2, 50), (2, 2))),
    "groups above a limit": ("_is_whole", lambda *_: True, of_the_first(3, 3), of_the_first(4, 3), ((1, 1), (1, 2), (2, 3), (1, 4))),
    "limits over the same rows": (
        "_are_same_rows",
        lambda *_: True,
        q.TopK(q.Filter(q.Table("t"), more(q.Col(2), number(5))), 1),
        q.TopK(q.Filter(q.Table("t"), more(q.Col(2), number(3))), 1),
        ((1, 4), (2, 9)),
    ),
    "limits": ("_cut", lambda *_: [], q.TopK(q.Table("t"), 2), q.TopK(q.Table("t"), 1), ((1, 5), (2, 6))),
    "partners are the same": ("_joined", lambda self, new, old: self._collect(new.left, old.left), alone(41), alone(40), ((1, 41), (2, 9))),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it the sketch is refused; without it it serves, and the new query loses rows over it."""
    name, instead, new, old, rows = RULES[rule]
    given = {"t": table("g x", *rows)}
    assert reused(new, old, given)
    monkeypatch.setattr(reuse._Containment, name, instead)
    assert not reused(new, old, given)
    (apart_new, leaves), (apart_old, _) = apart(new, given), apart(old, given)
    partition = Partition(type="bigint", cuts=(1, 2))
    fragments = accurate(evaluate.rows(apart_old, leaves), "t@0", leaves["t@0"], "g", partition)
    over = evaluate.rows(apart_new, {**leaves, "t@0": over_sketch(leaves["t@0"], "g", partition, fragments)})
    assert values_of(over) != values_of(evaluate.rows(apart_new, leaves))
