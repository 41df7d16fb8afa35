"""Numpy's functions over tracked arrays with arguments drawn at random, by the names of their parameters: what changing a cell changes is
in the answer, whatever they are.

A call that numpy itself refuses is drawn again; one that is refused because its lineage is not known counts, and there is a limit to them.
`make test` asks a third of the functions, `make fuzz-arrays` all.
"""

from __future__ import annotations

import inspect
import math
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider.arrays.tracking.functions import RULES
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.errors import NotTracked
from tests.arrays.drawing import LONG, SEED
from tests.arrays.keywords import ARRAYS, LISTED, MADE, OPTIONS, REFUSED, Drawn
from tests.arrays.numpy_functions import CASES, Case
from tests.arrays.test_tracked_truth import changed, inputs, plain, same, told, tracked
from tests.in_turn import few, sampled

EXACT = {function for function in RULES if all(case.is_exact for case in CASES if case.covers is function)} - {np.std, np.var}
"""Those whose lineage no values change. (A single cell has no deviation.)"""
CALLS = LONG // 100 or few(5, 2)
TRIES = 1_000
"""So many draws for each call that numpy takes."""
_SKIPPED = object()


@dataclass(frozen=True)
class Slot:
    """Where a tracked array stands in the arguments."""

    number: int


@dataclass
class Drawing:
    """One call of a function.

    :ivar shapes: of its tracked arrays. :ivar laid: how each lies in memory.
    """

    function: Any
    random: np.random.Generator

    def __post_init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self.laid: list[str] = []
        choices = ARRAYS.get(self.function, ARRAYS[None])
        self.wanted = list(choices[int(self.random.integers(len(choices)))])

    def case(self) -> Case:
        """The call, its arguments by position as long as none is left out."""
        given: list[Any] = []
        options: dict[str, Any] = {}
        for parameter in inspect.signature(self.function).parameters.values():
            value = self._value(parameter)
            if value is _SKIPPED or parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                given += [*self._one_of((self.function, parameter.name), default=[]), *value]
            elif parameter.default is inspect.Parameter.empty and not options:
                given.append(value)
            else:
                options[parameter.name] = value
        which, name = (
            int(self.random.integers(12)),
            f"{self.function.__name__}(*{given}, **{options}) of {self.shapes} ({', '.join(self.laid)})",
        )
        made = MADE.get(self.function, lambda one: one)
        shapes = tuple(shape[::-1] if laid == "F" else shape for shape, laid in zip(self.shapes, self.laid, strict=True))
        return Case(name, self.function, _call(self.function, given, options, which, self.laid), shapes, False, made)

    def _value(self, parameter: inspect.Parameter) -> Any:
        name, rule = parameter.name, RULES[self.function]
        if name == "like" and self.shapes:
            return Slot(0)
        is_optional = parameter.default is not inspect.Parameter.empty or parameter.kind is inspect.Parameter.VAR_POSITIONAL
        if name in rule.arrays and (self.wanted or not is_optional):
            return self._arrays(name) if not (is_optional and name not in LISTED and self.random.random() < 0.4) else _SKIPPED
        if is_optional and self.random.random() < 0.5:
            return _SKIPPED
        return self._one_of((self.function, name), name, default=_SKIPPED)

    def _one_of(self, *keys: Any, default: Any) -> Any:
        """What an option can be, by the first of these keys that is known."""
        choices = next((OPTIONS[key] for key in keys if key in OPTIONS), None)
        if choices is None:
            return default
        chosen = choices[int(self.random.integers(len(choices)))]
        return chosen.of(self.shapes[0] if self.shapes else (), self.random) if isinstance(chosen, Drawn) else chosen

    def _arrays(self, name: str) -> Any:
        if name not in LISTED:
            return self._slot()
        return [self._slot() for _ in range(len(self.wanted))]

    def _slot(self) -> Any:
        shape = self.wanted.pop(0) if self.wanted else self.shapes[0]
        if self.shapes and self.random.random() < 0.2:
            return 1 + np.arange(math.prod(shape)).reshape(shape) / 7
        self.shapes.append(shape)
        self.laid.append("C" if self.function in MADE else str(self.random.choice(["C", "F", "reversed"], p=[0.6, 0.2, 0.2])))
        return Slot(len(self.shapes) - 1)


