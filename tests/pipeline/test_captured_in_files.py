"""Captured lineage in files that only Spark reaches, and beside what a run stored: the same answers as from the store."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage, Run
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.deriving.captured_parts import _parts
from airflow_lineage_provider.errors import LoadFailed, RecordDamaged, SparkRequired
from airflow_lineage_provider.store import Store, home_rows
from tests.pipeline.test_captured import Q1, Q4, answers, behind, folder  # noqa: F401  (the tables of these queries)

pytestmark = pytest.mark.spark


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Path:
    """A folder that Hadoop's ViewFs has as ``viewfs://indexes/stored``, which stands for S3 and HDFS."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_BYTES", "0")
    monkeypatch.setenv("AIRFLOW_LINEAGE_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "stored"
    made.mkdir()
    spark._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.indexes.link./stored", f"file://{made}")
    return made


def test_a_file_system_that_only_spark_reaches(spark: SparkSession, store: Store, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lineage = Lineage(spark, store=store, data="viewfs://indexes/stored")
    run = lineage.run(Q4, name="captured away", capture="eager")
    run.close()
    (written,) = place.glob(f"{run.id}/captured-*/indexes")
    known = Lineage(store=store).get_run(run.id)
    assert known.index is not None
    assert known.index.in_files
    assert known.index.bytes == written.stat().st_size
    with pytest.raises(SparkRequired, match=r"in viewfs://indexes/stored/.*/indexes is read through Spark"):
        known.backward("true")
    found = answers(lineage.get_run(run.id))
    # What this host has by now needs no Spark, in another process either.
    _parts._kept.clear()
    assert sorted(map(len, behind(known, "true"))) == [8, 8]
    assert all(one.engine.startswith("index: ") for one in known.backward("true").values())
    # From the store it is the same.
    plain = Lineage(spark, store=store, data="store").get_run(run.id)
    plain.capture()
    assert plain.index is not None
    assert not plain.index.in_files
    assert written.parent.name in {name.rpartition("/")[2] for name, _ in store.discarded_folders()}
    lineage._sweep()
    assert not (place / run.id).exists(), "what was captured before stands nowhere any more"
    assert answers(plain) == found
    lineage.get_run(run.id).capture()
    (written,) = place.glob(f"{run.id}/captured-*/indexes")
    assert main(["index", run.id, "--store", store.url, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["captured"]["in_files"] is True
    whole = written.read_bytes()
    # (ViewFs has checksums of its own beside local files: without them it reads what is there.)
    for other in written.parent.glob(".*.crc"):
        other.unlink()
    for damaged in (whole[:-1], whole[:20] + bytes([whole[20] ^ 1]) + whole[21:], None):
        _parts._kept.clear()
        written.unlink()
        if damaged is not None:
            written.write_bytes(damaged)
        with pytest.raises(RecordDamaged, match=r"in viewfs://indexes/stored/.*/indexes (is gone|is damaged|has .* were written)"):
            answers(lineage.get_run(run.id))
        written.write_bytes(whole)
    assert answers(lineage.get_run(run.id)) == found
    shutil.rmtree(place / run.id)
    (place / run.id).write_text("in the way")
    blocked = lineage.get_run(run.id)
    with pytest.raises(LoadFailed, match="captured lineage cannot be written to viewfs://indexes/stored/"):
        blocked.capture()
    (place / run.id).unlink()
    blocked.capture()
    assert answers(blocked) == found
    lineage.drop(run.id)
    assert not (place / run.id).exists()


def test_all_that_is_captured_stands_in_the_file(spark: SparkSession, store: Store, place: Path) -> None:
    """Values, cubes and witnesses beside the indexes: where the run's rows may stand, and in the home of the embedded server."""
    lineage, bare = Lineage(spark, store=store, data=str(place)), Lineage(store=store)
    parts = CaptureTable(partition_by=["s_id"], cube=[Cube(by=["i_id"], measures=["count(*)", "sum(num)"])])
    wanted = Capture(tables={"sales": parts, "item": CaptureTable(granularity=["category"]), "store": CaptureTable(where="state = 'CA'")})

    def told(run: Run, capture: Capture) -> object:
        _parts._kept.clear()
        rows = run.backward("true", "sales")
        cells = rows.aggregate(by=["i_id"], measures=["count(*)", "sum(num)"]).to_pylist()
        some = rows.where("s_id = '01'").to_arrow().to_pylist()
        together = sorted(map(str, run.witnesses("true").to_arrow().to_pylist())) if capture.witnesses else None
        return sorted(map(str, cells)), some, together

    for capture in (Capture(witnesses=True), wanted):
        run = lineage.run(Q1, name="captured beside", capture=capture)
        run.close()
        known = bare.get_run(run.id)
        assert known.index is not None
        assert known.index.in_files
        (written,) = place.glob(f"{run.id}/captured-*/indexes")
        found = told(known, capture)
        written.rename(written.with_name("away"))
        assert told(known, capture) == found, "out of the cache"
        written.with_name("away").rename(written)
        # Captured by a process without Spark it stands beside the server; and traced it is the same.
        again = known.capture(tables=capture.tables, witnesses=capture.witnesses)
        assert again.in_files
        assert not (place / run.id).exists()
        assert (store.home / home_rows.FOLDER / run.id).exists()
        assert told(known, capture) == found
        known.forget_captured()
        assert not (store.home / home_rows.FOLDER / run.id).exists()
        assert told(lineage.get_run(run.id), capture) == found
