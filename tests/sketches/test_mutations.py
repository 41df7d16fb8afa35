"""Each rule is needed: with it left out, or weakened, a query has a "safe" column and other rows over a sketch of that.

Every query has rows that the rule is there for; the right rules judge the same columns unsafe, or lose nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import all_operators, operators
from airflow_lineage_provider.sketches import aggregation, columns, groups, keys, null_rejecting, order, proof, reuse, safety
from airflow_lineage_provider.sketches.column_text import of_columns
from airflow_lineage_provider.sketches.formula import Formulas
from airflow_lineage_provider.sketches.generated import made_rows
from airflow_lineage_provider.sketches.proof import Above, NotSafe, Proof
from airflow_lineage_provider.sketches.statistics import ColumnBounds, source_facts
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.sketches import against, beside, test_reuse, tied
from tests.sketches.against import Counted, bounds_of, check, compared
from tests.sketches.drawn import Drawer
from tests.sketches.planned import apart, planned
from tests.sketches.test_reuse import wrong

pytest.importorskip("z3")

Patch = pytest.MonkeyPatch
REQUIRE, REQUIRE_SAME, LET_PASS, RELATED = Proof.require, Proof.require_same, safety._let_pass, safety.relate


def without(rule: str) -> Callable[[Patch], None]:
    """What the rule requires is not required."""

    def let_pass(name: str, *rest: Any, **further: Any) -> None:
        if name != rule:
            LET_PASS(name, *rest, **further)

    def same(proof: Proof, name: str, *rest: Any) -> None:
        if name != rule:
            REQUIRE_SAME(proof, name, *rest)

    def patched(patch: Patch) -> None:
        patch.setattr(safety, "_let_pass", let_pass)
        patch.setattr(Proof, "require_same", same)

    return patched


def always(module: object, name: str, value: object = True) -> Callable[[Patch], None]:
    """A question is always answered so."""
    return lambda patch: patch.setattr(module, name, lambda *_args, **_further: value)


def never_raised(rule: str, words: str = "") -> Callable[[Patch], None]:
    """Where the rule refuses an operator, the input's rows are taken for its rows."""

    def related(node: o.Plan, above: Above, proof: Proof) -> Any:
        try:
            return RELATED(node, above, proof)
        except NotSafe as error:
            if error.rule != rule or error.node is not node or words not in error.because:
                raise
            child = node.left if isinstance(node, o.Join) else node.child  # type: ignore[union-attr]
            found = related(child, above, proof)
            return replace(found, sketched=True, keys=())

    return lambda patch: (patch.setattr(safety, "relate", related), patch.setattr(columns, "relate", related))[0]


def everywhere(**change: bool) -> Callable[[Patch], None]:
    """Of what is above, something is always said."""
    return lambda patch: patch.setattr(safety, "_related", Wrapped(change))


class Wrapped:
    """The rules, with something else said of what is above."""

    def __init__(self, change: dict[str, bool]) -> None:
        self.rules, self.change = safety._related, change

    def __call__(self, node: o.Plan, above: Above, proof: Proof) -> Any:
        return self.rules(node, replace(above, **self.change), proof)


def no_nulls(patch: Patch) -> None:
    """As the paper: values alone are compared."""
    patch.setattr(Formulas, "at_most", lambda self, one, other, kind="number": self.ordered(one, kind) <= self.ordered(other, kind))
    patch.setattr(order, "_before", lambda key, one, other, proof: one.value < other.value if key.ascending else one.value > other.value)
    patch.setattr(Formulas, "_true", lambda self, found: found.value)
    patch.setattr(Formulas, "alike", lambda self, one, other: one.value == other.value)


def statistics_forget_null(patch: Patch) -> None:
    def facts(node: o.Source, bounds: Any, formulas: Formulas) -> Any:
        return source_facts(node, {at: one._replace(has_null=False) for at, one in bounds.items()}, formulas)

    patch.setattr(safety, "source_facts", facts)


def needs_no_rows(patch: Patch) -> None:
    judged = columns.Question.judged
    patch.setattr(columns.Question, "judged", lambda *args: replace(judged(*args), needs_rows=False))


