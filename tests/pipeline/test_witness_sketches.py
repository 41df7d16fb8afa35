"""Sketches of one row in place of each group: what runs read through them, which, and that such a run is not asked for lineage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, SketchOn
from airflow_lineage_provider.errors import InvalidOption, ReadThroughSketch
from tests.pipeline.sketched import bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

ROWS, GROUPS = 2000, 4
MOST = "SELECT g, max(v) AS most FROM measured WHERE v > :least GROUP BY g HAVING max(v) > 100"
ON = {"measured": SketchOn(column="id", cuts=list(range(50, ROWS, 50)))}


def test_one_row_of_a_group_serves_the_very_same_instance(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    place = str(tmp_path / "measured")

    def add(first: int, mode: str) -> None:
        rows = spark.range(first, first + ROWS, 1, 1).selectExpr("id", f"id % {GROUPS} AS g", f"(id * 7919) % {ROWS} AS v")
        rows.write.mode(mode).parquet(place)
        spark.read.parquet(place).createOrReplaceTempView("measured")

    add(0, "overwrite")
    given: dict[str, Any] = {"name": "most", "params": {"least": 5}}
    plain = lineage.run(MOST, **given)
    run = lineage.run(MOST, strategy="rerun", sketches="capture", sketch_on=ON, witness=True, **given)
    (use,) = run.sketches
    assert (use.state, use.witness, use.fragments) == ("captured", True, GROUPS), use
    assert "in the run's own pass, one row of each group" in use.because
    assert use.rows == GROUPS * 50
    (kept,) = lineage.sketches("most")
    assert kept.kind == "witness"

    through = lineage.run(MOST, sketches="use", witness=True, verify_sketches=True, **given)
    (read,) = through.sketches
    assert (read.state, read.witness, read.sketch, read.rows) == ("used", True, use.sketch, use.rows), read
    assert bag(through.result) == bag(plain.result) == bag(run.result)
    # Its lineage would lack rows: that of the run that has read them all has them, though it reads again what it did not store.
    for ask in (lambda: through.explain("g = 1"), lambda: through.backward("g = 1"), lambda: through.why_not("id = 3")):
        with pytest.raises(ReadThroughSketch, match=f"one row in place of each group .* Ask run {run.id}, which has read them all"):
            ask()
    found, expected = (one.explain("g = 1").sources["measured"].rows.num_rows for one in (run, plain))
    assert found == expected > 400

    # Nobody else reads through it: other constants, runs that did not ask for it, other versions.
    def unused(**further: Any) -> str:
        (one,) = lineage.check_sketches(MOST, **{**given, "witness": True, **further})
        assert one.state == "unused"
        return one.because

    assert "one row in place of each group" in unused(params={"least": 900})
    assert "witness=True" in unused(witness=False)
    with pytest.raises(InvalidOption, match="witness=True is for runs whose lineage nobody asks for"):
        lineage.run(MOST, sketches="use", witness=True, capture="eager", **given)
    # Where one row is not enough all are in it, and it says why.
    best = "SELECT g, max(v) AS most, count(*) AS n FROM measured WHERE v > 1990 GROUP BY g"
    (whole,) = lineage.run(best, name="best", sketches="capture", sketch_on=ON, witness=True).sketches
    assert (whole.witness, whole.state) == (False, "captured"), whole
    assert "all rows of each group: the groups have 2 functions, and one row gives the value of one" in whole.because
    add(ROWS, "append")
    assert "one row in place of each group" in unused()
