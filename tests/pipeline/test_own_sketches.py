"""Derivations that make segments again read sources through the run's own sketches: the answers are those of reading everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Explanation, Lineage, Run, SketchOn, reasoned_udf
from airflow_lineage_provider.deriving import derivation as deriving
from airflow_lineage_provider.deriving.own_sketches import own_selections
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.use import FEW
from airflow_lineage_provider.spark.selected import DICTIONARIES, without_dictionaries
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, links_of
from tests.in_turn import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

ORDERS = 300


@reasoned_udf("int")
def doubled(x: int) -> int:
    return 2 * x


@doubled.with_reason
def _(x: int) -> tuple[int, Any]:
    return 2 * x, {"x": x}


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    random, folder = Random(5), tmp_path_factory.mktemp("own")
    given = {
        "orders": (
            "o_key int, o_customer int, o_price int",
            [(key, random.randint(0, 30), random.randint(1, 500)) for key in range(ORDERS)],
        ),
        "items": (
            "i_key int, i_line int, i_count int",
            [(key, at, random.randint(1, 50)) for key in range(ORDERS) for at in range(key % 4)],
        ),
    }
    for name, (schema, rows) in given.items():
        spark.createDataFrame(rows, schema).coalesce(1).write.options(**{"parquet.page.row.count.limit": "20"}).parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    doubled.register(spark)
    yield folder
    for name in given:
        spark.catalog.dropTempView(name)


BIG = "SELECT i_key, sum(i_count) AS total FROM items GROUP BY i_key HAVING sum(i_count) > 100"
QUERIES = {
    "having": BIG,
    "having a count of any column": """
        SELECT o_customer, count(*) AS n FROM orders WHERE o_price > 250 GROUP BY o_customer HAVING count(*) >= 7""",
    "a semi-join": f"SELECT * FROM orders WHERE o_key IN (SELECT i_key FROM ({BIG}))",
    "a left join": "SELECT o_key, i_line FROM orders LEFT JOIN items ON o_key = i_key AND i_count > 45 WHERE o_price > 480",
    "without partners": "SELECT o_key FROM orders o WHERE NOT EXISTS (SELECT * FROM items WHERE i_key = o_key) AND o_price > 450",
    "a model below": """
        SELECT i_key, sum(twice) AS total FROM (SELECT i_key, doubled(i_count) AS twice FROM items)
        GROUP BY i_key HAVING sum(twice) > 200""",
}  # fmt: skip


def captured(lineage: Lineage, sql: str, **options: Any) -> Run:
    run = lineage.run(sql, name="own", **{"strategy": "rerun", "sketches": "capture"} | options)
    assert "captured" in [one.state for one in run.sketches], run.sketches
    return run


def read_through(monkeypatch: pytest.MonkeyPatch, instead: Any = None) -> list[dict[int, Any]]:
    """The selections that derivations read through from now on, each time; ``instead`` of them others."""
    found: list[dict[int, Any]] = []

    def noted(*given: Any) -> dict[int, Any]:
        found.append(own_selections(*given) if instead is None else instead)
        return found[-1]

    monkeypatch.setattr(deriving, "own_selections", noted)
    return found


def told(found: Explanation) -> tuple[Any, ...]:
    """All that an explanation says of rows, whatever their order."""
    target = [tuple(row.values()) for row in found.target.to_pylist()]
    tables = {name: [tuple(row.values()) for row in table.rows.to_pylist()] for name, table in found.sources.items()}
    links = Counter(
        (target[link["row"]], link["source"], tables[link["source"]][link["source_row"]]) for link in links_of(found)["target"].to_pylist()
    )
    rows = {name: Counter(each) for name, each in tables.items()}
    reasons = {name: Counter(map(str, table.rows.to_pylist())) for name, table in found.reasons.items()}
    return Counter(target), rows, links, reasons, guarantees_of(found), list(map(str, found.controls))


@pytest.mark.parametrize("name", sampled(QUERIES))
def test_the_answer_is_the_same(lineage: Lineage, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    run = captured(lineage, QUERIES[name])
    noted = read_through(monkeypatch)
    for target in ("true", "i_key % 3 = 0")[: 2 if name == "having" else 1]:
        through = run.explain(target, verify=True)
        assert noted[-1], "it read everything"
        assert through.verified is True
        with monkeypatch.context() as patch:
            read_through(patch, {})
            assert told(through) == told(run.explain(target))


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        ("SELECT * FROM orders WHERE o_price > 490 AND o_key IN (SELECT i_key FROM items WHERE i_count > 40)", {"subqueries": "rows"}),
        ("SELECT * FROM orders WHERE o_price > 490 AND o_key IN (SELECT i_key FROM items WHERE i_count > 40)", {"subqueries": "data"}),
        (QUERIES["without partners"], {"difference": "rows"}),
    ],
)
def test_all_rows_of_a_subquery_are_all_rows(lineage: Lineage, monkeypatch: pytest.MonkeyPatch, sql: str, options: dict[str, Any]) -> None:
    """Also of those that stand behind no row of the result."""
    run = captured(lineage, sql)
    through = told(run.explain("true", **options))
    read_through(monkeypatch, {})
    assert through == told(run.explain("true", **options))


def test_only_the_fragments_are_read(lineage: Lineage, spark: SparkSession) -> None:
    from contextlib import ExitStack

    from airflow_lineage_provider.plan.expressions import TRUE
    from airflow_lineage_provider.spark.rereading.tracing import Views

    on = {"items": SketchOn(column="i_key", cuts=list(range(0, ORDERS, 2)))}
    run = captured(lineage, BIG.replace("> 100", "> 60"), sketch_on=on)
    (use,) = run.sketches
    assert use.fragments > FEW

    def rows(asked: Any) -> tuple[int, int]:
        counts = []
        for sketched in (True, False):
            with deriving.derivation(asked, TRUE, sketched=sketched) as made, ExitStack() as stack:
                tracing = made.spark.now
                assert tracing is not None
                (name,) = tracing.leaf_table(("source", 0), Views(spark, "test", stack)).name
                counts.append(spark.table(name).count())
        return counts[0], counts[1]

    assert run._asking.answered("a test of", None, None, rows) == (use.rows, use.total)


def test_other_questions_read_everything(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = captured(lineage, BIG)
    noted = read_through(monkeypatch)
    assert run.why_not("i_key = 2", table="items").surviving == 0
    run.forward("i_key = 3", "items")
    assert not noted


def test_rows_that_came_since_are_not_read(spark: SparkSession, lineage: Lineage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The sketch is of the files that the run read, and so is the derivation; of files that were written again it is refused, as ever."""
    place = str(tmp_path / "items")
    spark.table("items").coalesce(1).write.parquet(place)
    run = captured(lineage, BIG.replace("items", f"parquet.`{place}`"))
    before = told(run.explain("true"))
    spark.sql("SELECT 0 AS i_key, 9 AS i_line, 1000 AS i_count").write.mode("append").parquet(place)
    noted = read_through(monkeypatch)
    after = told(run.explain("true"))
    assert noted[-1]
    assert after[:4] == before[:4]
    spark.table("items").where("i_key < 100").coalesce(1).write.mode("overwrite").parquet(place)
    with pytest.raises(SourceUnavailable):
        run.explain("true")