def any_limit_is_uncut(patch: Patch) -> None:
    """One below what drops rows is taken for the last one: how many rows the result has says nothing of it."""

    def first(plan: o.Plan) -> o.Limit | None:
        return next((node for node in operators(plan) if isinstance(node, o.Limit) and not node.offset), None)

    def refused(plan: o.Plan, limit: o.Limit, leaf: int) -> None:
        raise NotSafe("limit", limit, "sketches of all rows in its places are another way")

    patch.setattr(columns, "last_limit", first)
    patch.setattr(columns, "require_same_rows", refused)


def global_rows_are_known(patch: Patch) -> None:
    """What holds of the rows below a global aggregation is taken to hold of some row, where there may be none."""
    grouped = groups._grouped

    def kept(node: o.Aggregate, calls: Any, known: Any, *rest: Any) -> Any:
        found = grouped(node, calls, known, *rest)
        return found if node.keys else replace(found, single=found.single + known.single, pair=found.pair + known.pair)

    patch.setattr(groups, "_grouped", kept)


def no_offset(patch: Patch) -> None:
    limit = safety._related.dispatch(o.Limit)
    rules = safety._related

    def related(node: o.Plan, above: Above, proof: Proof) -> Any:
        return limit(replace(node, offset=0), above, proof) if isinstance(node, o.Limit) else rules(node, above, proof)

    patch.setattr(safety, "_related", related)


def same_in_all_branches(patch: Patch) -> None:
    """A union's rows are taken for rows of its first branch."""
    of = safety._of_branch
    patch.setattr(safety, "_of_branch", lambda node, known, child, proof, row: of(node, known, node.children[0], proof, row))


# --- queries -----------------------------------------------------------------------------------------------------------

Queried = tuple[q.Node, dict[str, q.Data]]
T, S, U = q.Table("t"), q.Table("s"), q.Table("u")
G, X, FRAGMENT = q.Col(1), q.Col(2), q.Col(3)
"""The columns of the tables: a group, a number, and the number of a fragment."""


def rows(*some: tuple[object, ...]) -> q.Data:
    """Rows of g, x, f; a rid comes first."""
    return q.Data((("rid", "int"), ("g", "int"), ("x", "int"), ("f", "int")), tuple((at, *row) for at, row in enumerate(some)))


def number(value: int | None) -> q.Lit:
    return q.Lit(value, "int")


def more(one: q.Expr, bound: int) -> q.Expr:
    return q.Op("<", (number(bound), one))


def by_group(function: Any, child: q.Node = T, keys: tuple[q.Expr, ...] = (G,), argument: q.Expr | None = X) -> q.Aggregate:
    return q.Aggregate(child, keys, (q.Call(function, None if function == "count" else argument),))


def equal(one: int, other: int) -> q.Expr:
    return q.Op("=", (q.Col(one), q.Col(other)))


HALVES = rows((1, 5, 1), (1, 1, 2), (2, 5, 1))
"""Of group 1, fragment 1 has the one row, and fragment 2 the other; group 2 is in fragment 1."""
COUNTS = by_group("count")
MINIMA = by_group("min")
MIN_OVER_3: Queried = q.Filter(MINIMA, more(q.Col(1), 3)), {"t": HALVES}


def with_h(*some: tuple[object, ...]) -> q.Data:
    """Rows of g, h, x, f; a rid comes first."""
    columns = (("rid", "int"), ("g", "int"), ("h", "int"), ("x", "int"), ("f", "int"))
    return q.Data(columns, tuple((at, *row) for at, row in enumerate(some)))


WITH_H = {"t": with_h((1, 1, 5, 1), (1, 1, 1, 2), (2, 1, 5, 1))}
MIN_OF_H = q.Aggregate(T, (q.Col(1), q.Col(2)), (q.Call("min", q.Col(3)),))
LARGE = q.Op("case", (more(q.Col(2), 3), q.Col(2), number(None)))


def first(descending: bool, child: q.Node, skip: int = 0) -> q.TopK:
    """The first row by the second column, then the first."""
    turned = q.Project(child, (q.Col(1), q.Col(0)))
    return q.TopK(turned, 1, skip, frozenset({0}) if descending else frozenset())


