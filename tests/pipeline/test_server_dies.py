"""The embedded PostgreSQL dies while a run or a derivation is under way: it is started again, and the work goes on. Real kills."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.spark.executing import few_rows
from airflow_lineage_provider.store import Store, embedded
from airflow_lineage_provider.store.revival import Restarts
from airflow_lineage_provider.words import OnStoreFailure, Strategy
from tests.answers import guarantees_of
from tests.in_turn import in_turn, sampled
from tests.pipeline.small_files import view
from tests.store.conftest import sql
from tests.store.test_revival import crash, kill

pytestmark = pytest.mark.spark

ROWS = 60
EXPECTED = [(0, 20), (1, 20), (2, 20)]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="lineage-dies-"))
    yield made
    embedded.stop(made)
    shutil.rmtree(made)


@pytest.fixture
def lineage(home: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lineage]:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(home))
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_SILENCE", "3")
    monkeypatch.delenv("AIRFLOW_LINEAGE_STORE", raising=False)
    with Lineage(spark) as opened:
        yield opened


@pytest.fixture
def calls(spark: SparkSession) -> Any:
    return spark.sparkContext.accumulator(0)


@pytest.fixture
def pipeline(spark: SparkSession, calls: Any, tmp_path: Path) -> str:
    def judged(x: int) -> int:
        calls.add(1)
        return x % 3

    ReasonedUdf(judged, "bigint", name="judged_by_the_living", main_with_reason=lambda x: (x % 3, f"of {x}")).register(spark)
    view(spark, tmp_path, "given", [(i,) for i in range(ROWS)], "id bigint")
    return "SELECT v, count(*) AS n FROM (SELECT judged_by_the_living(id) AS v FROM given) GROUP BY v"


def at(stage: str, home: Path, blow: Callable[[Path], int] = kill) -> Callable[[str], None]:
    """Strikes when a stage begins, once."""
    struck: list[str] = []

    def progress(now: str) -> None:
        if now.startswith(stage) and not struck:
            struck.append(now)
            blow(home)

    return progress


def check(lineage: Lineage, run: Any, out: str, spark: SparkSession) -> None:
    """All is as after an undisturbed run."""
    assert run.summary.status == "complete"
    assert sorted(map(tuple, spark.read.parquet(out).collect())) == EXPECTED
    assert sorted(tuple(row.values()) for row in run.result_table().to_pylist()) == EXPECTED
    made = lineage.store.materializations(run.id)
    assert {name: one.rows for name, one in made.items()} == {"segment_1": ROWS, "result": 3}
    assert lineage.store.read(made["segment_1"]).num_rows == ROWS
    explanation = run.explain("v = 2")
    assert sorted(explanation.sources["given"].column("id").to_pylist()) == [i for i in range(ROWS) if i % 3 == 2]
    assert explanation.guarantee.level == "exact"
    run.close()


@pytest.mark.parametrize(
    ("stage", "blow"),
    in_turn(sampled(["computing segment_1", "storing segment_1", "storing result", "writing", "publishing"], 2), [kill, crash]),
)
def test_a_run_goes_on(
    lineage: Lineage, home: Path, spark: SparkSession, pipeline: str, calls: Any, stage: str, blow: Callable[[Path], int], tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    out = str(tmp_path / "out")
    with caplog.at_level(logging.WARNING, "airflow_lineage_provider"):
        run = lineage.run(pipeline, name=f"{blow.__name__} at {stage}", output=out, progress=at(stage, home, blow))
    check(lineage, run, out, spark)
    assert calls.value == ROWS, "the UDF was called for a row again"
    assert blow is crash or "what it did not answer is asked again" in caplog.text


def test_between_the_partitions_of_a_load(
    lineage: Lineage, home: Path, spark: SparkSession, pipeline: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is killed once some partitions are stored, by the executors, while another waits for that."""
    monkeypatch.setattr(few_rows, "_MUCH", 0)
    lineage = Lineage(spark, store=lineage.store, data="store")  # else the rows are counted before the first is loaded
    stages: list[str] = []
    # (A path that a function holds stands for what is in the file, and is part of its version.)
    gate, folder = str(tmp_path / "gate"), str(tmp_path / "several")

    def slow(x: int) -> int:
        deadline = time.monotonic() + 60
        while x == ROWS - 1 and not os.path.exists(gate) and time.monotonic() < deadline:
            time.sleep(0.05)
        return x % 3

    ReasonedUdf(slow, "bigint", name="judged_by_the_living", main_with_reason=lambda x: (x % 3, f"of {x}")).register(spark)
    spark.table("given").repartitionByRange(5, "id").write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("given")
    loaded: list[int] = []
    done = threading.Event()

    def killer() -> None:
        url = embedded.ensure_running(home).url
        while not loaded and not done.wait(0.02):
            found = sql(url, "SELECT count(*) FROM lineage.loads l JOIN lineage.materializations m ON m.id = l.materialization_id"
                        " JOIN lineage.runs r ON r.id = m.run_id WHERE r.status = 'running'")  # fmt: skip
            if found[0][0]:
                kill(home)
                loaded.append(int(str(found[0][0])))
        Path(gate).touch()

    out = str(tmp_path / "out")
    watching = threading.Thread(target=killer)
    watching.start()
    spark.conf.set("spark.sql.files.openCostInBytes", 1 << 30)  # every file is a partition
    try:
        run = lineage.run(pipeline, output=out, progress=stages.append)
    finally:
        spark.conf.unset("spark.sql.files.openCostInBytes")
        done.set()
        watching.join()
    assert 0 < loaded[0] < 5, "the server died after some of the partitions, and before the last"
    assert [one for one in stages if one.startswith("storing segment_1 again")]
    check(lineage, run, out, spark)


