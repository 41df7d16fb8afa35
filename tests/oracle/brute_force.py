"""Definitions 5 and 6 by brute force: all subsets of tiny tables.

Tables and results are *sets* here, as in the paper: what a combination of subsets gives is the set of its values. Nothing of the
annotations is used, only values. So an operator is tried over source tables whose rows differ (they have rids), and what it gives is
compared with the annotated row, or with all annotated rows of the same values together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.schema import types
from tests.oracle.values import same

Values: TypeAlias = tuple[Any, ...]
Subset: TypeAlias = frozenset[int]
"""Places of rows in their table."""


def lineages(operator: q.Node, tables: q.Tables, target: Values) -> list[tuple[Subset, ...]]:
    """The combinations of subsets, one subset an input, that meet conditions 1 to 3 for a row of an operator over source tables.

    The third asks for the maximum: each subset as large as it can be. Where no combination holds all others, all are given that no
    other one holds, so more than one means that definition 5 has no answer.
    """
    meeting = list(meeting_both(operator, tables, target))
    return [one for one in meeting if not any(one != other and _within(one, other) for other in meeting)]


def meeting_both(operator: q.Node, tables: q.Tables, target: Values) -> Iterator[tuple[Subset, ...]]:
    """Condition 1: exactly the row comes of the subsets. Condition 2: something comes of each row of a subset with the other subsets."""
    sides = [side.name for side in q.children(operator) if isinstance(side, q.Table)]
    known: dict[tuple[Subset, ...], frozenset[Values]] = {}

    def gives(subsets: tuple[Subset, ...]) -> frozenset[Values]:
        if subsets not in known:
            known[subsets] = result(operator, tables, dict(zip(sides, subsets, strict=True)))
        return known[subsets]

    wanted = frozenset({tuple(map(same, target))})
    for subsets in itertools.product(*(_powerset(len(tables[name].rows)) for name in sides)):
        if gives(subsets) != wanted:
            continue
        alone = ((*subsets[:i], frozenset({row}), *subsets[i + 1 :]) for i, subset in enumerate(subsets) for row in subset)
        if all(map(gives, alone)):
            yield subsets


def result(operator: q.Node, tables: q.Tables, kept: dict[str, Subset]) -> frozenset[Values]:
    """The set that an operator gives over these rows of its tables."""
    less = {name: replace(tables[name], rows=tuple(tables[name].rows[at] for at in sorted(some))) for name, some in kept.items()}
    return frozenset(tuple(map(same, row.values)) for row in evaluate.rows(operator, less))


def of_task(task: q.Node, tables: q.Tables, target: Values) -> frozenset[tuple[str, int]] | None:
    """Definition 6: the source rows, as (table, rid), of a row of a task; None where an operator on the way has no single answer.

    Every operator is tried over its inputs' results, each made a table of its own. Of a difference the right side is left out, once
    it is seen to be what the definition says: the whole of it.
    """
    if isinstance(task, q.Table):
        data = tables[task.name]
        return frozenset((task.name, row[data.rid]) for row in data.rows if tuple(map(same, row)) == tuple(map(same, target)))
    names = [f"input{at}" for at in range(len(q.children(task)))]
    inputs = {name: materialized(child, tables) for name, child in zip(names, q.children(task), strict=True)}
    found = lineages(over_tables(task, names), inputs, target)
    if len(found) != 1:
        return None
    behind: set[tuple[str, int]] = set()
    for name, child, subset in zip(names, q.children(task), found[0], strict=True):
        if is_difference(task) and name == names[1]:
            assert len(subset) == len(inputs[name].rows), "not the whole right side"
            continue
        for at in subset:
            below = of_task(child, tables, inputs[name].rows[at])
            if below is None:
                return None
            behind |= below
    return frozenset(behind)


def is_difference(operator: q.Node) -> bool:
    if isinstance(operator, q.SetOp):
        return operator.kind == "except"
    return isinstance(operator, q.Semi | q.In) and operator.kind == "anti"


def over_tables(operator: q.Node, names: Sequence[str]) -> q.Node:
    """The operator over source tables in its inputs' place."""
    if len(names) == 1:
        return _replaced(operator, child=q.Table(names[0]))
    return _replaced(operator, left=q.Table(names[0]), right=q.Table(names[1]))


def _replaced(operator: Any, **inputs: q.Table) -> q.Node:
    """Which inputs an operator has, only its class says."""
    made: q.Node = replace(operator, **inputs)
    return made


def materialized(node: q.Node, tables: q.Tables) -> q.Data:
    """The set of a node's rows as a table."""
    kinds = {"int": "bigint", "string": "string", "bool": "boolean", "float": "double"}
    # A table has a rid; values alone are looked at here, so any column will do.
    columns = tuple((f"c{at}" if at else "rid", kinds[kind]) for at, kind in enumerate(types(node, tables)))
    once = {tuple(map(same, row.values)): row.values for row in evaluate.rows(node, tables)}
    return q.Data(columns, tuple(once.values()))


def _powerset(count: int) -> list[Subset]:
    return [frozenset(some) for size in range(count + 1) for some in itertools.combinations(range(count), size)]


def _within(one: tuple[Subset, ...], other: tuple[Subset, ...]) -> bool:
    return all(part <= whole for part, whole in zip(one, other, strict=True))