def test_what_is_not_the_run_s_own_or_not_accurate_is_not_used(
    spark: SparkSession, lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = captured(lineage, BIG)
    other = lineage.run(BIG, name="own", strategy="rerun")
    noted = read_through(monkeypatch)
    other.explain("true")
    assert noted[-1] == {}, "of another run"
    (stored,) = lineage.store.sketches_of_run(run.id)
    sketch = Sketch.from_bytes(stored.content)
    spoiled = {
        "superset": replace(stored, content=replace(sketch, kind="superset").to_bytes()),
        "damaged": replace(stored, content=stored.content[:-2] + b"??"),
        "of other versions": replace(stored, versions=dict.fromkeys(stored.versions, "another")),
        "of a column that is not there": replace(stored, column="j_key"),
    }
    for name, one in spoiled.items():
        monkeypatch.setattr(Store, "sketches_of_run", lambda _store, _run, one=one: [one])
        run.explain("true")
        assert noted[-1] == {}, name
    monkeypatch.undo()
    noted = read_through(monkeypatch)
    seen: set[str | None] = set()
    run.explain("true", progress=lambda _: seen.add(spark.conf.get(DICTIONARIES, None)))
    assert noted[-1]
    assert (seen, spark.conf.get(DICTIONARIES, None)) == ({None, "false"}, None), "each range would read a row group's dictionary anew"
    older = replace(run.record, versions=dict(run.record.versions) | {"airflow_lineage_provider": "0.0.1"})
    assert own_selections(asked(run, older), spark.version) == {}


def test_what_is_set_while_reading_is_set_back_by_the_last(spark: SparkSession) -> None:
    """Of two threads whose reading overlaps."""
    one, other = without_dictionaries(spark), without_dictionaries(spark)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert spark.conf.get(DICTIONARIES, None) == "false"
    other.__exit__(None, None, None)
    assert spark.conf.get(DICTIONARIES, None) is None


def asked(run: Run, record: Any) -> Any:
    """The run as a question finds it, with another record."""
    return SimpleNamespace(store=run._lineage.store, recorded=run.plan, record=record)


def test_those_that_took_their_place_serve(spark: SparkSession, lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run of the same instance captured the same: the first is explained through its sketches, and names them."""
    first = captured(lineage, BIG)
    (before,) = first.sketches
    second = captured(lineage, BIG)
    assert lineage.store.sketches_of_run(first.id) == []
    (named,) = lineage.get_run(first.id).sketches
    assert (named.sketch, named.run_id) == (second.sketches[0].sketch, second.id)
    assert (named.rows, named.total, named.state) == (before.rows, before.total, "captured")
    assert "has taken its place" in named.because
    assert lineage.sketch(named.sketch).sketch.run_id == second.id
    noted = read_through(monkeypatch)
    through = told(first.explain("true", verify=True))
    assert noted[-1]
    with monkeypatch.context() as patch:
        read_through(patch, {})
        assert told(first.explain("true")) == through
    other = captured(lineage, BIG.replace("> 100", "> 101"), sketches="capture")
    lineage.drop_sketch(second.sketches[0].sketch)
    assert own_selections(asked(first, first.record), spark.version) == {}, f"of other constants: {other.id}"


def test_a_source_that_a_stored_segment_has_read_is_read_whole(spark: SparkSession, lineage: Lineage) -> None:
    """Beside rows of the whole source a part of it would be neither."""
    run = captured(lineage, QUERIES["a model below"], strategy="function_materialization")
    assert own_selections(asked(run, run.record), spark.version) == {}
