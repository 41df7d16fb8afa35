"""Sketches whose fragments are files: of rows in no order, where no column is clustered, whole files are skipped."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Lineage, SketchOn
from airflow_lineage_provider.deriving import derivation as deriving
from airflow_lineage_provider.deriving.own_sketches import own_selections
from airflow_lineage_provider.errors import PlanError, SketchUnsafe, UnsupportedOperator
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.spark.rereading.tracing import Views
from tests.pipeline.sketched import bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider import Run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

BY_FILE = {"events": FILE_PATH}
LARGE = "SELECT k, v, note FROM events WHERE v > 990"
FILES, ROWS = 6, 100


def add(spark: SparkSession, place: Path, seed: int, large: bool) -> None:
    """A file more, of rows in random order; some are ``large``."""
    random = Random(seed)
    rows = [(random.randint(0, 50), random.randint(0, 900), f"{seed} {at}") for at in range(ROWS)]
    if large:
        rows[7] = (3, 991 + seed, "large")
    spark.createDataFrame(rows, "k int, v int, note string").coalesce(1).write.mode("append").parquet(str(place))
    spark.read.schema("k int, v int, note string").parquet(str(place)).createOrReplaceTempView("events")


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Path:
    place = tmp_path / "events 100%"  # its letters are escaped in names of files
    for seed in range(FILES):
        add(spark, place, seed, large=seed in (1, 4))
    return place


def fragments(lineage: Lineage, run: Run) -> tuple[frozenset[int], int, int]:
    assert lineage.store is not None
    (one,) = lineage.store.sketches_of_run(run.id)
    return Sketch.from_bytes(one.content).fragments, one.rows, one.total


def test_files_that_have_nothing_are_skipped(spark: SparkSession, lineage: Lineage, events: Path) -> None:
    run = lineage.run(LARGE, name="large", sketches="capture", sketch_on=BY_FILE)
    (use,) = run.sketches
    assert (use.state, use.column, use.fragments, use.rows, use.total) == ("captured", FILE_PATH, 2, 2 * ROWS, FILES * ROWS), use
    assert "captured in the run's own pass" in use.because
    found = fragments(lineage, run)
    run.capture_sketches(sketch_on=BY_FILE)
    assert "own pass" not in run.sketches[0].because
    assert fragments(lineage, run) == found
    plain = lineage.run(LARGE, name="plain")
    through = lineage.run(LARGE, name="large", sketches="use", verify_sketches=True)
    sizes = {at: file.stat().st_size for at, file in enumerate(sorted(events.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns))}
    of_all = (sizes[1] + sizes[4], sum(sizes.values()))
    assert (use.bytes, use.total_bytes) == of_all, "files are read whole, or not at all"
    assert [(one.state, one.rows, one.bytes, one.total_bytes) for one in through.sketches] == [("used", 2 * ROWS, *of_all)]
    assert bag(through.result) == bag(plain.result)
    keys = [{str(row) for row in one.backward("true")["events"].keys.to_pylist()} for one in (plain, through)]  # type: ignore[union-attr]
    assert keys[0] == keys[1]
    (other,) = lineage.run(LARGE.replace("990", "994"), name="large", sketches="use", verify_sketches=True).sketches
    assert other.state == "used"
    assert "with other constants" in other.because
    # A file more: its rows are read, too.
    add(spark, events, 7, large=True)
    appended = lineage.run(LARGE, name="large", sketches="use", verify_sketches=True)
    assert [(one.state, one.rows, one.total, one.new_files) for one in appended.sketches] == [("used", 3 * ROWS, 7 * ROWS, 1)]
    assert bag(appended.result) == bag(spark.sql(LARGE))
    assert bag(appended.result) != bag(plain.result)


def test_a_derivation_reads_the_sketch_s_files_alone(
    spark: SparkSession, lineage: Lineage, monkeypatch: pytest.MonkeyPatch, events: Path
) -> None:
    """Also where a file has come since. Where Spark would call one of them otherwise, everything is read."""
    run = lineage.run(LARGE, name="large", strategy="rerun", sketches="capture", sketch_on=BY_FILE)

    def told() -> list[str]:
        found = run.explain("true")
        behind = found.sources["events"]
        return sorted(map(str, found.target.to_pylist() + behind.rows.to_pylist() + [behind.guarantee]))

    def read(asked: Any) -> int:
        with deriving.derivation(asked, TRUE, sketched=True) as made, ExitStack() as stack:
            tracing = made.spark.now
            assert tracing is not None
            if renamed:
                column, chosen = tracing.through[0]
                tracing.through = {0: (column, replace(chosen, files=(*(chosen.files or ()), "file:/elsewhere")))}
            (name,) = tracing.leaf_table(("source", 0), Views(spark, "test", stack)).name
            return spark.table(name).count()

    with monkeypatch.context() as patch:
        patch.setattr(deriving, "own_selections", lambda *_: {})
        expected, renamed = told(), False
        assert run._asking.answered("a test of", None, None, lambda asked: bool(own_selections(asked, spark.version)))
    assert len(expected) == 2 + 2 + 1
    assert told() == expected
    add(spark, events, 7, large=True)
    assert told() == expected
    assert run._asking.answered("a test of", None, None, read) == 2 * ROWS
    renamed = True
    assert run._asking.answered("a test of", None, None, read) == FILES * ROWS


def test_the_best_groups_by_what_they_have_at_most(spark: SparkSession, lineage: Lineage, events: Path) -> None:
    """A part of a group has no larger maximum; of sums nothing is known that would do, and rows that tie are not counted by files."""
    best = "SELECT k, max(v) AS v FROM events GROUP BY k HAVING max(v) > 990"
    run = lineage.run(best, name="best", sketches="capture", sketch_on=BY_FILE)
    (use,) = run.sketches
    assert "too many to be worth it" in use.because  # all files have rows of the group
    with pytest.raises(SketchUnsafe, match=rf"a sketch of {FILE_PATH} of events is not safe"):
        lineage.run(best.replace("max", "min"), name="least", sketches="capture", sketch_on=BY_FILE)
    with pytest.raises(SketchUnsafe, match="rows may tie at the limit"):
        lineage.run("SELECT k FROM events ORDER BY v DESC LIMIT 2", name="tied", sketches="capture", sketch_on=BY_FILE)


def test_what_has_no_files_is_refused(lineage: Lineage, events: Path) -> None:
    with pytest.raises(PlanError, match="rows of events are not known by their files"):
        lineage.run(LARGE, name="by a key", sketches="capture", sketch_on=BY_FILE, keys={"events": ["note"]})
    with pytest.raises(PlanError, match="each file is a fragment"):
        lineage.run(LARGE, name="cut", sketches="capture", sketch_on={"events": SketchOn(column=FILE_PATH, cuts=["a"])})


def test_partitions_that_the_catalog_has_in_other_folders(lineage: Lineage, spark: SparkSession) -> None:
    """No file has changed, and its rows have another value of the partition."""
    spark.range(120).selectExpr("CAST(id AS int) AS id", "CAST(id % 4 AS int) AS p").coalesce(1).write.partitionBy("p").saveAsTable("moved")

    def place(p: int) -> str:
        return str(spark.sql(f"DESCRIBE EXTENDED moved PARTITION (p={p})").where("col_name = 'Location'").collect()[0][1])

    def swap(one: int, other: int) -> None:
        for p, location in ((one, place(other)), (other, place(one))):
            spark.sql(f"ALTER TABLE moved PARTITION (p={p}) SET LOCATION '{location}'")
        spark.sql("REFRESH TABLE moved")

    def asked() -> Run:
        return lineage.run("SELECT id, p FROM moved WHERE p = 1 AND id > 60", name="moved", sketches="eager", sketch_on={"moved": "id"})

    try:
        swap(2, 3)  # so that the partitions are not in their own folders before, either
        first = asked()
        assert asked().sketches[0].state == "used"
        swap(0, 1)
        later = asked()
        assert later.sketches[0].state != "used"
        assert sorted(later.result.collect()) == [(n, 1) for n in range(64, 120, 4)]
        (of_first, of_later) = (run.explain("id > 115", save=False) for run in (first, later))
        assert (of_first.guarantee.level, of_later.guarantee.level) == ("unavailable", "exact")
        assert "the catalog has partitions of moved in other folders than it had" in of_first.guarantee.cause
        spark.sql(f"ALTER TABLE moved ADD PARTITION (p=9) LOCATION '{place(2)}'")
        with pytest.raises(UnsupportedOperator, match="is the folder of several of its partitions"):
            asked()
    finally:
        spark.sql("DROP TABLE moved")
