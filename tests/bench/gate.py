"""Bounds that figures must keep (``make bench-gate``): counts tightly, since they are the same everywhere, ratios with room.

``bounds.toml`` has a table for each ``experiment / comparison / arm``, and in it the most that a figure may be, or with
``{ least = …, most = … }`` the least that it may be, too, or alone.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.bench.results import Results, text

BOUNDS = Path(__file__).with_name("bounds.toml")

Bounds = Mapping[str, Mapping[str, Any]]
_KEYS = {"least", "most"}


@lru_cache(maxsize=4)
def bounds(path: Path = BOUNDS) -> Bounds:
    """What is written down.

    :raises ValueError: a bound is neither a number nor ``least``, ``most`` or both.
    """
    found: Bounds = tomllib.loads(path.read_text(encoding="utf-8"))
    for where, some in found.items():
        for name, bound in some.items():
            if not all(isinstance(one, int | float) for one in _limits(bound).values()) or not _KEYS >= _limits(bound).keys() != set():
                raise ValueError(f"{path}: {name!r} of {where!r} needs a least, a most or both, not {bound!r}")
    return found


def passed_bounds(results: Results, known: Bounds) -> Iterator[str]:
    """What is wrong with results: figures beyond their bounds, and bounds of what was not measured by the experiments that were run."""
    figures = {" / ".join(where): found for where, found in results.figures().items()}
    for where, some in known.items():
        if where.partition(" / ")[0] not in results.experiments:
            continue
        for name, bound in some.items():
            found, limits = figures.get(where, {}).get(name), _limits(bound)
            if found is None:
                yield f"{where}: no {name!r} was measured"
            elif not found <= limits.get("most", math.inf):
                yield f"{where}: {name} is {text(found)}, beyond {text(limits['most'])}"
            elif not found >= limits.get("least", -math.inf):
                yield f"{where}: {name} is {text(found)}, below {text(limits['least'])}"


def _limits(bound: Any) -> Mapping[str, Any]:
    return bound if isinstance(bound, dict) else {"most": bound}
