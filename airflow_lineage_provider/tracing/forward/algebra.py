"""What is carried forwards beside every row, and how it is combined: an algebra of one row, the union of a set, and nothing.

`plans` knows, for each operator, of which rows another row is made; what is carried for them is the algebra's business. Tags
(`forward.tags`) say which of the rows that are asked about a row descends from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Expression, WindowFrame
from airflow_lineage_provider.rewrite.fresh import FreshAttributes


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A plan, and what each of its rows carries, in the plan's terms."""

    plan: o.Plan
    value: Expression


class Algebra(Protocol):
    """What a row carries is a value of one type of SQL's; NULL is what is carried for no row at all."""

    @property
    def type(self) -> str: ...

    def of_source(self, source: o.Source, keys: Sequence[Attribute], fresh: FreshAttributes) -> tuple[o.Plan, Attribute] | None:
        """The rows of a source with what each of them carries, in a column; None: they all carry nothing. ``keys`` tell them apart."""
        ...

    def column(self, fresh: FreshAttributes) -> Attribute:
        """A new column to carry it in."""
        ...

    def both(self, one: Expression, other: Expression) -> Expression:
        """What is carried for a row that is made of two."""
        ...

    def collected(self, carried: Attribute, frame: WindowFrame | None, fresh: FreshAttributes) -> Alias:
        """What the rows of a group carry, or those of a frame, in a column (for `united`)."""
        ...

    def united(self, collected: Sequence[Attribute]) -> Expression:
        """What is carried for a row that is made of all that was collected."""
        ...

    def of_partners(self, right: o.Plan, carried: Attribute, condition: Expression | None, fresh: FreshAttributes) -> Carried:
        """What the right rows carry that make a condition true: a plan of one row to be joined to the left side, and the value there."""
        ...
