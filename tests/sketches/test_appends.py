"""A sketch of a source that rows were added to since: the rules by hand, random queries and appends, and what happens without each rule.

``make test`` checks a sample that is always the same; ``make fuzz-sketches`` checks SKETCH_EXAMPLES from FUZZ_SEED.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches import appends
from airflow_lineage_provider.sketches.appends import AppendRule, append_rule
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from tests.in_turn import QUICK, few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous
from tests.sketches import against
from tests.sketches.against import SEVERAL, accurate, bounds_of, in_columns, over_sketch, partitions, values_of, with_steps
from tests.sketches.drawn import COLUMNS, Drawer, tables
from tests.sketches.planned import NoPlan, apart, planned
from tests.sketches.test_golden import table

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, SAMPLE_BY_STEPS, BLOCK = few(130, 3), few(20, 2), 500
Leaves = dict[str, q.Data]


def pipeline_of(node: q.Node, leaves: Leaves) -> Pipeline:
    plan = planned(node, leaves)
    return Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))


def leaf_of(name: str) -> int:
    return int(name.split("@")[1])


# --- what is read ------------------------------------------------------------------------------------------------------


def read(old: q.Data, added: q.Data, column: str, partition: AnyPartition, sketch: frozenset[int], rule: AppendRule) -> q.Data:
    """What a run reads: all added rows, and the old ones of the sketch's fragments, and of theirs where the rule says so."""
    of = in_columns(old, column)
    wanted = sketch | partition.fragments_of(of(row) for row in added.rows) if rule.fragments else sketch
    return replace(old, rows=tuple(row for row in old.rows if partition.fragment_of(of(row)) in wanted) + added.rows)


def wrong(
    node: q.Node, old: Leaves, name: str, added: q.Data, column: str, rule: AppendRule, random: Random, told: Counter[str]
) -> Iterator[str]:
    """The sketches of a column, of the result over the old rows, with which the query gives other rows when rows were added."""
    whole = replace(old[name], rows=old[name].rows + added.rows)
    kind = f"{rule.name} of groups" if rule.name == "order" and rule.fragments else rule.name
    before, expected = evaluate.rows(node, old), values_of(evaluate.rows(node, {**old, name: whole}))
    for drawn in partitions(random, old[name], column):
        partition = with_steps(drawn, rule.aligned)
        least = accurate(before, name, old[name], column, partition)
        more = frozenset(one for one in range(partition.count) if random.random() < 0.3)
        for fragments in {least, least | more}:
            part = read(old[name], added, column, partition, fragments, rule)
            if len(part.rows) == len(whole.rows):
                continue
            told[f"{kind} checks"] += 1
            told[f"{kind} checks with another result"] += expected != values_of(before)
            told["checks by steps with another result"] += bool(rule.aligned) and expected != values_of(before)
            found = values_of(evaluate.rows(node, {**old, name: part}))
            if found != expected:
                shown = f"{rule} {name} {column}\n{node}\n{old}\nadded {added.rows}\nsketch {sorted(fragments)} of {partition.cuts}"
                yield f"{shown}: {found} and not {expected}"


# --- by hand -----------------------------------------------------------------------------------------------------------

T, S = q.Table("t"), q.Table("s")
G, X, F = q.Col(1), q.Col(2), q.Col(3)
"""A group, a number, and another column; a rid comes first."""


def number(value: int) -> q.Lit:
    return q.Lit(value, "int")


def more(one: q.Expr, bound: int) -> q.Op:
    return q.Op("<", (number(bound), one))


def equal(one: int, other: int) -> q.Op:
    return q.Op("=", (q.Col(one), q.Col(other)))


def by_group(function: Any, child: q.Node = T, at: q.Expr = X) -> q.Aggregate:
    return q.Aggregate(child, (G,), (q.Call(function, None if function == "count" else at),))


def first(child: q.Node, count: int = 1, order: tuple[int, ...] = (1, 0), descending: bool = True) -> q.TopK:
    """The first rows by these columns, the first of them descending."""
    return q.TopK(q.Project(child, tuple(map(q.Col, order))), count, 0, frozenset({0}) if descending else frozenset())


