"""The examples of the paper and those where its printed rules lose rows: what the prover says, and what the rows are."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import replace_attributes
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import children, map_expressions, transform_up
from airflow_lineage_provider.sketches.choice import why_not
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from tests.in_turn import few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.sketches.against import Counted, accurate, compared, over_sketch, values_of
from tests.sketches.planned import apart, planned
from tests.sketches.tied import any_that_tie

pytest.importorskip("z3")

CITIES = q.Data(
    (("rid", "int"), ("popden", "int"), ("city", "string"), ("state", "string")),
    (
        (1, 4200, "Anchorage", "AK"), (2, 6000, "San Diego", "CA"), (3, 5000, "Sacramento", "CA"), (4, 7000, "New York", "NY"),
        (5, 2000, "Buffalo", "NY"), (6, 3700, "Austin", "TX"), (7, 2500, "Houston", "TX"),
    ),
)  # fmt: skip
STATES = Partition(type="string", cuts=("FL", "MN", "OR"))
DENSITIES = Partition(type="bigint", cuts=(4001,))
POPDEN, STATE = q.Col(1), q.Col(3)


def table(columns: str, *rows: tuple[object, ...]) -> q.Data:
    """A table of integers, and of strings where the name is in capitals; a rid comes first."""
    kinds = [(name, "string" if name.isupper() else "int") for name in columns.split()]
    return q.Data((("rid", "int"), *kinds), tuple((number, *row) for number, row in enumerate(rows)))


def verdicts(node: q.Node, tables: dict[str, q.Data], **known: object) -> dict[str, SafeColumn]:
    """The prover's words, by table and column."""
    apart_node, leaves = apart(node, tables)
    plan = planned(apart_node, leaves)
    pipeline = Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))
    return {f"{one.table.split('@')[0]}.{one.column}": one for one in safe_columns(pipeline, **known)}  # type: ignore[arg-type]


def forced(node: q.Node, tables: dict[str, q.Data], name: str, column: str, partition: Partition) -> tuple[set[object], set[object]]:
    """The plain result, and that over the accurate sketch, safe or not."""
    apart_node, leaves = apart(node, tables)
    leaf = next(one for one in leaves if one.startswith(f"{name}@"))
    rows = evaluate.rows(apart_node, leaves)
    fragments = accurate(rows, leaf, leaves[leaf], column, partition)
    part = over_sketch(leaves[leaf], column, partition, fragments)
    over = evaluate.rows(apart_node, {**leaves, leaf: part})
    return {row.values for row in rows}, {row.values for row in over}


EVERY_CITY = q.Table("cities")


def top_by(function: str, child: q.Node = EVERY_CITY) -> q.Node:
    """One state: that with the greatest value."""
    grouped = q.Aggregate(child, (STATE,), (q.Call(function, POPDEN),))  # type: ignore[arg-type]
    return q.TopK(q.Project(grouped, (q.Col(1), q.Col(0))), 1, descending=frozenset({0}))


def average(node: o.Plan) -> o.Plan:
    """The plan with averages for sums."""

    def averaged(part: e.Part) -> e.Part:
        if isinstance(part, e.Alias) and isinstance(part.child, e.AggregateCall):
            call = replace(part.child, function="avg", type="double")
            return replace(part, child=call, attribute=replace(part.attribute, type="double"))
        return part

    def retyped(one: o.Plan) -> o.Plan:
        if isinstance(one, o.Aggregate):
            return map_expressions(one, averaged)
        made = {a.id: a for child in children(one) for a in child.output}
        return map_expressions(one, lambda part: replace_attributes(part, made))

    return transform_up(node, retyped)


def average_winner(rows: tuple[tuple[object, ...], ...]) -> tuple[object, float]:
    """The state with the greatest average, by hand."""
    found: dict[object, list[int]] = {}
    for row in rows:
        found.setdefault(row[3], []).append(row[1])  # type: ignore[arg-type]
    return max(((state, sum(some) / len(some)) for state, some in found.items()), key=lambda one: one[1])


