"""Executors in processes of their own, of a standalone cluster: two workers, dynamic allocation, speculation, some that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving.stored_files import paths_of
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of
from tests.clusters import ROOT, environment, standalone
from tests.in_turn import in_pairs
from tests.pipeline.cluster_driver import HANGS, ROWS
from tests.web.conftest import database
from udfs.paper_credit_exam import credit_exam

# Three JVMs start one after the other: how long that takes says what else the machine does, and nothing of this package.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]


@pytest.fixture
def store(lineage_home: Path) -> Iterator[Store]:
    """A database of its own: what other tests left would be taken for left over."""
    with Store.open(database(lineage_home, "clusters")) as opened:
        yield opened


def without_the_package(folder: Path) -> str:
    """A Python that has all that this one has, but for what is installed by a path (as this checkout is)."""
    venv.create(folder, with_pip=False)
    there = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (there / "others.pth").write_text(sysconfig.get_path("purelib"))
    return str(folder / "bin" / "python")


@in_pairs  # (`tests.airflow.test_spark_submit` has a task on such a cluster)
def test_executors_without_the_package(store: Store, tmp_path: Path) -> None:
    python = without_the_package(tmp_path / "bare")
    missing = subprocess.run([python, "-c", "import airflow_lineage_provider"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No module named 'airflow_lineage_provider'" in missing.stderr
    executors = environment(PYSPARK_PYTHON=python)
    del executors["PYTHONPATH"]
    with standalone(tmp_path, 2, executors) as cluster:
        command = [sys.executable, "-m", "tests.pipeline.cluster_driver", cluster.master, str(tmp_path / "data"), store.url]
        done = subprocess.run(command, cwd=ROOT, env=environment(PYSPARK_PYTHON=python), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "they are sent it" in done.stderr
    assert "rows go by way of the driver" in done.stderr
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    assert answer["kept out"] == [True, False]
    assert answer["read"] == ROWS
    amounts = [(200 * (n % 40), credit_exam(1000 + n % 700, n % 31, 200 * (n % 40))) for n in range(ROWS)]
    assert answer["stored"] == [list(one) for one in sorted(set(amounts))]
    assert answer["same"]
    assert answer["guarantees"] == ["exact"]
    assert answer["lost"] == 0
    assert answer["executors"] >= 2
    assert answer["rejected"] == [answer["sources"]] == [answer["reasons"]] == [sum(judge == "Reject" for _, judge in amounts)]
    expected = sum(amount == 7800 and judge == "Reject" for amount, judge in amounts)
    assert expected > 0
    # A second attempt, of a task that did not fail: it was the first to end, and what it loaded stands alone.
    assert answer["attempts"] == {"0.0 hangs": "", "0.1 goes on": ""}
    assert answer["seconds"] < HANGS
    assert set(answer["ways"]) == {"loading_partitions"}
    *counts, worth = answer["hanging"]
    assert counts == [ROWS, expected, expected]
    assert [one.split(":")[0] for one in worth] == ["reasons.hangs_once"]  # a UDF of Spark's own, which has no reasoning mode
    assert answer["left"] == []
    # An executor that had sent rows of a partition, and one whose partitions are stored.
    assert answer["loading"].startswith("COPY ")
    assert 0 < answer["then lost"][0] < answer["then lost"][1]
    assert answer["compared"]
    assert answer["struck"] == [ROWS, expected, expected, []]
    assert answer["struck left"] == []
    # Each attempt had its file open; one of them was committed.
    written = answer["in files"]
    assert written["attempts"] == {"0.0 dies": "part-00000", "0.1 goes on": "part-00000", "1.0 hangs": "", "1.1 goes on": ""}
    assert written["lost"] > 0
    assert written["seconds"] < HANGS
    assert written["found"] == answer["hanging"]
    assert written["left"] == []
    check_in_files(store, written["run"], amounts, expected)


def check_in_files(store: Store, run: str, amounts: list[tuple[int, str]], expected: int) -> None:
    """The files have the rows, each once; without Spark they answer what Spark's driver was told."""
    stored = store.materializations(run)
    assert {sum(pq.read_metadata(path).num_rows for path in paths_of(one)) for one in stored.values()} == {ROWS}
    at = [[column.name for column in stored["result"].columns].index(name) for name in ("amount", "judge")]
    rows = pa.concat_tables(pq.read_table(path) for path in paths_of(stored["result"]))
    assert sorted(zip(*(rows.column(f"c{one}").to_pylist() for one in at), strict=True)) == sorted(amounts)
    with Lineage(store=store) as lineage:
        found = lineage.get_run(run).explain("judge = 'Reject' AND amount = 7800", max_rows=ROWS)
    assert (found.target.num_rows, found.sources["applications"].num_rows) == (expected, expected)
    assert guarantees_of(found)["applications"].level == "exact"