FIRST_ROWS = q.Filter(q.Window(T, (q.Over("row_number"),), (1,), ((2, False), (0, False))), q.Op("<=", (q.Col(4), number(1))))
COUNT_OF_F1 = q.Aggregate(q.Filter(T, q.Op("=", (FRAGMENT, number(1)))), (), (q.Call("count"),))
NUMBERS = q.Project(S, (G,))

MUTATIONS: dict[str, tuple[Callable[[Patch], None], Queried]] = {
    "selection": (without("selection"), MIN_OVER_3),
    "join": (without("join"), (q.Join("inner", MINIMA, S, equal(1, 3)), {"t": HALVES, "s": rows((5, 0, 0))})),
    "group keys": (
        without("group"),
        (q.Filter(by_group("count", COUNTS, (q.Col(1),)), more(q.Col(1), 1)), {"t": rows((1, 0, 1), (1, 0, 2), (2, 0, 1), (3, 0, 1))}),
    ),
    "outer join's condition": (
        without("outer join"),
        (
            q.Filter(q.Join("left", COUNTS, S, equal(1, 3)), q.Op("not", (q.Op("is_null", (q.Col(3),)),))),
            {"t": HALVES, "s": rows((1, 0, 0))},
        ),
    ),
    "difference's condition": (without("difference"), (q.Semi("anti", COUNTS, S, equal(1, 3)), {"t": HALVES, "s": rows((2, 0, 0))})),
    "generator": (
        without("generator"),
        (q.Filter(q.Explode(COUNTS, (q.Col(1), number(9))), q.Op("=", (q.Col(2), number(1)))), {"t": HALVES}),
    ),
    "different rows": (
        without("group"),  # canonically DISTINCT is a grouping
        (
            q.Filter(
                q.Aggregate(
                    q.Distinct(q.Project(q.Aggregate(T, (q.Col(1), q.Col(2)), (q.Call("count"),)), (q.Col(0), q.Col(2)))),
                    (q.Col(0),),
                    (q.Call("count"),),
                ),
                more(q.Col(1), 1),
            ),
            # Of group 1 both counts are 2, over fragment 1 they are 1 and 2.
            {"t": with_h((1, 1, 0, 1), (1, 1, 0, 2), (1, 2, 0, 1), (1, 2, 0, 1), (2, 1, 0, 1), (2, 2, 0, 1), (2, 2, 0, 1))},
        ),
    ),
    "one of several columns": (lambda patch: patch.setattr(proof, "all", any, raising=False), MIN_OVER_3),
    "whole groups": (always(Proof, "determined"), MIN_OVER_3),
    "sign of a sum": (
        always(aggregation, "has_sign"),
        (q.Filter(by_group("sum"), more(q.Col(1), 10)), {"t": rows((1, 11, 1), (1, -5, 2), (2, 12, 1))}),
    ),
    "sum of what changes": (
        always(aggregation, "_argument"),
        (
            q.Filter(by_group("sum", MIN_OF_H, (q.Col(0),), q.Op("case", (more(q.Col(2), 0), q.Col(2), number(0)))), more(q.Col(1), 3)),
            WITH_H,
        ),
    ),
    "count of what changes": (
        always(aggregation, "_counts_less"),
        (q.Filter(q.Aggregate(MIN_OF_H, (q.Col(0),), (q.Call("count", LARGE),)), more(q.Col(1), 0)), WITH_H),
    ),
    "filter of what changes": (
        always(aggregation, "_filter_only_loses"),
        (q.Filter(q.Aggregate(MIN_OF_H, (q.Col(0),), (q.Call("count", where=more(q.Col(2), 3)),)), more(q.Col(1), 0)), WITH_H),
    ),
    "no NULLs": (no_nulls, (first(True, by_group("sum")), {"t": rows((1, 5, 1), (1, None, 2), (2, 7, 2))})),
    "statistics forget NULL": (statistics_forget_null, (first(True, by_group("sum")), {"t": rows((1, 5, 1), (1, None, 2), (2, 7, 2))})),
    "outer join": (
        never_raised("outer join"),
        (
            q.Filter(q.Join("left", T, S, equal(1, 5)), q.Op("is_null", (q.Col(5),))),
            {"t": rows((1, 0, 0), (2, 0, 0)), "s": rows((2, 0, 0))},
        ),
    ),
    "an outer join's rows without a partner": (
        always(null_rejecting, "_rejects"),
        (
            q.Filter(q.Join("left", T, by_group("count", S), equal(1, 4)), q.Op("is_null", (q.Col(5),))),
            {"t": rows((1, 0, 0), (2, 0, 0)), "s": rows((1, 0, 1), (2, 0, 2))},
        ),
    ),
    "something in NULL's place": (
        always(null_rejecting, "_is_null"),
        (
            q.Filter(
                q.Join("left", T, by_group("count", S), equal(1, 4)),
                q.Op("<", (X, q.Op("coalesce", (q.Col(5), number(9))))),
            ),
            {"t": rows((1, 5, 0), (2, 0, 0)), "s": rows((1, 0, 1), (2, 0, 2))},
        ),
    ),
    "difference": (
        never_raised("difference"),
        (q.Semi("anti", T, S, equal(1, 5)), {"t": rows((1, 0, 0), (2, 0, 0)), "s": rows((2, 0, 0))}),
    ),
    "window": (
        never_raised("window"),
        (
            q.Filter(FIRST_ROWS, more(X, 1)),
            {"t": rows((1, 1, 1), (1, 2, 2), (2, 5, 2))},
        ),
    ),
    "limit's order": (always(safety, "only_worse", None), (first(True, MINIMA), {"t": HALVES})),
    "limit below what drops": (
        everywhere(kept=True),
        (q.Filter(q.TopK(q.Project(T, (G, X, FRAGMENT)), 2), more(q.Col(1), 5)), {"t": rows((1, 3, 1), (2, 9, 2), (3, 8, 2))}),
    ),
    "offset": (no_offset, (first(False, q.Project(T, (G, X)), skip=1), {"t": rows((1, 1, 1), (2, 2, 2))})),
    "a row behind all": (
        everywhere(in_every=True),
        (q.Union(NUMBERS, q.Filter(by_group("count", T, ()), q.Op("<", (q.Col(0), number(2))))), {"t": HALVES, "s": HALVES}),
    ),
    "needs rows": (needs_no_rows, (q.Filter(by_group("count", T, ()), q.Op("<", (q.Col(0), number(2)))), {"t": HALVES})),
    "global rows are known": (
        global_rows_are_known,
        (
            q.Union(
                q.Project(S, (G, X)),
                q.Filter(by_group("max", q.Join("cross", U, COUNT_OF_F1), (G,), q.Col(4)), q.Op("<", (q.Col(1), number(2)))),
            ),
            {"t": HALVES, "s": HALVES, "u": HALVES},
        ),
    ),
    "a limit that is not the last": (
        any_limit_is_uncut,
        (q.Filter(q.TopK(q.Project(T, (G, X, FRAGMENT)), 2), more(q.Col(1), 5)), {"t": rows((1, 3, 1), (2, 9, 2), (3, 8, 2))}),
    ),
    "union": (
        same_in_all_branches,
        (
            q.Filter(by_group("min", q.Union(T, S)), more(q.Col(1), 3)),
            {"t": rows((1, 1, 1), (2, 5, 1)), "s": rows((1, 5, 1))},
        ),
    ),
}


