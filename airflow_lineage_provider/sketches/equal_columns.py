"""Columns that are equal in every row of an operator's output: what two of them are in one fragment by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression, conjuncts
from airflow_lineage_provider.sketches.kinds import kind_of


@dataclass(frozen=True)
class EqualColumns:
    """Sets of attributes, by their ids; those of a set are equal, or all NULL. (What compares equal is in one fragment: -0.0 and 0.0, too.)

    >>> here, there = (Attribute(id=at, name="k", type="int") for at in (1, 2))
    >>> EqualColumns().and_(EqualColumns(((1, 3),))).and_where(Call(function="=", arguments=(here, there), type="boolean")).to(here)
    frozenset({1, 2, 3})
    """

    pairs: tuple[tuple[int, int], ...] = ()

    def and_(self, other: EqualColumns) -> EqualColumns:
        """What holds of both sides of a join."""
        return EqualColumns((*self.pairs, *other.pairs))

    def and_also(self, pairs: Iterable[tuple[Attribute, Attribute]]) -> EqualColumns:
        """Further columns that are equal, if their types tell so."""
        return EqualColumns((*self.pairs, *((one.id, other.id) for one, other in pairs if _compare(one, other))))

    def and_where(self, condition: Expression | None) -> EqualColumns:
        """What rows have that meet a condition, too."""
        return self.and_also(equalities(condition))

    def among(self, attributes: Iterable[Attribute]) -> EqualColumns:
        """What it says of these alone.

        >>> one, other = (Attribute(id=at, name="k", type="int") for at in (1, 2))
        >>> EqualColumns(((1, 3), (3, 2))).among([one, other]).pairs
        ((1, 2),)
        """
        given = list(attributes)
        return EqualColumns(tuple((one.id, other.id) for one, other in combinations(given, 2) if other.id in self.to(one)))

    def to(self, attribute: Attribute) -> frozenset[int]:
        """All that equal an attribute, itself among them."""
        found, waiting = {attribute.id}, [attribute.id]
        while waiting:
            one = waiting.pop()
            for pair in self.pairs:
                if one in pair:
                    new = set(pair) - found
                    found |= new
                    waiting += new
        return frozenset(found)


def equalities(condition: Expression | None) -> list[tuple[Attribute, Attribute]]:
    """The pairs of columns that a condition requires to be equal."""
    found = []
    for part in () if condition is None else conjuncts(condition):
        if isinstance(part, Call) and part.function in ("=", "==", "<=>"):
            left, right = part.arguments
            if isinstance(left, Attribute) and isinstance(right, Attribute) and _compare(left, right):
                found.append((left, right))
    return found


def _compare(one: Attribute, other: Attribute) -> bool:
    """Whether values that compare equal are in one fragment: those of one type whose order fragments are cut in."""
    return one.type == other.type and kind_of(one.type) != "opaque"
