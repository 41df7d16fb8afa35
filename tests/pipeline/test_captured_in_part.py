"""Lineage captured for what will be asked of it: of some rows alone, and class by class. Every answer is the one that is traced without."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage, LineageRows, Run
from airflow_lineage_provider.answers import unread_rows
from airflow_lineage_provider.asking import Asking
from airflow_lineage_provider.deriving import sources
from airflow_lineage_provider.errors import EmptyTarget, IndexTooLarge, InvalidCapture, InvalidOption, NotCaptured
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources.parquet import read_positions
from airflow_lineage_provider.store import Store
from tests.in_turn import EVERY, sampled

pytestmark = pytest.mark.spark

GROUPS = "SELECT flag, count(*) AS n, sum(tax) AS tax FROM part_sales GROUP BY flag"
ABOVE = "SELECT kind, max(n) AS most FROM (SELECT flag, mode, kind, count(*) AS n FROM part_sales GROUP BY flag, mode, kind) GROUP BY kind"
TWICE = """SELECT s.flag, count(*) AS n FROM part_sales s JOIN part_sales t ON s.kind = t.kind WHERE t.tax > 0 GROUP BY s.flag
           UNION ALL SELECT mode, count(*) FROM part_sales GROUP BY mode"""
SESSION = "SELECT flag, count(*) AS n FROM part_session GROUP BY flag"
LINES = "SELECT flag, count(*) AS n FROM part_lines GROUP BY flag"
JOINED = "SELECT t.k, s.flag, count(*) AS n FROM part_sales s JOIN VALUES (1), (2) AS t(k) ON s.kind >= t.k GROUP BY t.k, s.flag"
QUERIES = {"joined": JOINED, "groups": GROUPS, "above": ABOVE, "twice": TWICE, "session": SESSION, "lines": LINES}
CONDITIONS = 12 if EVERY else 2
TABLES = {"session": "part_session", "lines": "part_lines"}
PARTS = [CaptureTable(where="tax > 0.02 AND kind IS NOT NULL"), CaptureTable(partition_by=["mode", "year(day)"]),
         CaptureTable(where="mode = 'AIR'", partition_by=["kind", "(tax > 0.04)"])]  # fmt: skip
ATOMS = ["mode = 'AIR'", "MODE IN ('AIR', 'SHIP')", "mode IS NULL", "tax > 0.02", "isnan(tax)", "tax IS NULL", "kind IS NOT NULL",
         "kind = :kind", "kind BETWEEN 1 AND 2", "(mode = 'AIR' OR kind = 3)", "NOT mode LIKE 'A%'", "year(day) = 2024",
         "Year( day ) >= 2025", "day > DATE '2024-06-30'", "(tax > 0.04)",
         "CASE WHEN mode = 'AIR' AND kind = 1 THEN tax > 0 ELSE false END",
         "mode || 'x' = 'AIRx'", "false", "NULL", "row < 20", "mode = ANY (SELECT mode FROM rows WHERE kind = 2)"]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    chance, made = random.Random(3), tmp_path_factory.mktemp("in_part")
    rows = [(chance.choice(["A", "R", "N", None]), chance.choice(["AIR", "SHIP", "RAIL", None]), chance.choice([1, 2, 3, None]),
             chance.choice([0.0, 0.02, 0.04, 0.08, None, float("nan")]), date(chance.choice((2023, 2024, 2025)), chance.randint(1, 9), 11))
            for _ in range(300)]  # fmt: skip
    frame = spark.createDataFrame(rows, "flag string, mode string, kind int, tax double, day date")
    frame.repartition(3).write.parquet(str(made / "sales"))
    spark.read.parquet(str(made / "sales")).createOrReplaceTempView("part_sales")
    frame.createOrReplaceTempView("part_session")
    # Rows of a CSV file that are the same in all columns have one key.
    frame.limit(60).union(frame.limit(20)).coalesce(1).write.csv(str(made / "lines"), header=True)
    schema = "flag string, mode string, kind int, tax double, day date"
    spark.read.csv(str(made / "lines"), header=True, schema=schema).createOrReplaceTempView("part_lines")
    yield
    for name in ("part_sales", "part_session", "part_lines"):
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, store: Store, tables: None) -> dict[str, Run]:
    lineage = Lineage(spark, store=store)
    return {
        name: lineage.run(sql, name=f"in part {name}", strategy="full_materialization" if name == "above" else "function_materialization")
        for name, sql in QUERIES.items()
    }


def told(found: LineageRows) -> list[Any]:
    """Rows, and which rows of the result they are behind, in an order that hangs on nothing else."""
    rows = list(map(repr, found.rows.to_pylist()))
    asked: list[list[int]] = [[] for _ in rows]
    for one, row in zip(*(column.to_pylist() for column in found.links.columns), strict=True):
        asked[row].append(one)
    return list(zip(rows, asked, strict=True))


@pytest.mark.parametrize(("part", "name"), sampled(product(PARTS, ["groups", "above", "twice", "session", "lines"]), one_in=13))
def test_answers_are_those_that_are_traced(
    runs: dict[str, Run], store: Store, monkeypatch: pytest.MonkeyPatch, name: str, part: CaptureTable
) -> None:
    run, table, chance = runs[name], TABLES.get(name, "part_sales"), random.Random(f"{name} {part}")
    run.forget_captured()
    targets = ["true", f"{'kind' if name == 'above' else 'flag'} IS NULL", f"{'most' if name == 'above' else 'n'} > 6"]
    traced = {target: run.backward(target, table).replaced() for target in targets}
    unread = {target: run.backward(target, table) for target in targets}
    monkeypatch.setattr(unread_rows, "MANY_ROWS", 1)  # the columns of conditions first, and the others of what meets them
    forward = told(run.forward("true", table)), told(run.forward("mode = 'AIR' AND tax > 0.02 AND kind IS NOT NULL", table))
    made = run.capture(tables={table: part})
    assert made.tables == {table: part}
    looked_up = 0
    for target, rows in traced.items():
        for turn in range(CONDITIONS):
            condition = " AND ".join(chance.sample([*ATOMS, *([part.where] if part.where else [])], chance.randint(1, 3)))
            condition = condition if turn or not part.where else f"{part.where} AND kind > 0"  # once sure to be looked up
            given: dict[str, Any] = {"kind": chance.choice([1, 3, None])} if ":kind" in condition else {}
            found = run.backward(target, table).where(condition, **given)
            assert told(found) == told(rows.where(condition, **given)), condition
            assert told(unread[target].where(condition, **given)) == told(found), condition
            # Rows that nothing tells apart, and which the condition leaves out, leave the answer worth more.
            assert found.guarantee.level in ("exact", rows.guarantee.level)
            assert (found.asked, found.table, found.asked_rows) == (rows.asked, table, rows.asked_rows)
            looked_up += found.engine.startswith("index: ")
        whole = run.backward(target, table)
        assert (told(whole), whole.guarantee) == (told(rows), rows.guarantee)
        assert whole.engine.startswith("lazy: " if part.where else "index: ")
        assert told(whole.where("kind = 2")) == told(rows.where("kind = 2"))
    assert 0 < looked_up <= 3 * CONDITIONS
    assert (told(run.forward("true", table)), told(run.forward("mode = 'AIR' AND tax > 0.02 AND kind IS NOT NULL", table))) == forward
    # Of rows that were captured it is looked up what descends from them; of others traced.
    spark = run._lineage.spark
    others = Lineage(spark, store=store).get_run(run.id)
    assert others.forward(f"{part.where or 'true'}", table).engine.startswith("index: ") or "year" in (part.where or "")
    assert others.forward("true", table).engine.startswith("lazy" if part.where else "index: ")


def test_partitions_that_a_condition_leaves(runs: dict[str, Run]) -> None:
    run = runs["groups"]
    run.capture(tables={"part_sales": CaptureTable(partition_by=["mode", "kind", "Year(day)"])})
    rows = run.backward("flag = 'A'", "part_sales")
    assert repr(rows) == "<rows of part_sales for flag = 'A': not read yet>"
    assert rows.where("mode = 'AIR'").engine.endswith(", 12 of 48 partitions")
    assert rows.where("mode = :m AND kind = 2 AND tax > 0", m="AIR").engine.endswith(", 3 of 48 partitions")
    assert rows.where("year(day) = 2024 AND mode IS NULL AND kind = 1").engine.endswith(", 1 of 48 partitions")
    assert rows.where("mode = 'AIR' AND mode = 'SHIP'").engine.endswith(", 0 of 48 partitions")
    for whole in ("mode = 'AIR' OR kind = 2", "row = 0", "mode = (SELECT max(mode) FROM rows)", "tax > 0 AND random() < 2"):
        assert (rows.where(whole).engine == rows.engine) == (whole != "mode = 'AIR' OR kind = 2")
        assert "partitions" not in rows.engine
    count = len(rows)  # which reads them
    assert repr(rows).startswith(f"<{count} rows of part_sales for flag = 'A': exact, index: ")
    some = run.backward("true", "part_sales").where("kind = 2")
    assert repr(some) == "<rows of part_sales where kind = 2 for true: not read yet>"
    with pytest.raises(InvalidOption, match="Referenced column"):
        run.backward("flag = 'A'", "part_sales").where("nothing = 1")
    assert {name: one.engine.startswith("index: ") for name, one in run.backward("true").items()} == {"part_sales": True}


CUBES = [Cube(by=["mode", "year(day)"], measures=["count(*)", "sum(kind)", "avg(tax)", "min(day)", "max(mode)", "count(tax)"]),
         Cube(by=["kind"], measures=["count(*)", "sum(tax)", "avg(kind)"]), Cube(measures=["max(tax)", "count(*)"])]  # fmt: skip
BY = [["mode"], ["year(day) AS year", "mode"], ["kind"], [], ["KIND AS k"], ["flag"]]
MEASURES = ["count(*) AS n", "sum(kind)", "avg(tax) AS tax", "min(day)", "max(mode)", "count(tax) AS known", "avg(kind) AS a",
            "max(tax) AS m", "sum(tax) AS s", "count(DISTINCT mode) AS modes"]  # fmt: skip


def near(one: pa.Table, other: pa.Table) -> bool:
    """Whether aggregates are the same, those of floating numbers up to the order in which they were added."""
    assert one.schema == other.schema
    rows = zip(one.to_pylist(), other.to_pylist(), strict=True)
    return all(a == b or (isinstance(a, float) and pytest.approx(a, nan_ok=True) == b)
               for left, right in rows for a, b in zip(left.values(), right.values(), strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("where", "name"), sampled(product([None, "tax > 0.02 AND kind IS NOT NULL"], ["groups", "above", "session", "joined"]), one_in=3)
)
def test_aggregates_that_are_kept(runs: dict[str, Run], name: str, where: str | None) -> None:
    run, table, chance = runs[name], TABLES.get(name, "part_sales"), random.Random(f"{name} {where}")
    run.forget_captured()
    targets = ["true", f"{'kind' if name == 'above' else 'flag'} IS NULL", "1 = 1"]
    traced = {target: run.backward(target, table).replaced() for target in targets}
    made = run.capture(tables={table: CaptureTable(where=where, partition_by=["mode"], cube=CUBES)})
    assert made.tables[table].cube == tuple(CUBES)
    looked_up = set()
    for target, rows in traced.items():
        for turn in range(20 if EVERY else 3):
            condition = chance.choice(
                [where, where, f"{where or 'true'} AND kind = :kind", "mode = 'AIR' AND year(day) = 2024", "tax > 0", None]
            )
            given = {"kind": 2} if condition and ":kind" in condition else {}
            by, measures = chance.choice(BY), chance.sample(MEASURES, chance.randint(1, 3))
            condition, given, by, measures = (condition, given, by, measures) if turn else (where, {}, list(CUBES[0].by), ["count(*)"])
            found, wanted = (one.where(condition, **given) if condition else one for one in (run.backward(target, table), rows))
            got = found.aggregate(by, measures)
            assert near(got, wanted.aggregate(by, measures)), (target, condition, by, measures)
            looked_up.add(got.schema.metadata[b"engine"].decode().split(" by ")[0])
    assert "index: cube" in looked_up or (name == "joined" and not EVERY)  # whose rows of several targets no cube adds up
    assert len(looked_up) > 1


def test_which_cube_answers(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs["groups"]
    run.capture(tables={"part_sales": CaptureTable(where="tax > 0", cube=CUBES)})
    questions, session = [], Asking.session

    def counted(asking: Asking, **options: Any) -> Any:
        questions.append(asking)
        return session(asking, **options)

    monkeypatch.setattr(Asking, "session", counted)
    found = run.backward("flag = 'A'", "part_sales").where("tax > 0")
    assert repr(found) == "<rows of part_sales where tax > 0 for flag = 'A': not read yet>"
    assert found.aggregate("mode").num_rows
    assert len(questions) == 1  # which rows are meant is found in the question that the cube answers
    with pytest.raises(EmptyTarget):
        run.backward("flag = 'nothing'", "part_sales").aggregate("mode")
    rows = run.backward("flag = 'A'", "part_sales", lazy=False).where("tax > 0")

    def engine(found: LineageRows, *asked: Any) -> str:
        return str((found.aggregate(*asked).schema.metadata or {})[b"engine"].decode())

    assert engine(rows) == "index: cube by mode, year(day)"
    assert engine(rows, "kind AS k", ["sum(TAX)"]) == "index: cube by kind"
    assert engine(rows, (), "max(tax)") == "index: cube by nothing"
    assert engine(run.backward("true", "part_sales").where("tax > 0 AND mode = 'AIR'"), "mode") == "index: cube by mode, year(day)"
    assert engine(rows.where("kind = 1"), "kind").startswith("index: ")
    questions.clear()
    assert "cube" not in engine(run.backward("true", "part_sales").where("tax > 0 AND flag = 'A'"), "mode")
    assert len(questions) == 1  # where no cube answers the rows are read in the same question
    with pytest.raises(NotCaptured):
        run.backward("true", "part_sales", lazy=False).aggregate()
    with pytest.raises(InvalidOption, match=r"by, measures=.*nothing"):
        rows.aggregate("nothing")
    # Rows of the result that have rows behind them in common: what is behind both is not counted twice.
    joined = runs["joined"]
    joined.capture(tables={"part_sales": CaptureTable(cube=[Cube(by=["mode"], measures=["count(*)", "max(tax)"])])})
    both = joined.backward("true", "part_sales")
    assert engine(both, "mode", ["max(tax)"]) == "index: cube by mode"
    assert "cube" not in engine(both, "mode")
    assert engine(joined.backward(None, "part_sales", at=0), "mode") == "index: cube by mode"


def test_what_was_left_out_is_refused_without_tracing(runs: dict[str, Run]) -> None:
    run = runs["groups"]
    run.capture(tables={"part_sales": CaptureTable(where="tax > 0.02 AND kind IS NOT NULL")})
    rows = run.backward("true", "part_sales", lazy=False)
    found = rows.where("kind IS NOT NULL AND mode = 'AIR' AND tax > 0.02")
    assert found.engine.startswith("index: ")
    for asked in ("mode = 'AIR'", "tax > 0.02", "(tax > 0.02 AND kind IS NOT NULL)", "tax > 0.02 AND kind IS NOT NULL OR true"):
        with pytest.raises(NotCaptured, match=r"was captured of part_sales where tax > 0.02 AND kind IS NOT NULL: ask for such rows alone"):
            rows.where(asked).to_arrow()
    with pytest.raises(NotCaptured, match=r"CaptureTable\(\) for all; with lazy=True it is traced"):
        rows.to_arrow()
    with pytest.raises(NotCaptured, match="was captured of part_sales where"):
        run.forward("true", "part_sales", lazy=False)
    assert len(run.forward("tax > 0.02 AND kind IS NOT NULL", "part_sales", lazy=False)) == 4


def test_explanations_are_those_without(runs: dict[str, Run]) -> None:
    run = runs["above"]
    run.forget_captured()

    def explained() -> Any:
        found = run.explain("kind IS NULL OR kind = 1", save=False)
        links = sorted(map(str, found.target_links.to_pylist()))
        return {name: (repr(one.rows.to_pylist()), one.guarantee) for name, one in found.sources.items()}, links, found.controls

    traced = explained()
    for part in PARTS:
        run.capture(tables={"part_sales": part})
        assert explained() == traced


def test_captured_with_the_run_and_refused_before_it(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = Lineage(spark, store=store)
    some = CaptureTable(where="kind = 1", partition_by=["mode"])
    run = lineage.run(GROUPS, name="in part at once", capture=Capture(tables={"PART_SALES": some}))
    assert run.index is not None
    assert run.index.tables == {"part_sales": some}
    assert lineage.get_run(run.id).backward("true", "part_sales").where("kind = 1 AND mode = 'AIR'").engine.endswith("1 of 4 partitions")
    before = len(lineage.runs("in part at once"))
    for wrong, message in {
        CaptureTable(where="nothing = 1"): 'where of part_sales: .*Referenced column "nothing" not found',
        CaptureTable(where="kind"): "where of part_sales: 'kind' is of type int32, which is no condition",
        CaptureTable(where="random() < 0.5"): r"where of part_sales: .* would have another value another time \(random\)",
        CaptureTable(where="count(*) > 1"): "where of part_sales: .*not one value for each row",
        CaptureTable(partition_by=["day", "current_date - day"]): r"partition_by of part_sales: .*another time \(current_date\)",
        CaptureTable(partition_by=["row_number() OVER ()"]): "is not about single rows",
        CaptureTable(cube=[Cube(by=["nothing"])]): 'cube: by of part_sales: .*Referenced column "nothing"',
        CaptureTable(cube=[Cube(measures=["sum(mode)"])]): "cube: measures of part_sales: .*No function matches",
        CaptureTable(cube=[Cube(measures=["sum(random())"])]): r"cube: measures of part_sales: .*another time \(random\)",
        CaptureTable(cube=[Cube(measures=["avg(day)"])]): "cube: measures of part_sales: .*No function matches",
        CaptureTable(partition_by=["mode COLLATE NOCASE"]): "partition_by of part_sales: .*a text with an order of its own",
        CaptureTable(granularity=["mode::ENUM('AIR')"]): "granularity of part_sales: .* is of type ENUM",
        CaptureTable(partition_by=["[kind]"]): "is of type list<.*>, of which there are no classes; cast it to a text",
    }.items():
        with pytest.raises(InvalidCapture, match=message):
            lineage.run(GROUPS, name="in part at once", capture=Capture(tables={"part_sales": wrong}))
        with pytest.raises(InvalidCapture, match=message):
            run.capture(tables={"part_sales": wrong})
    with pytest.raises(InvalidCapture, match="cube of part_sales: the pipeline reads it at 3 places"):
        lineage.run(TWICE, name="in part at once", capture=Capture(tables={"part_sales": CaptureTable(cube=[Cube()])}))
    assert len(lineage.runs("in part at once")) == before
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "400")
    with pytest.raises(IndexTooLarge, match=r"times the values of partition_by are 1,\d+, more than 400: partition by fewer values"):
        run.capture(tables={"part_sales": CaptureTable(partition_by=["mode", "kind", "tax", "day"])})
    assert run.index.tables == {"part_sales": some}


@pytest.mark.parametrize(("given", "message"), [
    ({"where": ""}, "where='' is no condition"), ({"where": 1}, "where=1 is no condition"),
    ({"partition_by": "mode"}, "partition_by='mode' is not understood; it can be a list"), ({"partition_by": [1]}, "partition_by="),
])  # fmt: skip
def test_what_cannot_be_meant(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCapture, match=message):
        CaptureTable(**given)


@pytest.mark.parametrize("measure", ["count(DISTINCT mode)", "sum(kind) / 2", "median(kind)", "sum(*)", "arg_min(kind, day)",
                                     "max(kind, 2)", "kind", "sum(kind ORDER BY day)", "sum(kind) FILTER (true)", "count()"])  # fmt: skip
def test_what_cannot_be_kept(measure: str) -> None:
    with pytest.raises(InvalidCapture, match="It can be one of count, sum, avg, min, max, of one expression"):
        Cube(measures=[measure])


def test_what_is_no_capture() -> None:
    for given, message in [({"by": "mode"}, "cube: by='mode' is not understood"), ({"measures": []}, "no measures are given")]:
        with pytest.raises(InvalidCapture, match=message):
            Cube(**given)  # type: ignore[arg-type]
    with pytest.raises(InvalidCapture, match=r"cube=\['mode'\] is not understood; it can be \[Cube"):
        CaptureTable(cube=["mode"])  # type: ignore[list-item]
    with pytest.raises(InvalidCapture, match=r"it can be CaptureTable\(where=…, partition_by=\[…\]\) for each name"):
        Capture(tables={"loans": "all"})  # type: ignore[dict-item]


def test_an_aggregation_reads_the_columns_that_it_names(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run, read = runs["groups"], []
    run.capture(tables={"part_sales": CaptureTable(partition_by=["mode"])})
    whole = run.backward("flag = 'A'", "part_sales").replaced()

    def noted(source: Source, *rest: Any) -> pa.Table:
        read.append(source.columns)
        return read_positions(source, *rest)

    monkeypatch.setattr(sources, "read_positions", noted)
    rows = run.backward("flag = 'A'", "part_sales")
    for by, measures in (("KIND", "sum(tax) AS tax"), ((), "max(kind)"), ("mode", "count(*)"), ((), "count(*)")):
        assert near(rows.aggregate(by, measures), whole.aggregate(by, measures))
    assert read == [("kind", "tax"), ("mode",)]  # what has been read serves where it has the columns
    of_air = run.backward("flag = 'A'", "part_sales").where("mode = :m", m="AIR")
    assert near(of_air.aggregate("year(day) AS year"), whole.where("mode = 'AIR'").aggregate("year(day) AS year"))
    assert near(of_air.aggregate((), "count(DISTINCT rows)"), whole.where("mode = 'AIR'").aggregate((), "count(DISTINCT rows)"))
    assert read[2:] == [("day",), ("flag", "mode", "kind", "tax", "day")]  # the rows of a class have one mode, which is known
    assert told(of_air) == told(whole.where("mode = 'AIR'"))
    some = run.backward("flag = 'A'", "part_sales").where("mode = 'AIR' AND tax > 0")
    assert near(some.aggregate("kind"), whole.where("mode = 'AIR' AND tax > 0").aggregate("kind"))
    assert read[4:] == [("mode", "kind", "tax")]
    session = runs["session"].backward("true", "part_session")
    assert near(session.aggregate("kind"), session.replaced().aggregate("kind"))


def test_times_are_in_the_zone_of_the_session_whatever_was_captured(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """A month of the result is the month of its rows, by what was captured as by what is traced."""
    times = [datetime(2024, 1, 31, 23, 30, tzinfo=UTC), datetime(2024, 2, 1, 12, tzinfo=UTC), datetime(2024, 3, 1, 1, tzinfo=UTC)]
    pq.write_table(pa.table({"n": [1, 2, 3], "ts": pa.array(times, pa.timestamp("us", "UTC"))}), tmp_path / "a.parquet")
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("zoned")
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    try:
        run = Lineage(spark, store=store).run("SELECT month(ts) AS m, count(*) AS c FROM zoned GROUP BY month(ts)", name="zoned")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    wanted: list[CaptureTable] = [
        CaptureTable(), CaptureTable(cube=[Cube(by=["month(ts)"])]), CaptureTable(cube=[Cube(by=["ts"])]),
        CaptureTable(partition_by=["ts"]), CaptureTable(partition_by=["hour(ts)"]), CaptureTable(granularity=["ts"]),
        CaptureTable(where="month(ts) = 2"),
    ]  # fmt: skip
    for one in (None, *wanted):
        if one is not None:
            run.capture(tables={"zoned": one}, progress=False)
        found = run.backward("true", table="zoned", progress=False).where("month(ts) = 2")
        assert found.aggregate(by=["month(ts) AS m"], measures=[]).to_pylist() == [{"m": 2}], one
        if one is None or not one.granularity:
            found = run.backward("m = 2", table="zoned", progress=False).where("month(ts) = 2 AND hour(ts) IN (0, 13)")
            assert found.aggregate().to_pylist() == [{"count(*)": 2}], one
