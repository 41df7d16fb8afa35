"""Listings of local files, with no session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.spark import local_files
from airflow_lineage_provider.spark.local_files import file_differences, files_version, list_local


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    for name in ("a.parquet", "_SUCCESS", ".a.crc", "_metadata", "x._COPYING_", "_part=1/b", "inner/c", "_temporary/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    root = [f"file:{tmp_path}"]
    assert {Path(uri).name for uri in list_local(root, nested=False)} == {"a.parquet", "_metadata"}
    assert {Path(uri).name for uri in list_local(root, nested=True)} == {"a.parquet", "_metadata", "b", "c"}
    assert {Path(uri).name for uri in list_local(root, nested=True, pattern="*.parquet")} == {"a.parquet"}
    assert list_local([f"file:{tmp_path}/nothing"], nested=True) == {}


@pytest.mark.parametrize("uri", ["file:/a b/é%20", "file:///a b/é%20"])
def test_uris_are_not_unescaped(uri: str) -> None:
    assert local_path(uri) == Path("/a b/é%20")


def test_many_files_are_told_by_a_digest() -> None:
    files = {f"file:/t/{n}": (n, n) for n in range(local_files.LISTED_FILES + 1)}
    version = files_version(files)
    assert version.files is None
    assert file_differences(version, files) == ()
    assert file_differences(version, files | {"file:/t/3": (3, 99)}) == ("some of the 1,001 files were written again",)
    assert file_differences(version, files | {"file:/t/new": (5, 5)})[0].startswith("1,002 files with")


def test_a_long_list_of_differences_is_cut() -> None:
    files = {f"file:/t/{n}": (n, n) for n in range(20)}
    differences = file_differences(files_version(files), {})
    assert len(differences) == 6
    assert differences[-1] == "and 15 more"


def test_new_files_do_not_count_where_the_reader_chose_files() -> None:
    version = files_version({"file:/t/1": (1, 1)}, complete=False)
    assert file_differences(version, {"file:/t/1": (1, 1), "file:/t/2": (1, 1)}) == ()


def test_no_pyspark_is_needed() -> None:
    modules = "airflow_lineage_provider.spark.local_files, airflow_lineage_provider.spark.rereading.sources"
    code = f"import sys, {modules}; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
