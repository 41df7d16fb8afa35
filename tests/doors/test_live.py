"""The doors behind which Spark works, given anything: `Lineage.run`, `Run.explain` and `Run.why_not` over a small table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, Secret
from airflow_lineage_provider.errors import InvalidOption, LineageError, PlanError
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.doors.fuzzed import answers, fuzzed
from tests.doors.strategies import WORDS, anything, predicates, texts
from tests.in_turn import sampled
from tests.pipeline.small_files import view

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

SHARE = 5
SCHEMA = "id int, name string, score double, price decimal(10,2), day date, moment timestamp, raw binary, tags array<string>"
ROWS = "SELECT id, name, score, price, day, moment, raw, tags FROM doors"
COLUMNS = st.sampled_from([one.split()[0] for one in SCHEMA.split(", ")])
CELLS = st.dictionaries(st.one_of(COLUMNS, texts), anything, max_size=3)
TARGETS = st.one_of(predicates, CELLS, st.lists(CELLS, max_size=2), anything)
OPTIONS = ("at", "max_rows", "verify", "difference", "subqueries", "across", "save", "params", "context")
RUN_OPTIONS = (
    "name", "params", "clear_params", "secret_params", "output", "strategy", "reasons", "keys", "on_store_failure", "context", "progress",
)  # fmt: skip


FOLLOWED: dict[str, Any] = {"params": {"key": "n0000"}, "progress": False}
EXPLAINED: dict[str, Any] = {**FOLLOWED, "save": False}
RUN: dict[str, Any] = {"name": "odd", "progress": False}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    import datetime as dt
    from decimal import Decimal

    moment = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    rows = [(n, f"n{n}", n / 2, Decimal(n), dt.date(2025, 1, 1), moment, b"x", ["a"]) for n in range(3)]
    view(spark, tmp_path_factory.mktemp("doors"), "doors", [*rows, (None,) * 8], SCHEMA)
    yield Lineage(spark, store=store)
    spark.catalog.dropTempView("doors")


@pytest.fixture(scope="module", params=sampled(["function_materialization", "rerun"]))
def run(request: pytest.FixtureRequest, lineage: Lineage) -> Iterator[Run]:
    with_secret = f"{ROWS} WHERE name <> :key"
    made = lineage.run(with_secret, name="doors", params={"key": Secret("n0000")}, strategy=request.param, progress=False)
    yield made
    made.close()


def options(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """One or no option, of any value: of two odd ones the first is refused."""
    one = st.tuples(st.sampled_from(names), st.one_of(anything, st.lists(st.one_of(texts, COLUMNS)), st.dictionaries(texts, anything)))
    return st.one_of(st.just({}), one.map(lambda pair: dict([pair])))


@fuzzed(share=SHARE, target=TARGETS, given=options(OPTIONS))
def test_explain(run: Run, target: Any, given: dict[str, Any]) -> None:
    answers(lambda: run.explain(target, **EXPLAINED | given).to_dict())


@fuzzed(share=SHARE, target=TARGETS, given=options(("table", "max_rows", "params")))
def test_why_not(run: Run, target: Any, given: dict[str, Any]) -> None:
    answers(lambda: run.why_not(target, **FOLLOWED | given).to_dict())


def returning(value: Any) -> Callable[..., Any]:
    return lambda spark, **params: value


def formatting(spark: SparkSession, **params: Any) -> DataFrame:
    try:
        text = str(params.get("key")).encode()
    except ValueError:  # of a pipeline's own mistakes the tests are elsewhere
        text = b"odd"
    return spark.table("doors").where(spark.table("doors").name != text.decode())


PIPELINES: st.SearchStrategy[Any] = st.one_of(
    texts,
    predicates.map(lambda text: f"{ROWS} WHERE {text}"),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(lambda words: f"SELECT {' '.join(words)} FROM doors"),
    st.sampled_from([f"{ROWS} WHERE id < :id", f"{ROWS} WHERE name = :key", "SELECT ? FROM doors", "SHOW TABLES", f"{ROWS};", formatting]),
    anything.map(returning),
    anything,
)


@fuzzed(share=SHARE, pipeline=PIPELINES, given=options(RUN_OPTIONS))
def test_run(lineage: Lineage, tmp_path_factory: pytest.TempPathFactory, pipeline: Any, given: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.getbasetemp())  # an output may be a relative path
        answers(lambda: lineage.run(pipeline, **RUN | given).close())


@fuzzed(share=SHARE, name=texts, value=anything, secret=st.booleans())
def test_params(lineage: Lineage, name: str, value: Any, secret: bool) -> None:
    """Every value that Spark takes as an argument of a SQL text can be recorded; any other is refused."""
    known = name if name.isidentifier() else "key"
    for pipeline in (f"SELECT id, name FROM doors WHERE name <> :{known}", formatting):
        given = {known: Secret(value) if secret else value}
        answers(lambda pipeline=pipeline, given=given: lineage.run(pipeline, name="odd", params=given, progress=False).close())  # type: ignore[misc]


@pytest.mark.parametrize(
    ("pipeline", "given", "kind"),
    [
        ("SELECT '\ud800'", {}, PlanError),
        ("SELECT :key", {"params": {"key": object()}}, PlanError),
        ("SELECT :key", {"params": {"key": Secret(object())}}, LineageError),
        ("SELECT 1", {"secret_params": 7}, InvalidOption),
        ("SELECT 1", {"clear_params": "key"}, InvalidOption),
        ("SELECT 1", {"context": ["dag"]}, InvalidOption),
    ],
    ids=["half a character", "an object", "a secret object", "no names", "a text for names", "no mapping"],
)
def test_refused_by_name(lineage: Lineage, pipeline: str, given: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        lineage.run(pipeline, progress=False, **given)


def test_the_fixed_sample_reaches_an_answer(run: Run) -> None:
    found = run.explain("id = 1", params={"key": "n0000"}, save=False, progress=False)
    assert found.sources["doors"].column("id").to_pylist() == [1]
    assert run.why_not("id = 1", params={"key": "n0000"}, progress=False).survived(0)