def _put(value: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(value, Slot):
        return arrays[value.number]
    return type(value)([_put(one, arrays) for one in value]) if type(value) in (list, tuple) else value


def _call(function: Any, given: list[Any], options: dict[str, Any], which: int, laid: Sequence[str]) -> Callable[..., Any]:
    """The call, and of several results one."""

    def call(*sources: Any) -> Any:
        arrays = [
            one.T if how == "F" else one[::-1] if how == "reversed" and one.ndim else one for one, how in zip(sources, laid, strict=True)
        ]
        found = function(*_put(given, arrays), **{name: _put(one, arrays) for name, one in options.items()})
        while isinstance(found, list | tuple):
            found = found[which % len(found)]
        return found

    return call


def valid_case(function: Any, random: np.random.Generator) -> tuple[Case, list[Any]] | None:
    """A call that numpy takes, with values."""
    for _ in range(TRIES):
        case = Drawing(function, random).case()
        values = inputs(case, int(random.integers(2**31)))
        try:
            plain(case, values)
        except Exception:
            continue
        if values:
            return case, values
    return None


def check(case: Case, values: list[Any]) -> None:
    found, wanted = tracked(case, values), plain(case, values)
    assert (found.values.dtype, found.shape) == (wanted.dtype, wanted.shape), case.name
    assert np.all(same(found.values, wanted)), case.name
    recorded = record(found, ..., influence=False)
    for which in range(len(values)):
        name, changes = f"source {which}", set(changed(case, values, which))
        computed = told(found, name, influence=False)
        missing = changes - computed - told(found, name, influence=True)
        assert not missing, (case.name, which, sorted(missing)[:3])
        ways = recorded.ways(name) if name in recorded.sources else []
        if case.covers in EXACT and {way.guarantee for way in ways} == {"exact"}:
            assert computed == changes, (case.name, which, sorted(computed - changes)[:3])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", sampled(RULES, 3), ids=lambda one: one.__name__)
def test_whatever_the_arguments_are_what_changes_is_in_the_answer(function: Any) -> None:
    random = np.random.default_rng([SEED, zlib.crc32(function.__name__.encode())])
    calls, refused = 0, list[str]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while calls + len(refused) < CALLS:
            found = valid_case(function, random)
            assert found is not None, f"no call of {function.__name__} was drawn that numpy takes"
            try:
                check(*found)
            except NotTracked as problem:
                refused.append(f"{found[0].name}: {problem}")
            else:
                calls += 1
    assert calls >= CALLS * (1 - REFUSED.get(function, 0.25)), refused


UFUNCS = (np.add, np.multiply, np.subtract, np.maximum, np.fmin, np.logical_or, np.hypot, np.arctan2)
WAYS: dict[str, dict[str, list[Any]]] = {
    "reduce": {
        "axis": [0, -1, None, (0, 1), ()],
        "keepdims": [True, False, 1, np.True_],
        "initial": [0.5, 2.0],
        "dtype": ["f4", "c16"],
        "where": [np.arange(4) > 1, np.arange(3)[:, None] < 2],
    },
    "accumulate": {"axis": [0, -1, 1], "dtype": ["f4", "c16"]},
    "reduceat": {"axis": [0, -1], "indices": [[0], [0, 2], [2, 0, 1], [1, 1]], "dtype": ["f4"]},
    "outer": {"dtype": ["f4", "c16"], "casting": ["unsafe"]},
    "__call__": {
        "dtype": ["f4", "c16"],
        "casting": ["unsafe"],
        "where": [np.arange(4) > 1, np.arange(3)[:, None] < 2],
        "order": ["F"],
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("ufunc", "way"), sampled(product(UFUNCS, WAYS), 3), ids=lambda one: getattr(one, "__name__", one))
def test_whatever_a_ufunc_is_given_what_changes_is_in_the_answer(ufunc: np.ufunc, way: str) -> None:
    """Called with ``where=`` numpy leaves what was in its memory; here it is nought, so what is computed is compared."""
    random = np.random.default_rng([SEED, zlib.crc32(f"{ufunc.__name__} {way}".encode())])
    calls = 0
    for _ in range(TRIES * CALLS):
        options = {name: some[int(random.integers(len(some)))] for name, some in WAYS[way].items() if random.random() < 0.5}
        shapes = [(3, 4), [(3, 4), (4,), (2, 1)][int(random.integers(3))]][: 2 if way in ("outer", "__call__") else 1]
        if way == "reduceat":
            options.setdefault("indices", [0, 1])

        def call(*arrays: Any, options: dict[str, Any] = options) -> Any:
            chosen = options.get("where") if way == "__call__" else None
            found = getattr(ufunc, way)(*arrays, **options)
            return found if chosen is None else np.where(np.broadcast_to(chosen, found.shape), found, 0)

        case = Case(f"{ufunc.__name__}.{way}(**{options}) of {shapes}", None, call, tuple(shapes), False)
        values = inputs(case, int(random.integers(2**31)))
        try:
            plain(case, values)
        except (TypeError, ValueError):
            continue
        with np.errstate(all="ignore"):
            check(case, values)
        calls += 1
        if calls == CALLS:
            return
    assert calls, "no call was drawn that numpy takes"
