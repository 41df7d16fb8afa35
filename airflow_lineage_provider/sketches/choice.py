"""Which column of each source a sketch is taken of: the one that was named, else of those that are proved safe the one that skips best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_lineage_provider.errors import SketchUnsafe
from airflow_lineage_provider.sketches.columns import SafeColumn
from airflow_lineage_provider.sketches.wanted import SketchOn

_UNKNOWN = 1.0


@dataclass(frozen=True)
class ChosenColumn:
    """A column that is safe, and how it is to be cut."""

    safe: SafeColumn
    on: SketchOn

    @property
    def proof(self) -> str:
        """Why it is safe."""
        return f"{self.safe.rule}: {self.safe.because}" + (f" ({self.safe.operator})" if self.safe.operator else "")


def chosen(
    judged: Sequence[SafeColumn],
    named: Mapping[int, SketchOn],
    clustering: Mapping[tuple[int, str], float],
    countable: Collection[int] = (),
) -> dict[int, ChosenColumn | str]:
    """For each leaf the column, or why there is none. ``clustering`` has the share of a table's row groups that a value may be in, by leaf
    and column, where that is known; of columns that skip equally well one that the groups determine is taken, then the first. Those
    that are safe however many rows the result has go before. Of leaves
    that are ``countable`` rows may tie: whether they do will be counted (`ties`).

    :raises SketchUnsafe: a column that was named is not safe.
    """
    leaves = dict.fromkeys(one.leaf for one in judged)
    judged = [replace(one, ties=False) if one.leaf in countable else one for one in judged]
    return {leaf: _of_leaf([one for one in judged if one.leaf == leaf], named.get(leaf), clustering) for leaf in leaves}


def _of_leaf(judged: list[SafeColumn], named: SketchOn | None, clustering: Mapping[tuple[int, str], float]) -> ChosenColumn | str:
    if named is not None:
        (column,) = [one for one in judged if one.column == named.column]
        problem = why_not(column)
        if problem:
            raise SketchUnsafe(f"a sketch of {column.column} of {column.table} is not safe: {problem}")
        return ChosenColumn(column, named)
    safe = [one for one in judged if not why_not(one)]
    if not safe:
        tied = next((one for one in judged if one.safe), None)
        return why_not(tied) if tied is not None else f"no column is proved safe ({judged[0].column}: {why_not(judged[0])})"
    best = min(safe, key=lambda one: (one.needs_fewer is not None, clustering.get((one.leaf, one.column), _UNKNOWN), one.rule != "group"))
    return ChosenColumn(best, SketchOn(column=best.column))


def why_not(one: SafeColumn) -> str:
    """Why a sketch of a column may not be used; empty where it may."""
    if not one.safe:
        return one.because + _counter(one.counter)
    return "rows may tie at the limit, or a value is of any row: another run may give others" if one.ties else ""


def _counter(counter: Sequence[tuple[str, Any, Any]]) -> str:
    told = ", ".join(f"{name} = {plain} in a plain run, {sketched} over a sketch" for name, plain, sketched in counter)
    return f" ({told})" if told else ""
