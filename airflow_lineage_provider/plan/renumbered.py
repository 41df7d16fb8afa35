"""A plan under numbers of its own: a session numbers attributes and calls as it likes, so that a pipeline, run twice, is two texts."""

from __future__ import annotations

import dataclasses
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from airflow_lineage_provider.plan.expressions import Attribute, LambdaVariable

Node = TypeVar("Node")
_CALLS = ("call", "calls")


class Renumbering:
    """Gives each of the session's numbers the number of its first occurrence, from 1 up.

    Attributes and calls of Python functions have numbers of one series, so that what was one number stays one.

    :ivar numbers: the new numbers by those of the session.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self._parameters: dict[str, str] = {}

    def node(self, node: Node) -> Node:
        """The node, and all that is in it, under the new numbers."""
        if not is_dataclass(node) or isinstance(node, type):
            return node
        changed = {one.name: self._field(node, one.name, getattr(node, one.name)) for one in fields(node)}
        return dataclasses.replace(node, **changed)

    def _field(self, node: object, name: str, value: Any) -> Any:
        if name in _CALLS or (name == "id" and isinstance(node, Attribute)):
            return tuple(map(self._number, value)) if isinstance(value, tuple) else self._number(value)
        if name == "name" and isinstance(node, LambdaVariable):
            return self._parameters.setdefault(value, f"lambda_{len(self._parameters) + 1}")
        return self._value(value)

    def _value(self, value: Any) -> Any:
        return tuple(map(self._value, value)) if isinstance(value, tuple) else self.node(value)

    def _number(self, number: int | None) -> int | None:
        """(One below 0 says that there is none.)"""
        return number if number is None or number < 0 else self.numbers.setdefault(number, len(self.numbers) + 1)
