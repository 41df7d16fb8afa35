"""How many of numpy's functions have a lineage that is compressed, and that is known from earlier calls (DSLog, table IX)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

from tests.bench.cells.coverage import Covered, numpy_coverage, shares
from tests.bench.cells.numpy_functions import FUNCTIONS
from tests.bench.comparison import Arm, Comparison
from tests.bench.ground import Ground
from tests.bench.readings import Reading

KINDS = {"element-wise": True, "complex": False}
FIGURES = ("ProvRC < .5 raw, %", "by dimensions, %", "generally, %", "errors")


def run(ground: Ground) -> Iterator[Comparison]:
    """All functions of the paper's list, each kind by itself, and both."""
    found: dict[str, dict[str, Covered]] = {}
    readings: dict[str, list[Reading]] = {}
    for kind, is_elementwise in KINDS.items():
        found[kind] = {}
        with ground.meter.reading() as reading, warnings.catch_warnings():
            # Some of the list are on their way out of numpy, or are given numbers that they make nothing of.
            warnings.simplefilter("ignore")
            found[kind] |= numpy_coverage([name for name, one in FUNCTIONS.items() if one.is_elementwise == is_elementwise])
        readings[kind] = [reading]
    together = {name: one for some in found.values() for name, one in some.items()}
    walls, cpus = zip(*((one.wall, one.all_cpu) for some in readings.values() for one in some), strict=True)
    readings["all"] = [Reading(sum(walls), {"driver": sum(cpus)})]
    facts = {kind: shares(some) for kind, some in (found | {"all": together}).items()}
    notes = {name: _words(one) for name, one in together.items() if not (one.by_dimensions and one.generally)}
    parts = {figure: partial(_told, together) for figure in FIGURES}
    arms = {"all": Arm(lambda: None, parts=parts)}
    yield Comparison("numpy's functions, and what is known of their lineage", "all", readings, facts, notes, arms=arms)


def _told(together: dict[str, Covered]) -> str:
    """The functions that count for less than they could."""
    short = {name: one for name, one in together.items() if one.ratio >= 0.5 or one.errors or not (one.by_dimensions and one.generally)}
    return "\n".join(f"  {name}: {one.ratio:.3g} of raw, {one.errors} errors, {_words(one) or 'reused'}" for name, one in short.items())


def _words(one: Covered) -> str:
    """What of a function is not so."""
    missing = [what for what, is_so in (("by dimensions", one.by_dimensions), ("generally", one.generally)) if not is_so]
    if not missing:
        return ""
    return f"not reused {' nor '.join(missing)}" + (f": {one.why}" if one.why else "")
