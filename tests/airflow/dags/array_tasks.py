"""Python tasks that say which cells of arrays theirs are made from: one task after the other, and mapped ones."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import dag, task


@dag(schedule=None)
def array_tasks() -> None:
    @task
    def load() -> str:
        from airflow_lineage_provider.arrays import rules
        from airflow_lineage_provider.hooks.lineage import LineageHook

        with LineageHook() as lineage, lineage.arrays.task() as log:
            log.array("photo", (4, 6))
            log.array("half", (2, 3))
            log.lineage("photo", "half", capture=lambda at: [(2 * at[0] + y, 2 * at[1] + x) for y in (0, 1) for x in (0, 1)])
            log.array("unused", (7,))
            log.lineage("unused", "half", rules.all_to_all((7,), (2, 3)))
            return log.name("photo")

    @task
    def judge(row: int) -> str:
        from airflow_lineage_provider.hooks.lineage import LineageHook

        with LineageHook() as lineage, lineage.arrays.task() as log:
            log.array("score", ())
            log.lineage(log.name("half", task="load"), "score", [(row, column) for column in range(3)])
            return log.name("score")

    @task(retries=1, retry_delay=timedelta(0))
    def fails_once(ti: object) -> None:
        from airflow_lineage_provider.hooks.lineage import LineageHook

        with LineageHook() as lineage, lineage.arrays.task() as log:
            tried = int(getattr(ti, "try_number"))  # noqa: B009  (a task instance of Airflow's)
            log.array("photo", (tried,))
            if tried == 1:
                raise RuntimeError("not yet")

    load() >> judge.expand(row=[0, 1]) >> fails_once()


array_tasks()