def test_the_papers_cities_by_average() -> None:
    """Examples 1 and 4: by state each group is in one fragment, f1 has the winner; of half a state the average may be anything."""
    node, leaves = apart(top_by("sum"), {"cities": CITIES})
    plan = average(planned(node, leaves))
    pipeline = Pipeline(plan=plan, names=("avg", "state"))
    found = {one.column: one for one in safe_columns(pipeline, bounds={(0, "popden"): ColumnBounds("0", "10000", False)})}
    assert (found["state"].safe, found["popden"].safe, found["popden"].rule) == (True, False, "limit")
    assert not any(one.safe for one in safe_columns(pipeline)), "of very large numbers a double rounds the sum"
    fragments = {state: STATES.fragment_of(state) for state in ("AK", "CA", "NY", "TX")}
    assert fragments == {"AK": 0, "CA": 0, "NY": 2, "TX": 3}
    assert average_winner(CITIES.rows) == average_winner(over_sketch(CITIES, "state", STATES, frozenset({0})).rows) == ("CA", 5500)
    dense = over_sketch(CITIES, "popden", DENSITIES, DENSITIES.fragments_of([6000, 5000]))
    assert average_winner(dense.rows) == ("NY", 7000)


def test_the_papers_cities_by_sum() -> None:
    """Examples 6 and 7: a part of a sum of what is not negative is less. NULL, the sum of nothing, must not come first."""
    positive = q.Filter(q.Table("cities"), q.Op("<", (q.Lit(0, "int"), POPDEN)))
    found = verdicts(top_by("sum", positive), {"cities": CITIES})
    assert (found["cities.popden"].safe, found["cities.popden"].rule, found["cities.state"].safe) == (True, "limit", True)
    assert forced(top_by("sum", positive), {"cities": CITIES}, "cities", "popden", DENSITIES) == ({(11000, "CA")},) * 2
    known = {"bounds": {(0, "popden"): ColumnBounds("2000", "7000")}}
    first = verdicts(top_by("sum"), {"cities": CITIES}, **known)["cities.popden"]
    assert (first.safe, first.counter[0][2]) == (False, "NULL")
    known = {"bounds": {(0, "popden"): ColumnBounds("2000", "7000", has_null=False)}}
    assert verdicts(top_by("sum"), {"cities": CITIES}, **known)["cities.popden"].safe


def two_keys(*rows: tuple[object, ...]) -> dict[str, q.Data]:
    return {"t": table("g x f", *rows)}


F = Partition(type="bigint", cuts=(2, 3))
"""The column f has the number of its fragment, from 1."""


def test_a_limit_below_a_selection() -> None:
    """E1: σ_{x>5}(τ_{o,2}): the row that is dropped above the limit is not in the sketch, and another takes its place; so the sketch is of
    all rows of the limit."""
    tables = {"t": table("o x f", (1, 3, 1), (2, 9, 2), (3, 8, 2))}
    first = q.TopK(q.Project(q.Table("t"), (q.Col(1), q.Col(2))), 2)
    node = q.Filter(first, q.Op("<", (q.Lit(5, "int"), q.Col(1))))
    assert forced(node, tables, "t", "f", F) == ({(2, 9)}, {(2, 9), (3, 8)})
    assert {(one.safe, one.at_limit, one.rule) for one in verdicts(node, tables).values()} == {(True, True, "limit")}
    (leaf,) = apart(node, tables)[1].values()
    assert accurate(evaluate.rows(first, tables), "t", tables["t"], "f", F) == frozenset({0, 1})
    assert {row.values for row in evaluate.rows(node, {"t": over_sketch(leaf, "f", F, frozenset({0, 1}))})} == {(2, 9)}
    assert all(one.safe for one in verdicts(first, tables).values())


def test_a_sum_of_what_the_sketch_changes() -> None:
    """E2: HAVING sum(sum) > 10 where the inner sum may grow: that it is not negative is not enough."""
    tables = {"t": table("g h v f", ("g1", 1, 11, 1), ("g1", 1, -9, 2), ("g2", 1, 12, 1))}
    inner = q.Aggregate(q.Table("t"), (q.Col(1), q.Col(2)), (q.Call("sum", q.Col(3)),))
    positive = q.Project(inner, (q.Col(0), q.Op("case", (q.Op("<", (q.Col(2), q.Lit(0, "int"))), q.Lit(0, "int"), q.Col(2)))))
    outer = q.Aggregate(positive, (q.Col(0),), (q.Call("sum", q.Col(1)),))
    node = q.Project(q.Filter(outer, q.Op("<", (q.Lit(10, "int"), q.Col(1)))), (q.Col(0),))
    assert forced(node, tables, "t", "f", F) == ({("g2",)}, {("g1",), ("g2",)})
    assert (verdicts(node, tables)["t.f"].safe, verdicts(node, tables)["t.g"].safe) == (False, True)


