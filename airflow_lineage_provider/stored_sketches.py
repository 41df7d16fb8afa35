"""The sketches that runs have captured, looked at and dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.kept_sketches import KeptSketches, SketchInDetail
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.store.ids import is_possible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.sketches.wanted import SketchOn
    from airflow_lineage_provider.store.run_store import RunStore
    from airflow_lineage_provider.words import OnStoreFailure, Strategy


class StoredSketches(AsksStore):
    """What `Lineage` can do with sketches besides making and using them in runs."""

    spark: SparkSession | None
    _run_store: Callable[[OnStoreFailure], RunStore]

    def check_sketches(
        self,
        pipeline: Callable[..., Any] | str | DataFrame,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        secret_params: Sequence[str] = (),
        strategy: Strategy = "function_materialization",
        keys: Mapping[str, Sequence[str]] | None = None,
        sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
        witness: bool = False,
    ) -> tuple[SketchUse, ...]:
        """What a run with ``sketches="use"`` would do now, for each source: the sketch that it would read through, or why there is none.
        The pipeline is given as to `run`; it is not run, and nothing is recorded. (Of a source that was appended to new rows are counted.)

        :raises SparkRequired: there is no session. :raises InvalidOption: an option is wrong.
        :raises PlanError: the pipeline cannot be understood, or ``keys`` or ``sketch_on`` name what it does not read.
        """
        from airflow_lineage_provider.requested import requested
        from airflow_lineage_provider.running.check_sketches import fitting_now

        request = requested(
            pipeline, name=name, params=params, clear_params=(), secret_params=secret_params, output=None, strategy=strategy,
            reasons="lazy", keys=keys, append_key=None, context=None, sketches="use", sketch_on=sketch_on,
            witness=witness,
        )  # fmt: skip
        if self.spark is None:
            raise SparkRequired("looking for the sketches of a pipeline needs a Spark session: Lineage(spark)")
        return fitting_now(self.spark, self._run_store("fail"), request)

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
