"""What a page draws of the cells behind a reason: over the image itself, its own size, in the text itself, or over an array.

One path to each argument is drawn, the one with the fewest cells; the others are told with their counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider.answers.values import number, text_of, visible
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.reasons.payload import Mask, Span, TextSpans, Weights
from airflow_lineage_provider.reasons.traced import ArrayPath, ArraySource
from airflow_lineage_provider.render.cell_text import blanked_texts, count_text, shape_text, through_text
from airflow_lineage_provider.render.decisions import Decision
from airflow_lineage_provider.render.heat import Layer, heat_layers, heat_picture
from airflow_lineage_provider.render.pictures import BOXES, MASK_RUNS, image_of, marked_text, mask_picture
from airflow_lineage_provider.render.reason_text import Bar, share
from airflow_lineage_provider.render.underlays import Underlay, underlay

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.cells import Place
    from airflow_lineage_provider.answers.explanation import Image
    from airflow_lineage_provider.arrays import Marked
    from airflow_lineage_provider.arrays.region import Region

_CHANNELS = 4
"""An image has at most so many."""
_SPOTS = 3
"""So many source rows are linked."""
_MASKED_CELLS = 4_000_000
"""Of a larger array that is neither image nor text no mask is drawn."""


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The cells behind one part of a reason, as an SVG path; ``x`` and ``y`` are where its number stands."""

    path: str
    text: str
    x: int
    y: int


@dataclass(frozen=True, kw_only=True)
class CellPicture:
    """Cells over an image of so many pixels; ``image`` is None where ``note`` says why there is none. Of weights there are ``layers``."""

    width: int
    height: int
    image: Underlay | None
    outlines: tuple[Outline, ...]
    hidden: int
    note: str
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A column of a source row, as a link; ``anchor`` is "" where the row is not among those shown."""

    text: str
    anchor: str


@dataclass(frozen=True, kw_only=True)
class Feature:
    """An argument of one cell: what the parts of the reason that are about it weigh, and the columns of source rows in which it stands;
    ``note`` is why that is not known."""

    bars: tuple[Bar, ...]
    spots: tuple[Spot, ...]
    note: str


Spotted: TypeAlias = "Callable[[Place], Spot]"
"""How a page links a place."""


@dataclass(frozen=True, kw_only=True)
class CellView:
    """The cells of one argument. ``kind`` says what ``drawing`` is: ``image``, ``text``, ``mask``, ``heat``, ``column``, or nothing
    (``told``).

    ``blanked`` says what became of the decision where the others were blank.
    """

    title: str
    kind: str
    drawing: Any
    others: tuple[str, ...]
    blanked: tuple[str, ...] = ()


def cell_views(decision: Decision, images: Mapping[str, Image], spotted: Spotted | None = None) -> tuple[CellView, ...]:
    """What is drawn of each argument that a reason is traced to; what cannot be read is told."""
    return tuple(_view(decision, source, images, spotted) for source in (decision.traced.sources if decision.traced is not None else ()))


def _view(decision: Decision, source: ArraySource, images: Mapping[str, Image], spotted: Spotted | None) -> CellView:
    assert decision.traced is not None
    first, *rest = source.paths
    title = f"{visible(source.argument)}, {shape_text(source.shape)}: {count_text(source, first)}, through {through_text(first)}"
    others = tuple(f"{count_text(source, one)}, through {through_text(one)}" for one in rest)
    kind: str
    drawing: Any
    try:
        if source.shape == ():
            kind, drawing = "column", _feature(decision, source, first, spotted)
        else:
            kind, drawing = _drawing(decision, source, first, images)
    except LineageError as error:
        kind, drawing = "told", visible(str(error))
    return CellView(title=title, kind=kind, drawing=drawing, others=others, blanked=tuple(blanked_texts(source, decision.blanked)))


def _feature(decision: Decision, source: ArraySource, path: ArrayPath, spotted: Spotted | None) -> Feature:
    """What is told of an argument of one cell, each bar as long as its part weighs among all."""
    assert decision.traced is not None
    parts = decision.traced.parts()
    largest = max((abs(one.weight) for one in parts if one.weight is not None and isfinite(one.weight)), default=0.0)
    name, value = decision.arguments[source.position] if source.position is not None else (source.argument, "")
    behind = source.along(path)
    about = [one for one in parts if behind(one.region).count]
    bars = [_bar(one.label or name, value, one.weight, largest) for one in about if one.weight is not None]
    places = decision.places.get(source.position, ()) if source.position is not None else ()
    spots = [spotted(one) for one in places if one.source is not None][:_SPOTS] if spotted is not None else []
    unknown = dict.fromkeys(visible(one.cause) for one in places if one.source is None and one.cause)
    return Feature(bars=tuple(bars), spots=tuple(spots), note="; ".join(one[:1].upper() + one[1:] for one in unknown))


def _bar(feature: str, value: Any, weight: float, largest: float) -> Bar:
    return Bar(feature=visible(feature), value=text_of(value, 60), contribution=weight, share=share(weight, largest), exact=repr(weight))


def _drawing(decision: Decision, source: ArraySource, path: ArrayPath, images: Mapping[str, Image]) -> tuple[str, Any]:
    assert decision.traced is not None
    name, value = decision.arguments[source.position] if source.position is not None else (source.argument, None)
    behind = source.along(path)
    parts = [(part, behind(part.region)) for part in decision.traced.parts()]
    is_heat = isinstance(decision.traced.reason, Weights) and decision.traced.cells is None
    data, problem = image_of([(name, value)], images)
    axes = _image_axes(source.shape)
    if axes is not None and (data is not None or problem or not isinstance(value, list)):
        return "image", _over_image(source.shape, axes, parts, data, problem, is_heat=is_heat)
    if isinstance(value, str) and source.shape == (len(value),):
        return "text", marked_text(TextSpans(tuple(_spans(parts)), value), value)
    return _over_array(parts, is_heat=is_heat)


def _image_axes(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Which axes are rows and columns, if it may be an image."""
    if len(shape) == 2 or (len(shape) == 3 and shape[2] <= _CHANNELS):
        return 0, 1
    return (1, 2) if len(shape) == 3 and shape[0] <= _CHANNELS else None


