"""What a run stored under each strategy and why, as the facade tells it; the answers are the same under all of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import ResultNotStored, SparkRequired
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.words import Strategy, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

SQL = """
    SELECT c.region, storage_exam(c.income, l.amount) AS judge, count(*) AS n
    FROM client c JOIN loan l ON c.id = l.client LEFT ANTI JOIN blacklist b ON b.id = c.id
    GROUP BY 1, 2
"""


@reasoned_udf("string", name="storage_exam")
def storage_exam(income: float, amount: float) -> str:
    return "Reject" if amount > 5 * income else "Accept"


@storage_exam.with_reason
def _(income: float, amount: float) -> tuple[str, payload.Json]:
    return storage_exam.main(income, amount), payload.Json({"ratio": amount / income})


@pytest.fixture(scope="module")
def runs(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Strategy], Run]]:
    """A run of the pipeline under each strategy, made when it is first asked for."""
    folder = tmp_path_factory.mktemp("storage")
    tables = {
        "client": ("id int, region string, income double", [(1, "N", 100.0), (2, "N", 900.0), (3, "S", 50.0)]),
        "loan": ("client int, amount double", [(1, 1000.0), (2, 10.0), (3, 5000.0), (1, 700.0)]),
        "blacklist": ("id int", [(3,), (9,)]),
    }
    for name, (schema, rows) in tables.items():
        spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    storage_exam.register(spark)
    made: dict[str, Run] = {}
    with ExitStack() as stack, Lineage(spark, store=store) as lineage:

        def get(strategy: Strategy) -> Run:
            if strategy not in made:
                # Where the tests of this file do not follow each other, this happens again: earlier runs of the name would be measured.
                made[strategy] = lineage.run(SQL, name=f"storage {strategy} {uuid.uuid4()}", strategy=strategy)
                stack.callback(made[strategy].close)
            return made[strategy]

        yield get


@pytest.mark.parametrize("strategy", words(Strategy))
def test_what_is_stored_and_why(runs: Callable[[Strategy], Run], store: Store, strategy: Strategy) -> None:
    run = Lineage(store=store).get_run(runs(strategy).id)
    segments = run.plan.plan.segments
    judged = {segment.number for segment in segments if segment.functions}
    assert judged
    assert len(segments) > len(judged | {0}), "every segment would be stored anyway"
    stored = {"rerun": set(), "full_materialization": {segment.number for segment in segments}}.get(strategy, judged | {0})
    assert {one.segment for one in run.stored} == stored
    numbers = {segment.number for segment in run.plan.plan.segments}
    assert {one.segment for one in run.not_stored} == numbers - stored
    assert all(one.because for one in run.stored)
    assert all(one.because for one in run.not_stored)
    if stored:
        result = run.stored[0]
        assert (result.name, result.rows) == ("result", 2)
        assert result.bytes == store.table_sizes(run.id)["result"] > 0
    if strategy == "auto":
        assert "nothing was measured yet" in run.stored[0].because


def test_copies_of_what_only_the_session_held(spark: SparkSession, store: Store) -> None:
    spark.createDataFrame([(1,), (2,)], "id int").createOrReplaceTempView("held")
    with Lineage(spark, store=store) as lineage:
        run = lineage.run("SELECT id FROM held WHERE id > 1", name="storage held", strategy="rerun")
        (copy,) = run.stored
        assert (copy.segment, copy.name, copy.operator, copy.rows) == (None, "source_0", "held", 2)
        assert "session held" in copy.because
        run.close()


def test_a_domain_is_said_to_be_of_no_rows(runs: Callable[[Strategy], Run], spark: SparkSession, store: Store) -> None:
    runs("rerun")
    with Lineage(spark, store=store) as lineage:
        run = lineage.run("SELECT id, (SELECT count(*) FROM loan l WHERE l.client <= c.id) AS n FROM client c", name="storage domain")
        kinds = {one.number: one.kind for one in run.plan.plan.segments}
        told = {kinds[one.segment]: one.because for one in run.not_stored if one.segment is not None}
        assert told["domain"] == "no row is traced to it"
        run.close()


@pytest.mark.parametrize("strategy", words(Strategy))
def test_every_strategy_answers_the_same(runs: Callable[[Strategy], Run], strategy: Strategy) -> None:
    # Twice: what Spark made again for the first answer is not there for the second.
    for _ in range(2):
        found = runs(strategy).explain("region = 'N' AND judge = 'Reject'", save=True)
        assert found.target.to_pylist() == [{"region": "N", "judge": "Reject", "n": 2}]
        assert {name: table.num_rows for name, table in found.sources.items()} == {"client": 1, "loan": 2, "blacklist": 0}
        assert sorted(found.reasons["storage_exam"].column("amount").to_pylist()) == [700.0, 1000.0]
        assert None not in found.reasons["storage_exam"].column("reason").to_pylist()
        (control,) = found.controls
        assert (control.kind, control.sources, control.rows) == ("difference", ("blacklist",), (0,))
        assert found.to_dict()["segments"][0]["because"]


def test_a_stored_answer_keeps_controls_and_choices(runs: Callable[[Strategy], Run], store: Store) -> None:
    found = runs("function_materialization").explain("judge = 'Reject'")
    again = Lineage(store=store).derivation(found.id)
    assert again.controls == found.controls != ()
    assert again.choices == found.choices != ()
    assert again.to_dict() == found.to_dict()


def test_a_result_that_is_not_stored_is_told_so(runs: Callable[[Strategy], Run], store: Store) -> None:
    live = runs("rerun")
    assert sorted(row["n"] for row in live.result_table().to_pylist()) == [1, 2]
    assert live.result_table(limit=1).num_rows == 1
    later = Lineage(store=store).get_run(live.id)
    with pytest.raises(ResultNotStored, match=r"did not store its result \(strategy rerun\): run it again"):
        later.result_table()
    with pytest.raises(SparkRequired, match="strategy rerun"):
        later.explain("judge = 'Reject'")


def test_rows_that_spark_keeps_survive_the_views_over_them(spark: SparkSession, tmp_path: Path) -> None:
    from airflow_lineage_provider.spark.rereading.tracing import Views

    frame = spark.range(5).selectExpr("id", "monotonically_increasing_id() AS row").persist()
    try:
        frame.count()
        with ExitStack() as stack:
            name = Views(spark, "test", stack).add(frame, "kept")
            assert spark.table(name).count() == 5
        assert frame.storageLevel.useMemory
        assert not spark.catalog.tableExists(name)
        plan = frame.where("id > 1")._jdf.queryExecution().executedPlan().toString()
        assert "InMemoryTableScan" in plan
    finally:
        frame.unpersist()
