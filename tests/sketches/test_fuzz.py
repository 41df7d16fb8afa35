"""Random queries, tables and sketches: wherever the prover says safe, the query gives the same rows over the sketch.

``make test`` checks a sample that is always the same; ``make fuzz-sketches`` checks SKETCH_EXAMPLES from FUZZ_SEED.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.in_turn import few
from tests.oracle import query as q
from tests.sketches.against import Counted, check
from tests.sketches.drawn import Drawer

pytest.importorskip("z3")

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, BLOCK = few(20, 2), 250


@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_a_safe_column_loses_nothing(block: int) -> None:
    counted = Counted()
    first = SEED * 1_000_000 + block * BLOCK
    for seed in range(first, first + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE)):
        check(seed, counted)
    told = {name: value for name, value in vars(counted).items() if name != "violations"}
    print(told)
    assert not counted.violations, counted.violations[0]
    assert counted.checks > 0
    # A prover that says nothing is safe would pass.
    assert counted.with_safe >= 0.3 * counted.limiting
    assert counted.nontrivial >= 0.1 * counted.limiting


def of_a_kind(kind: Callable[[Drawer, int], q.Node], block: int) -> Counted:
    """Queries of one kind alone, which others are drawn of rarely."""
    counted = Counted()
    first = SEED * 1_000_000 + block * BLOCK
    for seed in range(first, first + (BLOCK if EXAMPLES else SAMPLE)):
        check(seed, counted, of=kind)
    print({name: value for name, value in vars(counted).items() if name != "violations"})
    assert not counted.violations, counted.violations[0]
    assert counted.checks > 0
    return counted


FEWER_BLOCKS = range(-(-EXAMPLES // (4 * BLOCK)) if EXAMPLES else 1)


@pytest.mark.parametrize("block", FEWER_BLOCKS)
def test_grouped_by_steps_a_safe_column_loses_nothing(block: int) -> None:
    counted = of_a_kind(Drawer.by_steps, block)
    assert counted.aligned >= 0.1 * counted.plans


@pytest.mark.parametrize("block", FEWER_BLOCKS)
def test_grouped_by_sets_a_safe_column_loses_nothing(block: int) -> None:
    counted = of_a_kind(Drawer.by_sets, block)
    assert counted.rules["group"] >= 0.1 * counted.plans


@pytest.mark.parametrize("block", FEWER_BLOCKS)
def test_below_a_limit_a_safe_column_loses_nothing(block: int) -> None:
    counted = of_a_kind(Drawer.some_of_first, block)
    assert counted.at_limit > 0
