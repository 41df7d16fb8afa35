"""A call of one of numpy's functions with tracked arrays, and what is known of the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, plain, tracked_in
from airflow_lineage_provider.errors import NotTracked

NOT_GIVEN = np._NoValue
"""What numpy's own signatures have where nothing was given."""


@dataclass(frozen=True)
class Rule:
    """What is known of a function: how its result is made with its lineage, and which of its arguments may be tracked arrays.

    :ivar arrays: names of parameters.
    :ivar fixed: of further parameters, the only value whose lineage is known.
    :ivar in_lists: whether they may also stand in lists.
    :ivar deciding: further parameters that may be tracked arrays, whose cells decide which cells are taken: they have influence.
    :ivar filled: further parameters whose values are filled in where no cell is.
    """

    made: Callable[[Call], Any]
    arrays: tuple[str, ...]
    fixed: Mapping[str, Any] | None = None
    in_lists: bool = False
    deciding: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A call, its arguments by the names of the function's parameters, those that were not given with their defaults."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    rule: Rule

    @property
    def name(self) -> str:
        """Of the function."""
        return str(getattr(self.function, "__name__", self.function))

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """By parameter; what ``**options`` takes is among them."""
        found = inspect.signature(self.function).bind(*self.args, **self.options)
        found.apply_defaults()
        extra = found.arguments.get("kwargs")
        return {**found.arguments, **(extra if isinstance(extra, dict) else {})}

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or this where it was not given."""
        value = self.arguments.get(name, NOT_GIVEN)
        return default if value is NOT_GIVEN else value

    def tracked(self, name: str) -> Tracked | None:
        """An argument that is a tracked array."""
        value = self.arguments.get(name)
        return value if isinstance(value, Tracked) else None

    @property
    def deciding(self) -> list[Tracked]:
        """The tracked arrays among what decides."""
        return [one for name in self.rule.deciding for one in tracked_in(self.arguments.get(name))]

    def result(self) -> Any:
        """What the function gives for the values."""
        return self.function(*plain(self.args), **plain(dict(self.options)))

    def check(self) -> None:
        """That lineage is known of all arguments that are tracked arrays, and of the options.

        :raises NotTracked: naming the argument.
        """
        for name, value in self.arguments.items():
            if name in ("out", "a_out") and any(one is not None for one in (value if isinstance(value, tuple) else (value,))):
                raise NotTracked(f"numpy.{self.name} with out= writes into an array; leave it out")
            if name not in (*self.rule.arrays, *self.rule.deciding) and tracked_in(value):
                raise NotTracked(f"numpy.{self.name}: the lineage of a tracked array as {name} is not known: {WAYS_OUT}")
            if not self.rule.in_lists and any(hidden_in(one) for one in (value if _is_many(self, name) else (value,))):
                raise NotTracked(f"numpy.{self.name}: the lineage of a list with tracked arrays as {name} is not known: stack() them")
        for name, known in (self.rule.fixed or {}).items():
            if self.get(name, known) is not known:
                raise NotTracked(f"numpy.{self.name} with another {name} than {known!r} has no known lineage: {WAYS_OUT}")


def hidden_in(value: Any) -> bool:
    """Whether tracked arrays stand in a list, say, which numpy would make one array of."""
    return not isinstance(value, Tracked) and bool(tracked_in(value))


Rebuilt = tuple[tuple[Any, ...], dict[str, Any]]


def arrays_of(call: Call) -> tuple[list[Any], Callable[[Sequence[Any]], Rebuilt]]:
    """The arrays in the arguments whose cells a function moves, and how others are put in their places."""
    found: list[Any] = []

    def gathered(value: Any) -> Any:
        if type(value) in (list, tuple) and tracked_in(value):
            return type(value)([gathered(one) for one in value])
        found.append(value if isinstance(value, Tracked) else np.asarray(value))
        return _Place(len(found) - 1)

    bound = inspect.signature(call.function).bind(*call.args, **call.options)
    for name in call.rule.deciding:
        if name in bound.arguments:
            bound.arguments[name] = plain(bound.arguments[name])
    # Numbers of cells need a type of their own, and so has what is filled in between them; and they lie in memory in their own way.
    for name in ("dtype", "casting", "copy"):
        bound.arguments.pop(name, None)
    for given in (bound.arguments, bound.arguments.get("kwargs", {})):
        given.update({name: np.zeros(np.shape(given[name]), dtype=np.int64) for name in call.rule.filled if name in given})
    for name in call.rule.arrays:
        if name in bound.arguments:
            value = bound.arguments[name]
            bound.arguments[name] = tuple(map(gathered, value)) if _is_many(call, name) else gathered(value)

    def rebuilt(arrays: Sequence[Any]) -> Rebuilt:
        return _put(bound.args, arrays), {name: _put(value, arrays) for name, value in bound.kwargs.items()}

    return found, rebuilt


@dataclass(frozen=True)
class _Place:
    number: int


def _put(value: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(value, _Place):
        return arrays[value.number]
    return type(value)([_put(one, arrays) for one in value]) if type(value) in (list, tuple) else value


def _is_many(call: Call, name: str) -> bool:
    found = inspect.signature(call.function).parameters.get(name)
    return found is not None and found.kind is inspect.Parameter.VAR_POSITIONAL
