"""Conditions of selections, put together."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.plan.expressions import Call, Expression


def call(function: str, *arguments: Expression) -> Call:
    """A function that says whether something holds."""
    return Call(function=function, arguments=arguments, type="boolean")


def both(left: Expression, right: Expression) -> Call:
    """That both hold."""
    return call("and", left, right)


def balanced(function: str, terms: Sequence[Expression]) -> Expression:
    """Terms connected in a tree that is as flat as can be: Spark's optimizer goes down a chain again and again."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return call(function, balanced(function, terms[:middle]), balanced(function, terms[middle:]))
