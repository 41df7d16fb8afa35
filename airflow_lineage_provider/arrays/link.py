"""How an array hangs on another: a compressed relation, kept in the direction in which it has fewer rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.given import Capture, captured, read_pairs
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.invert import invert
from airflow_lineage_provider.arrays.path import Step
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.errors import InvalidRelation
from airflow_lineage_provider.shown import shown

GUARANTEES = ("exact", "superset", "unavailable")
"""What a relation is worth, from the strongest to the weakest."""


def worth(said: str | None, captures: Iterable[Any]) -> str:
    """What captures are worth: what is said, or else what they say of themselves (``guarantee``), as estimates do; exact by default."""
    return weakest(getattr(one, "guarantee", GUARANTEES[0]) for one in captures) if said is None else said


def weakest(guarantees: Iterable[str]) -> str:
    """What relations are worth together; `exact` where there is none."""
    return max(guarantees, key=GUARANTEES.index, default=GUARANTEES[0])


_SIGN = "3:"
"""Before the operation of a link that is kept: by which rule it may have been reused. JSON begins otherwise."""
_OLDER = ("2:",)
"""By which what hangs on values was reused at shapes that were captured after it was refused."""
UNPROVEN = (
    "an earlier release may have reused this lineage where no capture spoke for it; drop the output, and register its operation again"
)


def signed(operation: str) -> str:
    """A link's operation as it is kept."""
    return f"{_SIGN}{operation}" if operation else ""


def unsigned(kept: str, guarantee: str) -> tuple[str, str, str]:
    """A link's operation, what the link is worth, and why, if that is less than was said: without a sign nobody knows how it was reused."""
    if kept.startswith(_SIGN):
        return kept.removeprefix(_SIGN), guarantee, ""
    for sign in _OLDER:
        kept = kept.removeprefix(sign)
    return (kept, GUARANTEES[-1], UNPROVEN) if kept else ("", guarantee, "")


_FEW = 16
"""So few rows need no second look."""
_SAMPLE = 4096
"""By so many pairs the directions of a large relation are compared."""


@dataclass(eq=False)
class Link:
    """A relation between an array and one that is made from it. (Made for each hop of a question: a frozen one takes twice as long.)

    :ivar table: its rows are boxes of output cells or, where ``turned``, of input cells.
    :ivar operation: what made the output, with its arguments, as JSON; empty where that was not said.
    :ivar cause: why the guarantee is weaker than was said, if it is.
    """

    table: Relation
    turned: bool
    guarantee: str
    operation: str = ""
    cause: str = ""

    def step(self, backward: bool) -> Step:
        """Going from the output to the input, or the other way."""
        return Step(self.table, backward is not self.turned)

    def by_output(self) -> Relation:
        """The relation, its rows boxes of output cells."""
        return invert(self.table) if self.turned else self.table


def link(pairs: Ints, output: Shape, source: Shape, guarantee: str) -> Link:
    """The pairs compressed, in the direction that a sample of them says is the smaller."""
    order = [*range(len(output), pairs.shape[1]), *range(len(output))]
    sample = compress(pairs, output, source) if len(pairs) <= _SAMPLE else compress(_first(pairs), output, source)
    turned = len(sample) > _FEW and 2 * len(compress(_first(pairs)[:, order], source, output)) < len(sample)
    if turned:
        return Link(compress(pairs[:, order], source, output), True, guarantee)
    return Link(sample if len(pairs) <= _SAMPLE else compress(pairs, output, source), False, guarantee)


def kept(relation: Relation, guarantee: str, operation: str = "") -> Link:
    """A relation whose rows are boxes of output cells, turned where that has less than half as many rows."""
    # Of neighbouring rows, as of pairs: to turn all of a relation that has no boxes either way takes longer than to compress it.
    first = relation if len(relation) <= _SAMPLE else relation.take(np.arange(_SAMPLE))
    if len(relation) > _FEW and 2 * len(invert(first)) < len(first):
        turned = invert(relation)
        if 2 * len(turned) < len(relation):
            return Link(turned, True, guarantee, operation)
    return Link(relation, False, guarantee, operation)


def _first(pairs: Ints) -> Ints:
    """Pairs of neighbouring output cells."""
    if len(pairs) <= _SAMPLE:
        return pairs
    least = np.argpartition(pairs[:, 0], _SAMPLE)[:_SAMPLE] if pairs.shape[1] else np.arange(_SAMPLE)
    return pairs[np.sort(least)]


def given_link(pairs: Any, capture: Capture | None, output: tuple[str, Shape], source: tuple[str, Shape], guarantee: str) -> Link:
    """What somebody gave as the lineage between two arrays: pairs, a relation, or a capture.

    :raises InvalidRelation: the pairs, or the relation, are not what they can be.
    :raises CaptureFailed: the capture raised, or gave something else than cells.
    """
    if isinstance(pairs, Relation):
        return kept(fitting(pairs, output, source), guarantee)
    given = captured(capture, output, source) if capture is not None else read_pairs(pairs, output, source)
    return link(given, output[1], source[1], guarantee)


def fitting(relation: Relation, output: tuple[str, Shape], source: tuple[str, Shape]) -> Relation:
    """A compressed relation, if it is one between these two.

    :raises InvalidRelation: it is between other shapes, or its rows are not what they can be.
    """
    shapes = (relation.out_shape, relation.in_shape)
    if shapes != (output[1], source[1]):
        between = f"{shown(output[0])} of shape {output[1]} and {shown(source[0])} of shape {source[1]}"
        raise InvalidRelation(f"the compressed relation is between shapes {shapes[0]} and {shapes[1]}, not between {between}")
    check_relation(relation)
    return relation
