"""What the prover says against what the oracle sees: Q(D) beside Q(D_PS), for sketches that have at least what stands behind the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches.column_text import columns_in, of_columns
from airflow_lineage_provider.sketches.columns import SafeColumn, canonical, safe_columns
from airflow_lineage_provider.sketches.composite import AnyPartition, in_order, uncut
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from airflow_lineage_provider.sketches.steps import aligned
from airflow_lineage_provider.sketches.template import why_another_time
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row
from tests.oracle.values import same
from tests.sketches import tied
from tests.sketches.drawn import Drawer, tables
from tests.sketches.planned import NoPlan, apart, planned

SPARK_TYPES = {"int": "bigint", "bigint": "bigint", "string": "string", "boolean": "boolean", "double": "double"}
SEVERAL = tuple(map(of_columns, (("k", "s"), ("v", "k"), ("s", "v", "k"))))
"""Columns of the drawn tables that are cut together."""


@dataclass
class Counted:
    """What became of a series: ``limiting`` plans have an aggregation or a limit, and ``with_safe`` of them a safe column."""

    plans: int = 0
    limiting: int = 0
    with_safe: int = 0
    nontrivial: int = 0
    checks: int = 0
    tied: int = 0
    skipped: int = 0
    aligned: int = 0
    at_limit: int = 0
    several: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


def values_of(rows: list[Row]) -> Counter[Any]:
    """The bag of a result's rows."""
    return Counter(tuple(map(same, row.values)) for row in rows)


def in_columns(data: q.Data, column: str) -> Callable[[tuple[Any, ...]], Any]:
    """What a row of a table has in a column; or in several, which one text names."""
    names = [name for name, _ in data.columns]
    places = [names.index(one) for one in columns_in(column, names)]
    return lambda row: row[places[0]] if len(places) == 1 else tuple(row[at] for at in places)


def over_sketch(data: q.Data, column: str, partition: AnyPartition, fragments: frozenset[int]) -> q.Data:
    """The rows of a table that are in the fragments."""
    of = in_columns(data, column)
    return replace(data, rows=tuple(row for row in data.rows if partition.fragment_of(of(row)) in fragments))


def accurate(rows: list[Row], name: str, data: q.Data, column: str, partition: AnyPartition) -> frozenset[int]:
    """The fragments of the rows of a table that stand behind a result."""
    behind = {rid for row in rows for table, rid in row.lineage if table == name}
    of = in_columns(data, column)
    return partition.fragments_of(of(row) for row in data.rows if row[data.rid] in behind)


def partitions(random: Random, data: q.Data, column: str) -> Iterator[AnyPartition]:
    """A value a fragment, and some at random."""
    of, kinds = in_columns(data, column), dict(data.columns)
    kind = tuple(SPARK_TYPES[kinds[one]] for one in columns_in(column, kinds))
    found = {of(row) for row in data.rows if of(row) is not None and of(row) == of(row)}
    values = sorted(found, key=in_order)
    whole = uncut(kind if len(kind) > 1 else kind[0])
    yield replace(whole, cuts=tuple(values))
    yield replace(whole, cuts=tuple(sorted(random.sample(values, random.randint(0, len(values))), key=in_order)))


def with_steps(partition: AnyPartition, steps: tuple[str, ...]) -> AnyPartition:
    """The partition without the cuts that a proof is not of, which is for cuts where steps begin."""
    return replace(partition, cuts=aligned(partition.cuts, steps)) if steps else partition


def compared(node: q.Node, given: dict[str, q.Data], safe: SafeColumn, random: Random, counted: Counted, rows: list[Row]) -> Iterator[str]:
    """The sketches of a safe column over which the query gives other rows."""
    name = next(one for one in given if one.endswith(f"@{safe.leaf}"))
    data, expected = given[name], values_of(rows)
    if safe.why_not_of(len(rows)):
        return
    for drawn_partition in partitions(random, data, safe.column):
        partition = with_steps(drawn_partition, safe.aligned)
        least = accurate(tied.behind(node, given, safe, rows), name, data, safe.column, partition)
        more = frozenset(one for one in range(partition.count) if random.random() < 0.3)
        for fragments in {least, least | more}:
            part = over_sketch(data, safe.column, partition, fragments)
            if len(part.rows) == len(data.rows):
                continue
            counted.checks += 1
            counted.at_limit += safe.at_limit
            try:
                found = values_of(evaluate.rows(node, {**given, name: part}))
            except Ambiguous:
                counted.skipped += 1
                continue
            if found != expected:
                yield f"{safe}\n{node}\n{data.rows}\nfragments {sorted(fragments)} of {partition.cuts}: {found} and not {expected}"


def is_limiting(node: q.Node) -> bool:
    """Whether a query has an aggregation or a limit."""
    return any(isinstance(one, q.Aggregate | q.TopK | q.Distinct | q.GroupingSets) for one in q.nodes(node))


def check(seed: int, counted: Counted, datasets: int = 4, of: Callable[[Drawer, int], q.Node] | None = None) -> None:
    """One random query (``of`` a kind) over some random tables; what is wrong is noted."""
    random = Random(seed)
    depth = random.choice((1, 2, 2, 3, 3, 4))
    query: Callable[[Drawer, int], q.Node] = Drawer.first_by_key if random.random() < 0.1 else Drawer.query
    node, given = drawn(random, depth, datasets, of or query)
    verdicts = judged(node, given, random, together=True)
    if verdicts is None:
        return
    safe = [one for one in verdicts if one.safe]
    counted.plans += 1
    counted.rules.update({one.rule for one in safe})
    counted.aligned += any(one.aligned for one in safe)
    if is_limiting(node):
        counted.limiting += 1
        counted.with_safe += bool(safe)
        counted.nontrivial += any(not one.safe for one in verdicts) and bool(safe)
    for leaves in given:
        counted.violations += [f"seed {seed}: {wrong}" for wrong in violated(node, leaves, verdicts, random, counted)]


