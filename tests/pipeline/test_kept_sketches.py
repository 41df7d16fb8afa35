"""Sketches that are kept: damaged, wrong, of the user's column, dropped and listed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from airflow_lineage_provider import Lineage, SketchOn
from airflow_lineage_provider.answers.kept_sketches import KeptSketch, KeptSketches
from airflow_lineage_provider.errors import (
    CaptureRequired,
    InvalidOption,
    PlanError,
    ReadThroughSketch,
    SketchError,
    SketchUnsafe,
    SparkRequired,
    StoreUnavailable,
    TracingError,
)
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.store.schema import sketch_cuts, sketch_uses, sketches
from tests.pipeline.sketched import BIG_ORDERS, ON_KEY, ORDERS, TOP, bag, captured, stored, tables_of_orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with tables_of_orders(spark, tmp_path_factory.mktemp("sketches")) as folder:
        yield folder


def test_a_sketch_that_is_wrong_is_found_dropped_and_not_the_result(spark: SparkSession, lineage: Lineage, store: Store) -> None:
    """One fragment is taken out of it: without the comparison the result lacks rows, which shows that nothing else is read."""
    params = {"least": 205}
    run = captured(lineage, "wrong", params=params)
    plain = bag(run.result)
    whole = Sketch.from_bytes(bytes(stored(store, run)[0]["content"]))
    fewer = Sketch(
        leaf=whole.leaf, column=whole.column, count=whole.count, fragments=whole.fragments - {min(whole.fragments)}, versions=whole.versions
    )
    with store._transaction("a test") as connection:
        connection.execute(sketches.update().where(sketches.c.run_id == run.id).values(content=fewer.to_bytes()))
    lacking = lineage.run(TOP, name="wrong", params=params, sketches="use")
    assert bag(lacking.result) < plain
    found = lineage.run(TOP, name="wrong", params=params, sketches="use", verify_sketches=True)
    assert bag(found.result) == plain
    assert "lacks 1: the sketches are set aside" in found.sketches[0].because
    (aside,) = [one for one in lineage.sketches("wrong") if one.run_id == run.id]
    assert "through sketches the result has 0 rows that the plain run has not, and lacks 1" in aside.quarantined
    assert "set aside" in shown(aside)
    (unused,) = lineage.check_sketches(TOP, params=params)
    assert (unused.state, unused.because) == ("unused", "no sketch was captured of a run of this pipeline")


def shown(one: KeptSketch) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    KeptSketches([one]).show(console)
    return console.export_text()


def test_what_a_run_would_do_is_told_without_one(lineage: Lineage, store: Store) -> None:
    """It is what the run does then; nothing is recorded meanwhile."""
    params = {"least": 207}
    run = captured(lineage, "would", params=params)
    before = len(lineage.runs("would", 1000))
    for given in (params, {"least": 208}, {"least": 1}):
        asked = lineage.check_sketches(TOP, name="would", params=given)
        assert len(lineage.runs("would", 1000)) == before
        assert asked == lineage.run(TOP, name="did", params=given, sketches="use").sketches
    (use,) = lineage.check_sketches(TOP, params=params)
    assert (use.state, use.run_id) == ("used", run.id)
    with pytest.raises(PlanError, match="sketch_on names table line"):
        lineage.check_sketches(TOP, params=params, sketch_on={"line": "l_price"})
    with pytest.raises(SparkRequired):
        Lineage(store=store).check_sketches(TOP, params=params)


def test_what_uses_have_saved_is_known_of_some(lineage: Lineage) -> None:
    params = {"least": 209}
    run = captured(lineage, "saving", params=params)
    (one,) = [each for each in lineage.sketches("saving") if each.run_id == run.id]
    assert not one.saved_seconds, "nobody has read through it"
    assert (one.kind, one.quarantined) == ("accurate", "")
    assert one.proof_ms is not None
    assert one.source_bytes
    lineage.run(TOP, name="saving", params=params, sketches="capture")
    reads = [lineage.run(TOP, name="saving", params=params, sketches="use").sketches[0] for _ in range(2)]
    (used,) = [each for each in lineage.sketches("saving") if each.uses]
    assert isinstance(used.saved_seconds, float)
    of_all = [(each.rows, each.total, each.bytes, each.total_bytes) for each in reads]
    assert of_all == [(used.rows, used.total, round(one.source_bytes * used.rows / used.total), one.source_bytes)] * 2
    assert used.skipped_bytes == 2 * (one.source_bytes - (reads[0].bytes or 0)) > 0


@pytest.mark.parametrize(("damage", "least"), [("content", 231), ("cuts", 232), ("binding", 233), ("newer", 234)])
def test_a_damaged_sketch_is_ignored(lineage: Lineage, store: Store, caplog: pytest.LogCaptureFixture, damage: str, least: int) -> None:
    params = {"least": least}
    run = captured(lineage, "damaged", params=params, sketch_on={"lineitem": SketchOn(column="l_orderkey", cuts=[least])})
    (row,) = stored(store, run)
    content = bytearray(row["content"])
    content[3 if damage == "newer" else 12] ^= 0x40
    with store._transaction("a test") as connection:
        if damage == "cuts":
            connection.execute(sketch_cuts.update().where(sketch_cuts.c.digest == row["cuts"]).values(content=b"CUT"))
        elif damage == "binding":
            connection.exec_driver_sql("UPDATE lineage.sketches SET binding = '{' WHERE id = %s", (row["id"],))
        else:
            connection.execute(sketches.update().where(sketches.c.run_id == run.id).values(content=bytes(content)))
    again = lineage.run(TOP, params=params, sketches="use")
    assert [one.state for one in again.sketches] == ["unused"]
    assert "is not used" in caplog.text
    assert again.result_table().num_rows == run.result_table().num_rows


@pytest.mark.parametrize("how", ["away", "dropped"])
def test_a_result_stands_where_not_even_the_reason_can_be_kept(
    lineage: Lineage, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """The store is away when the sketches are to be kept, and is still when it is to be kept that they were not; or the run is dropped."""
    keep = type(store).save_sketches

    def kept(self: Store, run_id: str, *given: Any, **further: Any) -> None:
        if how == "away":
            raise StoreUnavailable("the results store does not answer")
        self.drop_run(run_id)
        keep(self, run_id, *given, **further)

    monkeypatch.setattr(type(store), "save_sketches", kept)
    place = str(tmp_path / "out")
    run = lineage.run(TOP, name=how, params={"least": 217}, sketches="eager", sketch_on=ON_KEY, output=place)
    monkeypatch.undo()
    assert lineage.spark is not None
    assert bag(run.result) == bag(lineage.spark.read.parquet(place)) == bag(lineage.spark.sql(TOP, {"least": 217}))
    told = {"away": "not captured: the results store does not answer", "dropped": f"not captured: run {run.id} is dropped"}
    assert [(one.state, one.because.startswith(told[how])) for one in run.sketches] == [("unused", True)], run.sketches
    assert f"that is not kept with run {run.id}" in caplog.text
    assert not stored(store, run)


def test_a_result_stands_whatever_keeps_sketches_from_being_captured(
    lineage: Lineage, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory, say; and no login that an error quotes is kept."""

    def raises(*_: Any, **__: Any) -> None:
        raise MemoryError("at postgresql://user:hunter2@host/db")

    place = str(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(Run, "_sketch", raises)
        run = lineage.run(TOP, params={"least": 218}, sketches="eager", sketch_on=ON_KEY, output=place)
    kept = lineage.get_run(run.id).sketches
    assert kept == run.sketches
    assert [one.state for one in kept] == ["unused"]
    assert kept[0].because.startswith("not captured: MemoryError: at postgresql://")
    assert "hunter2" not in kept[0].because
    with monkeypatch.context() as patched:
        patched.setattr(Run, "_capture", raises)
        run = lineage.run(TOP, params={"least": 218}, capture="eager", output=f"{place}2")
    assert run.index is not None
    assert "MemoryError" in run.index.problem
    assert "hunter2" not in run.index.problem


def test_sketches_are_captured_where_lineage_is_required_and_was_not(
    lineage: Lineage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    def raises(*_: Any, **__: Any) -> None:
        raise TracingError("not today")

    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    monkeypatch.setattr("airflow_lineage_provider.deriving.capturing.captured", raises)
    close = Run.close

    def noted(self: Run) -> None:
        closed.append(self.id)
        close(self)

    monkeypatch.setattr(Run, "close", noted)
    with pytest.raises(CaptureRequired, match="not today") as raised:
        lineage.run(TOP, params={"least": 219}, sketches="capture", sketch_on=ON_KEY, capture="eager")
    assert closed == [raised.value.run_id]
    assert stored(store, lineage.get_run(raised.value.run_id))


# --- asked otherwise ---------------------------------------------------------------------------------------------------


def test_the_users_column_and_cuts(lineage: Lineage, store: Store) -> None:
    cuts = list(range(50, ORDERS, 50))
    run = captured(lineage, "cuts", params={"least": 235}, sketch_on={"LineItem": SketchOn(column="L_ORDERKEY", cuts=cuts)})
    (row,) = stored(store, run)
    sketch = Sketch.from_bytes(bytes(row["content"]))
    assert (sketch.column, sketch.count, run.sketches[0].count) == ("l_orderkey", len(cuts) + 2, len(cuts) + 2)
    expected = Partition(type="int", cuts=tuple(cuts)).fragments_of(run.result_table().column(0).to_pylist())
    assert sketch.fragments == expected
    assert sketch.kind == "accurate"
    few = lineage.run(TOP, params={"least": 150}, sketches="capture", sketch_on={"lineitem": SketchOn(column="l_orderkey", cuts=[300])})
    assert few.sketches[0].because == "it would have 1,771 of 1,771 rows: too many to be worth it"


def test_what_cannot_be_sketched_by_name(lineage: Lineage) -> None:
    average = "SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING avg(l_price) > 500"
    for options, error, told in (
        ({"sketch_on": {"lineitem": "l_price"}}, SketchUnsafe, "a sketch of l_price of lineitem is not safe: a row may pass over a sketch"),
        ({"sketch_on": {"line": "l_price"}}, PlanError, "sketch_on names table line, which the pipeline does not read; it reads lineitem"),
        ({"sketch_on": {"lineitem": "price"}}, PlanError, "the table has l_orderkey, l_line, l_quantity, l_price, l_mode"),
        ({"sketch_on": ["l_price"]}, InvalidOption, "sketch_on"),
        ({"sketches": "always"}, InvalidOption, "it can be off, use, auto, eager, capture"),
        ({"verify_sketches": "yes"}, InvalidOption, "verify_sketches"),
    ):
        with pytest.raises(error, match=told):
            lineage.run(average, **{"sketches": "capture"} | options)
    run = lineage.run(average, sketches="capture", sketch_on={"lineitem": SketchOn(column="l_orderkey", cuts=["a"])})
    assert run.sketches[0].because == "not captured: 'a' is no cut of values of type int"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"column": ""}, "column"),
        ({"column": "a", "cuts": "abc"}, "cuts"),
        ({"column": "a", "fragments": 0}, "fragments"),
        ({"column": "a", "fragments": 1_000_000}, "100,000"),
    ],
)
def test_what_is_no_column_to_sketch(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        SketchOn(**options)


def test_sketches_are_dropped_with_their_run(lineage: Lineage, store: Store) -> None:
    params = {"least": 208}
    run = captured(lineage, "dropped", params=params)
    user = lineage.run(TOP, name="dropped", params=params, sketches="use")
    (row,) = stored(store, run)
    with store._transaction("a test") as connection:
        uses = connection.execute(sketch_uses.select().where(sketch_uses.c.sketch_id == row["id"])).all()
    assert [use.run_id for use in uses] == [user.id]
    assert lineage.get_run(user.id).sketches == user.sketches
    lineage.drop(run.id)
    assert not stored(store, run)
    (use,) = lineage.run(TOP, name="dropped", params=params, sketches="use").sketches
    assert use.state == "unused"
    with pytest.raises(ReadThroughSketch, match="the sketch is gone, or damaged: which rows the run has read is not known"):
        lineage.get_run(user.id).why_not("l_orderkey = 0")


def test_a_sketch_that_is_forgotten_when_a_run_is_about_to_read_through_it(
    lineage: Lineage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"least": 209}
    run = captured(lineage, "forgotten", params=params)
    note = type(store).note_sketch_uses

    def noted(self: Store, run_id: str, sketches: list[str]) -> list[str]:
        self.drop_sketches(sketches)
        return note(self, run_id, sketches)

    monkeypatch.setattr(type(store), "note_sketch_uses", noted)
    again = lineage.run(TOP, name="forgotten", params=params, sketches="use")
    assert bag(again.result) == bag(run.result)
    assert [one.state for one in again.sketches] == ["unused"]
    assert "was forgotten when a run was about to read through it" in again.sketches[0].because


def test_what_keeps_sketches_out(spark: SparkSession, lineage: Lineage) -> None:
    from pyspark.sql import functions as F

    def calling(spark: SparkSession) -> Any:
        return spark.table("orders").where(F.udf(lambda price: float(price) > 400, "boolean")("o_price"))

    spark.createDataFrame([(1,)], "a int").createOrReplaceTempView("of_the_session")
    for given, options, told in (
        (calling, {}, "a function whose version nobody knows"),
        ("SELECT * FROM of_the_session WHERE a > 0", {}, "of_the_session has no version"),
        (BIG_ORDERS, {"strategy": "full_materialization"}, "full_materialization stores every segment"),
        (TOP, {"params": {"least": 1234}, "secret_params": ["least"]}, "secret parameters"),
    ):
        run = lineage.run(given, sketches="eager", **options)
        assert [one.state for one in run.sketches] == ["unused"], given
        assert told in run.sketches[0].because


def test_sketches_are_listed_checked_shown_and_dropped(
    spark: SparkSession, lineage: Lineage, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from airflow_lineage_provider.cli import main

    place = str(tmp_path / "t")
    spark.range(100).selectExpr("id AS k").write.parquet(place)
    spark.read.parquet(place).createOrReplaceTempView("t_kept")
    run = lineage.run("SELECT * FROM t_kept WHERE k < :most", params={"most": 5}, name="kept", sketches="capture")
    lineage.run("SELECT * FROM t_kept WHERE k < :most", params={"most": 5}, name="user", sketches="use")
    captured(lineage, "others", params={"least": 240})
    assert [one.pipeline for one in lineage.sketches()] == ["others", "kept"]
    (one,) = lineage.sketches("kept", check=True)
    assert (one.table, one.column, one.run_id, one.rows, one.total, one.uses, one.outdated) == ("t_kept", "k", run.id, 5, 100, 1, ())
    assert one.constants == ("5",)
    assert one.bytes < 1000
    assert lineage.sketches("kept").sketches[0].outdated is None
    detail = Lineage(store=store).sketch(one.id, check=True)
    assert (detail.sketch, detail.null, detail.nan) == (one, False, False)
    assert detail.values == (("0", "5"),)
    assert len(detail.runs) == 1
    spark.range(1).selectExpr("id AS k").write.mode("append").parquet(place)
    (one,) = Lineage(store=store).sketches("kept", check=True)
    assert one.outdated
    found = lineage.sketches(check=True)
    assert found.to_dict()["sketches"][1]["outdated"] == list(one.outdated)
    out = io.StringIO()
    found.show(Console(file=out, width=200, color_system=None))
    assert "t_kept.k" in out.getvalue()
    assert "outdated: " in out.getvalue()
    capfd.readouterr()
    assert main(["--store", store.url, "sketches", "--show", one.id, "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told == lineage.sketch(one.id).to_dict()
    assert (told["document"], told["rows"], told["runs"]) == ("airflow_lineage.sketch", 5, list(detail.runs))
    assert main(["--store", store.url, "sketches", "--drop", one.id]) == 0
    assert [each.pipeline for each in lineage.sketches()] == ["others"]
    for asked in (lineage.drop_sketch, lineage.sketch):
        with pytest.raises(SketchError, match="there is no sketch"):
            asked(one.id)
    with pytest.raises(InvalidOption, match="limit"):
        lineage.sketches(limit=0)
