"""How many rows an operator gives at most, and how large its whole numbers are, by what is known of its inputs.

So adding numbers up is known to be exact, where the sources' files tell enough (`rewrite.exact_averages`).

>>> T, U = Magnitudes(1_000, {1: 7}), Magnitudes(9)
>>> above(join(table("T", "a"), table("U", "b"), "a = b"), (T, U))
Magnitudes(rows=9000, columns={1: 7})
>>> above(limit(table("T", "a"), 10), (T,)).rows
10
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.exact_sums import most_of
from airflow_lineage_provider.plan.expressions import attribute_of, expression_of


@dataclass(frozen=True)
class Magnitudes:
    """What is known of rows.

    :ivar rows: there are no more; infinite where nobody knows.
    :ivar columns: for attributes (their ids) whose values are whole numbers or NULL what none is larger than, its sign aside; those that
        are left out have any.
    """

    rows: float = math.inf
    columns: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceMagnitudes:
    """The same of a source table, its columns by name."""

    rows: int
    columns: Mapping[str, int] = field(default_factory=dict)

    def of(self, source: o.Source) -> Magnitudes:
        """By attribute."""
        names = zip(source.columns, source.output, strict=True)
        return Magnitudes(self.rows, {a.id: self.columns[name] for name, a in names if name in self.columns})


def above(node: o.Plan, inputs: Sequence[Magnitudes]) -> Magnitudes:
    """Of an operator over these inputs; leaves are told from outside."""
    columns = {number: most for one in inputs for number, most in one.columns.items()}
    if isinstance(node, o.Union):
        columns = _united(node, inputs)
    elif isinstance(node, o.Project | o.Aggregate | o.Window):
        computed = node.functions if isinstance(node, o.Window) else node.columns
        columns |= _computed(computed, Magnitudes(inputs[0].rows, columns))
    return Magnitudes(rows_above(node, [one.rows for one in inputs]), columns)


def rows_above(node: o.Plan, inputs: Sequence[float]) -> float:
    """So many rows an operator gives at most over inputs of so many; infinite where nobody knows. Leaves are told from outside."""
    match node:
        case o.Union():
            return sum(inputs)
        case o.Join():
            return _joined(node.kind, *inputs)
        case o.Aggregate():
            return max(inputs[0], 1)
        case o.Limit():
            return inputs[0] if node.count is None else min(inputs[0], node.count)
        case o.Project() | o.Filter() | o.Sort() | o.Repartition() | o.FunctionOperator() | o.Window() | o.Distinct():
            return inputs[0]
    return math.inf


def _joined(kind: o.JoinKind, left: float, right: float) -> float:
    if kind in ("left_semi", "left_anti", "existence"):
        return left
    pairs = 0 if 0 in (left, right) else left * right
    alone = {"left": left, "right": right, "full": left + right}.get(kind, 0)
    return pairs + alone


def _computed(columns: Sequence[e.Named], below: Magnitudes) -> dict[int, int]:
    found = {attribute_of(one).id: _most_of(expression_of(one), below) for one in columns if isinstance(one, e.Alias)}
    return {number: most for number, most in found.items() if most is not None}


def _most_of(value: e.Expression, below: Magnitudes) -> int | None:
    """What no value of a computed column is larger than."""
    if not isinstance(value, e.AggregateCall | e.WindowFunction):
        return most_of(value, below.columns)
    if value.function in ("count", "row_number", "rank", "dense_rank"):
        return None if math.isinf(below.rows) else int(below.rows)
    if value.function in ("min", "max") and len(value.arguments) == 1:
        return most_of(value.arguments[0], below.columns)
    return None


def _united(node: o.Union, inputs: Sequence[Magnitudes]) -> dict[int, int]:
    """What is known of a column in all branches."""
    columns: dict[int, int] = {}
    for at, attribute in enumerate(node.output):
        bounds = [one.columns[i] for one, child in zip(inputs, node.children, strict=True) if (i := child.output[at].id) in one.columns]
        if len(bounds) == len(inputs):
            columns[attribute.id] = max(bounds)
    return columns
