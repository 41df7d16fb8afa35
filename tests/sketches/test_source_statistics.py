"""What is known of sources before a run: of the very files that it reads, each looked into once, for averages and for sketches alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.magnitudes import SourceMagnitudes
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion
from airflow_lineage_provider.running import source_statistics
from airflow_lineage_provider.running.source_statistics import SourceStatistics
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from airflow_lineage_provider.sources.files import opened

KINDS = {"shop": "int", "n": "bigint", "s": "string"}
COLUMNS = tuple(e.Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate(KINDS.items()))
SALES = o.Source(relation=Relation(name="sales", kind="files", format="parquet"), output=COLUMNS, columns=tuple(KINDS), leaf=0)
CALL = e.AggregateCall(function="avg", arguments=(COLUMNS[1],), type="double")
AVERAGE = o.Aggregate(child=SALES, keys=(), columns=(e.Alias(child=CALL, attribute=e.Attribute(id=4, name="a", type="double")),))


def version_of(*files: Path) -> FilesVersion:
    """As Spark lists them: nothing in a place is escaped."""
    listed = {f"file:{path}": (path.stat().st_size, path.stat().st_mtime_ns // 1_000_000) for path in files}
    return FilesVersion(count=len(files), bytes=sum(size for size, _ in listed.values()), files=listed)


def file(path: Path, *numbers: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    table = {"shop": pa.array([1] * len(numbers), pa.int32()), "n": list(numbers), "s": ["x"] * len(numbers)}
    parquet.write_table(pa.table(table), path)
    return path


@pytest.fixture
def looked_into(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose footers are read."""
    found: list[str] = []

    def noted(source: o.Source, path: Path) -> Any:
        found.append(path.name)
        return opened(source, path)

    monkeypatch.setattr("airflow_lineage_provider.sources.file_statistics.opened", noted)
    return found


def test_both_are_told_by_one_look(tmp_path: Path, looked_into: list[str]) -> None:
    version, known = version_of(file(tmp_path / "1.parquet", 5, -9), file(tmp_path / "2.parquet", 7)), SourceStatistics({})
    assert known.magnitudes(AVERAGE, lambda _: version) == {0: SourceMagnitudes(3, {"shop": 1, "n": 9})}
    assert known.bounds([(SALES, version)])[0, "n"] == ColumnBounds("-9", "7", has_null=False)
    assert sorted(looked_into) == ["1.parquet", "2.parquet"]


def test_a_place_is_taken_as_it_is_spelled(tmp_path: Path) -> None:
    """Beside a folder whose name has a per cent sign may be one of the name that this would stand for."""
    version = version_of(file(tmp_path / "a%20b" / "1.parquet", 5))
    file(tmp_path / "a b" / "1.parquet", 99)
    known = SourceStatistics({})
    assert known.bounds([(SALES, version)])[0, "n"] == ColumnBounds("5", "5", has_null=False)
    assert known.magnitudes(AVERAGE, lambda _: version) == {0: SourceMagnitudes(1, {"shop": 1, "n": 5})}


def test_of_other_files_than_the_version_has_nothing_is_known(tmp_path: Path) -> None:
    version = version_of(file(tmp_path / "1.parquet", 5))
    file(tmp_path / "1.parquet", 5, 6, 7)
    for found in (version, replace(version, kept_rows="doubtful"), replace(version, files=None), NoVersion()):
        assert SourceStatistics({}).bounds([(SALES, found)]) == {}
        assert SourceStatistics({}).magnitudes(AVERAGE, lambda _, told=found: told) == {}  # type: ignore[misc]


def test_what_is_not_known_whole_has_no_bounds(tmp_path: Path) -> None:
    version = replace(version_of(file(tmp_path / "1.parquet", 5)), complete=False)
    assert SourceStatistics({}).bounds([(SALES, version)]) == {}


def test_a_run_waits_for_so_many_files_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_into: list[str]) -> None:
    monkeypatch.setattr(source_statistics, "_MOST_WAITED_FOR", 1)
    version = version_of(file(tmp_path / "1.parquet", 5), file(tmp_path / "2.parquet", 7))
    known = SourceStatistics({})
    assert known.magnitudes(AVERAGE, lambda _: version) == {}
    assert looked_into == []
    assert known.bounds([(SALES, version)])[0, "n"] == ColumnBounds("5", "7", has_null=False)