def violated(node: q.Node, leaves: dict[str, q.Data], verdicts: list[SafeColumn], random: Random, counted: Counted) -> Iterator[str]:
    """What the oracle has against the verdicts."""
    aside = Random(repr(node))  # so the others are what they are without columns that are cut together
    try:
        with tied.any_that_tie():
            yield from tied.missed(node, leaves, verdicts)
            for one in (one for one in verdicts if one.safe and one.ties and is_alike_each_time(node, leaves, one.leaf)):
                yield from compared_where_rows_tie(node, leaves, one, aside if one.column in SEVERAL else random, counted)
        rows = evaluate.rows(node, leaves)
    except Ambiguous:
        counted.skipped += 1
        return
    for one in (one for one in verdicts if one.safe and not one.ties):
        counted.several += one.column in SEVERAL
        yield from compared(node, leaves, one, aside if one.column in SEVERAL else random, counted, rows)


def is_alike_each_time(node: q.Node, leaves: dict[str, q.Data], leaf: int) -> bool:
    """Whether what is beside a leaf gives the same rows in each run, or no sketch of it is captured."""
    return not why_another_time(canonical(planned(node, leaves)), frozenset({leaf}))


def compared_where_rows_tie(node: q.Node, leaves: dict[str, q.Data], safe: SafeColumn, random: Random, counted: Counted) -> Iterator[str]:
    """The sketches of a run's result in which no others tie with the last row, and over which another run gives other rows."""
    name = next(one for one in leaves if one.endswith(f"@{safe.leaf}"))
    first = tied.in_other_order(random, leaves)
    data, rows = leaves[name], evaluate.rows(node, first)
    if safe.at_limit and tied.in_places(tied.lowest(node, safe.leaf), leaves)[1]:
        return  # none is kept
    for partition in partitions(random, data, safe.column):
        least = accurate(tied.behind(node, first, safe, rows), name, data, safe.column, partition)
        part = {**leaves, name: over_sketch(data, safe.column, partition, least)}
        if len(part[name].rows) == len(data.rows) or safe.why_not_of(len(rows)):
            continue
        if not tied.in_place(node, safe.leaf, part):
            if tied.in_place(node, safe.leaf, leaves):
                yield f"{safe}\n{node}\n{leaves}\nfragments {sorted(least)} of {partition.cuts}: rows tie over them, and not over all"
            continue
        counted.tied += 1
        found = values_of(evaluate.rows(node, tied.in_other_order(random, part)))
        if found != values_of(rows):
            yield f"{safe}\n{node}\n{leaves}\nfragments {sorted(least)} of {partition.cuts}: {found} and not {values_of(rows)}"


def drawn(
    random: Random, depth: int, datasets: int = 4, query: Callable[[Drawer, int], q.Node] = Drawer.query
) -> tuple[q.Node, list[dict[str, q.Data]]]:
    """A random query, and some random tables for it."""
    node, names = apart(query(Drawer(random), depth), tables(random, ("t0", "t1"), 0))
    least, unique = random.choice((0, 0, -3)), random.random() < 0.25
    return node, [with_leaves(names, tables(random, ("t0", "t1"), least, unique=unique)) for _ in range(datasets)]


def with_leaves(names: dict[str, q.Data], made: dict[str, q.Data]) -> dict[str, q.Data]:
    return {name: made[name.split("@")[0]] for name in names}


def is_key(data: q.Data, at: int) -> bool:
    values = [row[at] for row in data.rows]
    return None not in values and len(set(values)) == len(values)


def bounds_of(given: list[dict[str, q.Data]]) -> dict[tuple[int, str], ColumnBounds]:
    """What statistics would say of the numbers of some tables, of all of which they hold."""
    found = {}
    for name in given[0]:
        for at, column in ((1, "k"), (2, "v")):
            values = [row[at] for leaves in given for row in leaves[name].rows]
            there = [value for value in values if value is not None]
            least, most = (str(min(there)), str(max(there))) if there else (None, None)
            found[int(name.split("@")[1]), column] = ColumnBounds(least, most, len(there) < len(values))
    return found


def judged(node: q.Node, given: list[dict[str, q.Data]], random: Random, *, together: bool = False) -> list[SafeColumn] | None:
    """What the prover says; now and then with statistics and keys, which then hold of all the tables. ``together``: of some columns of a
    table together, too."""
    try:
        plan = planned(node, given[0])
    except NoPlan:
        return None
    bounds = bounds_of(given) if random.random() < 0.5 else {}
    keys = {}
    unique = all(is_key(leaves[name], 1) for leaves in given for name in leaves)
    if random.random() < (0.6 if unique else 0.3):
        key = "k" if unique else "rid"
        keys = {int(name.split("@")[1]): (key,) for name in given[0]}
    pipeline = Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))
    aside = Random(repr(node))
    leaf = int(aside.choice(sorted(given[0])).split("@")[1])
    several = safe_columns(pipeline, bounds=bounds, keys=keys, only=[(leaf, aside.choice(SEVERAL))] if together else [])
    return [*safe_columns(pipeline, bounds=bounds, keys=keys), *several]
