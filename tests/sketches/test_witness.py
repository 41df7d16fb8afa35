"""One row in place of each group: random queries with minima and maxima, over what their witnesses are in, give the rows that they gave."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import AggregateCall
from airflow_lineage_provider.sketches import capture, witness
from airflow_lineage_provider.sketches.carried_run import CarriedRun, carried_run
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.marks import Carried as Marked
from airflow_lineage_provider.sketches.marks import Carrying, One
from airflow_lineage_provider.sketches.partition import Partition
from tests.in_turn import few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous
from tests.sketches.against import accurate, drawn, judged, over_sketch, partitions, values_of, with_steps
from tests.sketches.carrying import Case, Executed, _bag, fragments, tables_of
from tests.sketches.drawn import Drawer

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, BLOCK, MOST = few(90, 6), 250, 60


class Extremes(Drawer):
    """Draws queries whose functions are minima and maxima, most often."""

    def call(self, child: q.Node) -> q.Call:
        if self.random.random() < 0.2:
            return super().call(child)
        return q.Call(self.random.choice(("max", "min")), self.column(child, "int"))

    def beside(self, depth: int) -> q.Node:
        """A selection on a function beside another one."""
        child = self.node(depth - 2)
        grouped = q.Aggregate(child, (self.column(child, "int"),), (self.call(child), q.Call("count")))
        return q.Filter(grouped, q.Op("<", (q.Lit(1, "int"), q.Col(2))))

    def nested(self, depth: int) -> q.Node:
        child = self.grouped(depth - 1)
        return q.Aggregate(child, (), (self.call(child),))

    def filtered(self, depth: int) -> q.Node:
        child = self.node(depth - 2)
        call = q.Call("max", self.column(child, "int"), where=self.condition(child))
        return q.Aggregate(child, (self.column(child, "string"),), (call,))

    def of_join(self, depth: int) -> q.Node:
        child = self.join(max(1, depth - 1))
        return q.Aggregate(child, (self.column(child, "string"),), (self.call(child),))


KINDS = (Extremes.having, Extremes.grouped, Extremes.query, Extremes.of_join, Extremes.nested, Extremes.beside, Extremes.filtered)


@dataclass
class Counted:
    """Of how many leaves witnesses were carried; those of which they have ``fewer`` fragments than all rows have; over how many the query
    was asked again."""

    witnessed: int = 0
    whole: int = 0
    fewer: int = 0
    checks: int = 0
    violations: list[str] = field(default_factory=list)


def check(seed: int, counted: Counted, kinds: Sequence[Callable[[Any, int], q.Node]] = KINDS) -> None:
    """One random query over some random tables; what is wrong is noted."""
    random = Random(seed)
    kind = random.choice(kinds)
    node, given = drawn(random, random.choice((2, 2, 3, 4)), query=lambda drawer, depth: kind(Extremes(drawer.random), depth))
    verdicts = judged(node, given, random)
    if verdicts is None:
        return
    safe = [one for one in verdicts if one.safe and not (one.ties or one.at_limit or one.needs_rows or one.needs_fewer)]
    for tables in itertools.islice(given, 3):
        case = Case.of(node, tables, random)
        if case is not None and safe:
            _checked(case, tables, safe, random, counted)


def _checked(case: Case, given: Mapping[str, q.Data], safe: Sequence[SafeColumn], random: Random, counted: Counted) -> None:
    names = {int(name.split("@")[1]): name for name in given}
    columns = {leaf: random.choice([one for one in safe if one.leaf == leaf]) for leaf in {one.leaf for one in safe}}
    cut = {
        leaf: (one.column, with_steps(random.choice(list(partitions(random, given[names[leaf]], one.column))), one.aligned))
        for leaf, one in columns.items()
    }
    counts = {leaf: partition.count for leaf, (_, partition) in cut.items()}
    run = carried_run(case.made, case.rest, {leaf: one.column for leaf, one in columns.items()}, counts, witness=True)
    try:
        expected = evaluate.rows(case.node, dict(given))
    except Ambiguous:
        return
    numbered = {leaf: one for leaf, one in cut.items() if leaf in run.numbered}
    rows = Executed(run.programs, run.rest, tables_of(given, numbered)).rows()
    own = [a.name for a in case.result]
    plain = Executed(case.made, case.rest, tables_of(given, {})).rows()
    if _bag(rows, own) != _bag(plain, own):
        counted.violations.append(f"other rows: {case.node}\n{given}")
    if _bag(rows, own) != values_of(expected):
        return  # DuckDB means something else
    inside = {leaf: fragments(run, leaf, rows, cut[leaf][1]) for leaf in run.marks}
    for leaf, found in inside.items():
        right = accurate(expected, names[leaf], given[names[leaf]], *cut[leaf])
        if leaf in run.witnessed:
            counted.witnessed += 1
            counted.fewer += found < right
        else:
            counted.whole += leaf in run.whole
        if not found <= right or (leaf not in run.witnessed and found != right):
            counted.violations.append(f"{sorted(found)} and not {sorted(right)} of {names[leaf]}: {case.node}\n{given}")
    counted.violations += _other_rows(case, given, cut, inside, run, random, counted)


def _other_rows(
    case: Case, given: Mapping[str, q.Data], cut: Mapping[int, tuple[str, AnyPartition]], inside: Mapping[int, frozenset[int]],
    run: CarriedRun, random: Random, counted: Counted,
) -> list[str]:  # fmt: skip
    """What the query gives over all that was carried, over what was of one leaf, and over something more of each."""
    if not run.witnessed:
        return []
    names, expected = {int(name.split("@")[1]): name for name in given}, values_of(evaluate.rows(case.node, dict(given)))
    more = {leaf: found | {one for one in range(cut[leaf][1].count) if random.random() < 0.2} for leaf, found in inside.items()}
    wrong = []
    for some in (inside, more, *({leaf: inside[leaf]} for leaf in run.witnessed)):
        read = {names[leaf]: over_sketch(given[names[leaf]], *cut[leaf], found) for leaf, found in some.items()}
        counted.checks += 1
        try:
            found_rows = values_of(evaluate.rows(case.node, {**given, **read}))
        except Ambiguous:
            continue
        if found_rows != expected:
            wrong.append(f"{found_rows} and not {expected} over {some} of {cut}: {case.node}\n{given}")
    return wrong


@pytest.mark.long
@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_over_its_witnesses_a_query_gives_the_same_rows(block: int) -> None:
    counted, first = Counted(), SEED * 1_000_000 + block * BLOCK
    for seed in range(first, first + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE)):
        check(seed, counted)
    print({name: value for name, value in vars(counted).items() if name != "violations"})
    assert not counted.violations, counted.violations[0]
    # What is carried of nothing is never wrong, and nor is what has all rows.
    assert counted.fewer > 0.03 * SAMPLE
    assert counted.whole > 0.03 * SAMPLE
    assert counted.checks > 2 * counted.fewer


def _first_extreme(node: o.Aggregate) -> list[AggregateCall]:
    """The functions without those beside a minimum or a maximum."""
    calls = CALLS_OF(node)
    return [one for one in calls if one.function in ("max", "min")][:1] or calls


def _apart(node: o.Aggregate, made: Marked, witnessed: Sequence[One], how: Carrying) -> Marked:
    """Of each source its own witness."""
    each: list[Any] = [WITH_WITNESS(node, made, [mark], how) for mark in witnessed]
    assert isinstance(made.plan, o.Aggregate)
    grouped = replace(made.plan, columns=(*made.plan.columns, *(one.plan.child.columns[-1] for one in each)))
    plan = o.Project(child=grouped, columns=(*made.plan.output, *(one.plan.columns[-1] for one in each)))
    return replace(made, plan=plan, marks=(*made.marks, *(one.marks[-1] for one in each)))


CALLS_OF, WITH_WITNESS, WHY_NOT = witness.calls_of, capture._with_witness, witness.why_no_witness


def _whatever_is_filtered(node: o.Aggregate, **further: bool) -> str:
    plain = replace(node, columns=tuple(_unfiltered(one) for one in node.columns))
    return WHY_NOT(plain, **further)


def _unfiltered(one: Any) -> Any:
    return replace(one, child=replace(one.child, filter=None)) if isinstance(getattr(one, "child", None), AggregateCall) else one


MUTATIONS: dict[str, tuple[tuple[tuple[Any, str, Callable[..., Any]], ...], Callable[[Any, int], q.Node], int]] = {
    "groups of groups have witnesses": (((capture, "_by_row", lambda *_: True),), Extremes.nested, 150),
    "other functions are computed of one row": (
        ((capture, "calls_of", _first_extreme), (witness, "calls_of", _first_extreme)), Extremes.beside, 1,
    ),
    "the row need not be one that counts": (((capture, "why_no_witness", _whatever_is_filtered),), Extremes.filtered, 30),
}  # fmt: skip
"""Of each the patches, the queries, and the first seed that is asked: one soon after it sees what is wrong."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_random_queries_see_what_is_no_witness(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patches, kind, first = MUTATIONS[name]
    for module, attribute, mutated in patches:
        monkeypatch.setattr(module, attribute, mutated)
    counted = Counted()
    for seed in range(first, first + MOST):
        check(seed, counted, (kind,))
        if counted.violations:
            return
    raise AssertionError(f"{MOST} queries do not see it: {vars(counted)}")


