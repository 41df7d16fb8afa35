"""Fragments that are carried beside the rows: random queries under random strategies, with random columns and cuts.

DuckDB executes what a run would, with what it carries and without: the rows are the same, and at the result stand the fragments of the rows
that the oracle finds behind it, no more and no fewer.
"""

from __future__ import annotations

import os

import pytest

from tests.in_turn import few
from tests.sketches.carrying import Carried, check
from tests.sketches.drawn import Drawer

EXAMPLES = int(os.environ.get("SKETCH_EXAMPLES", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
SAMPLE, BLOCK = few(24, one_in=2), 250
KINDS = (Drawer.query, Drawer.outer, Drawer.semi, Drawer.join)
"""Queries of any kind, and those in which more comes together."""


@pytest.mark.parametrize("block", range(-(-EXAMPLES // BLOCK) if EXAMPLES else 1))
def test_what_is_carried_is_what_stands_behind(block: int) -> None:
    counted = Carried()
    first = SEED * 1_000_000 + block * BLOCK
    for seed in range(first, first + (min(BLOCK, EXAMPLES - block * BLOCK) if EXAMPLES else SAMPLE)):
        check(seed, counted, KINDS[seed % len(KINDS)])
    told = {name: value for name, value in vars(counted).items() if name != "violations"}
    print(told)
    assert not counted.violations, counted.violations[0]
    # What is carried of nothing is never wrong.
    assert counted.checks > 0.3 * counted.leaves
    assert counted.rows > 0.3 * SAMPLE
    assert counted.others <= 0.02 * counted.rows
    assert {"value", "values", "number", "set", "words"} <= counted.kinds.keys()
