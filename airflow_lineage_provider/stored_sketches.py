"""The sketches that runs have captured, looked at and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.kept_sketches import KeptSketches, SketchInDetail
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.store.ids import is_possible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StoredSketches(AsksStore):
    """What `Lineage` can do with sketches besides making and using them in runs."""

    spark: SparkSession | None

    def sketches(self, pipeline: str | None = None, *, check: bool = False, limit: int = 50) -> KeptSketches:
        """The newest sketches in the store, of one pipeline's runs where one is named.

        With ``check`` the sources of each are looked at: where one has changed, the sketch is not used any more (`KeptSketch.outdated`).
        Local files need no Spark session.

        :raises InvalidOption: an option is wrong.
        """
        from airflow_lineage_provider.deriving.kept_sketches import kept_sketches

        check_options({"name": pipeline, "check": check, "limit": limit})
        return self.lasting(lambda: kept_sketches(self.store, pipeline, limit, check=check, spark=self.spark))

    def sketch(self, sketch_id: str, *, check: bool = False) -> SketchInDetail:
        """One sketch by its id, with the values of the column that are in it and the runs that have read through it; ``check`` as in
        `sketches`.

        :raises SketchError: there is no sketch with this id. :raises SketchDamaged, SketchTooNew: it cannot be read.
        :raises InvalidOption: an option is wrong.
        """
        from airflow_lineage_provider.deriving.kept_sketches import sketch_in_detail

        check_options({"check": check})
        return self.lasting(lambda: sketch_in_detail(self.store, sketch_id, check=check, spark=self.spark))

    def drop_sketch(self, sketch_id: str) -> None:
        """Forget a sketch. Runs that have read through it stay as they are.

        :raises SketchError: there is no sketch with this id.
        """
        from airflow_lineage_provider.deriving.kept_sketches import no_sketch

        if not is_possible(sketch_id) or not self.lasting(lambda: self.store.drop_sketches([sketch_id])):
            raise no_sketch(sketch_id)
