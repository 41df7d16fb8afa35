"""What tracked arrays remember: of each result the arrays that it was made from, and of these the cells, when they are asked for.

A result keeps no values but those that its lineage needs, so what a person throws away is thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.compose import restrict
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation

Within = Callable[[Boxes], Relation]
"""Of some cells of a result (boxes of which no two overlap), the pairs with the cells of one array behind them."""


@dataclass(frozen=True, eq=False)
class Operand:
    """How a result hangs on one of the arrays that it was made from.

    :ivar result: that array.
    :ivar within: the pairs of some cells. Nothing is computed before.
    :ivar guarantee: what these are worth.
    :ivar influence: the cells were only compared, or selected by; the result was not computed from them.
    :ivar relation: all pairs, where they are known from the shapes.
    :ivar region: all cells behind some, where these are found without the pairs.
    """

    result: Result
    within: Within
    guarantee: str = "exact"
    influence: bool = False
    relation: Relation | None = None
    region: Callable[[Region], Region] | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """An array as it came out of an operation, or a source.

    :ivar name: of the operation, or of the source.
    :ivar operands: none where it is a source, or made from no tracked array.
    """

    name: str
    shape: Shape
    operands: tuple[Operand, ...] = ()
    is_source: bool = False

    @property
    def cells(self) -> int:
        """How many it has."""
        return math.prod(self.shape)


def whole(relation: Relation) -> Within:
    """Of a relation that is known for all cells."""
    return lambda boxes: restrict(relation, boxes)


def later(make: Callable[[], Relation]) -> Within:
    """Of a relation that is made when it is asked for first."""
    made = cache(make)

    def within(boxes: Boxes) -> Relation:
        return restrict(made(), boxes)

    return within


def in_order(last: Result, *, influence: bool) -> list[Result]:
    """All results behind one, and itself: none stands before what it was made from."""
    found: list[Result] = []
    seen: set[Result] = set()
    waiting: list[tuple[Result, bool]] = [(last, False)]
    while waiting:
        result, is_complete = waiting.pop()
        if is_complete:
            found.append(result)
        elif result not in seen:
            seen.add(result)
            waiting.append((result, True))
            waiting += [(one.result, False) for one in followed(result, influence=influence)][::-1]
    return found


def followed(result: Result, *, influence: bool) -> Iterator[Operand]:
    """The operands that an answer goes through."""
    return (one for one in result.operands if influence or not one.influence)


class Followed:
    """Something whose cells' lineage is followed: a tracked array, or a tracked frame.

    :ivar result: what it was made from.
    """

    result: Result

    @property
    def shape(self) -> Shape:
        """Its sides."""
        return self.result.shape
