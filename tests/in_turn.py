"""Cases and the ways to run them: each case one way, taking the ways in turn; every case every way with ``PAIRS=all`` (`make pairs`).

Of random cases `make quick` has fewer than `make test`."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import pytest

from airflow_lineage_provider.words import Strategy

Case = TypeVar("Case")
Way = TypeVar("Way")

EVERY = os.environ.get("PAIRS") == "all" or not {"FUZZ_EXAMPLES", "ARRAY_EXAMPLES", "SKETCH_EXAMPLES"}.isdisjoint(os.environ)
"""Whether every case is run: in `make pairs`, and in long runs of random cases."""
QUICK = "TESTS_QUICK" in os.environ
"""Whether this is `make quick`, or another run without Spark (`tests.conftest` says so)."""
STRATEGIES: tuple[Strategy, ...] = ("function_materialization", "rerun", "full_materialization")
"""The strategies that can be asked for."""


in_pairs = pytest.mark.in_pairs
"""Marks a test that takes minutes, where another is like it: `make pairs` runs it alone."""


def few(sample: int, one_in: int = 3) -> int:
    """How many random cases are drawn: a sample of so many, and a part of it in `make quick`.

    >>> few(60) in (60, 20)
    True
    """
    return max(1, sample // one_in) if QUICK else sample


def sampled(cases: Iterable[Case], one_in: int = 4) -> list[Case]:
    """Some of many cases that are alike, always the same; all with ``PAIRS=all``, and in long runs of random pipelines.

    Ways are taken in turn by the cases that are left, ``in_turn(sampled(cases), ways)``, or all of these may be done one way.

    >>> sampled(["a", "b", "c", "d", "e"])
    ['a', 'e']
    """
    return list(cases)[:: 1 if EVERY else one_in]


def sampled_of_each(cases: Iterable[Case], kind: Callable[[Case], Hashable], one_in: int = 4) -> list[Case]:
    """The first case of each kind, and some of the others; all where `sampled` has all.

    >>> sampled_of_each(["a1", "a2", "a3", "a4", "a5", "b1"], lambda case: case[0])
    ['a1', 'a5', 'b1']
    """
    found, seen = list[Case](), set[Hashable]()
    for at, case in enumerate(cases):
        if EVERY or at % one_in == 0 or kind(case) not in seen:
            found.append(case)
        seen.add(kind(case))
    return found


def in_turn(cases: Iterable[Case], ways: Sequence[Way]) -> list[tuple[Case, Way]]:
    """The cases, each with a way to run it.

    >>> in_turn(["a join", "a window"], STRATEGIES)
    [('a join', 'function_materialization'), ('a window', 'rerun')]
    """
    if os.environ.get("PAIRS") == "all":
        return [(case, way) for case in cases for way in ways]
    return [(case, ways[at % len(ways)]) for at, case in enumerate(cases)]
