"""Very many source rows followed to the result: what descends from them, what a revision does, why they are not there; time, and memory.

Each against the answer worked out by hand in DuckDB, over the same files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.recorded_run import Run
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": (20_000,), "full": (100_000, 1_000_000)}
"""Source rows; all are asked about."""
LEAST = 100
SELECTED = f"SELECT id, amount * 2 AS doubled, team FROM bench_sources WHERE amount >= {LEAST}"
JOINED = "SELECT s.id, p.name FROM bench_sources s JOIN bench_partners p ON s.id = p.of AND s.amount < p.most"
"""Half of the rows have a partner of their own, and few of these pass."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Four comparisons for each size."""
    ground.meter.looks_at_trees = True
    for rows in SIZES[ground.size]:
        folder, partners = _sources(ground, rows)
        made = {name: _recorded(ground, sql) for name, sql in (("selected", SELECTED), ("captured", SELECTED), ("joined", JOINED))}
        with pytest.MonkeyPatch.context() as patch:
            for limit in ("SOURCE", "TARGET"):
                patch.setenv(f"AIRFLOW_LINEAGE_{limit}_LIMIT", str(rows))
            for found in _comparisons(ground, rows, made, folder, partners):
                found.notes["memory"] = "of one process for all arms: what earlier ones left in it counts"
                yield found
        for one in made.values():
            ground.lineage.drop(one.id)


def _comparisons(ground: Ground, rows: int, made: dict[str, Run], folder: str, partners: str) -> Iterator[Comparison]:
    by_hand, repeats = "by hand in DuckDB", min(ground.repeats, 2) if rows < 10**6 else 1
    asked = {name: ground.lineage.get_run(one.id) for name, one in made.items()}
    cold = Lineage(store=ground.lineage.store).get_run(made["selected"].id)
    passed = f"SELECT id, amount FROM {folder} WHERE amount >= {LEAST}"
    arms = {by_hand: _by_hand(passed)}
    arms["forward"] = _linked(lambda: asked["selected"].forward("true", "bench_sources"))
    if rows <= 100_000:  # `inverted.WHOLE_RESULT`
        arms["forward, without Spark"] = _linked(lambda: cold.forward("true", "bench_sources"))
    asked["captured"].capture("forward")
    arms["forward, captured"] = _linked(lambda: asked["captured"].forward("true", "bench_sources", lazy=False))
    yield compared(f"{rows:,} source rows followed to the result", arms, ground.meter, repeats)

    impact = Arm(lambda: asked["selected"].impact("true", "bench_sources", revised=[]), lambda found: _ids(found.gone.rows))
    arms = {by_hand: _by_hand(passed), "impact": impact}
    yield compared(f"{rows:,} source rows removed", arms, ground.meter, repeats)

    lost = f"SELECT id, amount FROM {folder} WHERE NOT coalesce(amount >= {LEAST}, false)"
    yield compared(
        f"why {rows:,} source rows are not in a selection", _why(asked["selected"], lost, rows, positions=True), ground.meter, repeats
    )
    matched = f"SELECT 1 FROM {partners} AS p WHERE s.id = p.of AND s.amount < p.most"
    lost = f"SELECT id, amount FROM {folder} AS s WHERE NOT EXISTS ({matched})"
    yield compared(f"why {rows:,} source rows are not in a join", _why(asked["joined"], lost, rows), ground.meter, repeats)


def _why(asked: Run, lost: str, rows: int, *, positions: bool = False) -> dict[str, Arm]:
    """Each gives the rows that are not in the result. The answer is read a little, as a person reads it."""

    def why_not(**what: Any) -> Any:
        found = asked.why_not(table="bench_sources", max_rows=rows, **what)
        told = [fate.drop.text for fate in found.fates[:100] if fate.drop is not None]
        assert all(told)
        return found

    does = {"why_not": partial(why_not, rows="true")} | ({"why_not, by positions": partial(why_not, at=range(rows))} if positions else {})
    return {"by hand in DuckDB": _by_hand(lost)} | {name: Arm(do, _dropped) for name, do in does.items()}


def _by_hand(query: str) -> Arm:
    return Arm(lambda: duckdb.execute(query).to_arrow_table(), _ids)


def _linked(ask: Callable[[], LineageRows]) -> Arm:
    """The answer with its links, which are one for each row of the result here."""

    def do() -> LineageRows:
        found = ask()
        assert found.links.num_rows == len(found)
        return found

    return Arm(do, lambda found: _ids(found.rows))


def _dropped(found: Any) -> str:
    return _ids(found.rows.filter(pa.array(~found.fates.survived)))


def _ids(rows: pa.Table) -> str:
    """Of the rows, whatever their order."""
    return hashlib.sha256(np.sort(rows.column("id").to_numpy()).tobytes()).hexdigest()


def _recorded(ground: Ground, sql: str) -> Run:
    made = ground.lineage.run(sql, name="bench forward")
    made.close()
    return made


def _sources(ground: Ground, rows: int) -> tuple[str, str]:
    """The files of the two tables, as DuckDB reads them."""
    columns = ["id", "CAST(hash(id) % 100 AS int) AS team", "id % 1000 AS amount"]
    partners = ["id * 2 AS of", "id % 500 AS most", "concat('partner ', id) AS name"]
    return _written(ground, "sources", rows, columns), _written(ground, "partners", rows // 2, partners)


def _written(ground: Ground, name: str, rows: int, columns: list[str]) -> str:
    folder: Path = ground.folder / f"{name}_{rows}"
    ground.spark.range(0, rows, numPartitions=4).selectExpr(*columns).write.parquet(str(folder))
    ground.spark.read.parquet(str(folder)).createOrReplaceTempView(f"bench_{name}")
    return f"read_parquet('{folder}/*.parquet')"
