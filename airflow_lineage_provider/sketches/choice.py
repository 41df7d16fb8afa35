"""Which column of each source a sketch is taken of: the one that was named, else of those that are proved safe the one that skips best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_lineage_provider.errors import SketchUnsafe
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.kinds import is_whole
from airflow_lineage_provider.sketches.statistics import Bounds
from airflow_lineage_provider.sketches.wanted import SketchOn

_UNKNOWN = 1.0
_NO_KEY = 2
_MANY = 100
"""A column that has fewer values than this cannot skip much."""


@dataclass(frozen=True)
class ChosenColumn:
    """A column that is safe, and how it is to be cut."""

    safe: SafeColumn
    on: SketchOn

    @property
    def proof(self) -> str:
        """Why it is safe."""
        told = f"{self.safe.rule}: {self.safe.because}" + (f" ({self.safe.operator})" if self.safe.operator else "")
        return f"{told}; of all rows of the limit above it" if self.safe.at_limit else told


@dataclass(frozen=True)
class KnownColumns:
    """What is known of columns, by leaf and name.

    :ivar clustering: the share of a table's row groups, or partitions, that a value may be in.
    :ivar keys: 0 for primary keys and columns that the pipeline joins by, 1 for those that it groups by: what stands behind a result is a
        few of their values.
    :ivar values: how many different values there can be at most.
    """

    clustering: Mapping[tuple[int, str], float] = field(default_factory=dict)
    keys: Mapping[tuple[int, str], int] = field(default_factory=dict)
    values: Mapping[tuple[int, str], int] = field(default_factory=dict)

    def order(self, one: SafeColumn) -> tuple[Any, ...]:
        """What is asked of a column, one after the other: to be safe for any result, for a sketch of the result, and any cuts; to skip well
        in the files; to have whole groups; to be a key; not to have few values."""
        at = (one.leaf, one.column)
        few = self.values.get(at, _MANY) < _MANY
        return (
            one.needs_fewer is not None,
            one.at_limit,
            bool(one.aligned),
            self.clustering.get(at, _UNKNOWN),
            one.rule != "group",
            self.keys.get(at, _NO_KEY),
            few,
        )


def chosen(
    judged: Sequence[SafeColumn], named: Mapping[int, SketchOn], known: KnownColumns, countable: Collection[int] = ()
) -> dict[int, ChosenColumn | str]:
    """For each leaf the column, or why there is none: the one that was named, or that is safe and best by what is ``known``; of equals the
    first. Of leaves that are ``countable`` rows may tie: whether they do will be counted (`ties`).

    :raises SketchUnsafe: a column that was named is not safe.
    """
    leaves = dict.fromkeys(one.leaf for one in judged)
    judged = [replace(one, ties=False) if one.leaf in countable and one.column != FILE_PATH else one for one in judged]
    return {leaf: _of_leaf([one for one in judged if one.leaf == leaf], named.get(leaf), known) for leaf in leaves}


def keys_in(plan: o.Plan) -> dict[tuple[int, str], int]:
    """The columns of sources by which a plan joins (0) or groups (1), by leaf.

    Of ``α a (T ⋈ b = c S)`` they are b and c, and a.
    """
    ranks = {a.id: rank for rank in (1, 0) for node in operators(plan) for part in _keys(node, rank) for a in references(part)}
    sources = (node for node in operators(plan) if isinstance(node, o.Source))
    return {(one.leaf, name): ranks[a.id] for one in sources for name, a in zip(one.columns, one.output, strict=True) if a.id in ranks}


def _keys(node: o.Plan, rank: int) -> Sequence[e.Expression]:
    match node:
        case o.Aggregate() if rank:
            return node.keys
        case o.Join(condition=condition) | o.Filter(condition=condition) if condition is not None and not rank:
            equal = [one for one in e.conjuncts(condition) if isinstance(one, e.Call) and one.function in ("=", "<=>")]
            return [one for one in equal if all(isinstance(side, e.Attribute) for side in one.arguments)]
    return ()


def values_in(bounds: Bounds, types: Mapping[tuple[int, str], str]) -> dict[tuple[int, str], int]:
    """How many values a whole number between bounds can have."""
    return {
        at: int(one.most) - int(one.least) + 1 for at, one in bounds.items()
        if one.least is not None and one.most is not None and is_whole(types.get(at, ""))
    }  # fmt: skip


def _of_leaf(judged: list[SafeColumn], named: SketchOn | None, known: KnownColumns) -> ChosenColumn | str:
    if named is not None:
        (column,) = [one for one in judged if one.column == named.name]
        problem = why_not(column)
        if problem:
            raise SketchUnsafe(f"a sketch of {column.column} of {column.table} is not safe: {problem}")
        return ChosenColumn(column, named)
    safe = [one for one in judged if not why_not(one)]
    if not safe:
        tied = next((one for one in judged if one.safe), None)
        return why_not(tied) if tied is not None else f"no column is proved safe ({judged[0].column}: {why_not(judged[0])})"
    best = min(safe, key=known.order)
    return ChosenColumn(best, SketchOn(column=best.column))


def why_not(one: SafeColumn) -> str:
    """Why a sketch of a column may not be used; empty where it may."""
    if not one.safe:
        return one.because + _counter(one.counter)
    return "rows may tie at the limit, or a value is of any row: another run may give others" if one.ties else ""


def _counter(counter: Sequence[tuple[str, Any, Any]]) -> str:
    told = ", ".join(f"{name} = {plain} in a plain run, {sketched} over a sketch" for name, plain, sketched in counter)
    return f" ({told})" if told else ""
