"""The image under boxes or cells, which way up the array is that was judged; or why there is none: never under the wrong ones."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from airflow_lineage_provider.answers.image_orientation import AS_STORED, orientations, turned_size, without_orientation
from airflow_lineage_provider.answers.image_types import image_size, image_type
from airflow_lineage_provider.answers.values import visible

IMAGE_BYTES = 4_000_000
"""A larger image is not put into the page; its boxes are drawn on an empty frame."""

_TURNS = {
    2: (-1, 0, 0, 1), 3: (-1, 0, 0, -1), 4: (1, 0, 0, -1), 5: (0, 1, 1, 0), 6: (0, 1, -1, 0), 7: (0, -1, -1, 0), 8: (0, -1, 1, 0),
}  # fmt: skip
"""The first four numbers of SVG's matrix for each of EXIF's orientations."""


@dataclass(frozen=True, kw_only=True)
class Underlay:
    """A data URI, drawn in ``width`` × ``height``, then transformed as SVG says ("" is not at all).

    No browser decides which way up it is: what would tell it so is taken out of the image.
    """

    href: str
    width: float
    height: float
    transform: str = ""


class _NotDrawn(Exception):
    """Why an image is not drawn."""


def underlay(
    data: bytes | None, problem: str, drawn: tuple[float, float], judged: tuple[int, int] | None, *, scaled: bool = False
) -> tuple[Underlay | None, str]:
    """The image in the size in which it is drawn (width, height), or why it is not.

    :param judged: the size of the array that was judged, None where it is not known.
    :param scaled: this may be another than the image's.
    """
    try:
        orientation = AS_STORED
        if data is not None and len(data) <= IMAGE_BYTES:  # (a larger one is not looked into)
            ways = orientations(data)
            orientation = _way_up(image_size(data), ways, judged, scaled)
            data = without_orientation(data) if len(ways) > 1 else data
        uri, note = embedded(data, problem)
    except _NotDrawn as why:
        uri, note = None, str(why)
    if uri is None:
        return None, f"{note.removesuffix('.')}, so only the places are drawn."
    width, height = turned_size(drawn, orientation)
    return Underlay(href=uri, width=width, height=height, transform=_transform(orientation, drawn)), ""


def _way_up(stored: tuple[int, int] | None, ways: frozenset[int], judged: tuple[int, int] | None, scaled: bool) -> int:
    """The only orientation in which the image is the array that was judged, by its size as it is stored."""
    if scaled and ways == {AS_STORED}:
        return AS_STORED
    if stored is None:
        raise _NotDrawn("The image's size cannot be read")
    fitting = [one for one in ways if judged is not None and turned_size(stored, one) == judged]
    if len(fitting) == 1:
        return fitting[0]
    if not (fitting or scaled):
        raise _NotDrawn("The image has another size than the array that was judged")
    raise _NotDrawn("By its metadata the image may be turned when it is read, and whether the array that was judged is turned is not known")


def _transform(orientation: int, drawn: tuple[float, float]) -> str:
    if orientation == AS_STORED:
        return ""
    a, b, c, d = _TURNS[orientation]
    return f"matrix({a} {b} {c} {d} {drawn[0] if a + c < 0 else 0} {drawn[1] if b + d < 0 else 0})"


def embedded(data: bytes | None, problem: str) -> tuple[str | None, str]:
    """An image as a data URI, or why it is not in the page."""
    if data is None:
        return None, visible(problem)
    if len(data) > IMAGE_BYTES:
        return None, f"The image is too large for this page ({len(data):,} bytes)."
    return f"data:{image_type(data)};base64,{base64.b64encode(data).decode('ascii')}", ""