def _over_image(
    shape: tuple[int, ...],
    axes: tuple[int, int],
    parts: list[tuple[Marked, Region]],
    data: bytes | None,
    problem: str,
    *,
    is_heat: bool,
) -> CellPicture:
    height, width = (shape[axis] for axis in axes)
    drawn = max(width, 1), max(height, 1)
    image, note = underlay(data, problem or "The image is not among the arguments", drawn, (width, height))
    if is_heat:
        layers, cut = heat_layers(parts, axes)
        note = f"{note} {cut}".strip()
        return CellPicture(width=drawn[0], height=drawn[1], image=image, outlines=(), hidden=0, note=note, layers=layers)
    shown = [outline for part, region in parts[:BOXES] if (outline := _outline(part, region, axes)) is not None]
    hidden = max(len(parts) - BOXES, 0)
    return CellPicture(width=drawn[0], height=drawn[1], image=image, outlines=tuple(shown), hidden=hidden, note=note)


def _outline(part: Marked, region: Region, axes: tuple[int, int]) -> Outline | None:
    """The pixels of a part, whatever their channels; None where there are none."""
    boxes = region.boxes
    if not len(boxes):
        return None
    (top, left), (bottom, right) = (ends[list(axes)][:, :MASK_RUNS] for ends in (boxes.lo, boxes.hi))
    pixels = sorted({*zip(left.tolist(), top.tolist(), right.tolist(), bottom.tolist(), strict=True)})
    path = "".join(f"M{x} {y}h{end - x + 1}v{last - y + 1}h-{end - x + 1}z" for x, y, end, last in pixels)
    return Outline(path=path, text=_told(part, region), x=int(left.min()), y=int(top.min()))


def _told(part: Marked, region: Region) -> str:
    weight = f" {number(part.weight)}" if part.weight is not None else ""
    cells = f"{region.count:,} cell{'' if region.count == 1 else 's'}"
    return f"{visible(part.label) if part.label else 'part'}{weight}: {cells}"


def _spans(parts: list[tuple[Marked, Region]]) -> Iterator[Span]:
    for part, region in parts:
        for lo, hi in zip(region.boxes.lo[0].tolist(), region.boxes.hi[0].tolist(), strict=True):
            yield Span(lo, hi + 1, part.weight if part.weight is not None else 1.0, part.label)


def _over_array(parts: list[tuple[Marked, Region]], *, is_heat: bool) -> tuple[str, Any]:
    cells = parts[0][1].cells if parts else 0
    if not parts or cells > _MASKED_CELLS:
        return "told", "" if not parts else f"An array of {cells:,} cells is not drawn."
    if is_heat:
        weights = parts[0][1].mask * 0.0
        for part, region in reversed(parts):  # of a cell behind several the largest is seen
            weights[region.mask] = part.weight
        return "heat", heat_picture(weights)
    marked = parts[0][1].mask.copy()
    for _, region in parts[1:]:
        marked |= region.mask
    return "mask", mask_picture(Mask.of(marked))
