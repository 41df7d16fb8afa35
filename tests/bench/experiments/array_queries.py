"""Which cells stand behind others along a path: asked of relations, and of raw pairs by DuckDB and numpy (DSLog, figures 8 and 9).

Every way's answer is checked before any is measured. The box of cells asked about lies somewhere, seeded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from airflow_lineage_provider.arrays import compress
from airflow_lineage_provider.arrays.boxes import from_mask
from airflow_lineage_provider.arrays.path import Step, follow, is_dense
from airflow_lineage_provider.arrays.region import Region
from tests.bench.cells.asked import Asking, against, together
from tests.bench.cells.workflows import Workflow, image, random_workflows, range_of, relational, residual_block
from tests.bench.cells.workloads import of_numpy
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SHARES = {"small": (0.05, 1.0), "full": (0.001, 0.05, 1.0)}
"""Of the cells of the array that is asked about, in a box."""
SCATTERED = (0.0001, 0.001, 0.01, 0.1, 0.5)
"""The same, one by one."""


def run(ground: Ground) -> Iterator[Comparison]:
    """A hop by boxes and by bitmaps; the three workflows; random ones of five and of ten operations."""
    small = ground.is_small
    (shuffled,) = dict(of_numpy((10, 10_000), (1, 1)))["Shuffle"]
    relation = compress(shuffled.pairs, shuffled.output, shuffled.source)
    for backward, form, share in itertools.product((True, False), ("bitmap", "boxes"), SCATTERED if ground.wants("a hop") else ()):
        yield _hop(ground, Step(relation, backward), form, share)
    workflows: dict[str, Callable[[], Workflow]] = {
        "image": lambda: image((256, 256), 208, 40) if small else image((1080, 1920), 416, 200),
        "relational": lambda: relational(500 if small else 40_000),
        "ResNet": lambda: residual_block((54, 96) if small else (1080, 1920)),
    }
    for name, make in ((name, make) for name, make in workflows.items() if ground.wants(name)):
        asking = _asking(ground, make(), name)
        for backward in (False, True):
            for share in SHARES[ground.size]:
                yield _asked(ground, asking, name, share, backward)
    for operations in (one for one in (5, 10) if ground.wants(f"random workflows of {one}")):
        yield from _random(ground, operations)


def _hop(ground: Ground, step: Step, form: str, share: float) -> Comparison:
    """Through a shuffle, from scattered cells, as a bitmap has them or as boxes of which it is not known whether they overlap."""
    relation, way = step.relation, "back" if step.backward else "forward"
    mask = np.random.default_rng(1).random(relation.out_shape if step.backward else relation.in_shape) < share
    boxes = from_mask(mask)
    start = partial(Region, mask.shape, bits=mask) if form == "bitmap" else partial(Region, mask.shape, parts=boxes)
    choices = {"boxes": lambda *_: False, "dense": lambda *_: True, "as it costs": is_dense}
    arms = {
        name: Arm(_followed(step, start, choose), lambda found: found.mask.tobytes(), is_quick=True) for name, choose in choices.items()
    }
    title = f"a hop {way} through a shuffle, {100 * share:g} % of {mask.size:,} cells as {form}"
    found = compared(title, arms, ground.meter, ground.repeats)
    cpu = {name: figures["CPU, s"] for name, figures in found.figures().items()}
    found.facts["as it costs"] = {"CPU ÷ the better of both": float(f"{cpu['as it costs'] / min(cpu['boxes'], cpu['dense']):.4g}")}
    return found


def _followed(step: Step, start: Callable[[], Region], choose: Callable[[Step, Region], bool]) -> Callable[[], Region]:
    return lambda: follow([step], ("", ""), start(), choose=choose)[0]


def _asking(ground: Ground, workflow: Workflow, name: str) -> Asking:
    return Asking.of(workflow, ground.folder, ground.lineage.arrays, name)


def _asked(ground: Ground, asking: Asking, name: str, share: float, backward: bool) -> Comparison:
    shape = asking.workflow.shapes[-1 if backward else 0]
    cells = range_of(shape, share, np.random.default_rng(1))
    arms, left_out = asking.arms(cells, name, backward=backward)
    hops = f"{len(asking.workflow.relations)} operations {'backward' if backward else 'forward'}"
    found = compared(f"{name}, {hops}, {100 * share:g} % of {shape}", arms, ground.meter, ground.repeats)
    found.notes = left_out
    against(found)
    return found


def _random(ground: Ground, operations: int) -> Iterator[Comparison]:
    """Of every share and direction, all workflows together."""
    small = ground.is_small
    shape, count, most_pairs = ((100, 100), 2, 10**6) if small else ((316, 316), 20, 2 * 10**7)
    kinds = itertools.product((False, True), SHARES[ground.size])
    some: dict[tuple[bool, float], list[Comparison]] = {one: [] for one in kinds}
    for number, workflow in enumerate(random_workflows(shape, operations, count, most_pairs)):
        name = f"random {operations} {number}"
        asking = _asking(ground, workflow, name)
        for (backward, share), found in some.items():
            found.append(_asked(ground, asking, name, share, backward))
    for (backward, share), found in some.items():
        direction = "backward" if backward else "forward"
        yield together(f"{count} random workflows of {operations} operations {direction}, {100 * share:g} % of the cells", found)
