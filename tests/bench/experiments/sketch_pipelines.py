"""What sketches save beside the scan: calls of a model below a HAVING, and rows that a derivation makes again; and what a sketch that
serves on after an append saves beside one that is captured anew.

The table is TPC-H's lineitem, clustered by the order's key, as in `sketches`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from airflow_lineage_provider import SketchOn, reasoned_udf
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.experiments.sketches import SCALES, _append, _collected, _copied, _of_table, _written
from tests.bench.ground import Ground
from tests.tpch.data import write_tpch

SECONDS = 1e-5
"""What a call of the model takes. (To sleep so short a while takes many times as long.)"""
HAVING = "SELECT l_orderkey, sum(l_quantity) AS total FROM {table} GROUP BY l_orderkey HAVING sum(l_quantity) > 300"
JUDGED = """
    SELECT l_orderkey, sum(priced(l_quantity)) AS total FROM {table} GROUP BY l_orderkey HAVING sum(l_quantity) > 300"""
BEST = """
    SELECT l_orderkey, sum(l_extendedprice) AS total FROM {table} WHERE l_extendedprice > 0
    GROUP BY l_orderkey ORDER BY total DESC, l_orderkey LIMIT 10"""


@reasoned_udf("double")
def priced(quantity: Decimal) -> float:
    """A model that takes its time for every row."""
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        pass
    return float(quantity) * 2


@priced.with_reason
def _(quantity: Decimal) -> tuple[float, dict[str, float]]:
    return float(quantity) * 2, {"quantity": float(quantity)}


def run(ground: Ground) -> Iterator[Comparison]:
    """A model, a derivation, an append."""
    priced.register(ground.spark)
    for scale in ground.scale_factors or SCALES[ground.size]:
        lineitem = ground.spark.read.parquet(str(write_tpch(ground.folder / f"sf{scale}", scale)["lineitem"]))
        table = _written(ground, lineitem, f"ordered_{scale.replace('.', '_')}", True)
        yield _model(ground, table, scale)
        for name, sql in (("an aggregate", HAVING), ("a top 10", BEST)):
            yield _derived(ground, f"rerun of {name}, scale factor {scale}", sql.format(table=table), table)
        yield _again(ground, table, scale)


def _on(table: str) -> dict[str, SketchOn]:
    return {table: SketchOn(column="l_orderkey")}


def _model(ground: Ground, table: str, scale: str) -> Comparison:
    """Which part of the calls of a model below a HAVING is left, and of the time."""
    title, sql = f"a model below HAVING, scale factor {scale}", JUDGED.format(table=table)
    _captured(ground, title, sql, table)
    calls: dict[str, int] = {}
    share: dict[str, float] = {}

    def done(arm: str, **options: Any) -> Callable[[], Any]:
        def do() -> Any:
            made = ground.lineage.run(sql, name=title, **options)
            calls[arm] = max(rows for name, rows in made.record.row_counts.items() if name != "result")
            for use in made.sketches:
                share["rows in the sketch ÷"] = (use.rows or 0) / (use.total or 1)
            return _collected(made)

        return do

    arms = {
        "plain": Arm(done("plain"), sorted_rows),
        "through a sketch": Arm(
            done("through a sketch", sketches="use", sketch_on=_on(table)),
            sorted_rows,
            parts={"calls ÷ rows in the sketch": lambda: f"calls: {calls}; of the source's rows {share}"},
        ),
    }
    found = compared(title, arms, ground.meter, ground.repeats)
    left = calls["through a sketch"] / calls["plain"]
    found.facts = {"through a sketch": share | {"calls ÷": left, "calls ÷ rows in the sketch": left / share["rows in the sketch ÷"]}}
    return found


def _captured(ground: Ground, title: str, sql: str, table: str, **options: Any) -> Any:
    made = ground.lineage.run(sql, name=title, sketches="capture", sketch_on=_on(table), **options)
    told = _of_table(made, table)
    if told.state != "captured":
        raise AssertionError(f"{title}: {told.because}")
    return made


def _derived(ground: Ground, title: str, sql: str, table: str) -> Comparison:
    """All rows of the result explained, of a run that stored nothing, through its own sketch and reading everything."""
    made = _captured(ground, title, sql, table, strategy="rerun")

    def explained() -> Any:
        found = made.explain("true")
        return [tuple(row.values()) for one in found.sources.values() for row in one.rows.to_pylist()]

    def reading_everything() -> Any:
        with patch("airflow_lineage_provider.deriving.derivation.own_selections", lambda *_: {}):
            return explained()

    def ordered(rows: Any) -> Any:
        return sorted(map(str, rows))

    arms = {"reading everything": Arm(reading_everything, ordered), "own sketch": Arm(explained, ordered)}
    return compared(title, arms, ground.meter, ground.repeats)


def _again(ground: Ground, table: str, scale: str) -> Comparison:
    """After an append: the sketch of before serves on, or one is captured anew."""
    copy = _copied(ground, table, f"again_{scale.replace('.', '_')}")
    title, sql = f"1 % appended: the sketch of before, or a capture, scale factor {scale}", HAVING.format(table=copy)
    _captured(ground, title, sql, copy).close()
    _append(ground, copy)

    def before() -> Any:
        made = ground.lineage.run(sql, name=title, sketches="use", sketch_on=_on(copy))
        use = _of_table(made, copy)
        if use.state != "used" or not use.new_files:
            raise AssertionError(f"{title}: {use.because}")
        return _collected(made)

    def anew() -> Any:
        """The new sketch is dropped: it would serve the next turn in place of the one of before."""
        made = ground.lineage.run(sql, name=title, sketches="capture", sketch_on=_on(copy))
        ground.lineage.drop_sketch(_of_table(made, copy).sketch)
        return _collected(made)

    arms = {"captured anew": Arm(anew, sorted_rows), "the sketch of before": Arm(before, sorted_rows)}
    return compared(title, arms, ground.meter, ground.repeats)
