"""Is there a person in the picture? The human detection of the paper's CDA workload (section 7.2.2), with OpenCV's own detectors.

The paper uses YOLO, whose weights are a download of their own. OpenCV's wheels carry two classic detectors that need none: a
histogram of oriented gradients for people who stand (N. Dalal and B. Triggs, 2005), and a cascade for faces seen from the front
(P. Viola and M. Jones, 2001). Needs ``opencv-python-headless<5``: later releases have neither.

The argument is the path of an image file, as in the paper, which every executor must be able to read::

    from udfs.person_detection import person_detection

    person_detection.register(spark)
    lineage.run("SELECT p_partkey FROM part WHERE person_detection(p_image)")

The reason is a box for everyone found, with what it frames (``person`` or ``face``) and how sure the detector is. No box means
that nobody was found.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from airflow_lineage_provider.reasons import reasoned_udf
from airflow_lineage_provider.reasons.payload import Box, Boxes

SMALLEST_BODY = (64, 128)
"""Width and height in pixels of the smallest body that is seen: the size of the gradients' window."""

SMALLEST_FACE = (24, 24)
LEAST_BODY_SCORE = 1.0
FACE_NEIGHBOURS = 5


@reasoned_udf("boolean", libraries=["opencv-python-headless"])
def person_detection(p_image: str | None) -> bool | None:
    """Whether the image file shows a person; None for no path."""
    return None if p_image is None else bool(_found(_gray(p_image)))


@person_detection.with_reason
def _(p_image: str | None) -> tuple[bool | None, Boxes | None]:
    if p_image is None:
        return None, None
    image = _gray(p_image)
    found = _found(image)
    return bool(found), Boxes(found, image_size=(image.shape[1], image.shape[0]))


def _gray(path: str) -> Any:
    import cv2

    image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise ValueError(f"{path} is not an image that can be read from here")
    return image


def _found(image: Any) -> tuple[Box, ...]:
    """The boxes of both detectors, in an order that does not depend on how they work."""
    boxes = [*_faces(image), *_bodies(image)]
    return tuple(sorted(boxes, key=lambda one: (str(one.label), one.x, one.y, one.width, one.height)))


def _faces(image: Any) -> list[Box]:
    places, _, scores = _face_detector().detectMultiScale3(
        image, scaleFactor=1.1, minNeighbors=FACE_NEIGHBOURS, minSize=SMALLEST_FACE, outputRejectLevels=True
    )
    return _boxes("face", places, scores)


def _bodies(image: Any) -> list[Box]:
    if image.shape[1] < SMALLEST_BODY[0] or image.shape[0] < SMALLEST_BODY[1]:
        return []
    places, scores = _body_detector().detectMultiScale(image, winStride=(8, 8), padding=(8, 8), scale=1.05, hitThreshold=LEAST_BODY_SCORE)
    return _boxes("person", places, scores)


def _boxes(label: str, places: Any, scores: Any) -> list[Box]:
    found = zip(places, scores, strict=True)
    return [Box(x, y, width, height, label, round(float(score), 6)) for (x, y, width, height), score in found]


@lru_cache(maxsize=1)
def _face_detector() -> Any:
    import cv2

    _one_thread()
    return cv2.CascadeClassifier(f"{cv2.data.haarcascades}haarcascade_frontalface_default.xml")


@lru_cache(maxsize=1)
def _body_detector() -> Any:
    import cv2

    _one_thread()
    detector = cv2.HOGDescriptor()
    detector.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
    return detector


def _one_thread() -> None:
    # Spark runs a Python worker a core; and boxes found by several threads are merged in the order in which these end.
    import cv2

    cv2.setNumThreads(1)