def test_of_several_sources_the_rows_of_one_witness_are_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs of partners give the maximum; of the one table the first row has the larger number, and of the other the second."""
    columns = (("rid", "int"), ("k", "int"), ("v", "int"), ("s", "string"))
    given = {
        "t0@0": q.Data(columns, ((1, 1, 5, "a"), (2, 2, 5, "a"))),
        "t1@1": q.Data(columns, ((3, 1, 9, "a"), (4, 2, 0, "a"))),
    }  # fmt: skip
    joined = q.Join("inner", q.Table("t0@0"), q.Table("t1@1"), q.Op("=", (q.Col(1), q.Col(5))))
    node = q.Aggregate(joined, (q.Col(3),), (q.Call("max", q.Col(2)),))
    cut = {0: ("k", Partition(type="bigint", cuts=(2,))), 1: ("v", Partition(type="bigint", cuts=(5,)))}

    def found() -> list[Any]:
        case = Case.of(node, given, Random(0))
        assert case is not None
        run = carried_run(case.made, case.rest, {0: "k", 1: "v"}, {0: 4, 1: 4}, witness=True)
        assert run.witnessed == {0, 1}
        rows = Executed(run.programs, run.rest, tables_of(given, cut)).rows()
        names = ("t0@0", "t1@1")
        read = {name: over_sketch(given[name], *cut[at], fragments(run, at, rows, cut[at][1])) for at, name in enumerate(names)}
        assert [len(one.rows) for one in read.values()] == [1, 1]
        return [row.values for row in evaluate.rows(node, read)]

    assert found() == [("a", 5)]
    monkeypatch.setattr(capture, "_with_witness", _apart)
    assert found() == [], "a row each, which are no partners"
