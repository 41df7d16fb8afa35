"""A face in a real photograph: found in a cropped, gray, shrunk and normalised array, and told as pixels of the photograph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import skimage

from airflow_lineage_provider import payload
from udfs.face_detection import MARGIN, SHRINK, face_detection, prepared

PHOTO = str(Path(skimage.__file__).parent / "data" / "astronaut.png")


@pytest.fixture(scope="module")
def reason() -> payload.Traced:
    batch = [pa.array([PHOTO])]
    values, reasons = face_detection.explain_batch(batch)
    face_detection.check_values(batch, values)
    found = payload.from_json(reasons[0].as_py())
    assert values.to_pylist() == [True]
    assert isinstance(found, payload.Traced)
    return found


def test_the_pixels_are_those_of_the_box_in_the_photograph(reason: payload.Traced) -> None:
    boxes = payload.untraced(reason)
    assert isinstance(boxes, payload.Boxes)
    (box,) = boxes.boxes
    wanted = np.zeros((512, 512, 3), dtype=bool)
    top, left = MARGIN + SHRINK * int(box.y), MARGIN + SHRINK * int(box.x)
    wanted[top : top + SHRINK * int(box.height), left : left + SHRINK * int(box.width)] = True
    narrowest, *others = reason.sources[0].paths
    assert (reason.sources[0].cells(narrowest).mask == wanted).all()
    assert {reason.sources[0].cells(one).count for one in others} == {496 * 496 * 3}
    assert all(one.guarantee == "exact" for one in reason.sources[0].paths)


def test_nothing_but_these_pixels_and_two_numbers_make_what_was_judged(reason: payload.Traced) -> None:
    """With the mean and the deviation held, other pixels change nothing in the box, and each of these does."""
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (512, 512, 3)).astype(np.uint8)
    cells = reason.sources[0].cells(reason.sources[0].paths[0]).mask
    (part,) = reason.parts()
    seen = prepared(image)
    scattered = image.copy()
    scattered[~cells] = random.integers(0, 256, int((~cells).sum()))
    before, after = (one[part.region.mask] for one in (seen, prepared(scattered)))
    assert np.allclose((before - before.mean()) / before.std(), (after - after.mean()) / after.std())
    changed = image.copy()
    changed[cells] = random.integers(0, 256, int(cells.sum()))
    assert not np.allclose(prepared(changed)[part.region.mask], before)


def test_no_path_is_no_decision() -> None:
    values, reasons = face_detection.explain_batch([pa.array([None], pa.string())])
    assert (values.to_pylist(), reasons.to_pylist()) == ([None], [None])
