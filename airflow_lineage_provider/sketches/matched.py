"""What is known of the rows of an operator: of each, of one over the sketch and the one of the plain run that it goes with, of any two.

The paper's Ψ, pred and expr (Sec. 6.2) in one: a row over the sketch goes with the plain run's row of the same origin (the same source row,
pair, group), so all that holds of an operator's input holds of some row behind each of its rows, and stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sketches.formula import Formulas, Row

Single: TypeAlias = Callable[[Row], Any]
"""A formula about one row."""
Keys: TypeAlias = tuple[frozenset[int], ...]

_MOST_KEYS = 6


@dataclass(frozen=True)
class Matched:
    """``single``: hold of every row; ``pair``: of a sketched row and its plain one; ``twins``: of two rows of one run.

    ``keys`` are sets of attributes: rows that have the same there are one row. ``sketched``: whether a sketched source is below.
    """

    sketched: bool
    single: tuple[Single, ...] = ()
    pair: tuple[Any, ...] = ()
    twins: tuple[Any, ...] = ()
    keys: Keys = ()

    def beside(self, other: Matched) -> Matched:
        """What is known of a row of the one with a row of the other."""
        keys = tuple(one | two for one, two in product(self.keys, other.keys))[:_MOST_KEYS]
        return Matched(self.sketched or other.sketched, self.single + other.single, self.pair + other.pair, self.twins + other.twins, keys)

    def knowing(self, *single: Single) -> Matched:
        """With more that holds of every row."""
        return replace(self, single=self.single + single)

    def of_both(self) -> list[Any]:
        """What holds of a sketched row and the plain one."""
        plain = [one("plain") for one in self.single]
        sketched = [one("sketched") for one in self.single]
        return [*self.pair, *plain, *(one for one, other in zip(sketched, plain, strict=True) if one is not other)]

    def of_one(self) -> list[Any]:
        """What holds of a row of the plain run."""
        return [one("plain") for one in self.single]

    def of_two(self) -> list[Any]:
        """What holds of two rows of one run."""
        return [*self.twins, *(one(row) for one in self.single for row in ("plain", "second"))]


def determines(formulas: Formulas, keys: tuple[e.Attribute, ...], others: tuple[e.Attribute, ...]) -> tuple[Any, ...]:
    """That two rows with the same keys have the same in the other attributes."""

    z3, same = formulas.z3, formulas.same_in_two

    def made() -> Any:
        return z3.Implies(z3.And([same(key) for key in keys]), z3.And([same(one) for one in others]))

    return (formulas.fact(("determines", keys, others, "second"), made),) if others else ()
