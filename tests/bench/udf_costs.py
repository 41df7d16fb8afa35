"""What calls of UDFs cost in a query beside the rest of it; and UDFs whose calls are slower, as larger models are."""

from __future__ import annotations

import os
import struct
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_lineage_provider import reasoned_udf
from airflow_lineage_provider.reasons import ReasonedUdf
from tests.bench.arms import written
from tests.bench.ground import Ground


@dataclass(frozen=True)
class UdfCost:
    """``calls`` of UDFs, CPU ``seconds`` of all of them together, and those of the ``rest`` of the query."""

    calls: int
    seconds: float
    rest: float

    def longer(self, ratio: float) -> float:
        """Seconds that each call has to take longer, so that all of them take ``ratio`` times what the rest takes; 0 where they do already.

        >>> UdfCost(100, 1.0, 2.0).longer(10), UdfCost(100, 30.0, 2.0).longer(10), UdfCost(0, 0.0, 2.0).longer(10)
        (0.19, 0.0, 0.0)
        """
        return max(ratio * self.rest - self.seconds, 0.0) / self.calls if self.calls else 0.0

    def __str__(self) -> str:
        return f"{self.calls:,} calls of {self.seconds / max(self.calls, 1):.2g} CPU s each, the rest of the query {self.rest:.2g} CPU s"


def cost_of(ground: Ground, sql: str, udfs: Sequence[ReasonedUdf]) -> UdfCost:
    """Of a query that is written by plain Spark, with workers that are warm. The UDFs are left registered as they are counted."""
    log, query = ground.folder / "calls", written(ground, sql, "costs")
    for udf in udfs:
        counted(udf, log).register(ground.spark)
    query.do()
    log.write_bytes(b"")
    taken = ground.meter.measured(query.do).all_cpu
    seconds = array("d", log.read_bytes())
    return UdfCost(len(seconds), sum(seconds), max(taken - sum(seconds), 0.0))


def counted(udf: ReasonedUdf, log: Path) -> ReasonedUdf:
    """The same UDF; each call appends its CPU seconds to a file, as an eight-byte float."""

    def call(function: Callable[[Any], Any], value: Any) -> Any:
        began = time.process_time()
        try:
            return function(value)
        finally:
            taken = struct.pack("d", time.process_time() - began)
            file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # several workers append to it
            os.write(file, taken)
            os.close(file)

    return _around(udf, "counted", call)


def slowed(udf: ReasonedUdf, seconds: float) -> ReasonedUdf:
    """The same decisions and reasons, each of which takes so much longer; of its version, too."""

    def call(function: Callable[[Any], Any], value: Any) -> Any:
        time.sleep(seconds)
        return function(value)

    return _around(udf, f"{seconds} s longer", call)


def _around(udf: ReasonedUdf, how: str, call: Callable[[Callable[[Any], Any], Any], Any]) -> ReasonedUdf:
    @reasoned_udf(udf.returns, name=udf.name, version=f"{udf.version}, {how}")
    def around(value: Any) -> Any:
        return call(udf.main, value)

    @around.with_reason
    def _(value: Any) -> Any:
        assert udf.main_with_reason is not None
        return call(udf.main_with_reason, value)

    return around
