"""Who is in the picture? Two recognisers with the same answers, an expensive and a cheap one (augmented lineage, section 7.1.2).

The faces are the hundred of Labeled Faces in the Wild that scikit-image carries, one for each person, under invented names. A photograph
is such a face, larger or smaller, darker or lighter, with noise, somewhere on a textured ground.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage.data

from airflow_lineage_provider import reasoned_udf
from airflow_lineage_provider.reasons.payload import Box, Boxes, Span, TextSpans

PERSONS = 40
SIDE = 96
SCALES = (1.0, 1.2, 1.44)


def name_of(person: int) -> str:
    """Of a person, by number."""
    return f"person_{person:02d}"


def write_photographs(folder: Path, count: int, seed: int = 7) -> list[str]:
    """PNG files with the name of whom they show in their own; their paths."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    paths = []
    for number in range(count):
        person = int(draw.integers(PERSONS))
        paths.append(str(folder / f"{name_of(person)}_{number:05d}.png"))
        cv2.imwrite(paths[-1], _photograph(person, draw))
    return paths


def _photograph(person: int, draw: np.random.Generator) -> Any:
    ground = cv2.GaussianBlur(draw.uniform(60, 190, (SIDE, SIDE)).astype(np.float32), (0, 0), 3)
    face = _scaled(_gallery()[person], float(draw.choice(SCALES)))
    height, width = face.shape
    top, left = int(draw.integers(SIDE - height)), int(draw.integers(SIDE - width))
    ground[top : top + height, left : left + width] = face * float(draw.uniform(0.6, 1.0)) + float(draw.uniform(0, 30))
    return np.clip(ground + draw.normal(0, 3, ground.shape), 0, 255).astype(np.uint8)


@lru_cache(maxsize=1)
def _gallery() -> Any:
    data: Any = skimage.data  # untyped
    return (data.lfw_subset()[:PERSONS] * 255).astype(np.float32)


def _scaled(face: Any, scale: float) -> Any:
    return cv2.resize(face, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)


def _recognised(path: str) -> tuple[str, Box]:
    """The face of the gallery that fits best, anywhere and in any size: by normalised correlation."""
    image: Any = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    image = image.astype(np.float32)
    best = (-1.0, "", (0, 0, 0, 0))
    for person, known in enumerate(_gallery()):
        for scale in SCALES:
            face = _scaled(known, scale)
            _, score, _, (left, top) = cv2.minMaxLoc(cv2.matchTemplate(image, face, cv2.TM_CCOEFF_NORMED))
            best = max(best, (score, name_of(person), (left, top, face.shape[1], face.shape[0])))
    score, name, (left, top, width, height) = best
    return name, Box(left, top, width, height, label=name, score=round(float(score), 4))


@reasoned_udf("string", name="recognised_face", libraries=["opencv-python-headless", "scikit-image"])
def recognised_face(path: str) -> str:
    """The expensive one: by the picture."""
    return _recognised(path)[0]


@recognised_face.with_reason
def _(path: str) -> tuple[str, Boxes]:
    name, box = _recognised(path)
    return name, Boxes((box,), image_size=(SIDE, SIDE))


@reasoned_udf("string", name="recognised_name")
def recognised_name(path: str) -> str:
    """The cheap one: by the name of the file."""
    start = path.index("person_")
    return path[start : start + len(name_of(0))]


@recognised_name.with_reason
def _(path: str) -> tuple[str, TextSpans]:
    start = path.index("person_")
    end = start + len(name_of(0))
    return path[start:end], TextSpans((Span(start, end, 1.0),))