def test_several_times(lineage: Lineage, home: Path, spark: SparkSession, pipeline: str, tmp_path: Path) -> None:
    struck: list[str] = []

    def progress(now: str) -> None:
        if now in ("storing segment_1", "storing result", "publishing"):
            struck.append(now)
            kill(home)

    out = str(tmp_path / "out")
    check(lineage, lineage.run(pipeline, output=out, progress=progress), out, spark)
    assert len(struck) == 3


@pytest.mark.parametrize("on_store_failure", sampled(["keep_result", "fail"]))
def test_a_server_that_dies_again_and_again(
    lineage: Lineage, home: Path, spark: SparkSession, pipeline: str, on_store_failure: OnStoreFailure, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mend = Restarts.mend

    def mended_for_nothing(restarts: Restarts, store: Store, error: BaseException) -> bool:
        found = mend(restarts, store, error)
        if found:
            kill(home)
        return found

    monkeypatch.setattr(Restarts, "mend", mended_for_nothing)
    name, out = f"again and again {on_store_failure}", str(tmp_path / "out")

    def run() -> Any:
        return lineage.run(pipeline, name=name, output=out, progress=at("storing segment_1", home), on_store_failure=on_store_failure)

    if on_store_failure == "fail":
        with pytest.raises(StoreUnavailable, match="after it had been started 3 times"):
            run()
    else:
        kept = run()
        assert (kept.summary.status, sorted(map(tuple, spark.read.parquet(out).collect()))) == ("incomplete", EXPECTED)
        assert "after it had been started 3 times" in kept.lineage_lost
        kept.close()
    monkeypatch.setattr(Restarts, "mend", mend)
    with Store.open() as after:
        (record,) = after.runs(name)
        assert record.status == ("failed" if on_store_failure == "fail" else "incomplete")
        assert sql(after.url, f"SELECT count(*) FROM pg_tables WHERE tablename LIKE '{record.id}%'") == [(0,)]
    assert list((home / "runs").iterdir()) == []


def test_the_pipeline_s_own_failure_is_told_as_it_is(lineage: Lineage, home: Path, spark: SparkSession) -> None:
    def broken(x: int) -> int:
        raise ValueError("no such thing")

    ReasonedUdf(broken, "bigint", name="broken_while_it_dies").register(spark)
    with pytest.raises(LineageError, match="no such thing"):
        lineage.run("SELECT broken_while_it_dies(id) AS x FROM range(3)", name="broken", progress=at("storing", home))
    assert lineage.runs("broken", 1)[0].status == "failed"


class Stages:
    """Counts the stages of a question, and strikes at one of them."""

    def __init__(self, home: Path, strike_at: int = -1) -> None:
        self.home, self.strike_at, self.seen = home, strike_at, 0

    def __call__(self, now: str) -> None:
        if self.seen == self.strike_at:
            kill(self.home)
        self.seen += 1


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun", "full_materialization"]))
def test_a_derivation_goes_on(lineage: Lineage, home: Path, pipeline: str, strategy: Strategy) -> None:
    run = lineage.run(pipeline, strategy=strategy)
    undisturbed = Stages(home)
    wanted = run.explain("v = 1", progress=undisturbed)
    for strike_at in range(undisturbed.seen):
        found = run.explain("v = 1", progress=Stages(home, strike_at))
        assert found.sources["given"].equals(wanted.sources["given"])
        assert found.reasons.keys() == wanted.reasons.keys()
        assert guarantees_of(found) == guarantees_of(wanted)
        assert lineage.derivation(found.id).sources["given"].equals(wanted.sources["given"])
    run.close()


def test_a_derivation_in_spark_and_why_not_go_on(lineage: Lineage, home: Path, pipeline: str, spark: SparkSession) -> None:
    run = lineage.run(pipeline, strategy="function_materialization")
    asked = "id in (4, 5)"
    undisturbed = Stages(home)
    wanted = run.why_not(asked, table="given", progress=undisturbed)
    for strike_at in range(undisturbed.seen):
        found = run.why_not(asked, table="given", progress=Stages(home, strike_at))
        assert (found.fates, found.guarantee, found.copies) == (wanted.fates, wanted.guarantee, wanted.copies)
        assert found.rows.equals(wanted.rows)
    run.close()


def test_results_and_lists_are_read_again(lineage: Lineage, home: Path, pipeline: str) -> None:
    run = lineage.run(pipeline, name="read again")
    kill(home)
    assert lineage.runs("read again")[0].id == run.id
    kill(home)
    assert lineage.get_run(run.id).result_table().num_rows == 3
    kill(home)
    assert sorted(map(tuple, lineage.latest("read again").result.collect())) == EXPECTED
    run.close()
