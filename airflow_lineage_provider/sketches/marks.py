"""Marks: what rows carry of the sources' rows behind them (`capture`), and what is known when they are carried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.sketches.equal_columns import EqualColumns
from airflow_lineage_provider.sketches.unions import Union, is_for
from airflow_lineage_provider.sketches.witness import Witnessing

FRAGMENT = "lineage_fragment"
"""The column of a source's view that has the numbers of its rows' fragments."""


class CannotCarry(Exception):
    """What stands behind some rows is not carried to them: ``leaves`` are the sources, and the text says why not."""

    def __init__(self, node: o.Plan, leaves: Iterable[int], because: str) -> None:
        super().__init__(f"{because} ({operator_text(node)})")
        self.leaves = frozenset(leaves)


class NumberLost(CannotCarry):
    """A number is asked for where only the columns are left that tell it."""


@dataclass(frozen=True, kw_only=True)
class One:
    """At most one row of a source stands behind each row.

    :ivar values: columns that equal, in every row, the sketched columns of that row, each in its place; none where one has none.
    :ivar number: the number of its fragment, NULL where there is no such row; None where only the values have come so far.
    """

    leaf: int
    values: tuple[Attribute, ...] = ()
    number: Attribute | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.values if self.number is None else (*self.values, self.number)

    @property
    def told_by(self) -> tuple[Attribute, ...]:
        """What tells the fragment: the columns, where there are any."""
        return self.values or self.attributes


@dataclass(frozen=True, kw_only=True)
class Many:
    """A set of fragments stands behind each row, in the columns of a union."""

    leaf: int
    union: Union
    columns: tuple[Attribute, ...]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.columns


Mark: TypeAlias = One | Many


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A plan that gives the marks of its rows beside its columns, and what is known to be equal in them."""

    plan: o.Plan
    marks: tuple[Mark, ...] = ()
    equal: EqualColumns = field(default_factory=EqualColumns)


@dataclass(frozen=True, kw_only=True)
class Carrying:
    """What is carried.

    :ivar columns: the column that a sketch is to be of, or several (`column_text`), by leaf.
    :ivar counts: how many fragments it has, where that is known yet.
    :ivar fresh: gives the attributes of marks. :ivar segments: what the rows of stored segments carry.
    :ivar union: how the fragments of groups are united where their order is free; None: as costs least.
    :ivar grouped: whether a semi-join's partners are grouped by what they are joined by, so that their numbers come along.
    :ivar witness: what is told of witnesses, where one row of a group is to stand for all where that is enough; None where it is not.
    """

    columns: Mapping[int, str]
    counts: Mapping[int, int]
    fresh: FreshAttributes
    segments: Mapping[int, Carried] = field(default_factory=dict)
    union: Union | None = None
    grouped: bool = False
    witness: Witnessing | None = None

    def attribute(self, type_: str, *, nullable: bool = True) -> Attribute:
        """A new one, named after its number: no name is taken twice."""
        made = self.fresh.attribute(FRAGMENT, type_, nullable)
        return replace(made, name=f"{FRAGMENT}_{made.id}")

    def unites(self, union: Union, leaf: int) -> bool:
        """Whether a union has room for the fragments of a leaf, as far as is known."""
        return leaf not in self.counts or is_for(union, self.counts[leaf])
