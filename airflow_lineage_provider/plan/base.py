"""What a class must declare before a plan may hold it, and how one that a function has no rule for is refused.

An operator that is added must not be taken for another by those who were not told of it. So each class says what it makes and what
its rows go back to where it is defined (Python refuses a class that does not), and every function that tells operators or expressions
apart ends in `no_rule`: the type checker shows which functions lack the new class, and at run time they refuse it by its name.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Never

from airflow_lineage_provider.errors import UnsupportedOperator

WRITTEN_IF_SET = MappingProxyType({"written": "if set"})
"""Of a field: a stored plan has it where it is another than its default. So plans that do without it are those of releases before it."""


class LineageRule(Enum):
    """What the lineage of a row of an operator's output is: for the paper's operators by definition 5 of augmented lineage, else ours."""

    SOURCE = "the row itself: lineage ends here"
    SEGMENT = "the row of the other segment's output"
    ONE_ROW = "the input row that it was made from, or that was let pass"
    ONE_BRANCH = "the row of the branch that it comes from"
    BOTH_PARTNERS = "both partners, or the one that has none (outer joins)"
    GROUP = "all rows of the group"
    PARTNERS = "the left row, and every right row that it goes with"
    WHOLE_SIDE = "the left row; the right side has a part in it as a whole, as a control"
    FRAME = "the row itself, and the rows of the functions' frames"
    PYTHON = "what is known of a Python function: its groups, the rows with the same passed columns, or nothing"
    NOTHING = "no row: it gives values for which something is computed"


class Operator:
    """The base of the operators.

    ``makes`` names the fields with the attributes that the operator gives and does not read, ``computes`` those with columns of which the
    aliases make their attributes. ``lineage`` is its rule; None where that depends on the operator's fields: then the class has a
    property ``lineage``.
    """

    makes: ClassVar[tuple[str, ...]]
    computes: ClassVar[tuple[str, ...]]
    _rule: ClassVar[LineageRule | None]

    def __init_subclass__(cls, *, makes: tuple[str, ...], lineage: LineageRule | None, computes: tuple[str, ...] = ()) -> None:
        if lineage is None and "lineage" not in vars(cls):
            raise TypeError(f"the operator {cls.__name__} declares no lineage rule, and has no property `lineage` that tells it")
        cls.makes, cls.computes, cls._rule = makes, computes, lineage

    @property
    def lineage(self) -> LineageRule:
        """What a row of the output goes back to."""
        rule = type(self)._rule
        assert rule is not None
        return rule


class ExpressionNode:
    """The base of the expressions."""


def no_rule(node: Never, function: str) -> UnsupportedOperator:
    """What a function that tells operators or expressions apart raises at its end; ``function`` says in words what has no rule.

    The type checker shows the functions whose end a new class can reach.
    """
    return unknown(node, function)


def unknown(node: object, function: str) -> UnsupportedOperator:
    """`no_rule`, for functions that follow what the classes declare and so have no cases."""
    return UnsupportedOperator(f"{function} has no rule for {type(node).__name__}")