def test_a_sum_of_averages() -> None:
    """E2 as it is printed: HAVING sum(avg(v)) > 10. Of half of g1 the inner average is more, and the group passes."""
    rows = (("g1", 1, 11, 1), ("g1", 1, 1, 2), ("g2", 1, 12, 1))

    def passing(some: tuple[tuple[str, int, int, int], ...]) -> set[str]:
        inner: dict[tuple[str, int], list[int]] = {}
        for g, h, v, _ in some:
            inner.setdefault((g, h), []).append(v)
        outer: dict[str, float] = {}
        for (g, _), values in inner.items():
            outer[g] = outer.get(g, 0) + sum(values) / len(values)
        return {g for g, value in outer.items() if value > 10}

    assert passing(rows) == {"g2"}
    assert passing(tuple(row for row in rows if row[3] == 1)) == {"g1", "g2"}
    inner = q.Aggregate(q.Table("t"), (q.Col(1), q.Col(2)), (q.Call("sum", q.Col(3)),))
    outer = q.Aggregate(inner, (q.Col(0),), (q.Call("sum", q.Col(2)),))
    node, leaves = apart(q.Filter(outer, q.Op("<", (q.Lit(10, "int"), q.Col(1)))), {"t": table("g h v f", *rows)})
    plan = planned(node, leaves)
    assert isinstance(plan, o.Filter)
    summed = plan.child
    assert isinstance(summed, o.Aggregate)
    averaged = average(summed.child)
    made = {a.id: a for a in averaged.output}
    retyped = map_expressions(replace(summed, child=averaged), lambda part: as_double(replace_attributes(part, made)))
    condition = replace_attributes(plan.condition, {a.id: a for a in retyped.output})
    having_sum = Pipeline(plan=o.Filter(child=retyped, condition=condition), names=("g", "s"))
    found = safe_columns(having_sum, bounds={(0, "v"): ColumnBounds("1", "12", False)})
    assert {one.column: one.safe for one in found} == dict.fromkeys(("rid", "g", "h", "v", "f"), False), "sums of doubles are rounded"


def as_double(part: e.Part) -> e.Part:
    """A sum as that of doubles."""
    if not isinstance(part, e.Alias) or not isinstance(part.child, e.AggregateCall):
        return part
    return replace(part, child=replace(part.child, type="double"), attribute=replace(part.attribute, type="double"))


def test_groups_that_tie_at_the_limit() -> None:
    """E4: by the sum alone either of (5, 2, A) and (5, 1, B) may stay, and the prover says so: what others tie with is not kept."""
    tables = {"t": table("G x f", ("A", 3, 1), ("A", 2, 2), ("B", 5, 2))}
    grouped = q.Aggregate(q.Table("t"), (q.Col(1),), (q.Call("sum", q.Col(2)), q.Call("count")))
    columns = q.Project(grouped, (q.Col(1), q.Col(2), q.Col(0)))

    def first(by: int | None) -> q.Node:
        return q.TopK(columns, 1, descending=frozenset({0, 1}), by=by)

    with any_that_tie():
        node, leaves = apart(first(1), tables)
        turned = {name: replace(data, rows=data.rows[::-1]) for name, data in leaves.items()}
        assert [[row.values for row in evaluate.rows(node, each)] for each in (leaves, turned)] == [[(5, 2, "A")], [(5, 1, "B")]]
    assert [verdicts(first(by), tables)["t.G"].ties for by in (1, 2, None)] == [True, True, False]
    assert [row.values for row in evaluate.rows(*apart(first(2), tables))] == [(5, 2, "A")]
    assert "rows may tie at the limit" in why_not(verdicts(first(1), tables)["t.G"])


def having(function: str, test: q.Expr, floor: int | None = None) -> q.Node:
    child: q.Node = q.Table("t")
    if floor is not None:
        child = q.Filter(child, q.Op("<", (q.Lit(floor, "int"), q.Col(2))))
    return q.Filter(q.Aggregate(child, (q.Col(1),), (q.Call(function, q.Col(2)),)), test)  # type: ignore[arg-type]


MORE_THAN_TEN = q.Op("<", (q.Lit(10, "int"), q.Col(1)))


def test_the_constant_of_a_selection_decides() -> None:
    """E5: for a > 0 a part of a sum is less; for a > -20 it need not be."""
    tables = two_keys((1, 11, 1), (1, -5, 2), (2, 12, 1))
    assert verdicts(having("sum", MORE_THAN_TEN, 0), tables)["t.f"].safe
    found = verdicts(having("sum", MORE_THAN_TEN, -20), tables)["t.f"]
    assert (found.safe, found.rule) == (False, "selection")
    assert [name for name, _, _ in found.counter] == ["sum"]
    assert forced(having("sum", MORE_THAN_TEN, -20), tables, "t", "f", F) == ({(2, 12)}, {(1, 11), (2, 12)})


