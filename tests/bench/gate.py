"""Bounds that figures must keep (``make bench-gate``): counts tightly, since they are the same everywhere, ratios with room.

``bounds.toml`` has a table for each ``experiment / comparison / arm``, and in it the most that a figure may be.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from tests.bench.results import Results, text

BOUNDS = Path(__file__).with_name("bounds.toml")

Bounds = Mapping[str, Mapping[str, float]]


@lru_cache(maxsize=4)
def bounds(path: Path = BOUNDS) -> Bounds:
    """What is written down."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def passed_bounds(results: Results, most: Bounds) -> Iterator[str]:
    """What is wrong with results: figures beyond their bounds, and bounds of what was not measured by the experiments that were run."""
    figures = {" / ".join(where): found for where, found in results.figures().items()}
    for where, some in most.items():
        if where.partition(" / ")[0] not in results.experiments:
            continue
        for name, bound in some.items():
            found = figures.get(where, {}).get(name)
            if found is None:
                yield f"{where}: no {name!r} was measured"
            elif not found <= bound:
                yield f"{where}: {name} is {text(found)}, beyond {text(bound)}"
