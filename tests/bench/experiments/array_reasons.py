"""What it takes to say which cells of a picture a reason is about: where it is explained, and in a run, which explains nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from airflow_lineage_provider import payload
from airflow_lineage_provider.reasons import ReasonedUdf, reasoned_udf
from tests.bench.arms import recorded
from tests.bench.cells.workloads import photograph
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from udfs import face_detection as traced

SIDE = 2 * (416 + traced.MARGIN)
"""Of the photograph; the model sees a picture of 416 × 416 pixels."""
PICTURES = {"small": 6, "full": 200}
"""In a run."""


@reasoned_udf("boolean", name="face_untraced", libraries=["opencv-python-headless"])
def face_untraced(path: str | None) -> bool | None:
    """As `udfs.face_detection`, whose reasons say nothing of the photograph's own pixels."""
    return None if path is None else bool(_faces(path)[0])


@face_untraced.with_reason
def _(path: str | None) -> tuple[bool | None, Any]:
    if path is None:
        return None, None
    found, seen = _faces(path)
    return bool(found), payload.Boxes(found, image_size=(seen.shape[1], seen.shape[0]))


def _faces(path: str) -> tuple[Any, Any]:
    seen = traced.prepared(traced._read(path))
    return traced._faces(seen), seen


def run(ground: Ground) -> Iterator[Comparison]:
    """One picture explained; then runs over some."""
    import cv2

    photo = str(ground.folder / "photo.png")
    cv2.imwrite(photo, photograph((SIDE, SIDE)))
    udfs = {"without": face_untraced, "traced": traced.face_detection}
    arms = {name: _explained(udf, photo) for name, udf in udfs.items()}
    yield compared("reasoning mode, a picture of 416 × 416 pixels made by 6 operations", arms, ground.meter, 5 * ground.repeats)
    rows = PICTURES[ground.size]
    ground.spark.createDataFrame([(number, photo) for number in range(rows)], "number long, path string").write.parquet(
        str(ground.folder / "pictures.parquet")
    )
    ground.tables("pictures")
    for udf in udfs.values():
        udf.register(ground.spark)
    text = {name: f"SELECT number, {udf.name}(path) AS face FROM pictures" for name, udf in udfs.items()}
    arms = {name: recorded(ground, one, "function_materialization", "lazy") for name, one in text.items()}
    yield compared(f"runs with lazy reasons, {rows} pictures", arms, ground.meter, 2 * ground.repeats)


def _explained(udf: ReasonedUdf, photo: str) -> Arm:
    batch = [pa.array([photo])]
    return Arm(lambda: udf.explain_batch(batch), lambda found: _reason(found[1][0].as_py()), is_quick=True)


def _reason(text: str) -> str:
    """What it says of the picture that the model saw."""
    found = payload.from_json(text)
    return repr(payload.untraced(found) if isinstance(found, payload.Traced) else found)