def test_a_sum_of_nothing() -> None:
    """E6: HAVING sum(a) IS NULL: the part without the number is NULL, and the group is not."""
    tables = two_keys((1, None, 1), (1, 3, 2), (2, None, 1))
    node = having("sum", q.Op("is_null", (q.Col(1),)), None)
    assert not verdicts(node, tables, bounds={(0, "x"): ColumnBounds("0", "9")})["t.f"].safe
    assert forced(node, tables, "t", "f", F) == ({(2, None)}, {(1, None), (2, None)})


def test_null_in_the_column_of_the_sketch() -> None:
    """E7: NULL is a fragment of its own; a group of it is there."""
    tables = {"t": table("g x", (None, 20), (1, 2), (2, 30))}
    assert verdicts(having("max", MORE_THAN_TEN), tables)["t.g"].safe
    assert forced(having("max", MORE_THAN_TEN), tables, "t", "g", F) == ({(None, 20), (2, 30)},) * 2


def test_the_right_side_of_a_left_join() -> None:
    """E8: a row whose partner is left out stands there without one."""
    tables = {"l": table("a", (1,), (2,)), "r": table("b f", (2, 2), (2, 3))}
    joined = q.Join("left", q.Table("l"), q.Table("r"), q.Op("=", (q.Col(1), q.Col(3))))
    node = q.Filter(joined, q.Op("is_null", (q.Col(3),)))
    assert not verdicts(node, tables)["r.f"].safe
    assert verdicts(node, tables)["l.a"].safe
    assert forced(node, tables, "r", "f", F) == ({(0, 1, None, None, None)}, {(0, 1, None, None, None), (1, 2, None, None, None)})


def test_the_first_row_of_each_partition() -> None:
    """E9: row_number() ≤ 1 and then a selection: over a column that is no partition key another row is the first."""
    tables = two_keys((1, 1, 1), (1, 2, 2))
    numbered = q.Window(q.Table("t"), (q.Over("row_number"),), (1,), ((2, False), (0, False)))
    first = q.Filter(numbered, q.Op("<=", (q.Col(4), q.Lit(1, "int"))))
    node = q.Filter(first, q.Op("<", (q.Lit(1, "int"), q.Col(2))))
    known = {"keys": {0: ("rid",)}}
    assert [verdicts(node, tables, **known)[f"t.{one}"].safe for one in ("g", "f")] == [True, False]
    two = Partition(type="bigint", cuts=(2,))
    everything = over_sketch(tables["t"], "f", two, frozenset({1}))
    assert {row.values[2] for row in evaluate.rows(node, {"t": everything})} == {2}
    assert evaluate.rows(node, tables) == []


def test_a_maximum_needs_no_sign() -> None:
    """E10: the paper asks for a ≥ 0; a part's maximum is less whatever the sign."""
    tables = two_keys((1, -5, 1), (1, 15, 2), (2, 12, 1))
    assert verdicts(having("max", MORE_THAN_TEN), tables)["t.f"].safe
    assert not verdicts(having("min", MORE_THAN_TEN), tables)["t.f"].safe
    assert forced(having("max", MORE_THAN_TEN), tables, "t", "f", F)[0] == forced(having("max", MORE_THAN_TEN), tables, "t", "f", F)[1]


def test_one_row_of_a_group_is_not_enough() -> None:
    """The paper's first case of r3 keeps one row of each group behind a maximum. For a larger constant, which a sketch of all rows behind
    the result serves, the group is lost; and for the same one the result has less lineage than it has."""

    def most_above(bound: int) -> q.Node:
        return q.Aggregate(q.Filter(q.Table("t@0"), q.Op("<", (q.Lit(bound, "int"), q.Col(2)))), (q.Col(1),), (q.Call("max", q.Col(3)),))

    rows = table("G b a f", ("g1", 15, 10, 1), ("g1", 25, 8, 2))
    own, larger = (evaluate.rows(most_above(bound), {"t@0": rows}) for bound in (10, 20))
    assert ([row.values for row in own], [row.values for row in larger]) == ([("g1", 10)], [("g1", 8)])
    least = accurate(own, "t@0", rows, "f", F)
    assert {F.fragment_of(row[4]) for row in rows.rows} == least
    witness = over_sketch(rows, "f", F, F.fragments_of([1]))  # of the row with the maximum
    again = evaluate.rows(most_above(10), {"t@0": witness})
    assert ([row.values for row in again], evaluate.rows(most_above(20), {"t@0": witness})) == ([("g1", 10)], [])
    assert again[0].lineage < own[0].lineage
    assert [row.values for row in evaluate.rows(most_above(20), {"t@0": over_sketch(rows, "f", F, least)})] == [("g1", 8)]


