"""The cells of a decision's arguments that its reason is about, in words: how many, and through which operations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_lineage_provider.answers.blanked import Blanked, blanked_line
from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.traced import ArrayPath, ArraySource, Traced

PATHS = 3
"""So many paths to an argument are told."""


def cell_lines(traced: Traced, blanked: Sequence[Blanked] = ()) -> Iterator[str]:
    """A line for each of the first paths to each argument, the one with the fewest cells first, and what became of the decision without
    the others."""
    for source in traced.sources:
        what = f"of {visible(source.argument)}, {shape_text(source.shape)}"
        for path in source.paths[:PATHS]:
            yield f"{count_text(source, path)} {what}, through {through_text(path)}"
            what = f"of {visible(source.argument)}"
        if len(source.paths) > PATHS:
            yield f"… and {len(source.paths) - PATHS:,} more paths to {visible(source.argument)}"
        yield from blanked_texts(source, blanked)


def blanked_texts(source: ArraySource, blanked: Sequence[Blanked]) -> Iterator[str]:
    """What became of a decision where the other cells of this argument were blank, if that was tried."""
    return (visible(blanked_line(one)) for one in blanked if one.position == source.position)


def count_text(source: ArraySource, path: ArrayPath) -> str:
    """How many of an argument's cells a path leads to."""
    try:
        cells = source.cells(path).count
    except PayloadError as error:
        return f"cells that cannot be read ({visible(str(error))})"
    noun = "cell" if cells == 1 else "cells"
    worth = {"exact": "", "superset": "at most ", "unavailable": "perhaps more than "}[path.guarantee]
    return f"{worth}all {cells:,} {noun}" if cells == math.prod(source.shape) and cells > 1 else f"{worth}{cells:,} {noun}"


def through_text(path: ArrayPath) -> str:
    """The operations, from the reason's array to the argument."""
    return visible(", ".join(path.through)) or "nothing: it is the argument's array itself"


def shape_text(shape: tuple[int, ...]) -> str:
    """``480 × 640 × 3``."""
    return " × ".join(f"{side:,}" for side in shape) or "one cell"


def cell_line(cell: Mapping[str, Any]) -> str:
    """One row of `answers.cells` in words: ``pictures 1, image [4, 8) exact, through sum, reshape``."""
    source = f"{visible(cell['source'])} {cell['source_row'] + 1:,}, {visible(cell['column'])}" if cell["source"] else ""
    box = " × ".join(f"[{lo:,}, {hi:,})" for lo, hi in zip(cell["lo"], cell["hi"], strict=True)) if cell["lo"] is not None else "all of it"
    label = f"{visible(cell['label'])}: " if cell["label"] else ""
    through = f", through {visible(', '.join(cell['path']))}" if cell["path"] else ""
    cause = f" ({visible(cell['cause'])})" if cell["cause"] else ""
    return f"decision {cell['row'] + 1:,}, {label}{source or visible(cell['argument'])} {box} {cell['guarantee']}{through}{cause}"
