"""Real image files that say which way up they are to be shown, and what libraries read of them: as stored, or turned."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 16
"""So many pixels of a colour along each side, so that what a JPEG loses hides none."""


def photo(orientation: int, kind: str = "JPEG", blocks: tuple[int, int] = (6, 4)) -> bytes:
    """A picture of (columns, rows) blocks, all of other colours; its EXIF has the orientation, 0 for none."""
    from PIL import Image

    columns, rows = blocks
    drawn = np.array([[(40 * x % 256, 60 * y % 256, 37 * (x + columns * y) % 256) for x in range(columns)] for y in range(rows)], np.uint8)
    made, out = Image.fromarray(drawn.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)), io.BytesIO()
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    made.save(out, kind, exif=exif, quality=95, lossless=True)
    return out.getvalue()


def _pillow(data: bytes, path: Path) -> Any:
    from PIL import Image

    return np.array(Image.open(io.BytesIO(data)).convert("RGB"))


def _pillow_turned(data: bytes, path: Path) -> Any:
    from PIL import Image, ImageOps

    return np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))


def _opencv(data: bytes, path: Path) -> Any:
    import cv2

    path.write_bytes(data)
    return np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR))[..., ::-1]


def _opencv_as_stored(data: bytes, path: Path) -> Any:
    import cv2

    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION))[..., ::-1]


def _skimage(data: bytes, path: Path) -> Any:
    from skimage import io as files

    path.write_bytes(data)
    return files.imread(path)[..., :3]


READERS: dict[str, Callable[[bytes, Path], Any]] = {
    "Pillow": _pillow, "Pillow, turned": _pillow_turned, "scikit-image": _skimage,
    "OpenCV": _opencv, "OpenCV, as stored": _opencv_as_stored,
}  # fmt: skip


def colours(pixels: Any) -> Any:
    """The blocks, each by the pixel in its middle."""
    return np.asarray(pixels)[BLOCK // 2 :: BLOCK, BLOCK // 2 :: BLOCK].astype(int)


def same(one: Any, other: Any) -> bool:
    """Whether two pictures have the same blocks; those of two places differ by far more than a JPEG loses."""
    first, second = colours(one), colours(other)
    return first.shape == second.shape and bool(abs(first - second).max() < 12)
