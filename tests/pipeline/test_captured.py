"""Lineage that is captured after a run: the golden tables of the paper on forward lineage, and the same answers as without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Lineage, Run
from airflow_lineage_provider.capture.encodings.written import checksum
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.deriving.captured_parts import _parts
from airflow_lineage_provider.errors import (
    CaptureRequired,
    IndexTooLarge,
    InvalidCapture,
    InvalidOption,
    NotCaptured,
    RecordDamaged,
    RunNotComplete,
    SourceUnavailable,
)
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.schema import captured_parts
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

# Tables 1 to 3 of the paper.
TABLES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "store": (
        "s_id string, s_name string, city string, state string",
        [("01", "Target", "Palo Alto", "CA"), ("02", "Target", "Albany", "NY"), ("03", "Macy's", "San Francisco", "CA"),
         ("04", "Macy's", "New York City", "NY")],
    ),
    "item": (
        "i_id string, i_name string, category string",
        [("01", "binder", "stationery"), ("02", "pencil", "stationery"), ("03", "shirt", "clothing"), ("04", "pants", "clothing"),
         ("05", "pot", "kitchenware")],
    ),
    "sales": (
        "t_id string, s_id string, i_id string, price int, num int",
        [("01", "01", "01", 4, 1000), ("02", "01", "02", 1, 3000), ("03", "01", "04", 30, 600), ("04", "02", "01", 5, 800),
         ("05", "02", "02", 2, 2000), ("06", "02", "04", 35, 800), ("07", "03", "03", 45, 1500), ("08", "03", "04", 60, 600),
         ("09", "04", "03", 50, 2100), ("10", "04", "04", 70, 1200), ("11", "04", "05", 30, 200)],
    ),
}  # fmt: skip
KEYS = {"store": "s_id", "item": "i_id", "sales": "t_id"}
FROM = "FROM store d, item i, sales s WHERE d.s_id = s.s_id AND i.i_id = s.i_id"
Q1 = f"SELECT d.s_name, i.i_name {FROM} AND i.category = 'stationery'"
Q4 = f"""SELECT s_name, sum(total) AS total FROM (
    SELECT d.s_name, i.category, sum(s.num) AS total {FROM} GROUP BY d.s_name, i.category HAVING sum(s.num) > 5000) GROUP BY s_name"""
Q8 = "SELECT i.i_name FROM item i WHERE i.i_id IN (SELECT s.i_id FROM sales s WHERE s.num > 2000)"
NEVER_SOLD = "SELECT s_name, city FROM store WHERE s_id NOT IN (SELECT s_id FROM sales WHERE num > 2500)"
BEST = "SELECT s_id, t_id, sum(num) OVER (PARTITION BY s_id ORDER BY t_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two FROM sales"
UNSOLD = "SELECT i.i_name, s.t_id FROM item i LEFT JOIN sales s ON i.i_id = s.i_id AND s.num > 1000"
QUERIES = {"Q1": Q1, "Q4": Q4, "Q8": Q8, "difference": NEVER_SOLD, "window": BEST, "left join": UNSOLD}
FULL = ("Q4", "difference")
"""Stored segment by segment: the lineage of their results is composed of several indexes."""


@pytest.fixture(scope="module", autouse=True)
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("captured")
    for name, (schema, rows) in TABLES.items():
        # Two files each, so that rows are not numbered by their positions alone.
        spark.createDataFrame(rows, schema).repartition(2).write.parquet(str(made / name))
        spark.read.parquet(str(made / name)).createOrReplaceTempView(name)
    yield made
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, store: Store, folder: Path) -> dict[str, Run]:
    lineage = Lineage(spark, store=store)
    return {
        name: lineage.run(sql, name=f"captured {name}", strategy="full_materialization" if name in FULL else "function_materialization")
        for name, sql in QUERIES.items()
    }


def behind(run: Run, target: str) -> list[set[str]]:
    """The keys of the source rows behind each row of the result, with the table's first letter, as the paper writes them."""
    found: dict[int, set[str]] = {}
    for name, one in run.backward(target).items():
        keys = one.rows.column(KEYS[name]).to_pylist()
        for asked, row in zip(*(column.to_pylist() for column in one.links.columns), strict=True):
            found.setdefault(asked, set()).add({"store": "d.", "item": "i.", "sales": "s."}[name] + keys[row])
    return [found[asked] for asked in sorted(found)]