def violations(queried: Queried) -> list[str]:
    """What the oracle has against the columns that the prover calls safe; no number of the tables is below those that are there."""
    node, leaves = apart(*queried)
    at = {name: [column for column, _ in data.columns].index("x") for name, data in leaves.items()}
    least = {name: min(row[at[name]] for row in data.rows if row[at[name]] is not None) for name, data in leaves.items()}
    bounds = {(int(name.split("@")[1]), "x"): ColumnBounds(str(bound)) for name, bound in least.items()}
    plan = planned(node, leaves)
    pipeline = Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))
    together = [(int(name.split("@")[1]), of_columns(("f", "g"))) for name in leaves]
    found = [one for only in (None, together) for one in columns.safe_columns(pipeline, bounds=bounds, only=only)]
    result = evaluate.rows(node, leaves)
    return [wrong for one in found if one.safe for wrong in compared(node, leaves, one, Random(1), Counted(), result)]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_weaker_rule_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weaker, queried = MUTATIONS[name]
    assert not violations(queried)
    weaker(monkeypatch)
    assert violations(queried)


# --- what random queries find out --------------------------------------------------------------------------------------


def named_by_any_equality(_side: o.Plan, its: Any, condition: e.Expression | None, proof: Proof) -> bool:
    """An equality of the other side's own columns is taken for one that says which of its rows is met."""
    equal = [one for one in e.conjuncts(condition) if isinstance(one, e.Call) and one.function == "="] if condition is not None else []
    named = {proof.origin(part.id) for one in equal for part in one.arguments if isinstance(part, e.Attribute)}
    return any(key <= named for key in its)