def by_step(child: q.Node = T) -> q.Aggregate:
    """How many rows are on each step of two numbers."""
    return q.Aggregate(child, (q.Op("div", (X, number(2))),), (q.Call("count"),))


POSITIVE = q.Filter(T, more(X, 0))
OF_T = {"t": table("g x f", (1, 5, 1), (1, 1, 2), (2, 5, 1)), "s": table("g x f", (1, 0, 0))}
SEMI = q.Semi("semi", T, S, equal(1, 5))


@pytest.mark.parametrize(
    ("node", "column", "rule"),
    [
        (q.Filter(T, more(X, 3)), "x", "linear"),
        (q.Project(q.Join("inner", S, q.Filter(T, more(X, 3)), equal(1, 5)), (q.Col(6),)), "f", "linear"),
        (SEMI, "f", "linear"),
        (first(T, 2, (2, 0)), "x", "order"),
        (by_group("sum"), "g", "groups"),
        (q.Filter(by_group("sum"), q.Op("<", (q.Col(1), number(6)))), "g", "groups"),  # HAVING of any kind
        (q.Filter(by_group("min", SEMI), more(q.Col(1), 3)), "g", "groups"),
        (first(by_group("count")), "g", "order"),
        (first(by_group("max", POSITIVE)), "g", "order"),
        (first(by_group("min", POSITIVE), descending=False), "g", "order"),
        (q.Distinct(q.Project(T, (G,))), "g", "groups"),
        (first(by_group("sum", POSITIVE)), "g", "order"),
        (first(q.Filter(by_group("sum", POSITIVE), more(q.Col(1), 2))), "g", "order"),
        (q.Filter(by_step(), q.Op("<", (q.Col(1), number(3)))), "x", "groups by div 2"),
        (q.Filter(by_step(SEMI), more(q.Col(1), 3)), "x", "groups by div 2"),
        (first(by_step()), "x", "order by div 2"),
        (q.Filter(q.Aggregate(T, (X, q.Op("div", (X, number(2)))), (q.Call("count"),)), more(q.Col(2), 3)), "x", "groups"),
    ],
)  # fmt: skip
def test_the_rules(node: q.Node, column: str, rule: str) -> None:
    assert judged(node, column) == rule


@pytest.mark.parametrize(
    ("node", "column", "told"),
    [
        (q.Semi("semi", S, T, equal(1, 5)), "f", "no rule for new rows below ⋉"),
        (q.Semi("anti", T, S, equal(1, 5)), "f", "no rule for new rows below ▷"),
        (q.Join("left", T, S, equal(1, 5)), "f", "no rule for new rows below ⟕"),
        (q.Union(T, S), "f", "no rule for new rows below ∪"),
        (q.Distinct(q.Project(T, (G,))), "x", "groups have rows in several fragments"),
        (q.Aggregate(T, (), (q.Call("max", X),)), "g", "no rule for new rows below α"),
        (q.Filter(by_group("count"), more(q.Col(1), 1)), "f", "groups have rows in several fragments"),
        (by_group("count"), "f", "groups have rows in several fragments"),
        (first(by_group("sum")), "g", "a row may be better over a sketch"),
        (first(by_group("min")), "g", "a row may be better over a sketch"),
        (first(q.Filter(by_group("sum", POSITIVE), q.Op("<", (q.Col(1), number(9))))), "g", "may pass over a sketch"),
        (first(by_group("max")), "g", "a row may be better over a sketch"),  # NULL is the first of all
        (q.Filter(first(T, 2, (2, 0)), more(q.Col(1), 3)), "x", "rows of the limit that are dropped above it"),
        (q.Filter(by_step(), more(q.Col(1), 1)), "f", "groups have rows in several fragments"),
        (first(by_step(), descending=False), "x", "a row may be better over a sketch"),
    ],
)  # fmt: skip
def test_what_no_rule_is_for_is_named(node: q.Node, column: str, told: str) -> None:
    assert told in judged(node, column)


