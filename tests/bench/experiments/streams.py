"""A stream of small files, a batch each: by plain ``foreachBatch``, and recorded; and one row of all batches, the more there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from airflow_lineage_provider import reasoned_udf
from airflow_lineage_provider.store import embedded
from tests.batches import come_again
from tests.bench.arms import rows_of
from tests.bench.comparison import Arm, Comparison, compared, per_factor_of_ten
from tests.bench.ground import Ground
from tests.statements import noted

BATCHES = {"small": 6, "full": 40}
ALL = {"small": (10, 100, 1_000), "full": (100, 1_000, 10_000)}
"""So many batches a row is looked for in: after those that Spark has worked off, the store has further ones that are like them."""
GROWTH = "CPU ÷ per factor of ten"
ROWS = 100
ASKED = "bench stream, asked"
_NUMBERS = itertools.count()


@reasoned_udf("string", name="streamed_exam")
def streamed_exam(amount: int) -> str:
    return "high" if amount > 50 else "low"


def run(ground: Ground) -> Iterator[Comparison]:
    """A pipeline with a UDF, each batch a hundred rows."""
    batches = BATCHES[ground.size]
    streamed_exam.register(ground.spark)
    for number in range(batches):
        rows = ground.spark.range(number * ROWS, (number + 1) * ROWS, 1, 1).selectExpr("id", "id % 100 AS amount")
        rows.write.parquet(str(ground.folder / "streamed"), mode="append")
    arms = {"plain": Arm(partial(_written, ground), rows_of), "recorded": Arm(partial(_recorded, ground), rows_of)}
    # Before they are compared: what turns there are can be told at once where they are ended.
    with noted(embedded.ensure_running(ground.lineage.store.home), ground.lineage.store.url) as asked:
        _recorded(ground, ASKED)
    found = compared(f"a stream of {batches:,} batches", arms, ground.meter, ground.repeats, keeps_turns=True)
    found.facts = {name: {"s a batch": round(some["wall, s"] / batches, 4)} for name, some in found.figures().items()}
    found.facts["recorded"]["statements a batch"] = round(len(asked.statements) / batches, 1)
    yield found
    yield from _asked(ground)


def _asked(ground: Ground) -> Iterator[Comparison]:
    """One row of all batches, the more of them there are."""
    store = ground.lineage.store
    known = ground.lineage.batches(ASKED, limit=None)
    batches, first = len(known), dict[str, float]()
    arms = {"asked": Arm(partial(ground.lineage.explain_batches, ASKED, f"id = {ROWS + 7}", save=False), _source_rows)}
    for size in ALL[ground.size]:
        for number in range(batches, size):
            ids = range(number * ROWS, (number + 1) * ROWS)
            come_again(store, known[0].run.id, known[0].query, number, {"id": ids}, index=["id"])
        batches = max(batches, size)
        found = compared(f"one row of {batches:,} batches", arms, ground.meter, ground.repeats, warm_up=1)
        cpu = {name: figures["CPU, s"] for name, figures in found.figures().items()}
        if first:
            factor = batches / ALL[ground.size][0]
            found.facts = {name: {GROWTH: per_factor_of_ten(seconds / first[name], factor)} for name, seconds in cpu.items()}
        first = first or cpu
        yield found


def _judged(batch: DataFrame) -> DataFrame:
    return batch.selectExpr("id", "streamed_exam(amount) AS verdict")


def _written(ground: Ground) -> Any:
    return _worked_off(ground, lambda where: lambda batch, _: _judged(batch).write.mode("append").parquet(where))


def _recorded(ground: Ground, pipeline: str = "bench stream") -> Any:
    def function(where: str) -> Callable[[DataFrame, int], None]:
        return ground.lineage.foreach_batch(_judged, name=pipeline, output=f"{where}+append", index=["id"])

    return _worked_off(ground, function)


def _worked_off(ground: Ground, function: Callable[[str], Callable[[DataFrame, int], None]]) -> Any:
    """A query of its own over all that has come, with a checkpoint and an output of its own: the folder of these."""
    folder = ground.folder / f"stream {next(_NUMBERS)}"
    where = folder / "judged"
    stream = ground.spark.readStream.schema("id long, amount long").option("maxFilesPerTrigger", 1).parquet(str(ground.folder / "streamed"))
    writer = stream.writeStream.foreachBatch(function(str(where))).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return where


def _source_rows(found: Any) -> list[Any]:
    return [one.explanation.sources["streamed"].rows.to_pylist() for one in found]
