"""What a page draws of reasons over text, images and arrays: pieces of text, rectangles, paths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.image_types import image_size, image_type
from airflow_lineage_provider.answers.values import number, visible
from airflow_lineage_provider.reasons.payload import Boxes, Mask, Span, TextSpans
from airflow_lineage_provider.render.reason_text import box_text, cells_marked
from airflow_lineage_provider.render.underlays import Underlay, embedded, underlay

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Image

NO_IMAGES: Mapping[str, Image] = {}

TEXT_CHARACTERS = 6_000
MASK_RUNS = 20_000
MASK_SLICES = 6
BOXES = 200
TONES = 5


# --- text ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A run of characters under the same spans. ``tone``: "" outside all spans, else "up1" … "up5" or "down1" … "down5"."""

    text: str
    tone: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class MarkedText:
    """A text with its spans marked; ``hidden`` characters at the end are not shown."""

    pieces: tuple[Piece, ...]
    hidden: int


def marked_text(reason: TextSpans, text: str) -> MarkedText:
    """The text cut at every end of a span; where spans overlap their weights are added."""
    shown = text[:TEXT_CHARACTERS]
    cuts = sorted({0, len(shown), *(min(end, len(shown)) for span in reason.spans for end in (span.start, span.end))})
    largest = max((abs(span.weight) for span in reason.spans if math.isfinite(span.weight)), default=0.0)
    pieces = tuple(_piece(shown[start:end], _over(reason.spans, start, end), largest) for start, end in pairwise(cuts))
    return MarkedText(pieces=pieces, hidden=len(text) - len(shown))