def answers(run: Run) -> dict[str, Any]:
    """What questions give that captured lineage may answer."""
    explained = run.explain("true", save=False)
    table = min(explained.sources)
    forward = run.forward("true", table)
    return {
        "behind": sorted(map(sorted, behind(run, "true"))),
        "sources": {name: (one.rows.to_pylist(), one.guarantee) for name, one in explained.sources.items()},
        "links": sorted(map(str, explained.target_links.to_pylist())),
        "controls": explained.controls,
        "forward": (table, forward.rows.to_pylist(), sorted(map(str, forward.links.to_pylist()))),
    }


@pytest.mark.parametrize("name", sampled(QUERIES))
def test_indexes_answer_as_tracing_does(runs: dict[str, Run], store: Store, name: str) -> None:
    run = runs[name]
    run.forget_captured()
    lazily = answers(run)
    assert all(one.engine.startswith("lazy: ") for one in run.backward("true").values())
    made = run.capture()
    assert (made.engine, run.index) != ("", None)
    found = Lineage(store=store).get_run(run.id)
    assert all(one.engine.startswith("index: ") for one in found.backward("true").values())
    # Of files that are not read, predicates over them are Spark's; what descends from their rows is looked up.
    assert answers(Lineage(run._lineage.spark, store=store).get_run(run.id)) == lazily
    table = next(iter(found.backward("true")))
    assert run.forward("true", table).engine.startswith("index: ")
    # Controls are asked about row by row where a person wants that, and that was not captured.
    rows = run.explain("true", difference="rows", save=False)
    assert all(query.engine != "index" for query in rows.queries) or name != "difference"


def test_the_paper_s_tables(runs: dict[str, Run]) -> None:
    for one in runs.values():
        one.capture()
    assert sorted(map(sorted, behind(runs["Q1"], "i_name = 'binder'"))) == [["d.01", "i.01", "s.01"], ["d.02", "i.01", "s.04"]]
    assert sorted(map(sorted, behind(runs["Q1"], "i_name = 'pencil'"))) == [["d.01", "i.02", "s.02"], ["d.02", "i.02", "s.05"]]
    assert behind(runs["Q4"], "s_name = 'Target' AND total = 6800") == [{"d.01", "d.02", "i.01", "i.02", "s.01", "s.02", "s.04", "s.05"}]
    assert behind(runs["Q4"], "s_name LIKE 'Macy%' AND total = 5400") == [{"d.03", "d.04", "i.03", "i.04", "s.07", "s.08", "s.09", "s.10"}]
    # What is in no group of more than 5,000 is in no lineage.
    assert len(runs["Q4"].forward("t_id IN ('03', '06', '11')", "sales")) == 0
    assert runs["Q4"].forward("s_id = '01'", "store").rows.to_pylist() == [{"s_name": "Target", "total": 6800}]
    assert runs["Q4"].forward("i_id = '04'", "item").rows.to_pylist() == [{"s_name": "Macy's", "total": 5400}]
    assert behind(runs["Q8"], "i_name = 'pencil'") == [{"i.02", "s.02"}]


