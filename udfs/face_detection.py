"""Is there a face in the picture? As a model is often asked: of a part of the picture, shrunk, gray and normalised.

The face is found in an array that nobody ever saw, and the reason says which pixels of the picture it is about: the same code prepares a
plain array in normal mode, and a tracked one (`arrays.source`) in reasoning mode. The detector is OpenCV's cascade for faces seen from the
front (P. Viola and M. Jones, 2001), which needs ``opencv-python-headless<5``.

The argument is the path of an image file, which every executor must be able to read::

    from udfs.face_detection import face_detection

    face_detection.register(spark)
    lineage.run("SELECT path FROM photos WHERE face_detection(path)").explain("true").cells["face_detection"]
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from airflow_lineage_provider import arrays
from airflow_lineage_provider.reasons import reasoned_udf
from airflow_lineage_provider.reasons.payload import Box, Boxes

MARGIN = 8
"""So many pixels at each edge of the picture are not looked at."""

SHRINK = 2
"""So many pixels along each side become one."""

GRAY = np.array([0.114, 0.587, 0.299])
"""The weights of blue, green and red."""

FACE_NEIGHBOURS = 5
SMALLEST_FACE = (24, 24)


@reasoned_udf("boolean", libraries=["opencv-python-headless"])
def face_detection(path: str | None) -> bool | None:
    """Whether the image file shows a face; None for no path."""
    return None if path is None else bool(_faces(prepared(_read(path))))


@face_detection.with_reason
def _(path: str | None) -> tuple[bool | None, Any]:
    if path is None:
        return None, None
    seen = prepared(arrays.source("path", _read(path)))
    found = _faces(seen.values)
    return bool(found), arrays.traced(Boxes(found, image_size=(seen.shape[1], seen.shape[0])), on=seen)


def prepared(image: Any) -> Any:
    """What the detector sees of an image of (rows, columns, 3) bytes: cropped, gray, shrunk, and with a mean of 0 and a deviation of 1."""
    rows, columns = ((side - 2 * MARGIN) // SHRINK for side in image.shape[:2])
    cropped = image[MARGIN : MARGIN + rows * SHRINK, MARGIN : MARGIN + columns * SHRINK]
    gray = cropped.astype(np.float64) @ GRAY
    small = gray.reshape(rows, SHRINK, columns, SHRINK).mean(axis=(1, 3))
    return (small - small.mean()) / small.std()


def _read(path: str) -> Any:
    import cv2

    image = cv2.imread(path, cv2.IMREAD_COLOR)
    if image is None:
        raise ValueError(f"{path} is not an image that can be read from here")
    return image


def _faces(seen: Any) -> tuple[Box, ...]:
    """In an order that does not depend on how the detector works."""
    visible = np.clip(seen * 64 + 128, 0, 255).astype(np.uint8)
    places = _detector().detectMultiScale(visible, scaleFactor=1.1, minNeighbors=FACE_NEIGHBOURS, minSize=SMALLEST_FACE)
    boxes = [Box(x, y, width, height, "face") for x, y, width, height in places]
    return tuple(sorted(boxes, key=lambda one: (one.x, one.y, one.width, one.height)))


@lru_cache(maxsize=1)
def _detector() -> Any:
    import cv2

    # Spark runs a Python worker a core; and boxes found by several threads are merged in the order in which these end.
    cv2.setNumThreads(1)
    return cv2.CascadeClassifier(f"{cv2.data.haarcascades}haarcascade_frontalface_default.xml")
