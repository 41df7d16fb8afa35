"""An append and the run's record are one step: what a run that failed has appended is taken out, and a retry adds its rows once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import InvalidOption, LoadFailed
from airflow_lineage_provider.running import run as running
from airflow_lineage_provider.store import Store
from tests.in_turn import in_turn, sampled
from tests.pipeline.small_files import view
from tests.store.conftest import sql

pytestmark = pytest.mark.spark
PIPELINE = "SELECT rid, g FROM w"
PLACES = ("files", "table", "postgres")


def some(first: str) -> pytest.MarkDecorator:
    """One place: of what is tried in all of them above. All with ``PAIRS=all``."""
    return pytest.mark.parametrize("place", sampled([first, *(one for one in PLACES if one != first)], one_in=len(PLACES)), indirect=True)


class Place:
    """An output that is appended to, and how many rows are there."""

    def __init__(self, output: str, count: Callable[[], int]) -> None:
        self.output = output
        self.count = count


@pytest.fixture(params=PLACES)
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


def killed(spark: SparkSession, url: str, output: str, at: str = "publish_run", **options: Any) -> None:
    """A run whose driver is gone after the output was written: nobody records the failure, or cleans up."""
    with pytest.MonkeyPatch.context() as patch, Store.open(url) as own:
        patch.setattr(Store, at, _dies)
        patch.setattr(running, "record_failure", lambda *_: False)
        with pytest.raises(Killed):
            Lineage(spark, store=own).run(PIPELINE, name="killed", output=output, **options)


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


@some("files")
def test_the_first_append_too(lineage: Lineage, spark: SparkSession, place: Place, w: None) -> None:
    killed(spark, lineage.store.url, place.output)
    assert place.count() == 3
    lineage.run(PIPELINE, output=place.output).close()
    assert place.count() == 3


@some("table")
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


@some("postgres")
def test_what_is_appended_as_one_key_is_replaced(lineage: Lineage, spark: SparkSession, place: Place, w: None) -> None:
    for times in (1, 2, 3):  # a task that is cleared, or whose worker died before it could say that it had succeeded
        lineage.run(PIPELINE, output=place.output, append_key="january").close()
        assert place.count() == 3
        assert times == 3 or lineage.runs(limit=1)[0].status == "complete"
    lineage.run(PIPELINE, output=place.output, append_key="february").close()
    lineage.run(PIPELINE, output=place.output).close()
    assert place.count() == 9
    lineage.run("SELECT rid, g FROM w WHERE rid = 1", output=place.output, append_key="january").close()
    assert place.count() == 7, "rows of other keys, and of none, stay"


@pytest.mark.parametrize(("place", "at"), in_turn(PLACES, ["publish_run", "settle_append"]), indirect=["place"])
def test_a_try_that_dies_while_it_replaces(lineage: Lineage, spark: SparkSession, place: Place, w: None, at: str) -> None:
    lineage.run(PIPELINE, output=place.output, append_key="k").close()
    killed(spark, lineage.store.url, place.output, at, append_key="k")
    lineage.run(PIPELINE, output=place.output, append_key="k").close()
    assert place.count() == 3


@some("files")
def test_a_driver_that_keeps_its_result_and_dies(lineage: Lineage, spark: SparkSession, place: Place, w: None) -> None:
    """Nobody knows whether it ended well: its rows stay, until the same is appended again."""
    killed(spark, lineage.store.url, place.output, on_store_failure="keep_result", append_key="k")
    lineage.run(PIPELINE, output=place.output, append_key="another").close()
    assert place.count() == 6
    lineage.run(PIPELINE, output=place.output, append_key="k").close()
    assert place.count() == 6


def test_a_key_is_for_what_is_appended(lineage: Lineage, w: None, tmp_path: Path) -> None:
    for output in (None, str(tmp_path / "out"), f"{tmp_path}/out+overwrite"):
        with pytest.raises(InvalidOption, match=r"append_key='k' is for an output that is appended to"):
            lineage.run(PIPELINE, output=output, append_key="k")
    for key in ("", " ", 7):
        with pytest.raises(InvalidOption, match="append_key"):
            lineage.run(PIPELINE, output=f"{tmp_path}/out+append", append_key=key)  # type: ignore[arg-type]


DRIVER = """
import os, signal, sys
from pyspark.sql import SparkSession
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store

url, output, moment = sys.argv[1:]


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "written":
    Store.publish_run = die
elif moment == "replacing":
    Store.settle_append = die
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
Lineage(spark, store=url).run("SELECT id FROM range(3)", output=output, append_key="task", progress=False)
"""


@pytest.mark.parametrize(("kind", "moment"), sampled([("files", "written"), ("postgres", "replacing")], one_in=2))
def test_a_worker_that_is_killed_appends_once(lineage: Lineage, spark: SparkSession, kind: str, moment: str, tmp_path: Path) -> None:
    """The process is killed: once it has written, and when it replaces what a try before it has published and not told of.

    Each takes a driver of its own (`make pairs` has both); that every output bears an end at each of these moments is said above, in this
    process.
    """
    url, table, folder = lineage.store.url, f"killed_{tmp_path.name}", str(tmp_path / "out")
    output = f"{folder}+append" if kind == "files" else f"{url}#{table}+append"

    def count() -> int:
        if kind == "files":
            return spark.read.parquet(folder).count()
        return int(str(sql(url, f'SELECT count(*) FROM public."{table}"')[0][0]))

    if moment == "replacing":
        lineage.run("SELECT id FROM range(3)", output=output, append_key="task").close()
    driver = subprocess.run([sys.executable, "-c", DRIVER, url, output, moment], capture_output=True, text=True, timeout=180)
    assert driver.returncode == -signal.SIGKILL, driver.stderr[-2000:]
    assert count() == 3
    lineage.run("SELECT id FROM range(3)", output=output, append_key="task").close()
    assert count() == 3
    sql(url, f'DROP TABLE IF EXISTS public."{table}"')