def test_full_materialization_captures_what_rows_do_not_hold(spark: SparkSession, store: Store, runs: dict[str, Run]) -> None:
    lineage = Lineage(spark, store=store)
    full = lineage.run(Q4, name="captured full", strategy="full_materialization")
    full.close()
    assert full.index is not None
    assert {one.direction for one in full.index} == {"backward"}
    assert lineage.get_run(full.id).index == full.index
    # Without Spark, and without going back to the sources to find a group's rows.
    found = Lineage(store=store).get_run(full.id)
    assert sorted(map(len, behind(found, "true"))) == [8, 8]
    assert all("duckdb" not in one.engine and one.engine.startswith("index: ") for one in found.backward("true").values())
    passing = lineage.run(Q1, name="captured passing", strategy="full_materialization")
    passing.close()
    assert passing.index is None or not passing.index.maps


def test_what_keeps_full_materialization_from_capturing_is_told(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "1")
    run = Lineage(spark, store=store).run(Q4, name="captured too much", strategy="full_materialization")
    run.close()
    assert "are looked for when they are asked for: there are more than 1 pairs of rows" in caplog.text
    for known in (run, Lineage(store=store).get_run(run.id)):
        assert known.index is not None
        assert known.index.problem.startswith("there are more than 1 pairs of rows")
    assert sorted(map(len, behind(run, "true"))) == [8, 8]


def test_what_is_said_of_it(runs: dict[str, Run]) -> None:
    found = runs["difference"].capture()
    assert {one.direction for one in found if one.to == "store"} == {"backward", "forward"}
    assert [(one.direction, one.encoding) for one in found if one.to.startswith("control: segment")] == [("backward", "whole")]
    assert found.bytes == sum(one.bytes for one in found) > 0
    assert repr(found).startswith(f"<captured lineage: {len(found)} indexes, {found.edges:,} pairs of rows, ")
    assert runs["Q1"].capture("backward").maps
    assert {one.direction for one in runs["Q1"].index or ()} == {"backward"}
    assert runs["Q1"].forward("s_id = '01'", "store").engine == "index: rid array, searched"


def test_what_cannot_be_captured(runs: dict[str, Run], spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = Lineage(spark, store=store)
    with pytest.raises(InvalidOption, match="direction='sideways' is not known; it can be both, backward, forward"):
        runs["Q1"].capture("sideways")  # type: ignore[arg-type]
    run = runs["Q4"]
    before = run.capture()
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "3")
    with pytest.raises(IndexTooLarge, match=r"more than 3 combinations of rows.*AIRFLOW_LINEAGE_CAPTURE_LIMIT"):
        run.capture()
    assert run.index == before == lineage.get_run(run.id).index


