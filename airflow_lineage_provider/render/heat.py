"""What a page draws of the weights of cells: at most five tones above 0 and five below, over the array, or over an image behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import number
from airflow_lineage_provider.reasons.payload import Mask
from airflow_lineage_provider.render.pictures import MASK_RUNS, MASK_SLICES, pieces, plane_of, slice_title, slices_note, tone
from airflow_lineage_provider.render.reason_text import cells_marked

if TYPE_CHECKING:
    from airflow_lineage_provider.arrays import Marked
    from airflow_lineage_provider.arrays.boxes import Boxes
    from airflow_lineage_provider.arrays.region import Region


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The cells of one tone (`pictures.tone`), as an SVG path, and what is told of them."""

    tone: str
    text: str
    path: str


@dataclass(frozen=True, kw_only=True)
class HeatSlice:
    """One two-dimensional slice of ``width`` × ``height`` cells; of its layers the weakest first."""

    title: str
    width: int
    height: int
    layers: tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class HeatPicture:
    """The slices that have cells of a weight, what stands for which weights (``legend``), and what is said of the rest."""

    slices: tuple[HeatSlice, ...]
    legend: tuple[Layer, ...]
    shape: str
    marked: int
    cells: int
    note: str


def heat_picture(weights: Any) -> HeatPicture:
    """The weights of an array's cells, 0 for none: its last two axes as pictures, as of `pictures.mask_picture`. Where there are too many
    runs of cells, or slices, the largest weights are drawn."""
    import numpy as np

    height, width = plane_of(weights.shape)
    largest = float(np.abs(weights).max(initial=0.0))
    of = {weight: tone(weight, largest) for weight in np.unique(weights[weights != 0]).tolist()}
    masks = {}
    for name in _strongest_first(of.values()):
        chosen = [weight for weight, found in of.items() if found == name]
        masks[name] = chosen, Mask.of((weights >= chosen[0]) & (weights <= chosen[-1]))
    paths: dict[int, dict[str, list[str]]] = {}
    left = MASK_RUNS
    for name, (_, mask) in masks.items():
        for plane, y, x, length in pieces(mask, width, height, max(left, 0)):
            if plane in paths or len(paths) < MASK_SLICES:
                paths.setdefault(plane, {}).setdefault(name, []).append(f"M{x} {y}h{length}v1h-{length}z")
        left -= len(mask.runs)
    texts = {name: tone_text(chosen, cells_marked(mask)) for name, (chosen, mask) in masks.items()}
    slices = tuple(
        HeatSlice(title=slice_title(weights.shape, plane), width=width, height=height, layers=_layers(paths[plane], texts))
        for plane in sorted(paths)
    )
    runs = f"Only {MASK_RUNS:,} of {MASK_RUNS - left:,} runs are drawn, the largest weights." if left < 0 else ""
    note = f"{runs} {slices_note(weights.shape, len(slices), 'the first that have the largest weights')}".strip()
    return HeatPicture(
        slices=slices,
        legend=tuple(Layer(tone=name, text=text, path="") for name, text in texts.items()),
        shape=" × ".join(f"{axis:,}" for axis in weights.shape) or "one cell",
        marked=sum(cells_marked(mask) for _, mask in masks.values()),
        cells=math.prod(weights.shape),
        note=note,
    )


def _layers(paths: dict[str, list[str]], texts: dict[str, str]) -> tuple[Layer, ...]:
    return tuple(Layer(tone=name, text=texts[name], path="".join(parts)) for name, parts in reversed(paths.items()))


def heat_layers(parts: Sequence[tuple[Marked, Region]], axes: tuple[int, int]) -> tuple[tuple[Layer, ...], str]:
    """The pixels of an image behind the parts of weights, whatever their channels: a layer for each tone, the weakest first, so that of a
    pixel behind several the largest is seen; and what is said where not all are drawn."""
    weighed = [(part.weight, region) for part, region in parts if part.weight is not None and not region.is_empty]
    largest = max((abs(weight) for weight, _ in weighed), default=0.0)
    by_tone: dict[str, list[tuple[float, Region]]] = {}
    for weight, region in weighed:
        by_tone.setdefault(tone(weight, largest), []).append((weight, region))
    layers, left = [], MASK_RUNS
    for name in _strongest_first(by_tone):
        pixels = _pixels([region for _, region in by_tone[name]], axes)
        text = tone_text([weight for weight, _ in by_tone[name]], int(pixels.volumes().sum()), "pixel")
        layers.append(Layer(tone=name, text=text, path=_rectangles(pixels, max(left, 0))))
        left -= len(pixels)
    note = f"Only {MASK_RUNS:,} of {MASK_RUNS - left:,} boxes are drawn, of the largest weights." if left < 0 else ""
    return tuple(reversed(layers)), note


def _pixels(regions: Sequence[Region], axes: tuple[int, int]) -> Boxes:
    """Those that are behind any of these cells, as boxes of which no two overlap."""
    from airflow_lineage_provider.arrays.boxes import Boxes, from_mask, joined, to_mask

    both = list(axes)
    found = joined([Boxes(one.boxes.lo[both], one.boxes.hi[both]) for one in regions])
    first = found.lo.min(axis=1, keepdims=True)
    height, width = (found.hi - first).max(axis=1).tolist()
    boxes = from_mask(to_mask(Boxes(found.lo - first, found.hi - first), (height + 1, width + 1)))
    return Boxes(boxes.lo + first, boxes.hi + first)


def _rectangles(pixels: Boxes, most: int) -> str:
    ends = (ends[:, :most].tolist() for ends in (pixels.lo, pixels.hi))
    (top, left), (bottom, right) = ends
    each = zip(left, top, right, bottom, strict=True)
    return "".join(f"M{x} {y}h{end - x + 1}v{last - y + 1}h-{end - x + 1}z" for x, y, end, last in each)


def _strongest_first(tones: Any) -> list[str]:
    return sorted(set(tones), key=lambda name: (-int(name[-1]), name[:-1] == "down"))


def tone_text(weights: Sequence[float], count: int, noun: str = "cell") -> str:
    """``0.25 to 0.31: 1,200 cells``."""
    low, high = (number(end) for end in (min(weights), max(weights)))
    return f"{low if low == high else f'{low} to {high}'}: {count:,} {noun}{'' if count == 1 else 's'}"