def test_rows_that_may_tie_at_the_limit_are_of_no_rule() -> None:
    """Which of them another run takes nobody knows; of the same version they were counted, of this one they were not."""
    query, leaves = apart(first(by_group("count")), OF_T)
    plan = planned(query, leaves)
    assert isinstance(plan, o.Limit)
    assert isinstance(plan.child, o.Sort)
    by_count = replace(plan, child=replace(plan.child, order=plan.child.order[:1]))
    told = append_rule(Pipeline(plan=by_count, names=("n", "g")), 0, "g")
    assert isinstance(told, str)
    assert told.startswith("rows may tie at the limit")


def judged(node: q.Node, column: str) -> str:
    """The rule's name with the steps that cuts must begin, or why there is none, of the table ``t``."""
    query, leaves = apart(node, OF_T)
    name = next(one for one in leaves if one.startswith("t@"))
    found = append_rule(pipeline_of(query, leaves), leaf_of(name), column)
    return found if isinstance(found, str) else " by ".join((found.name, *found.aligned))


# --- random queries ----------------------------------------------------------------------------------------------------


class Grouping(Drawer):
    """Draws more often what is of one row each, and what is limited, or selected, by a value of groups without negative numbers."""

    def query(self, depth: int) -> q.Node:
        shape = self.random.random()
        if shape < 0.12:
            return first(q.Aggregate(self.node(0), (q.Col(1),), (q.Call("sum", q.Col(2)),)), self.random.choice((1, 2)))
        if shape < 0.22:
            return super().query(depth)
        if shape < 0.45:
            rows = self.random.choice((self.filter, self.join, self.semi))(2)
            return rows if self.random.random() < 0.4 else self.first_of(rows if self.random.random() < 0.3 else self.node(0))
        child: q.Node = self.node(self.random.choice((0, 0, 1, 2)))
        argument = self.column(child, "int")
        if self.random.random() < 0.5:
            child = q.Filter(child, q.Op("<=", (number(0), argument)))
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        keys = tuple(q.Col(at) for at in self.random.sample(columns, self.random.choice((1, 1, 2)) if len(columns) > 1 else 1))
        call = q.Call(self.random.choice(("sum", "count", "max", "min")), argument) if self.random.random() < 0.8 else self.call(child)
        grouped: q.Node = q.Aggregate(child, keys, (call,))
        if self.random.random() < 0.5:
            grouped = q.Filter(grouped, self.comparison(q.Col(len(keys)), grouped))
        if shape < 0.65:
            return grouped
        return self.first_of(grouped)

    def on_steps(self, depth: int) -> q.Node:
        """Groups by a function that goes up in steps, selected or limited by what was computed of them."""
        grouped = self.by_steps(depth)
        return grouped if self.random.random() < 0.7 else self.first_of(q.children(grouped)[0])

    def first_of(self, child: q.Node) -> q.Node:
        width = len(self.types(child))
        descending = frozenset(at for at in range(width) if self.random.random() < 0.7)
        return q.TopK(q.Project(child, tuple(q.Col(at) for at in reversed(range(width)))), self.random.choice((1, 1, 2)), 0, descending)


def appended(random: Random, names: Leaves, least: int, lower: int, full: bool) -> tuple[Leaves, q.Data]:
    """Tables, and rows that come to one of them, of which no number is below ``lower`` (`tables` says what is drawn)."""
    made, (new,) = tables(random, ("t0", "t1"), least, full=full), tables(random, ("t0",), lower, full=full).values()
    added = replace(new, rows=tuple((row[0] + 1000, *row[1:]) for row in new.rows[: random.choice((1, 2, 8))]))
    return {one: made[one.split("@")[0]] for one in names}, added


