"""From how many rows on, and from how many bytes on, files are the cheaper place for a run that is asked about ten times
(`AIRFLOW_LINEAGE_DATA_ROWS`, `AIRFLOW_LINEAGE_DATA_BYTES`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from airflow_lineage_provider import Lineage
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": (10_000, 30_000), "full": (10_000, 30_000, 100_000, 300_000, 1_000_000)}
LARGE = {"small": (800,), "full": (800, 3_200, 6_400, 12_800)}
"""Rows of 10 kB."""
ASKED = 10
SQL = "SELECT id, amount * 2 AS doubled, team FROM bench_rows_stored WHERE amount >= 0"
TEAM = "concat('team ', id % 977)"
TEXT = "array_join(transform(sequence(1, 156), at -> sha2(concat(id, ' ', at), 256)), '')"
"""Ten thousand letters that compress to half of that."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Two comparisons for each number of rows, of storing them and asking ten times: for rows by ids that are in order, or in any; and one
    for each of rows that are large."""
    for rows in SIZES[ground.size]:
        for how, number in (("in order", "id"), ("in any order", f"id * 7368787 % {rows}")):
            yield _stored_both_ways(ground, f"storing {rows:,} rows and asking for {ASKED} of them by ids {how}", rows, number, TEAM)
    for rows in LARGE[ground.size]:
        yield _stored_both_ways(ground, f"storing {rows:,} rows of 10 kB and asking for {ASKED} of them", rows, "id", TEXT)


def _stored_both_ways(ground: Ground, title: str, rows: int, number: str, team: str) -> Comparison:
    path = str(ground.folder / f"data_rows_{rows}_{len(number)}_{len(team)}")
    columns = [f"{number} AS id", "id % 1000 AS amount", f"{team} AS team"]
    ground.spark.range(0, rows, numPartitions=4).selectExpr(*columns).write.parquet(path)
    ground.spark.read.parquet(path).createOrReplaceTempView("bench_rows_stored")
    arms = {f"in {place}": Arm(_stored_and_asked(ground, place, rows)) for place in ("files", "PostgreSQL")}
    return compared(title, arms, ground.meter, ground.repeats)


def _stored_and_asked(ground: Ground, place: str, rows: int) -> Callable[[], Any]:
    lineage = Lineage(ground.spark, store=ground.lineage.store, data=str(ground.folder / "data_rows"))
    assert lineage.data is not None
    least = 0 if place == "files" else 2**62
    lineage.data = replace(lineage.data, rows=least, bytes=least)
    asked = Lineage(store=ground.lineage.store)

    def work() -> list[dict[str, Any]]:
        made = lineage.run(SQL, name=f"bench data rows in {place}")
        made.close()
        run, found = asked.get_run(made.id), list[dict[str, Any]]()
        for at in range(ASKED):
            found += run.explain(f"id = {at * 7_919 % rows}", save=False).sources["bench_rows_stored"].rows.to_pylist()
        lineage.drop(made.id)
        return found

    return work