def test_a_scalar_that_every_row_of_the_result_hangs_on() -> None:
    """E12 (TPC-H Q15): the one row of the maximum is behind every row of the result, if that has rows."""
    tables = {"t": table("g x f", (1, 5, 1), (2, 7, 2)), "s": table("g x f", (1, 5, 1), (2, 7, 2))}
    most = q.Aggregate(q.Table("s"), (), (q.Call("max", q.Col(2)),))
    node = q.Filter(q.Scalar(q.Table("t"), most), q.Op("=", (q.Col(2), q.Col(4))))
    found = verdicts(node, tables)["s.f"]
    assert (found.safe, found.rule, found.needs_rows) == (True, "one row of all", True)
    assert forced(node, tables, "s", "f", F)[0] == forced(node, tables, "s", "f", F)[1] == {(1, 2, 7, 2, 7)}


def test_a_global_aggregation_that_nothing_hangs_on() -> None:
    """A count is there where nothing is: its HAVING would pass over an empty sketch."""
    tables = two_keys((1, 1, 1), (2, 1, 2))
    node = q.Filter(q.Aggregate(q.Table("t"), (), (q.Call("count"),)), q.Op("<", (q.Col(0), q.Lit(2, "int"))))
    assert not any(one.safe and not one.needs_rows for one in verdicts(node, tables).values())
    assert forced(node, tables, "t", "f", F) == (set(), {(0,)})


@pytest.mark.parametrize("seed", range(few(20, 4)))
def test_what_is_safe_here_is_so_over_every_sketch(seed: int) -> None:
    """The safe columns of these examples, over random sketches."""
    random, counted = Random(seed), Counted()
    for node in (top_by("sum"), top_by("max")):
        apart_node, leaves = apart(node, {"cities": CITIES})
        rows = evaluate.rows(apart_node, leaves)
        for one in verdicts(node, {"cities": CITIES}).values():
            if one.safe:
                assert not list(compared(apart_node, leaves, one, random, counted, rows))
    assert values_of([]) == {}


def test_a_limit_without_an_order_that_cuts_none() -> None:
    """It is none then. Where it cuts some, a run over a sketch may take a part of a group, which no plain run gives."""

    def some(count: int) -> q.TopK:
        return q.TopK(q.Aggregate(q.Table("t"), (q.Col(1),), (q.Call("count"),)), count, by=0)

    tables = {"t": table("g f", (2, 1), (1, 1), (1, 2), (2, 3))}
    for count in (3, 1):
        found = verdicts(some(count), tables)
        assert {one.needs_fewer for one in found.values()} == {count}
        assert all(one.safe for one in found.values())
        assert [one.why_not_of(2) == "" for one in found.values()] == [count == 3] * 3
        assert all(one.why_not_of(None) for one in found.values())
    node, leaves = apart(some(3), tables)
    rows = evaluate.rows(node, leaves)
    for one in verdicts(some(3), tables).values():
        assert not list(compared(node, leaves, one, Random(1), Counted(), rows))
    node, leaves = apart(some(1), {"t": table("g f", (2, 1), (1, 1), (1, 2))})
    with any_that_tie():
        ((two, one),) = [row.values for row in evaluate.rows(node, leaves)]
        part = replace(leaves["t@0"], rows=((1, 1, 1), (0, 2, 1)))  # the sketch on f, read in another order
        assert ((two, one), [row.values for row in evaluate.rows(node, {"t@0": part})]) == ((2, 1), [(1, 1)])


def test_a_limit_without_an_order_below_others() -> None:
    """How many rows the result has does not tell how many it has cut; nor with an offset."""
    first = q.TopK(q.Table("t"), 3, by=0)
    given = {"t": table("g f", (2, 1), (1, 1))}
    for node in (q.Filter(first, q.Op("<", (q.Col(1), q.Lit(9, "int")))), q.Distinct(first), q.TopK(q.Table("t"), 3, 1, by=0)):
        assert not any(one.safe for one in verdicts(node, given).values())
    assert all(one.safe for one in verdicts(q.Project(first, (q.Col(1),)), given).values())
