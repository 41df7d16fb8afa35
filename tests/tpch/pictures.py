"""Pictures of the parts: what scikit-image's wheel carries, small, and a drawn figure; half of them show a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage.data

LONGEST_SIDE = 160
FACES = 4


def write_pictures(folder: Path) -> list[Path]:
    """Write them as PNG. The ones with a person are called so."""
    folder.mkdir(parents=True)
    faces = [("person", _face(number)) for number in range(FACES)]
    persons = [("person", _gray(_picture("astronaut"))), ("person", _figure()), *faces]
    things = [("thing", _gray(_picture(name))) for name in ("coffee", "chelsea", "rocket", "horse", "coins", "brick")]
    paths = []
    for number, (name, picture) in enumerate(one for pair in zip(persons, things, strict=True) for one in pair):
        paths.append(folder / f"{name}{number}.png")
        cv2.imwrite(str(paths[-1]), picture)
    return paths


def _picture(name: str) -> Any:
    return getattr(skimage.data, name)()


def _gray(image: Any) -> Any:
    if image.dtype == bool:
        image = image.astype(np.uint8) * 255
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image
    factor = LONGEST_SIDE / max(gray.shape)
    return cv2.resize(gray, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)


def _face(number: int) -> Any:
    """A portrait of Labeled Faces in the Wild, on grey."""
    portrait = (_picture("lfw_subset")[number] * 255).astype(np.uint8)
    enlarged = cv2.resize(portrait, (64, 64), interpolation=cv2.INTER_CUBIC)
    return cv2.copyMakeBorder(enlarged, 24, 24, 24, 24, cv2.BORDER_CONSTANT, value=128)


def _figure() -> Any:
    """Somebody who stands, seen from afar."""
    picture = np.full((256, 128), 190, np.uint8)
    cv2.circle(picture, (64, 60), 16, 40, -1)
    cv2.ellipse(picture, (64, 115), (27, 45), 0, 0, 360, 40, -1)
    for side in (-1, 1):
        cv2.line(picture, (64 + 10 * side, 150), (64 + 14 * side, 225), 40, 16)
    return cv2.GaussianBlur(picture, (5, 5), 0)