def _over(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    return [span for span in spans if span.start < end and span.end > start]


def _piece(text: str, over: list[Span], largest: float) -> Piece:
    if not over:
        return Piece(text=visible(text, block=True))
    weight = sum(span.weight for span in over)
    labels = ", ".join(f"{visible(span.label) + ' ' if span.label else ''}{number(span.weight, sign=True)}" for span in over)
    return Piece(text=visible(text, block=True), tone=tone(weight, largest), title=labels)


def tone(weight: float, largest: float) -> str:
    """How strongly a weight is drawn, by its share of the largest size: up1 to up5, or down1 to down5 for one below 0."""
    level = min(TONES, max(1, math.ceil(TONES * abs(weight) / largest))) if largest and math.isfinite(weight) else 1
    return f"{'down' if weight < 0 else 'up'}{level}"


def text_for(reason: TextSpans, arguments: Sequence[tuple[str, Any]]) -> str | None:
    """The text that the spans are of: the reason's own, else the only text argument, where all spans fit into it."""
    if reason.text is not None:
        return reason.text
    texts = [value for _, value in arguments if isinstance(value, str)]
    end = max((span.end for span in reason.spans), default=0)
    return texts[0] if len(texts) == 1 and end <= len(texts[0]) else None


# --- boxes on an image --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rectangle:
    """A box to draw, with its words. The coordinates are those of the picture."""

    x: float
    y: float
    width: float
    height: float
    text: str
    label: str


@dataclass(frozen=True, kw_only=True)
class BoxPicture:
    """``image`` is None where only the boxes' places can be drawn; ``note`` says why."""

    width: float
    height: float
    image: Underlay | None
    rectangles: tuple[Rectangle, ...]
    hidden: int
    note: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An argument that is an image; ``image`` is a data URI, or None where ``note`` says why it is not shown."""

    image: str | None
    note: str


def box_picture(reason: Boxes, arguments: Sequence[tuple[str, Any]], images: Mapping[str, Image] = NO_IMAGES) -> BoxPicture:
    """The boxes over the first argument that is an image, or the path of one that was read."""
    data, problem = image_of(arguments, images)
    finite = [box for box in reason.boxes if all(map(math.isfinite, (box.x, box.y, box.width, box.height)))]
    size = reason.image_size or (image_size(data) if data else None)
    width, height = size or (max((b.x + b.width for b in finite), default=100), max((b.y + b.height for b in finite), default=100))
    width, height = max(width, 1), max(height, 1)
    image, note = underlay(data, problem or "The image is not among the arguments", (width, height), reason.image_size, scaled=True)
    rectangles = tuple(
        Rectangle(x=b.x, y=b.y, width=b.width, height=b.height, text=box_text(b), label=visible(b.label or "")) for b in finite[:BOXES]
    )
    hidden = len(reason.boxes) - len(rectangles)
    return BoxPicture(width=width, height=height, image=image, rectangles=rectangles, hidden=hidden, note=note)


def picture_of(arguments: Sequence[tuple[str, Any]], images: Mapping[str, Image]) -> Picture | None:
    """The first argument that is an image, or the path of one; None where there is none."""
    data, problem = image_of(arguments, images)
    if data is None and not problem:
        return None
    uri, note = embedded(data, problem)
    return Picture(image=uri, note=note)


def image_of(arguments: Sequence[tuple[str, Any]], images: Mapping[str, Image]) -> tuple[bytes | None, str]:
    """The bytes of the first image among the arguments, or why the first path of one has none."""
    problem = ""
    for _, value in arguments:
        if isinstance(value, bytes) and image_type(value):
            return value, ""
        found = images.get(value) if isinstance(value, str) else None
        if found is not None and found.data is not None:
            return found.data, ""
        problem = problem or (found.problem if found is not None else "")
    return None, problem


# --- masks over an array ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MaskSlice:
    """One two-dimensional slice: an SVG path over ``width`` × ``height`` cells."""

    title: str
    width: int
    height: int
    path: str


@dataclass(frozen=True, kw_only=True)
class MaskPicture:
    """The slices that have marked cells, and what is said of the rest."""

    slices: tuple[MaskSlice, ...]
    shape: str
    marked: int
    cells: int
    note: str


def mask_picture(mask: Mask) -> MaskPicture:
    """The array's last two axes as pictures, one for each place on the other axes that has a marked cell."""
    height, width = plane_of(mask.shape)
    found: dict[int, list[str]] = {}
    for plane, y, x, length in pieces(mask, width, height):
        if plane in found or len(found) < MASK_SLICES:
            found.setdefault(plane, []).append(f"M{x} {y}h{length}v1h-{length}z")
    slices = tuple(
        MaskSlice(title=slice_title(mask.shape, plane), width=width, height=height, path="".join(parts)) for plane, parts in found.items()
    )
    note = _mask_note(mask, slices)
    shape = " × ".join(f"{axis:,}" for axis in mask.shape) or "one cell"
    return MaskPicture(slices=slices, shape=shape, marked=cells_marked(mask), cells=math.prod(mask.shape), note=note)


def plane_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns of one slice."""
    return (1, *shape)[-2:] if shape else (1, 1)  # type: ignore[return-value]


def pieces(mask: Mask, width: int, height: int, most: int = MASK_RUNS) -> Iterator[tuple[int, int, int, int]]:
    """The first runs, at most so many, cut at line ends: plane, line, first cell, length."""
    for start, length in mask.runs[:most]:
        at, end = start, start + length
        while at < end:
            line, x = divmod(at, width)
            cut = min(end - at, width - x)
            yield (*divmod(line, height), x, cut)
            at += cut


def slice_title(shape: tuple[int, ...], plane: int) -> str:
    """``[3, :, :]``; nothing of an array that is one slice."""
    axes = []
    for axis in reversed(shape[:-2]):
        plane, at = divmod(plane, axis)
        axes.append(str(at))
    return f"[{', '.join(reversed(axes))}, :, :]" if axes else ""


def _mask_note(mask: Mask, slices: tuple[MaskSlice, ...]) -> str:
    notes = [f"Only the first {MASK_RUNS:,} of {len(mask.runs):,} runs are drawn."] if len(mask.runs) > MASK_RUNS else []
    return " ".join([*notes, slices_note(mask.shape, len(slices), "the first that have a marked cell")]).strip()


def slices_note(shape: tuple[int, ...], drawn: int, which: str) -> str:
    """How many slices are drawn, where others are not."""
    planes = math.prod(shape[:-2])
    return f"{drawn:,} of {planes:,} slices are drawn: {which}." if drawn < planes else ""
