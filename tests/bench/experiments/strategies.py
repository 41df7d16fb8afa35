"""What each strategy costs at run time, what it stores, and what it gives back when a row is asked about; and what push-down is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving.target import target_expression
from airflow_lineage_provider.plan.expressions import TRUE, Expression
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.spark.rereading.restore import Restored, restore
from airflow_lineage_provider.store.kept_udfs import UdfsOfRun
from tests.bench.arms import answer_of, collected, sorted_rows, stored
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.judges import applications, expensive_exam
from tests.in_turn import STRATEGIES

ROWS = {"small": 500, "full": 5_000}
REGIONS = 40
TARGET = "region = 7 AND judge = 'Reject'"


def run(ground: Ground) -> Iterator[Comparison]:
    """A join, an expensive model above it, and an aggregation: running, asking, and making again."""
    exam, rows = expensive_exam(), ROWS[ground.size]
    applications(ground, rows)
    exam.register(ground.spark)
    regions = ground.spark.range(rows).selectExpr("id AS application", f"pmod(hash(id, 7), {REGIONS}) AS region")
    regions.coalesce(2).write.parquet(str(ground.folder / "regions.parquet"))
    ground.tables("regions")
    sql = f"""
        SELECT region, {exam.name}(income, debt, amount) AS judge, count(*) AS applications
        FROM applications a JOIN regions r ON r.application = a.application GROUP BY 1, 2"""
    arms: dict[str, Arm] = {"plain": collected(ground, sql)} | {one: stored(ground, sql, one) for one in STRATEGIES}
    yield compared(f"running: a join, an expensive model, an aggregation; {rows:,} rows", arms, ground.meter, ground.repeats)
    runs = {one: ground.lineage.run(sql, name=f"bench asked {one}", strategy=one) for one in STRATEGIES}
    asking = compared(
        "asking about one group of it", {one: _asked(made) for one, made in runs.items()}, ground.meter, ground.repeats, "rerun"
    )
    asking.facts = {one: {"bytes stored": sum(table.bytes for table in made.stored)} for one, made in runs.items()}
    yield asking
    condition, _ = target_expression("region = 7", runs["rerun"].plan)
    conditions = {"everything": TRUE, "one region": condition}
    again = {name: _made_again(ground.lineage, runs["rerun"], one) for name, one in conditions.items()}
    yield compared("making again what a target needs", again, ground.meter, ground.repeats)
    for made in runs.values():
        made.close()


def _asked(run: Run) -> Arm:
    return Arm(lambda: run.explain(TARGET, save=False), answer_of)


def _made_again(lineage: Lineage, run: Run, condition: Expression) -> Arm:
    """The judged rows that meet a condition, counted. They are others for another one: what must be equal are the rows of the group."""
    recorded = run.plan
    (judged,) = (segment for segment in recorded.plan.segments if segment.functions)

    def make(ask: Callable[[Restored], Any]) -> Any:
        assert lineage.spark is not None
        with ExitStack() as stack:
            stored = lineage.store.materializations(run.id)
            return ask(restore(lineage.spark, lineage.store, recorded, stored, UdfsOfRun(lineage.store, run.record), condition, stack))

    def group(made: Restored) -> list[str]:
        names = dict(made.recorded.materialized[judged.number].columns)
        (region,) = (names[a.id] for a in judged.plan.output if a.name == "region")
        rows = made.frames[judged.number].where(f"`{region}` = 7")
        return sorted_rows(rows.select(*(f"`{one}`" for one in dict.fromkeys(names.values()))).collect())

    def rows(_: Any) -> list[str]:
        found: list[str] = make(group)
        assert found, "there is no such group"
        return found

    return Arm(lambda: make(lambda made: [frame.count() for frame in made.frames.values()]), rows)