def checked(seed: int, told: Counter[str], of: Callable[[Grouping, int], q.Node] = Grouping.query) -> Iterator[str]:
    """One random query (``of`` a kind) over some random tables, to one of which rows are added; what is wrong."""
    random = Random(seed)
    node, names = apart(of(Grouping(random), random.choice((1, 2, 2, 3))), tables(random, ("t0", "t1"), 0))
    name = random.choice(sorted(names))
    try:
        pipeline = pipeline_of(node, names)
    except NoPlan:
        return
    told["plans"] += 1
    keys = {leaf_of(one): ("rid",) for one in names} if random.random() < 0.3 else {}
    least, full = (0, True) if random.random() < 0.5 else (random.choice((0, -3)), False)
    lower = -3 if random.random() < 0.2 else least
    drawn = [appended(random, names, least, lower, full) for _ in range(4)]
    whole = [{**old, name: replace(old[name], rows=old[name].rows + added.rows)} for old, added in drawn]
    bounds = bounds_of(whole) if random.random() < 0.5 else {}
    aside = Random(repr(node))
    columns = [*(column for column, _ in COLUMNS), aside.choice(SEVERAL)]
    found = {column: append_rule(pipeline, leaf_of(name), column, bounds=bounds, keys=keys) for column in columns}
    rules = {column: rule for column, rule in found.items() if isinstance(rule, AppendRule)}
    told["with a rule"] += bool(rules)
    told["by steps"] += any(rule.aligned for rule in rules.values())
    told.update({rule.name: 1 for rule in rules.values()})
    told["by bounds"] += bool(bounds) and any(
        isinstance(append_rule(pipeline, leaf_of(name), column, keys=keys), str) for column in rules
    )  # fmt: skip
    for old, added in drawn if rules else ():
        for column, rule in rules.items():
            try:
                drawing = aside if column in SEVERAL else random
                told["several together"] += column in SEVERAL
                yield from (f"seed {seed}: {text}" for text in wrong(node, old, name, added, column, rule, drawing, told))
            except Ambiguous:
                told["ambiguous"] += 1


def series(seeds: range, of: Callable[[Grouping, int], q.Node] = Grouping.query) -> Counter[str]:
    """What became of queries, of none of which a sketch loses anything."""
    told: Counter[str] = Counter()
    violations = [text for seed in seeds for text in checked(seed, told, of)]
    print(dict(told))
    assert not violations, violations[0]
    return told


@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_with_new_rows_a_sketch_loses_nothing(block: int) -> None:
    first_seed = SEED * 1_000_000 + block * BLOCK
    told = series(range(first_seed, first_seed + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE)))
    # A judge that refuses everything would pass, and so would sketches of results that no new row changes.
    assert told["with a rule"] >= 0.15 * told["plans"]
    rules = ("linear", "groups", "order", "order of groups")
    assert sum(told[f"{rule} checks with another result"] > 0 for rule in rules) >= (3 if QUICK else 4)
    assert told["by bounds"] > 0


