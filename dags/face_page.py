"""A page of two photographs, and which pixels of them the decision is about. ``python -m dags.face_page``

Part of the demo (`dags.run_demo`): the photographs are those that come with scikit-image, and the page stays in ``.demo/``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dags.run_demo import FACES, environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Explanation, Lineage

PHOTOS = ("astronaut.png", "chelsea.png")
"""A face, and none: a cat."""


def photographs() -> Path:
    """The folder of scikit-image's own."""
    import skimage

    return Path(skimage.__file__).parent / "data"


def explained(lineage: Lineage, spark: SparkSession, folder: Path) -> Explanation:
    """Is there a face in each of the photographs, and which pixels say so?

    :param folder: where the table of their paths is written.
    """
    from udfs.face_detection import face_detection

    rows = [(number, f"{photographs()}/{name}") for number, name in enumerate(PHOTOS, 1)]
    spark.createDataFrame(rows, "id int, photo string").coalesce(1).write.parquet(f"{folder}/photos", mode="overwrite")
    spark.read.parquet(f"{folder}/photos").createOrReplaceTempView("photos")
    face_detection.register(spark)
    run = lineage.run("SELECT id, face_detection(photo) AS has_face FROM photos", name="faces")
    return run.explain("true", verify=True)


def main() -> None:
    """Write the page."""
    os.environ.update(environment() | {"AIRFLOW_LINEAGE_IMAGE_ROOTS": str(photographs())})
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Lineage

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
    try:
        with Lineage(spark) as lineage:
            explained(lineage, spark, FACES.parent).to_html(str(FACES))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
