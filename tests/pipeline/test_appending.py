"""An append and the run's record are one step: what a run that failed has appended is taken out, and a retry adds its rows once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, running
from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import view
from tests.store.conftest import sql

pytestmark = pytest.mark.spark
PIPELINE = "SELECT rid, g FROM w"


class Place:
    """An output that is appended to, and how many rows are there."""

    def __init__(self, output: str, count: Callable[[], int]) -> None:
        self.output = output
        self.count = count


@pytest.fixture(params=["files", "table", "postgres"])
def place(request: pytest.FixtureRequest, spark: SparkSession, store: Store, tmp_path: Path) -> Iterator[Place]:
    name = f"appended_{tmp_path.name}"
    match request.param:
        case "files":
            folder = str(tmp_path / "out")
            yield Place(f"{folder}+append", lambda: spark.read.parquet(folder).count())
        case "table":
            yield Place(f"table:{name}+append", lambda: spark.table(name).count())
            spark.sql(f"DROP TABLE IF EXISTS {name}")
        case "postgres":
            quoted = f'public."{name}"'
            yield Place(f"{store.url}#{name}+append", lambda: int(str(sql(store.url, f"SELECT count(*) FROM {quoted}")[0][0])))
            sql(store.url, f"DROP TABLE IF EXISTS {quoted}")


@pytest.fixture
def w(spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b"), (2, "b")], "rid int, g string")


class Killed(BaseException):
    """The driver's end, between writing the output and publishing the run."""


def killed(spark: SparkSession, url: str, output: str) -> None:
    """A run whose driver is gone after the output was written: nobody records the failure, or cleans up."""
    with pytest.MonkeyPatch.context() as patch, Store.open(url) as own:
        patch.setattr(Store, "publish_run", _dies)
        patch.setattr(running, "_record_failure", lambda *_: False)
        with pytest.raises(Killed):
            Lineage(spark, store=own).run(PIPELINE, name="killed", output=output)


def _dies(*_: object, **__: object) -> None:
    raise Killed


def test_a_retry_after_a_kill_adds_its_rows_once(lineage: Lineage, spark: SparkSession, place: Place, w: None) -> None:
    lineage.run(PIPELINE, output=place.output).close()
    assert place.count() == 3
    killed(spark, lineage.store.url, place.output)
    assert place.count() == 6, "the output was written"
    for times in (2, 3):
        run = lineage.run(PIPELINE, output=place.output)
        assert place.count() == 3 * times, "what complete runs have appended stays, what the killed one has does not"
        run.close()
    assert lineage.runs("killed", 1)[0].status == "failed"


def test_a_table_does_not_keep_the_name_of_who_made_it(lineage: Lineage, spark: SparkSession, w: None) -> None:
    lineage.run(PIPELINE, output="table:named_after+append").close()
    spark.sql("INSERT INTO named_after SELECT * FROM w")
    files = sorted(Path(name.removeprefix("file:")).name[:7] for name in spark.table("named_after").inputFiles())
    assert set(files) == {"lineage", "part-00"}
    spark.sql("DROP TABLE named_after")


def test_the_first_append_too(lineage: Lineage, spark: SparkSession, place: Place, w: None) -> None:
    killed(spark, lineage.store.url, place.output)
    assert place.count() == 3
    lineage.run(PIPELINE, output=place.output).close()
    assert place.count() == 3


def test_a_run_that_cannot_be_published_takes_back_what_it_appended(
    lineage: Lineage, place: Place, w: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage.run(PIPELINE, output=place.output).close()

    def ended_by_another(store: Store, run_id: str, **_: object) -> None:
        sql(store.url, f"DELETE FROM lineage.outputs WHERE run_id = '{run_id}'")  # who held the run for dead found no rows yet
        raise Killed

    monkeypatch.setattr(Store, "publish_run", ended_by_another)
    with pytest.raises(Killed) as raised:
        lineage.run(PIPELINE, output=place.output)
    assert getattr(raised.value, "__notes__", []) == []
    assert place.count() == 3


def test_rows_that_were_changed_since_are_nobody_s_to_delete(lineage: Lineage, spark: SparkSession, w: None) -> None:
    output = f"{lineage.store.url}#changed_since+append"
    killed(spark, lineage.store.url, output)
    sql(lineage.store.url, "UPDATE public.changed_since SET g = 'seen' WHERE rid = 1")
    with pytest.raises(LoadFailed, match=r"appended 3 rows.*2 are as it wrote them.*airflow-lineage drop"):
        lineage.run(PIPELINE, output=output)
    assert sql(lineage.store.url, "SELECT count(*) FROM public.changed_since") == [(3,)]
    lineage.drop(lineage.runs("killed", 1)[0].id)
    lineage.run(PIPELINE, output=output).close()
    assert sql(lineage.store.url, "SELECT count(*) FROM public.changed_since") == [(6,)]
    sql(lineage.store.url, "DROP TABLE public.changed_since")