def test_sources_that_are_others_now(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    lineage, where = Lineage(spark, store=store), str(tmp_path / "t")
    spark.range(10).write.parquet(where)
    spark.read.parquet(where).createOrReplaceTempView("captured_t")
    sql = "SELECT id % 2 AS odd, count(*) AS n FROM captured_t GROUP BY id % 2"
    run = lineage.run(sql, name="captured sources")
    run.capture()
    spark.range(20).write.mode("overwrite").parquet(where)
    # The index knows what the run read; its rows are not there any more, which is said as without it.
    found = run.backward("odd = 1", "captured_t")
    assert (found.engine, found.guarantee.level) == ("index: rid index", "unavailable")
    with pytest.raises(SourceUnavailable, match=r"captured of what run .* read, and .* is another now"):
        run.capture()
    spark.catalog.dropTempView("captured_t")


def test_runs_that_are_gone_and_parts_that_are(spark: SparkSession, store: Store) -> None:
    lineage = Lineage(spark, store=store)
    run = lineage.run(Q1, name="captured gone")
    run.capture()
    with store._engine.begin() as connection:
        assert connection.execute(captured_parts.select().where(captured_parts.c.run_id == run.id)).all()
        connection.execute(captured_parts.delete().where(captured_parts.c.run_id == run.id, captured_parts.c.map == 0))
    with pytest.raises(RecordDamaged, match="part 0 of captured lineage is gone"):
        lineage.get_run(run.id).backward("true")
    lineage.get_run(run.id).forget_captured()
    assert len(lineage.get_run(run.id).backward("true", "sales")) == 4
    made = lineage.get_run(run.id)
    lineage.drop(run.id)
    with store._engine.begin() as connection:
        assert not connection.execute(captured_parts.select().where(captured_parts.c.run_id == run.id)).all()
    with pytest.raises(RunNotComplete, match="is dropped: there is nothing to capture"):
        store.save_captured(run.id, runs_index(made), [])


def test_parts_that_are_damaged(runs: dict[str, Run], store: Store) -> None:
    run = runs["Q4"]
    run.capture()
    expected = behind(run, "true")
    of_run, content = captured_parts.c.run_id == run.id, captured_parts.c.content
    with store._engine.begin() as connection:
        rows = connection.execute(sa.select(captured_parts).where(of_run)).all()
        assert {row.crc for row in rows} == {checksum(row.content, row.map, row.part) for row in rows}
        flipped = sa.func.set_byte(content, 200, sa.func.get_byte(content, 200).op("#")(1))
        connection.execute(captured_parts.update().where(of_run).values(content=flipped))
    _parts._kept.clear()
    for question in (lambda: run.backward("true"), lambda: run.forward("true", "sales")):
        with pytest.raises(RecordDamaged, match=r"part 0 of index .* of captured lineage is damaged: capture it again, or forget it"):
            question()
    with store._engine.begin() as connection:  # as an earlier release has left them
        connection.execute(captured_parts.delete().where(of_run))
        connection.execute(captured_parts.insert(), [{**row._mapping, "crc": None} for row in rows])
    assert behind(run, "true") == expected
    run.capture()
    assert behind(run, "true") == expected


@pytest.mark.parametrize("question", ["backward", "forward", "explain", "batches"])
def test_a_run_that_was_captured_anew_meanwhile(runs: dict[str, Run], store: Store, question: str) -> None:
    """Parts of another index decoded as those of the one that a process knows give other rows, and no checksum tells it."""
    lineage, run = Lineage(runs["Q1"]._lineage.spark, store=store), runs["Q1"]
    questions: dict[str, Callable[[Run], Any]] = {
        "backward": lambda one: {name: found.rows.to_pylist() for name, found in one.backward("true").items()},
        "forward": lambda one: one.forward("true", "sales").rows.to_pylist(),
        "explain": lambda one: {name: found.rows.to_pylist() for name, found in one.explain("true", save=False).sources.items()},
        "batches": lambda one: one.backward_batches("true", table="sales").reader().read_all().to_pylist(),
    }
    ask = questions[question]
    run.forget_captured()
    expected = ask(run)
    run.capture()
    read_again = []
    for tables in (["store", "item"], {"sales": CaptureTable(where="num > 1000"), "item": CaptureTable()}, None):
        known = lineage.get_run(run.id)
        assert known.index == run.index
        run.capture("forward", tables=tables)
        _parts._kept.clear()  # as of a process that has not asked yet
        assert ask(known) == expected
        read_again.append(known.index == run.index)  # (not by a question that is traced, since its table was left out)
    assert any(read_again)
    known = lineage.get_run(run.id)
    run.forget_captured()
    _parts._kept.clear()
    assert (ask(known), known.index) == (expected, None)


def runs_index(run: Run) -> Any:
    from datetime import UTC, datetime

    from airflow_lineage_provider.capture.recorded import RecordedIndex

    return RecordedIndex(id="x", captured=datetime.now(UTC), seconds=0.0, engine="", spaces=(), maps=())


def test_rows_are_followed_without_spark(runs: dict[str, Run], spark: SparkSession, store: Store) -> None:
    """Rows of a session's own data, which the store has: tracing needs Spark to follow them in large results, and an index does not."""
    spark.createDataFrame([(one, one % 3) for one in range(30)], "n int, rest int").createOrReplaceTempView("captured_session")
    run = Lineage(spark, store=store).run("SELECT rest, count(*) AS many FROM captured_session GROUP BY rest", name="captured session")
    run.capture()
    spark.catalog.dropTempView("captured_session")
    found = Lineage(store=store).get_run(run.id).forward("n < 2", "captured_session")
    assert sorted(row["rest"] for row in found.rows.to_pylist()) == [0, 1]
    assert found.engine == "index: rid array"


@pytest.mark.parametrize(("name", "table"), sampled([("Q4", "store"), ("Q1", "sales")]))
def test_lineage_of_some_tables(runs: dict[str, Run], name: str, table: str) -> None:
    """Of others it is traced; the answers are the same. Segments that lead to other tables alone are not captured either."""
    run = runs[name]
    run.forget_captured()
    lazily, behind_it = answers(run), run.backward("true", table)
    with pytest.raises(NotCaptured, match=r"was not captured: Run\.capture\(\)"):
        run.backward("true", table, lazy=False)
    whole = run.capture()
    made = run.capture(tables=[table.upper()])
    assert set(made.not_captured) == {"store", "item", "sales"} - {table}
    assert {one.to for one in made if one.direction == "backward" and not one.to.startswith(("segment", "control"))} == {table}
    assert made.edges < whole.edges
    assert answers(run) == lazily
    found = run.backward("true", table)
    assert (found.rows.to_pylist(), found.links) == (behind_it.rows.to_pylist(), behind_it.links)
    assert found.engine.startswith("index: ")
    others = {one for one in ("store", "item", "sales") if one != table}
    assert all("lazy" in run.backward("true", one).engine for one in others)
    assert run.forward("true", table).engine.startswith("index: ")
    assert all(run.forward("true", one).engine.startswith("lazy: ") for one in others)
    captured = run.backward("true", table, lazy=False), run.forward("true", table, lazy=False)
    assert (captured[0].rows, captured[1].rows) == (found.rows, run.forward("true", table).rows)
    asked: Callable[..., Any]
    for asked, of in ((run.backward, {None, *others}), (run.forward, others)):
        for other in of:
            with pytest.raises(NotCaptured, match=f"was captured without {', '.join(made.not_captured)}: .*it is traced, through"):
                asked("true", other, lazy=False)
    with pytest.raises(InvalidOption, match="take one of them"):
        run.forward("true", table, lazy=False, across=True)
    with pytest.raises(InvalidCapture, match="no source table 'loans'; it has store"):
        run.capture(tables=["loans"])
    assert run.index == made


def test_captured_with_the_run(spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = Lineage(spark, store=store)
    run = lineage.run(Q1, name="captured at once", capture="eager")
    assert run.index is not None
    assert {one.direction for one in run.index} == {"backward", "forward"}
    assert lineage.get_run(run.id).forward("s_id = '01'", "store").engine.startswith("index: ")
    some = lineage.run(Q1, name="captured at once", capture=Capture(direction="backward", tables=["item"]))
    assert some.index is not None
    assert ({one.to for one in some.index}, some.index.not_captured) == ({"item"}, ("store", "sales"))
    assert lineage.run(Q1, name="captured at once").index is None
    before = len(lineage.runs("captured at once"))
    with pytest.raises(InvalidCapture, match="capture: the run has no source table 'loans'"):
        lineage.run(Q1, name="captured at once", capture=Capture(tables=("loans",)))
    assert len(lineage.runs("captured at once")) == before
    # What cannot be captured is told, and nothing else is lost.
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "2")
    without = lineage.run(Q1, name="captured at once", capture="eager", output=str(tmp_path / "out"))
    assert without.index is not None
    assert "there are more than 2 pairs of rows" in without.index.problem
    assert (without.summary.status, len(without.index), spark.read.parquet(str(tmp_path / "out")).count()) == ("complete", 0, 4)
    assert behind(lineage.get_run(without.id), "true") == behind(run, "true")
    assert lineage.get_run(without.id).backward("true", "item").engine.startswith("lazy: ")
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    with pytest.raises(CaptureRequired, match=r"there are more than 2 pairs of rows.*Run\.capture\(\), `airflow-lineage capture") as raised:
        lineage.run(Q1, name="captured at once", capture="eager")
    assert isinstance(raised.value.__cause__, IndexTooLarge)
    stands = lineage.get_run(raised.value.run_id)
    assert stands.id == lineage.latest("captured at once").id != without.id
    assert f"run {stands.id} of captured at once is complete, with its result and its output" in str(raised.value)
    assert stands.index is not None
    assert "there are more than 2 pairs of rows" in stands.index.problem
    monkeypatch.delenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT")
    assert stands.capture().problem == ""
    assert without.capture().problem == ""


@pytest.mark.parametrize("problem", [MemoryError(), pa.ArrowInvalid("no such array"), RuntimeError("a call into the JVM\n  at …")])
def test_whatever_keeps_it_from_being_captured_the_run_stands(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise problem

    lineage = Lineage(spark, store=store)
    monkeypatch.setattr("airflow_lineage_provider.deriving.capturing.step", fails)
    run = lineage.run(Q1, name="captured nothing", capture="eager")
    told = f"{type(problem).__name__}: {(str(problem).splitlines() or [type(problem).__name__])[0]}"
    for one in (run, lineage.get_run(run.id)):
        assert (one.summary.status, one.index is not None and one.index.problem) == ("complete", told)
    assert f"the lineage of run {run.id} was not captured: {told}" in caplog.text
    full = lineage.run(Q4, name="captured nothing", strategy="full_materialization").index
    assert full is not None
    assert (full.problem, full.maps) == (told, ())
    assert f"are looked for when they are asked for: {told}" in caplog.text
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    with pytest.raises(CaptureRequired, match=told.split(":")[0]):
        lineage.run(Q1, name="captured nothing", capture="eager")
    monkeypatch.undo()
    assert lineage.get_run(run.id).capture().problem == ""


def test_a_process_that_ends_leaves_that_it_was_begun(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when it is killed: nothing is caught, and nothing written any more."""
    lineage = Lineage(spark, store=store)
    with monkeypatch.context() as patched:
        patched.setattr("airflow_lineage_provider.captured_run.CapturedLineageOfRun._capture_with_run", _ended)
        with pytest.raises(KeyboardInterrupt):
            lineage.run(Q1, name="captured until killed", capture="eager")
    found = lineage.latest("captured until killed")
    assert found.summary.status == "complete"
    assert found.index is not None
    assert found.index.problem.startswith("it was begun and has not finished")
    assert sorted(map(len, behind(found, "true"))) == [3, 3, 3, 3]
    assert found.capture().problem == ""
    assert lineage.get_run(found.id).index == found.index


def _ended(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("given", "message"), [
    ({"direction": "up"}, "direction='up' is not known; it can be both, backward, forward"),
    ({"mode": "later"}, "mode='later' is not known; it can be defer, inject, auto"),
    ({"tables": "loans"}, "tables='loans' is not understood"),
    ({"tables": ()}, "tables="), ({"tables": [1]}, "tables="),
])  # fmt: skip
def test_what_a_capture_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCapture, match=message):
        Capture(**given)


def test_the_command(runs: dict[str, Run], store: Store, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = runs["Q1"]
    run.forget_captured()
    told: dict[Any, Any] = {}
    for asked in (["index", run.id], ["capture", run.id], ["index", run.id], ["capture", run.id, "--forget"]):
        assert main(["--store", store.url, *asked, "--json"]) == 0
        told[" ".join(asked), len(told)] = json.loads(capfd.readouterr().out)["captured"]
    before, captured, again, after = told.values()
    assert before is None
    assert after is None
    assert again == captured
    assert captured["edges"] == sum(one["edges"] for one in captured["maps"]) > 0
    assert main(["--store", store.url, "index", run.id]) == 0
    assert "No lineage was captured" in capfd.readouterr().out
    assert Lineage(store=store).get_run(run.id).forward("s_id = '01'", "store").engine.startswith("lazy: ")
