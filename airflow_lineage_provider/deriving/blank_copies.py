"""Copies of a UDF's argument in which all cells are blank but those that are left: numbers 0, pixels black, characters spaces."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.image_orientation import orientations, turned_size
from airflow_lineage_provider.answers.image_types import image_type

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Image

_MODES = ("L", "RGB", "RGBA")
"""Pixels of these are numbers from 0; the fourth of RGBA says how much of one is seen, and stays."""
_MOST_PIXELS = 50_000_000
_TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Pillow's numbers of what each of EXIF's orientations turns: mirrored, by half, upside down, transposed, by 270° …"""


class NotBlankable(Exception):
    """An argument is no array of cells that can be made blank; the message says what it is."""


@dataclass(frozen=True)
class Copies:
    """A copy with blank cells. ``whole`` is one without, where the copy itself may be decided otherwise: an image that was written anew."""

    blank: Any
    whole: Any = None


@contextmanager
def copies(value: Any, left: Any, images: Mapping[str, Image]) -> Iterator[Copies]:
    """Copies of an argument's value, of which files are gone afterwards.

    :param left: the cells that are left, as a bitmap of the array that reasoning mode made of the value.
    :raises NotBlankable: it is no array of this shape, nor an image that can be read.
    """
    if isinstance(value, str) and value in images:
        with tempfile.TemporaryDirectory(prefix="lineage-blank-") as folder:
            yield _image_files(value, left, images[value], Path(folder))
    elif isinstance(value, bytes) and image_type(value) is not None and left.ndim > 1:
        whole, blank = _images(value, left)
        yield Copies(blank, whole)
    else:
        yield Copies(_of_cells(value, left))


def _of_cells(value: Any, left: Any) -> Any:
    shape = _shape(value)
    if shape != left.shape:
        is_array = isinstance(value, list | str | bytes | int | float | Decimal)
        raise NotBlankable(f"its array is of another shape than the argument, {shape}" if is_array else f"it is a {type(value).__name__}")
    if isinstance(value, str):
        return "".join(one if kept else " " for one, kept in zip(value, left.tolist(), strict=True))
    if isinstance(value, bytes):
        return bytes(one if kept else 0 for one, kept in zip(value, left.tolist(), strict=True))
    return _blank(value, left.tolist())


def _shape(value: Any) -> tuple[int, ...]:
    """Of a text, bytes, or nested lists of equal lengths."""
    if isinstance(value, str | bytes):
        return (len(value),)
    if not isinstance(value, list):
        return ()
    inner = {_shape(one) for one in value if isinstance(one, list)} or {()}
    if len(inner) > 1 or (inner != {()} and not all(isinstance(one, list) for one in value)):
        raise NotBlankable("its lists are of different lengths")
    return (len(value), *inner.pop())


def _blank(value: Any, left: Any) -> Any:
    if isinstance(left, list):
        return [_blank(one, kept) for one, kept in zip(value, left, strict=True)]
    if left or value is None:
        return value
    if not isinstance(value, int | float | Decimal):
        raise NotBlankable(f"its cells are of type {type(value).__name__}, of which none is blank")
    return type(value)(0)


def _image_files(path: str, left: Any, image: Image, folder: Path) -> Copies:
    if image.data is None:
        raise NotBlankable(f"{image.problem[:1].lower()}{image.problem[1:]}" or "the image was not read")
    made = []
    for name, data in zip(("whole", "blank"), _images(image.data, left), strict=True):
        (folder / name).mkdir()
        file = folder / name / f"{Path(path).stem or 'image'}.png"
        file.write_bytes(data)
        made.append(f"file://{file}" if path.startswith("file:") else str(file))
    return Copies(made[1], made[0])


def _images(data: bytes, left: Any) -> tuple[bytes, bytes]:
    """The image as it is, and with blank pixels: those of which no channel is left; as PNG, which loses nothing."""
    try:
        from PIL import Image as Pillow
    except ImportError as problem:
        raise NotBlankable("it is an image, and Pillow is not installed here to write it anew") from problem
    import numpy as np

    try:
        with Pillow.open(io.BytesIO(data)) as opened:
            if math.prod(opened.size) > _MOST_PIXELS:
                raise NotBlankable(f"the image has {math.prod(opened.size):,} pixels, more than {_MOST_PIXELS:,}")
            image = opened.convert("RGBA" if "transparency" in opened.info else "RGB") if opened.mode == "P" else opened.copy()
    except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError) as problem:
        raise NotBlankable(f"the image cannot be read ({type(problem).__name__})") from problem
    if image.mode not in _MODES:
        raise NotBlankable(f"the image's pixels are of mode {image.mode}; they can be {', '.join(_MODES)}")
    whole = np.array(_turned(image, _way_up(orientations(data), image.size, left)))
    pixels = whole.copy()
    pixels[~_seen(left, pixels.shape[:2]), ...] *= np.array([0, 0, 0, 1] if image.mode == "RGBA" else 0, dtype=np.uint8)
    return _png(whole), _png(pixels)


def _way_up(ways: frozenset[int], size: tuple[int, int], left: Any) -> int:
    """The only orientation in which the image is the argument's array, so that a copy in it is read in the same, by whatever."""
    fitting = [one for one in ways if turned_size(size[::-1], one) in _sizes(left)]
    if len(fitting) > 1:
        raise NotBlankable("by its metadata the image may be turned when it is read, and whether the argument's array is, is not known")
    if not fitting:
        raise NotBlankable(f"its array, of shape {left.shape}, is of another size than the image, {size[0]} × {size[1]} pixels")
    return fitting[0]


def _turned(image: Any, orientation: int) -> Any:
    """As `PIL.ImageOps.exif_transpose` turns it."""
    return image.transpose(_TURNS[orientation]) if orientation in _TURNS else image


def _sizes(left: Any) -> tuple[tuple[int, ...], ...]:
    """The sizes (rows, columns) of the image, whether the array has no channels, has them last or first."""
    return (left.shape,) if left.ndim == 2 else (left.shape[:2], left.shape[1:]) if left.ndim == 3 else ()


def _seen(left: Any, size: tuple[int, ...]) -> Any:
    """The pixels of which a channel is left, whether the array has none, has them last or first."""
    return left if left.ndim == 2 else left.any(axis=-1 if left.shape[:2] == size else 0)


def _png(pixels: Any) -> bytes:
    from PIL import Image as Pillow

    out = io.BytesIO()
    Pillow.fromarray(pixels).save(out, "PNG")
    return out.getvalue()
