"""What an experiment stands on: a Spark session with Spark's own settings, an embedded store, a folder, and the meter over them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tests.bench.parts import Parts
from tests.bench.profiles import Beside
from tests.bench.readings import Meter
from tests.local_session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Lineage

Size = Literal["small", "full"]
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4"}
"""Settings of every session here."""


@dataclass(frozen=True)
class Ground:
    """``small`` experiments take about a minute; ``full`` ones have the papers' shapes as far as the machine carries them.

    ``scale_factors``: those of TPC-H that were asked for, in place of the size's; ``udf_seconds``: how long each call of a model of the CDA
    workload takes longer than it does, or ``cost_ratio``: how many times what the rest of a query takes its calls are to take; ``parts``:
    which of an experiment are measured.
    """

    spark: SparkSession
    lineage: Lineage
    folder: Path
    meter: Meter
    size: Size
    repeats: int
    scale_factors: tuple[str, ...] = ()
    udf_seconds: float = 0.0
    cost_ratio: float = 0.0
    parts: Parts = field(default_factory=Parts)

    @property
    def is_small(self) -> bool:
        return self.size == "small"

    @property
    def beside(self) -> Beside:
        """The processes beside the driver that a profile tells of."""
        from airflow_lineage_provider.store import embedded

        return Beside(self.spark, embedded.ensure_running(self.lineage.store.home))

    def wants(self, part: str) -> bool:
        """Whether an experiment's part of this name is to be measured."""
        return self.parts.wanted(part)

    def tables(self, *names: str) -> None:
        """Parquet files of the folder as views."""
        for name in names:
            self.spark.read.parquet(str(self.folder / f"{name}.parquet")).createOrReplaceTempView(name)


@contextmanager
def ground(
    size: Size,
    repeats: int,
    scale_factors: tuple[str, ...] = (),
    udf_seconds: float = 0.0,
    cost_ratio: float = 0.0,
    parts: str = "",
) -> Iterator[Ground]:
    """Made for one experiment, in a process of its own, and taken away after it."""
    folder = Path(tempfile.mkdtemp(prefix="lineage-bench-"))
    os.environ["AIRFLOW_LINEAGE_HOME"] = str(folder / "home")
    os.environ.pop("AIRFLOW_LINEAGE_STORE", None)
    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.store import stop_embedded

    spark = _session(folder)
    try:
        with Lineage(spark) as lineage:
            meter = Meter(spark, lineage.store, folder)
            yield Ground(spark, lineage, folder, meter, size, repeats, scale_factors, udf_seconds, cost_ratio, Parts(parts))
    finally:
        spark.stop()
        stop_embedded()
        shutil.rmtree(folder, ignore_errors=True)


def _session(folder: Path) -> SparkSession:
    return local_session("lineage bench", {**QUIET, "spark.driver.memory": "4g", "spark.sql.warehouse.dir": str(folder / "warehouse")})