def of_any_run(plan: o.Plan) -> set[frozenset[int]]:
    """Sketches are taken source by source, whatever run they are of."""
    return {frozenset({one.leaf}) for one in all_operators(plan) if isinstance(one, o.Source)}


def one_source(seed: int) -> list[str]:
    counted = Counted()
    check(seed, counted)
    return counted.violations


def grouped_by_steps(seed: int) -> list[str]:
    counted = Counted()
    check(seed, counted, of=Drawer.by_steps)
    return counted.violations


def grouped_by_sets(seed: int) -> list[str]:
    counted = Counted()
    check(seed, counted, of=Drawer.by_sets)
    return counted.violations


def first_set_alone(patch: Patch) -> None:
    """What was generated is taken for the first of the rows that a generator makes."""
    patch.setattr(safety, "made_rows", lambda node: made_rows(node)[:1])


def several_sources(seed: int) -> list[str]:
    return beside.check(seed, Counter())


def other_constants(seed: int) -> list[str]:
    return list(wrong(seed, Counter()))


def statistics_without(module: Any, change: Callable[[ColumnBounds], ColumnBounds]) -> Callable[[Patch], None]:
    """Statistics that say more than holds."""
    return lambda patch: patch.setattr(module, "bounds_of", lambda given: {at: change(one) for at, one in bounds_of(given).items()})


def at_least_one(one: ColumnBounds) -> ColumnBounds:
    return one._replace(least="1")


def groups_above_limits_are_whole(patch: Patch) -> None:
    is_whole = reuse._Containment._is_whole
    patch.setattr(reuse._Containment, "_is_whole", lambda self, group, below: is_whole(self, replace(group, is_cut=False), below))


DRAWN: dict[str, tuple[Callable[[Patch], None], Callable[[int], list[str]], int]] = {
    "a tie is missed": (lambda patch: patch.setattr(keys, "_is_named", named_by_any_equality), one_source, 411),
    "sketches of two runs": (lambda patch: patch.setattr(beside, "cut_together", of_any_run), several_sources, 32),
    "groups above a limit": (groups_above_limits_are_whole, other_constants, 379),
    "statistics of rows that are not there": (statistics_without(test_reuse, at_least_one), other_constants, 968),
    "rows of the first grouping set": (first_set_alone, grouped_by_sets, 10),
    "limits over other rows": (always(reuse._Containment, "_are_same_rows"), other_constants, 159),
    "every order is total": (always(safety, "is_total"), one_source, 2),
    "cuts between steps": (lambda patch: patch.setattr(against, "aligned", lambda cuts, _steps: cuts), grouped_by_steps, 2),
    "rows that tie are not counted": (lambda patch: patch.setattr(tied, "in_place", lambda *_: True), one_source, 2),
}
"""What is weaker, the series that finds it out, and the seed of a query that does."""


@pytest.mark.parametrize("name", DRAWN)
def test_the_series_finds_it_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weaker, series, seed = DRAWN[name]
    assert not series(seed)
    weaker(monkeypatch)
    assert series(seed)
