"""Random relations between small arrays, random paths of them, and how many are drawn.

``make test`` draws a small sample that is always the same; ``ARRAY_EXAMPLES=10000`` draws that many relations, and half as many paths, from
``FUZZ_SEED`` (``make fuzz-arrays``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints
from tests.arrays.operations import OPERATIONS
from tests.in_turn import few

LONG = int(os.environ.get("ARRAY_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))


def drawn(sample: int, *, one_in: int = 1, **strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property over drawn cases: ``sample`` of them, or one in so many (``one_in``) of a long run."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        chosen = settings(
            max_examples=LONG // one_in or few(sample), deadline=None, database=None, suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if LONG else (Phase.generate,), print_blob=True,
        )  # fmt: skip
        made: Callable[..., None] = seed(SEED)(chosen(given(**strategies)(test)))
        return made

    return decorate


@dataclass(frozen=True, eq=False)
class Given:
    """Pairs between an output and an input, as somebody may give them: in any order, some twice."""

    pairs: Ints
    output: Shape
    source: Shape


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def relations(draw: st.DrawFn, source: Shape | None = None) -> Given:
    """A numpy operation's relation, pairs at random, or one of these with a part of the other or without some of its own."""
    source = draw(shapes) if source is None else source
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = [name for name, one in OPERATIONS.items() if one.fits(source)]
    name = draw(st.sampled_from([*names, None]))
    if name is not None:
        output, pairs = OPERATIONS[name].relation(source, random)
    else:
        output = draw(shapes)
        pairs = np.zeros((0, len(output + source)), dtype=np.int64)
    if 0 not in output + source and draw(st.booleans()):
        pairs = np.concatenate([pairs, random.integers(0, output + source, size=(draw(st.integers(0, 30)), len(output + source)))])
    if len(pairs) and draw(st.booleans()):
        pairs = pairs[random.random(len(pairs)) < draw(st.sampled_from([0.5, 0.9, 0.99]))]
    pairs = np.concatenate([pairs, pairs[: draw(st.integers(0, 3))]])
    return Given(random.permutation(pairs), output, source)


@st.composite
def paths(draw: st.DrawFn) -> list[Given]:
    """1 to 10 relations, each from the output of the one before."""
    found: list[Given] = []
    for _ in range(draw(st.integers(1, 10))):
        found.append(draw(relations(found[-1].output if found else None)))
    return found
