"""What goes wrong: a clear error, and nothing half-written."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import (
    EmptyTarget,
    InvalidOutput,
    InvalidTarget,
    LineageError,
    PlanError,
    ReasonValueMismatch,
    RunNotComplete,
    RunNotFound,
    SparkRequired,
    StoreUnavailable,
    TargetTooLarge,
    UdfFailed,
    UnsupportedOperator,
)
from airflow_lineage_provider.store import Store, embedded
from airflow_lineage_provider.words import Reasons
from tests.answers import guarantees_of
from tests.pipeline.small_files import write_parquet

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    path, schema = str(tmp_path / "numbers"), "id int, name string"
    assert write_parquet(tmp_path / "numbers", [(n, f"name {n}") for n in range(20)], schema, files=2)
    spark.read.schema(schema).parquet(path).createOrReplaceTempView("numbers")
    yield path
    spark.catalog.dropTempView("numbers")


@reasoned_udf("int")
def fails_on_seven(x: int) -> int:
    if x == 7:
        raise ValueError("seven is not judged")
    return x


@reasoned_udf("int")
def changes_its_mind(x: int) -> int:
    return x


@changes_its_mind.with_reason
def _(x: int) -> tuple[int, Any]:
    return x + 1, "because"


@reasoned_udf("int")
def silent(x: int) -> int:
    return -x


@reasoned_udf("int")
def laconic(x: int) -> int:
    return x


@laconic.with_reason
def _(x: int) -> tuple[int, Any]:
    return x, "odd" if x % 2 else None


class TestTargets:
    @pytest.fixture
    def run(self, lineage: Lineage, numbers: str) -> Any:
        return lineage.run("SELECT id, name FROM numbers")

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("judge = 'x'", "id"),
            ("id = ", "id ="),
            ("", "empty"),
            ("id = 1; DROP TABLE lineage.runs", "one condition"),
            ("id IN (SELECT 1)", "subquer"),
            ("id", "boolean|condition"),
            ([{"nothing": 1}], "nothing"),
            ([], "no rows"),
        ],
    )
    def test_an_invalid_target(self, run: Any, target: Any, message: str) -> None:
        with pytest.raises(InvalidTarget, match=message):
            run.explain(target)
        assert run.explain("id = 1").target.num_rows == 1

    def test_a_target_without_rows_tells_how_many_there_are(self, run: Any) -> None:
        with pytest.raises(EmptyTarget, match="20 rows"):
            run.explain("id = 1000")

    def test_a_target_with_too_many_rows(self, run: Any) -> None:
        with pytest.raises(TargetTooLarge, match="more than 5"):
            run.explain("id >= 0", max_rows=5)

    def test_strings_are_data(self, run: Any) -> None:
        with pytest.raises(EmptyTarget):
            run.explain([{"name": "x'; DROP SCHEMA lineage CASCADE; --"}])
        assert run.explain("name = 'name 3'").target.to_pylist() == [{"id": 3, "name": "name 3"}]

    def test_rows_as_a_target(self, run: Any) -> None:
        found = run.explain(pa.table({"id": [3, 4], "name": ["name 3", "name 4"]}))
        assert sorted(found.sources["numbers"].column("id").to_pylist()) == [3, 4]


class TestUdfs:
    def test_a_udf_that_raises_on_one_row(self, lineage: Lineage, numbers: str, spark: SparkSession) -> None:
        fails_on_seven.register(spark)
        with pytest.raises(UdfFailed, match=r"fails_on_seven.*7.*seven is not judged"):
            lineage.run("SELECT fails_on_seven(id) AS x FROM numbers", name="raises")
        (failed,) = lineage.runs("raises")
        assert failed.status == "failed"
        assert "seven is not judged" in failed.error
        tables = lineage.store.query("SELECT tablename FROM pg_tables WHERE schemaname = 'lineage_data'").column(0).to_pylist()
        assert not [name for name in tables if failed.id in name]
        with pytest.raises(RunNotComplete, match="failed"):
            lineage.get_run(failed.id).explain("x = 1")

    def test_the_error_names_the_row(self, lineage: Lineage, numbers: str, spark: SparkSession) -> None:
        fails_on_seven.register(spark)
        with pytest.raises(UdfFailed, match=r"numbers.*id.*7"):
            lineage.run("SELECT fails_on_seven(id + 0) AS x FROM numbers", keys={"numbers": ["id"]})

    def test_reasoning_mode_that_decides_otherwise(self, lineage: Lineage, numbers: str, spark: SparkSession) -> None:
        changes_its_mind.register(spark)
        with pytest.raises(ReasonValueMismatch, match="changes_its_mind"):
            lineage.run("SELECT changes_its_mind(id) AS x FROM numbers", reasons="eager")
        found = lineage.run("SELECT changes_its_mind(id) AS x FROM numbers", reasons="lazy").explain("x = 3")
        assert found.reasons["changes_its_mind"].column("reason").to_pylist() == [None]
        assert guarantees_of(found)["changes_its_mind"].level == "unavailable"
        assert "changes_its_mind" in guarantees_of(found)["changes_its_mind"].cause
        assert guarantees_of(found)["numbers"].level == "exact"

    @pytest.mark.parametrize("reasons", ["eager", "lazy"])
    def test_a_udf_without_reasoning_mode(self, lineage: Lineage, numbers: str, spark: SparkSession, reasons: Reasons) -> None:
        silent.register(spark)
        found = lineage.run("SELECT silent(id) AS x FROM numbers", reasons=reasons).explain("x = -3")
        assert found.reasons["silent"].to_pylist() == [{"row": 0, "id": 3, "value": -3, "reason": None}]
        assert guarantees_of(found)["silent"].level == found.guarantee.level == "unavailable"
        assert "no reason declared" in guarantees_of(found)["silent"].cause
        assert guarantees_of(found)["numbers"].level == "exact"
        assert found.to_dict()["reasons"]["silent"]["guarantee"]["level"] == "unavailable"
        assert "no reason was given" not in guarantees_of(lineage.derivation(found.id))["silent"].cause

    @pytest.mark.parametrize("reasons", ["eager", "lazy"])
    def test_a_reasoning_mode_that_gives_none(self, lineage: Lineage, numbers: str, spark: SparkSession, reasons: Reasons) -> None:
        laconic.register(spark)
        run = lineage.run("SELECT id, laconic(id) AS x FROM numbers", reasons=reasons)
        found = guarantees_of(run.explain("id IN (3, 4)"))["laconic"]
        assert (found.level, found.cause) == ("unavailable", "the reasoning mode of laconic gave no reason (for 1 of 2 decisions)")
        assert guarantees_of(run.explain("id = 3"))["laconic"].level == "exact"

    def test_a_udf_that_was_never_declared_here(self, lineage: Lineage, numbers: str) -> None:
        plain = F.udf(lambda x: x * 2, "int")

        def pipeline(spark: SparkSession) -> DataFrame:
            return spark.table("numbers").select(plain("id").alias("twice"))

        found = lineage.run(pipeline).explain("twice = 6")
        assert found.sources["numbers"].column("id").to_pylist() == [3]
        assert "no reason declared" in next(one.cause for name, one in guarantees_of(found).items() if name != "numbers")

    def test_another_version_explains_nothing(
        self, lineage: Lineage, numbers: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def declare(limit: int) -> None:
            @reasoned_udf("boolean", name="over_limit")
            def over_limit(x: int) -> bool:
                return x > limit

            @over_limit.with_reason
            def _(x: int) -> tuple[bool, Any]:
                return x > limit, {"limit": limit}

            over_limit.register(spark)

        declare(10)
        run = lineage.run("SELECT id, over_limit(id) AS over FROM numbers")
        declare(11)
        with monkeypatch.context() as patch:
            patch.setenv("AIRFLOW_LINEAGE_LOAD_KEPT_UDFS", "0")
            found = run.explain("id = 11")
        assert found.reasons["over_limit"].column("reason").to_pylist() == [None]
        assert "version" in guarantees_of(found)["over_limit"].cause
        (reason,) = run.explain("id = 11").reasons["over_limit"].column("reason").to_pylist()
        assert '"limit":10' in reason, "the one that decided was kept with the run"
        declare(10)
        assert guarantees_of(run.explain("id = 11"))["over_limit"].level == "exact"


class TestSources:
    def test_a_source_that_vanished(self, lineage: Lineage, numbers: str) -> None:
        run = lineage.run("SELECT id FROM numbers")
        shutil.rmtree(numbers)
        found = run.explain("id = 3")
        assert guarantees_of(found)["numbers"].level == "unavailable"
        assert found.stale

    def test_a_source_that_was_written_again(self, lineage: Lineage, numbers: str, spark: SparkSession) -> None:
        run = lineage.run("SELECT id FROM numbers")
        spark.range(5).selectExpr("CAST(id AS int) AS id", "'new' AS name").write.mode("overwrite").parquet(numbers)
        found = run.explain("id = 3")
        assert guarantees_of(found)["numbers"].level == "unavailable"
        assert found.stale

    def test_a_file_that_was_touched_is_stale(self, lineage: Lineage, numbers: str) -> None:
        run = lineage.run("SELECT id FROM numbers")
        assert run.explain("id = 3").stale == ()
        for file in Path(numbers).glob("*.parquet"):
            os.utime(file, (1_000_000_000, 1_000_000_000))
        assert run.explain("id = 3").stale

    def test_identical_rows_without_a_key_are_a_superset(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        path = str(tmp_path / "twice")
        spark.createDataFrame([(1, "a"), (1, "a"), (2, "b")], "id int, name string").coalesce(1).write.csv(path)

        def pipeline(session: SparkSession) -> DataFrame:
            return session.read.schema("id int, name string").csv(path)

        found = lineage.run(pipeline).explain("id = 1")
        assert found.sources["twice"].num_rows == 2
        assert guarantees_of(found)["twice"].level == "superset"
        assert guarantees_of(lineage.run(pipeline).explain("id = 2"))["twice"].level == "exact"

    def test_a_key_that_is_not_there(self, lineage: Lineage, numbers: str) -> None:
        with pytest.raises(PlanError, match=r"idd.*id, name"):
            lineage.run("SELECT id FROM numbers", keys={"numbers": ["idd"]})
        with pytest.raises(PlanError, match=r"number.*numbers"):
            lineage.run("SELECT id FROM numbers", keys={"number": ["id"]})

    def test_a_key_that_is_not_unique_says_so(self, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
        path = str(tmp_path / "people")
        spark.createDataFrame([(1, "a"), (1, "b")], "id int, name string").write.csv(path)
        frame = spark.read.schema("id int, name string").csv(path)
        run = lineage.run(lambda session: frame, keys={"people": ["id"]})
        found = run.explain("name = 'a'")
        assert guarantees_of(found)["people"].level == "superset"
        assert "not unique" in guarantees_of(found)["people"].cause


class TestPipelines:
    def test_an_operator_without_lineage_is_named(self, lineage: Lineage, numbers: str) -> None:
        with pytest.raises(UnsupportedOperator, match="with replacement"):
            lineage.run(lambda spark: spark.table("numbers").sample(True, 0.5, 1), name="unsupported")
        assert lineage.runs("unsupported") == []

    @pytest.mark.parametrize(
        ("outer", "condition", "what"),
        [
            ("(SELECT * FROM numbers LIMIT 3)", "i.id < n.id", "outer query with limit 3 is not supported"),
            ("(SELECT id + rand() AS id FROM numbers)", "i.id < n.id", r"outer query with π .* \+ rand\(.*\)\) AS id.* is not supported"),
            ("numbers", "i.id < silent(n.id)", "the UDF silent called in a correlated subquery on columns of the outer query"),
            ("numbers", "silent(i.id + n.id) = 1", "the UDF silent called in a correlated subquery on columns of the outer query"),
        ],
    )
    def test_a_correlated_subquery_that_cannot_be_told(
        self, lineage: Lineage, spark: SparkSession, numbers: str, outer: str, condition: str, what: str
    ) -> None:
        silent.register(spark)
        with pytest.raises(UnsupportedOperator, match=what):
            lineage.run(f"SELECT n.id, (SELECT count(*) FROM numbers AS i WHERE {condition}) AS c FROM {outer} AS n", name="correlated")
        assert lineage.runs("correlated") == []

    def test_a_pipeline_must_return_a_frame(self, lineage: Lineage) -> None:
        with pytest.raises(PlanError, match="None"):
            lineage.run(lambda spark: None)

    def test_unknown_options(self, lineage: Lineage, numbers: str) -> None:
        with pytest.raises(PlanError, match="strategy"):
            lineage.run("SELECT 1 AS x", strategy="magic")  # type: ignore[arg-type]
        with pytest.raises(PlanError, match="reasons"):
            lineage.run("SELECT 1 AS x", reasons="never")  # type: ignore[arg-type]

    def test_running_needs_spark(self, store: Store) -> None:
        with pytest.raises(SparkRequired):
            Lineage(store=store).run("SELECT 1")

    def test_an_unknown_run(self, lineage: Lineage) -> None:
        with pytest.raises(RunNotFound):
            lineage.get_run("no such run")

    def test_a_dropped_run(self, lineage: Lineage, numbers: str) -> None:
        run = lineage.run("SELECT id FROM numbers")
        lineage.drop(run.id)
        with pytest.raises(RunNotComplete, match="dropped"):
            lineage.get_run(run.id).explain("id = 1")

    def test_an_output_that_exists_is_not_overwritten(self, lineage: Lineage, numbers: str, tmp_path: Path) -> None:
        out = tmp_path / "out"
        lineage.run("SELECT id FROM numbers", output=str(out))
        with pytest.raises(InvalidOutput, match=re.escape(f"{out} exists already")):
            lineage.run("SELECT id FROM numbers", output=str(out), name="again")
        assert lineage.runs("again") == []
        lineage.run("SELECT id FROM numbers WHERE id < 3", output=f"{out}+overwrite")
        assert lineage.spark is not None
        assert lineage.spark.read.parquet(str(out)).count() == 3


def test_two_runs_at_once(lineage: Lineage, numbers: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda limit: lineage.run(f"SELECT id FROM numbers WHERE id < {limit}", name=f"below {limit}"), (3, 5)))
    assert [run.summary.rows for run in runs] == [3, 5]
    assert runs[0].id != runs[1].id


class TestPostgresOutput:
    def test_a_result_as_a_table(self, lineage: Lineage, numbers: str) -> None:
        url = lineage.store.url
        output = f"{url}#public.written"
        lineage.run("SELECT id, name, array(id) AS a FROM numbers WHERE id < 3", output=output)
        select = "SELECT id, name, a FROM public.written ORDER BY id"
        assert lineage.store.query(select).to_pylist()[2] == {"id": 2, "name": "name 2", "a": "[2]"}
        with pytest.raises(LineageError, match="exists already"):
            lineage.run("SELECT id FROM numbers", output=output)
        lineage.run("SELECT id, name, array(id) AS a FROM numbers WHERE id = 5", output=f"{output}+append")
        assert lineage.store.query(select).num_rows == 4
        lineage.run("SELECT id FROM numbers", output=f"{output}+overwrite")
        assert lineage.store.query("SELECT count(*) AS n FROM public.written").to_pylist() == [{"n": 20}]
        staging = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'lineage_staging%'"
        assert lineage.store.query(staging).num_rows == 0
        assert "password" not in repr(lineage.runs())


class TestStoreThatGoesAway:
    """A server of the test's own, killed at the start, in the middle of the load, and at the end of a run."""

    @pytest.fixture
    def server(self) -> Iterator[Any]:
        home = Path(tempfile.mkdtemp(prefix="lineage-killed-"))
        yield embedded.ensure_running(home), home
        embedded.stop(home)
        shutil.rmtree(home)

    def kill(self, server: Any) -> None:
        os.kill(server[0].pid, signal.SIGKILL)
        time.sleep(0.5)

    def test_at_the_start(self, server: Any) -> None:
        self.kill(server)
        with pytest.raises(StoreUnavailable):
            Lineage(store=server[0].url)

    @pytest.mark.parametrize("stage", ["storing result", "publishing"])
    def test_later(self, server: Any, spark: SparkSession, numbers: str, stage: str, tmp_path: Path) -> None:
        silent.register(spark)
        lineage = Lineage(spark, store=server[0].url)
        kept = set(spark.sparkContext._jsc.getPersistentRDDs())
        before = {row["tableName"] for row in spark.sql("SHOW TABLES LIKE 'lineage_*'").collect()}

        def progress(now: str) -> None:
            if now == stage:
                self.kill(server)

        with pytest.raises(StoreUnavailable) as raised:
            lineage.run("SELECT silent(id) AS x FROM numbers", name="unlucky", progress=progress)
        assert "the next start cleans up" in str(raised.value.__notes__)
        assert {row["tableName"] for row in spark.sql("SHOW TABLES LIKE 'lineage_*'").collect()} == before
        assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= kept
        restarted = embedded.ensure_running(server[1])
        with Lineage(store=restarted.url) as again:
            (failed,) = again.runs("unlucky")
            assert failed.status == "failed"
            assert again.store.query("SELECT tablename FROM pg_tables WHERE schemaname = 'lineage_data'").num_rows == 0
