"""Workflows over arrays, as relations hop by hop: those of the paper's figure 8, and random ones of numpy's functions as in its figure 9.

Relations are the tracked arrays' own; what is stored in other forms are all their pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import Relation, compress, rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import extent
from airflow_lineage_provider.arrays.tracking.tracing import record
from tests.bench.cells.given import Given
from tests.bench.cells.numpy_functions import OF_WORKFLOWS
from tests.bench.cells.workloads import counties, lime_weights, photograph

Step = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Workflow:
    """``relations``: of each operation, in their order; ``names`` are the operations'."""

    names: tuple[str, ...]
    relations: tuple[Relation, ...]

    @cached_property
    def given(self) -> list[Given]:
        """All pairs of each."""
        return [Given.of(one) for one in self.relations]

    @property
    def shapes(self) -> list[Shape]:
        """Of the source, and of what each operation makes."""
        return [self.relations[0].in_shape, *(one.out_shape for one in self.relations)]


def image(frame: Shape, side: int, samples: int) -> Workflow:
    """Table VIII: a photograph is made smaller, lighter, turned and mirrored; then LIME says which pixels count for its face."""
    rows, columns = (np.arange(side) * own // side for own in frame)
    steps: list[tuple[str, Step]] = [
        ("resize", lambda a: a[rows[:, None], columns[None]]),
        ("luminosity", lambda a: a * 1.2),
        ("rot90", np.rot90),
        ("fliplr", np.fliplr),
    ]
    relations, found = _followed(photograph(frame)[..., 1].astype(np.float64), steps)
    upright = np.rot90(np.fliplr(np.clip(found, 0, 255).astype(np.uint8)), -1)
    weights = np.fliplr(np.rot90(lime_weights(np.repeat(upright[..., None], 3, axis=2), samples)))
    pixels = np.argwhere(weights > 0)
    decision = compress(np.concatenate([np.zeros((len(pixels), 1), dtype=np.int64), pixels], axis=1), (1,), (side, side))
    return Workflow((*(name for name, _ in steps), "LIME"), (*relations, decision))


def relational(rows: int) -> Workflow:
    """Table VIII: joined with a table by a key, rows without a value dropped, two columns added, one encoded, a constant added to one."""
    table = counties(rows)
    table["rate"] = np.where(table["murders"] > 0, table["execs"] / table["murders"].clip(lower=1), np.nan)
    means = table.groupby("countyid", as_index=False).agg(mean=("density", "mean"))
    steps: list[Callable[[Any], Any]] = [
        lambda frame: frame.merge(arrays.frame("means", means), on="countyid"),
        lambda frame: frame.dropna(),
        lambda frame: frame.assign(both=frame["popul"] + frame["murders"]),
        lambda frame: frame.get_dummies(["year"]),
        lambda frame: frame.assign(density=frame["density"] + 1),
    ]
    relations = []
    for step in steps:
        made = step(arrays.frame("own", table))
        relations.append(relation_of(made, "own"))
        table = made.values
    return Workflow(("join", "dropna", "add", "one-hot", "add constant"), tuple(relations))


def residual_block(frame: Shape) -> Workflow:
    """A block of ResNet over one channel, along its main path: filters of 3 × 3, normalised and cut off at nought."""
    same, each = rules.windows(frame, (3, 3), "same"), rules.elementwise(frame)[0]
    return Workflow(("conv", "norm", "relu", "conv", "norm", "add", "relu"), (same, each, each, same, each, each, each))


def random_workflow(shape: Shape, operations: int, seed: int, most_pairs: int) -> Workflow:
    """So many functions of the paper's list one after the other, over random numbers; those that do not apply are drawn again."""
    random = np.random.default_rng(seed)
    values: Any = random.random(shape)
    names: list[str] = []
    relations: list[Relation] = []
    while len(names) < operations:
        name = str(random.choice(list(OF_WORKFLOWS)))
        found = _applied(OF_WORKFLOWS[name], values, random, most_pairs)
        if found is not None:
            relation, made = found
            values = np.where(np.isfinite(made), made, random.random(made.shape)).astype(np.float64)
            names.append(name)
            relations.append(relation)
    return Workflow(tuple(names), tuple(relations))


def _applied(function: Callable[..., Any], values: Any, random: np.random.Generator, most_pairs: int) -> tuple[Relation, Any] | None:
    """What a function makes of an array; None where it does not take such an array, or makes none, a number, or too large a thing of it."""
    with np.errstate(all="ignore"):
        try:
            made = function(arrays.source("own", values), random)
        except (ValueError, IndexError):
            return None
    if not made.ndim or not made.size or made.size > 4 * max(values.size, 1):
        return None
    recorded = record(made, ..., influence=False)
    if "own" not in recorded.sources:
        return None
    relation = relation_of(made, "own")
    return (relation, made.values) if _pairs(relation) <= most_pairs else None


def _pairs(relation: Relation) -> float:
    """How many there are: the mean lengths of the intervals, which grow evenly, for each cell of the output's boxes."""
    first, last = (extent(*one, relation.out_boxes) for one in ((relation.in_lo, relation.lo_moves), (relation.in_hi, relation.hi_moves)))
    lengths = (last[0] + last[1] - first[0] - first[1]) / 2 + 1
    return float((relation.out_boxes.volumes() * lengths.prod(axis=0)).sum())


def _followed(values: Any, steps: list[tuple[str, Step]]) -> tuple[list[Relation], Any]:
    relations = []
    for _, step in steps:
        made = step(arrays.source("own", values))
        relations.append(relation_of(made, "own"))
        values = made.values
    return relations, values


def relation_of(made: Any, source: str) -> Relation:
    """Of what was made of a source, by the path to it; of several paths, all pairs."""
    ways = record(made, ..., influence=False).ways(source)
    if len(ways) == 1:
        return ways[0].relation
    pairs = np.unique(np.concatenate([arrays.expand(one.relation) for one in ways]), axis=0)
    return compress(pairs, ways[0].relation.out_shape, ways[0].relation.in_shape)


def range_of(shape: Shape, share: float, random: np.random.Generator) -> Ints:
    """A box with about this share of an array's cells, somewhere in it: (axes, 2), first and last."""
    sides = [max(1, round(side * share ** (1 / len(shape)))) for side in shape]
    firsts = [int(random.integers(own - side + 1)) for own, side in zip(shape, sides, strict=True)]
    return np.array([(first, first + side - 1) for first, side in zip(firsts, sides, strict=True)], dtype=np.int64)


def random_workflows(shape: Shape, operations: int, count: int, most_pairs: int) -> Iterator[Workflow]:
    """Seeded by their number."""
    for seed in range(count):
        yield random_workflow(shape, operations, 1000 * operations + seed, most_pairs)
