"""How many random cases are drawn, and from which seeds.

``make test`` draws a small sample that is always the same. ``FUZZ_EXAMPLES=2000`` draws that many from ``FUZZ_SEED``, in blocks that
several processes can share: a block that fails is run again alone by its number, with the same seed. Those that are done are written down
(`series`), and left out when the same seed is asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings

from tests.oracle.series import Block, Series

LONG = int(os.environ.get("FUZZ_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
_BLOCK = 50
"""Cases in one block of a long run."""


def blocks(sample: int, at_once: int, share: int = 1) -> range:
    """The numbers of the blocks: of ``at_once`` cases in the sample, else of 50, and one in ``share`` of all."""
    return range(-(-LONG // (_BLOCK * share)) if LONG else -(-sample // at_once))


@contextmanager
def told(test: str, block: int, options: str = "") -> Iterator[Block]:
    """Around the drawing of one block: what becomes of its cases is counted, and in a long run written down.

    ``options`` are what the cases depend on beside the seed.
    """
    counted = Block(test, options, block, _examples(block))
    if not LONG:
        yield counted
        return
    series = Series.asked_for(SEED)
    if series.has_passed(counted):
        pytest.skip("passed before, from this seed, at this commit or one that is trusted")
    with series.written(counted):
        yield counted


def _examples(block: int, at_once: int = 0) -> int:
    return min(_BLOCK, LONG - block * _BLOCK) if LONG else at_once


def drawn(block: int, at_once: int) -> Callable[[Any], Any]:
    """A decorator for a Hypothesis test that draws one block.

    The sample says which example fails, as it is: shrinking takes minutes, which a long run has.
    """
    chosen = settings(
        max_examples=_examples(block, at_once),
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if LONG else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=bool(LONG),
    )
    return lambda test: seed(SEED * 100_000 + block)(chosen(test))
