"""Several sources read through sketches at once, as a run reads them, over sketches of one run and of several that took other rows of
those that are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from random import Random

from airflow_lineage_provider.sketches import choice
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.ties import cut_together
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row
from tests.sketches.against import accurate, drawn, is_alike_each_time, judged, over_sketch, partitions, values_of
from tests.sketches.drawn import Drawer
from tests.sketches.planned import planned
from tests.sketches.tied import any_that_tie, behind, in_other_order, in_place

RUNS = 2
Leaves = dict[str, q.Data]


def leaf_of(name: str) -> int:
    """The number of a table's leaf."""
    return int(name.split("@")[1])


def read_through(
    random: Random,
    node: q.Node,
    leaves: Leaves,
    runs: list[tuple[Leaves, list[Row]]],
    together: Collection[frozenset[int]],
    columns: Mapping[int, SafeColumn],
) -> tuple[Leaves, bool]:
    """The tables as a run reads them through sketches of these columns, those of a set of leaves of one of the earlier runs; and whether
    they are of several runs, and leave rows of several tables out."""
    found, of = dict(leaves), set()
    for leaves_of_one in together:
        number = random.randrange(len(runs))
        for name in (one for one in leaves if leaf_of(one) in leaves_of_one and leaf_of(one) in columns):
            safe, data, (read, rows) = columns[leaf_of(name)], leaves[name], runs[number]
            column = safe.column
            partition = random.choice(list(partitions(random, data, column)))
            least = accurate(behind(node, read, safe, rows), name, data, column, partition)
            more = frozenset(one for one in range(partition.count) if random.random() < 0.05)
            found[name] = over_sketch(data, column, partition, least | more)
            of |= {number} if len(found[name].rows) < len(data.rows) else set()
    return found, len(of) > 1


def compared(node: q.Node, leaves: Leaves, safe: Mapping[int, list[SafeColumn]], random: Random, told: Counter[str]) -> Iterator[str]:
    """The sketches over which the query gives other rows."""
    together = cut_together(planned(node, leaves))
    orders = [in_other_order(random, leaves) for _ in range(RUNS)]
    runs = [(read, evaluate.rows(node, read)) for read in orders]
    expected = values_of(runs[0][1])
    if any(values_of(rows) != expected for _, rows in runs):
        raise Ambiguous
    for _ in range(4):
        columns = {leaf: random.choice(some) for leaf, some in safe.items() if random.random() < 0.9}
        part, of_several = read_through(random, node, leaves, runs, together, columns)
        left_out = sum(len(part[name].rows) < len(leaves[name].rows) for name in leaves)
        if left_out < 2:
            continue
        told["checks"] += 1
        told["of several runs"] += of_several
        told["at a limit"] += any(one.at_limit for one in columns.values())
        found = values_of(evaluate.rows(node, in_other_order(random, part)))
        if found != expected:
            yield f"{columns}\n{node}\n{leaves}\nread {part}: {found} and not {expected}"


def compared_where_rows_tie(
    node: q.Node, leaves: Leaves, safe: Mapping[int, list[SafeColumn]], random: Random, told: Counter[str]
) -> Iterator[str]:
    """The same of sketches of one run, above some of which rows may tie, where none does over all of them: another run gives the same."""
    read = in_other_order(random, leaves)
    runs, together = [(read, evaluate.rows(node, read))], [frozenset(map(leaf_of, leaves))]
    for _ in range(4):
        columns = {leaf: random.choice(some) for leaf, some in safe.items()}
        tied = {name: leaves[name] for name in leaves if leaf_of(name) in columns and columns[leaf_of(name)].ties}
        part, _ = read_through(random, node, leaves, runs, together, columns)
        if part == leaves or not tied or not all(in_place(node, leaf_of(name), part) for name in tied):
            continue
        told["tied"] += 1
        told["tied over one alone"] += not all(in_place(node, leaf_of(name), {**leaves, name: part[name]}) for name in tied)
        found = values_of(evaluate.rows(node, in_other_order(random, part)))
        if found != values_of(runs[0][1]):
            yield f"{columns}\n{node}\n{leaves}\nread {part}: {found} and not {values_of(runs[0][1])}"


def check(seed: int, told: Counter[str]) -> list[str]:
    """One random query over some random tables, all of which are read through sketches; what is wrong."""
    random = Random(seed)
    if random.random() < 0.5:
        node, given = drawn(random, random.choice((1, 1, 2, 3)), query=Drawer.first_of_pairs)
    else:
        kind = Drawer.some_of_first if random.random() < 0.5 else Drawer.query
        node, given = drawn(random, random.choice((2, 3, 3, 4)), query=kind)
    verdicts = judged(node, given, random) if len(given[0]) > 1 else None
    if verdicts is None:
        return []
    safe: dict[int, list[SafeColumn]] = {}
    for one in verdicts:
        if not choice.why_not(one) and is_alike_each_time(node, given[0], one.leaf):
            safe.setdefault(one.leaf, []).append(one)
    if len(safe) < 2:
        return []
    told["plans"] += 1
    told["plans with a limit"] += any(isinstance(one, q.TopK) for one in q.nodes(node))
    wrong: list[str] = []
    with any_that_tie():
        for leaves in given:
            try:
                needs = {leaf: [one for one in some if not one.why_not_of(len(evaluate.rows(node, leaves)))] for leaf, some in safe.items()}
                wrong += compared(node, leaves, {leaf: some for leaf, some in needs.items() if some}, random, told)
            except Ambiguous:
                told["skipped"] += 1
    return [f"seed {seed}: {one}" for one in wrong]


def check_where_rows_tie(seed: int, told: Counter[str]) -> list[str]:
    """One random limit over a join, by one column; through sketches of both sides, above which a run counts whether rows tie."""
    random, wrong = Random(seed), list[str]()
    node, given = drawn(random, random.choice((1, 2, 3)), query=Drawer.first_by_key)
    safe: dict[int, list[SafeColumn]] = {}
    for one in judged(node, given, random) or ():
        if one.safe and not one.at_limit and is_alike_each_time(node, given[0], one.leaf):
            safe.setdefault(one.leaf, []).append(one)
    with any_that_tie():
        for leaves in given if len(safe) > 1 else ():
            try:
                rows = len(evaluate.rows(node, leaves))
                needs = {leaf: [one for one in some if not one.why_not_of(rows)] for leaf, some in safe.items()}
                wrong += compared_where_rows_tie(node, leaves, {leaf: some for leaf, some in needs.items() if some}, random, told)
            except Ambiguous:
                told["skipped"] += 1
    return [f"seed {seed}: {one}" for one in wrong]
