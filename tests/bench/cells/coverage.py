"""Whether a function's lineage is compressed, and whether it is known from earlier calls (DSLog, Sec. VII.E).

A function counts where all of its variants do. Of each there are `RUNS` calls of new values: of `SEEN` shapes, some of them once more, and
of further shapes. It is known for other shapes where the last call, of another shape than all before, was (the paper: where a mapping was
found in 20 runs, with one call that confirmed it); how many of the further ones were captured is told beside. What was reused is
captured afterwards: where it is another lineage, it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import Log, Relation, encode
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.tracking.tracing import record
from tests.bench.cells.given import Given, raw_bytes
from tests.bench.cells.numpy_functions import FUNCTIONS, Function, Variant
from tests.bench.cells.workflows import relation_of

RUNS, SEEN, AGAIN = 20, 8, 6
"""Calls of a variant: of so many shapes first, then of some of these, twice each, as the first time confirms; then of further ones."""
_SIDES = {"large": (24, 45), "small": (4, 12)}
"""Between which a dimension lies; what has a pair for each cell of two matrices is called with small ones."""
_SMALL = ("kron", "multi_dot")


@dataclass(frozen=True)
class Covered:
    """What became of a function.

    :ivar ratio: bytes (ProvRC, not deflated) ÷ the raw file's; the worst of its variants.
    :ivar by_dimensions: whether calls of the same shapes were known from earlier ones.
    :ivar generally: whether the last call, of another shape, was.
    :ivar captured: how many calls of other shapes were not.
    :ivar errors: how many calls were taken for what they are not.
    :ivar why: what is not so, in words.
    """

    ratio: float
    by_dimensions: bool
    generally: bool
    captured: int
    errors: int
    why: str


def covered(name: str, function: Function) -> Covered:
    """A function, by all of its variants."""
    found = [_variant(name, at, one) for at, one in enumerate(function.variants)]
    return Covered(
        max(one.ratio for one in found),
        all(one.by_dimensions for one in found),
        all(one.generally for one in found),
        sum(one.captured for one in found),
        sum(one.errors for one in found),
        "; ".join(dict.fromkeys(one.why for one in found if one.why)),
    )


def _variant(name: str, at: int, variant: Variant) -> Covered:
    random, log = np.random.default_rng([len(name), at, *name.encode()]), Log()
    ratios = []
    reused: list[bool] = []
    for run, shapes in enumerate(_shapes(name, variant, random)):
        relations, output = _captured(variant, shapes, random)
        sources = [f"{run} {place}" for place in range(len(shapes))]
        for source, shape in zip(sources, shapes, strict=True):
            log.array(source, shape)
        log.array(f"{run}", output)
        capture = {(source, f"{run}"): one for source, one in zip(sources, relations, strict=True)}
        reused.append(log.register_operation(name, sources, [f"{run}"], args=dict(variant.args), capture=capture))
        ratios.append(_ratio(relations) if run < SEEN else 0.0)
    errors = len(log.verify(RUNS))
    again, further = reused[SEEN + AGAIN // 2 : SEEN + AGAIN], reused[SEEN + AGAIN :]
    return Covered(max(ratios), all(again), further[-1], further.count(False), errors, _why(log))


def _shapes(name: str, variant: Variant, random: np.random.Generator) -> Iterator[tuple[Shape, ...]]:
    """Of each call, those of its arrays."""
    least, most = _SIDES["small" if name in _SMALL else "large"]
    letters = sorted(set("".join(variant.shapes)) - set("0123456789"))
    seen: list[dict[str, int]] = []
    while len(seen) < RUNS - AGAIN:
        sides = dict(zip(letters, random.choice(np.arange(least, most), len(letters), replace=False).tolist(), strict=True))
        # A vector that slides over another is shorter.
        seen += [{**sides, "l": sides["l"] + most} if "l" in sides else sides] if sides not in seen else []
    again = seen[: AGAIN // 2]
    for one in (*seen[:SEEN], *again, *again, *seen[SEEN:]):
        yield tuple(tuple(int(letter) if letter.isdigit() else one[letter] for letter in shape) for shape in variant.shapes)


def _captured(variant: Variant, shapes: tuple[Shape, ...], random: np.random.Generator) -> tuple[list[Relation], Shape]:
    """By tracked arrays of random numbers: the relation with each."""
    sources = [arrays.source(f"own {at}", variant.values(random.random(shape))) for at, shape in enumerate(shapes)]
    with np.errstate(all="ignore"):
        made = variant.call(*sources)
    known = record(made, ..., influence=False).sources
    return [_of_source(made, f"own {at}", shape, known) for at, shape in enumerate(shapes)], made.shape


def _of_source(made: Any, source: str, shape: Shape, known: Mapping[str, Any]) -> Relation:
    if source in known:
        return relation_of(made, source)
    return arrays.compress(np.zeros((0, len(made.shape) + len(shape)), dtype=np.int64), made.shape, shape)


def _ratio(relations: list[Relation]) -> float:
    return sum(len(encode(one, "provrc")) for one in relations) / sum(raw_bytes(Given.of(one)) for one in relations)


def _why(log: Log) -> str:
    """Why it is refused."""
    return next((one.why for one in log.signatures() if one.state == "refused"), "")


def numpy_coverage(names: Iterable[str]) -> dict[str, Covered]:
    """Of each of these functions."""
    return {name: covered(name, FUNCTIONS[name]) for name in names}


def shares(found: Mapping[str, Covered]) -> dict[str, float]:
    """The paper's table IX: of how many functions, in per cent, and how many errors there were."""

    def per_cent(which: Iterator[bool]) -> float:
        return float(f"{100 * sum(which) / len(found):.4g}")

    return {
        "functions": len(found),
        "ProvRC < .5 raw, %": per_cent(one.ratio < 0.5 for one in found.values()),
        "by dimensions, %": per_cent(one.by_dimensions for one in found.values()),
        "generally, %": per_cent(one.generally for one in found.values()),
        "calls of other shapes captured": sum(one.captured for one in found.values()),
        "errors": sum(one.errors for one in found.values()),
    }
