"""Asking why, of one row of a result that an expensive model judged: against judging everything again in reasoning mode."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.reasons import ReasonedUdf
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.judges import applications, expensive_exam, judging

ROWS = {"small": 200, "full": 2_000}


def run(ground: Ground) -> Iterator[Comparison]:
    """One target each time; lazy reasons are explained at the first question, and kept for the next."""
    exam = expensive_exam()
    applications(ground, ROWS[ground.size])
    exam.register(ground.spark)
    made = ground.lineage.run(judging(exam.name), name="bench asking")
    made.close()
    asked = Lineage(store=ground.lineage.store).get_run(made.id)
    fresh = itertools.count(1)

    def ask(number: int) -> dict[int, list[str]]:
        return {number: asked.explain(f"application = {number}", save=False).reasons[exam.name].rows.column("reason").to_pylist()}

    ask(0)
    right = _again(ground, exam)

    def is_right(found: dict[int, list[str]]) -> bool:
        return bool(found) and found.items() <= right.items()

    # Each asks about a row of its own: what it says must be what everything says of that row.
    arms = {
        "everything again": Arm(lambda: _again(ground, exam), is_right),
        "reason explained now": Arm(lambda: ask(next(fresh)), is_right),
        "reason kept": Arm(lambda: ask(0), is_right),
    }
    yield compared(f"why one of {ROWS[ground.size]:,} rows was decided as it was", arms, ground.meter, ground.repeats)


def _again(ground: Ground, exam: ReasonedUdf) -> dict[int, list[str]]:
    """The reasons of all applications."""
    ground.spark.udf.register("bench_reasoning", exam.spark_function("reasoning"))
    return {row["application"]: [row["judge"]["reason"]] for row in ground.spark.sql(judging("bench_reasoning")).collect()}