@pytest.mark.parametrize("block", range(-(-EXAMPLES // (4 * BLOCK)) if EXAMPLES else 1))
def test_with_new_rows_of_groups_by_steps_a_sketch_loses_nothing(block: int) -> None:
    first_seed = SEED * 1_000_000 + block * BLOCK
    told = series(range(first_seed, first_seed + (BLOCK if EXAMPLES else SAMPLE_BY_STEPS)), Grouping.on_steps)
    assert told["by steps"] >= 0.1 * told["plans"]
    assert told["checks by steps with another result"] > 0


# --- without a rule ----------------------------------------------------------------------------------------------------


def anything(*_args: Any, **_further: Any) -> None:
    """Nothing is required."""


def not_of_old_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(appends, "AppendRule", lambda name, _fragments, aligned=(): AppendRule(name, False, aligned))


def added_to(rows: q.Data, *some: tuple[object, ...]) -> q.Data:
    return replace(rows, rows=tuple((at + 1000, *row) for at, row in enumerate(some)))


TWICE = q.Join("inner", q.Table("t@0"), q.Table("t@0"), equal(1, 5))
COUNTS_OF_F = q.Filter(by_group("count"), more(q.Col(1), 1))
SUMS = first(by_group("sum", q.Filter(T, q.Op("not", (q.Op("is_null", (X,)),)))))
RULES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], q.Node, str, tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]] = {
    "read once": (
        lambda patch: patch.setattr(appends, "_require_once", anything),
        q.Filter(TWICE, q.Op("<", (q.Col(2), q.Col(6)))), "f", ((1, 5, 1), (2, 5, 2), (3, 6, 3)), ((1, 9, 3), (4, 9, 3)),
    ),
    "whole groups": (
        lambda patch: patch.setattr(appends._Watched, "require_whole", anything),
        COUNTS_OF_F, "f", ((1, 0, 1), (2, 0, 2), (2, 0, 2)), ((1, 0, 3),),
    ),
    "cuts where steps begin": (
        lambda patch: patch.setattr(against, "aligned", lambda cuts, _steps: cuts),
        q.Filter(by_step(), q.Op("<", (q.Col(1), number(3)))), "x", ((1, 2, 0), (1, 3, 0), (1, 3, 0), (1, 4, 0)), ((1, 2, 0),),
    ),
    "fragments of new rows": (not_of_old_rows, COUNTS_OF_F, "g", ((1, 0, 1), (2, 0, 2), (2, 0, 2)), ((1, 0, 3),)),
    "only better": (
        lambda patch: patch.setattr(appends, "_AnyRows", appends._Watched), SUMS, "g", ((1, 5, 1), (2, 4, 2)), ((1, -3, 1),),
    ),
    "only better, and still there": (
        lambda patch: patch.setattr(appends, "_AnyRows", appends._Watched),
        first(q.Filter(by_group("sum", POSITIVE), q.Op("<", (q.Col(1), number(9))))), "g", ((1, 5, 1), (2, 4, 2)), ((1, 7, 1),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With it the sketch is not used, or loses nothing; without it it is used, and gives other rows."""
    without, node, column, rows, new = RULES[rule]
    given = {"t": table("g x f", *rows)}
    query, leaves = (node, {"t@0": given["t"]}) if rule == "read once" else apart(node, given)
    added, pipeline = added_to(given["t"], *new), pipeline_of(query, leaves)

    def violations() -> list[str]:
        found = append_rule(pipeline, 0, column)
        return [] if isinstance(found, str) else list(wrong(query, leaves, "t@0", added, column, found, Random(1), Counter()))

    assert not violations()
    without(monkeypatch)
    assert violations()


def test_statistics_are_of_the_version_with_the_new_rows() -> None:
    """Of the old rows no number is below 0: a sum can only grow by rows like these, and by the new row it does not."""
    query, old = apart(first(by_group("sum")), {"t": table("g x f", (1, 5, 1), (2, 4, 2))})
    added = added_to(old["t@0"], (1, -3, 1))
    whole = {"t@0": replace(old["t@0"], rows=old["t@0"].rows + added.rows)}

    def known(leaves: Leaves) -> dict[tuple[int, str], ColumnBounds]:
        found = [row[2] for row in leaves["t@0"].rows]
        return {(0, "x"): ColumnBounds(str(min(found)), str(max(found)), has_null=False)}

    rule = append_rule(pipeline_of(query, old), 0, "g", bounds=known(old))
    assert isinstance(rule, AppendRule)
    assert list(wrong(query, old, "t@0", added, "g", rule, Random(1), Counter()))
    assert isinstance(append_rule(pipeline_of(query, old), 0, "g", bounds=known(whole)), str)


def test_no_other_source_may_be_read_through_a_sketch() -> None:
    """New rows have partners that old ones had not."""
    node, old = apart(
        q.Join("inner", T, S, equal(1, 5)), {"t": table("g x f", (1, 0, 1), (3, 0, 2)), "s": table("g x f", (1, 0, 1), (2, 0, 2))}
    )
    added = added_to(old["t@0"], (2, 0, 1))
    both = {"t@0": replace(old["t@0"], rows=old["t@0"].rows + added.rows), "s@1": old["s@1"]}
    halves = Partition(type="bigint", cuts=(2,))
    behind = evaluate.rows(node, old)
    part = read(old["t@0"], added, "g", halves, accurate(behind, "t@0", old["t@0"], "g", halves), AppendRule("linear", False))
    of_s = over_sketch(old["s@1"], "g", halves, accurate(behind, "s@1", old["s@1"], "g", halves))
    expected = values_of(evaluate.rows(node, both))
    assert values_of(evaluate.rows(node, {"t@0": part, "s@1": old["s@1"]})) == expected
    assert values_of(evaluate.rows(node, {"t@0": part, "s@1": of_s})) != expected
