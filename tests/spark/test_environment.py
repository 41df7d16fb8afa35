"""Installations that cannot work are told apart, with the command that repairs them."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, PySparkConflict, SparkConnectUnsupported
from airflow_lineage_provider.spark import environment
from airflow_lineage_provider.spark.environment import check_pyspark, damaged_files, java_problem, java_version
from airflow_lineage_provider.spark.session import require_classic


def test_this_installation_is_whole() -> None:
    check_pyspark()
    assert java_problem() is None


def make_distribution(folder: Path, name: str, version: str, content: str) -> None:
    (folder / "pyspark").mkdir(exist_ok=True)
    (folder / "pyspark" / "version.py").write_text(content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"pyspark/version.py,sha256={digest},{len(content)}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty site-packages."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    return tmp_path


def test_no_pyspark(installed: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="pip install"):
        check_pyspark()


def test_a_client_alone_has_no_jvm(installed: Path) -> None:
    make_distribution(installed, "pyspark-client", "4.3.0", "client")
    with pytest.raises(EnvironmentProblem, match=r"pyspark-client 4\.3\.0 has no JVM"):
        check_pyspark()


def test_another_version_in_the_same_folder(installed: Path) -> None:
    make_distribution(installed, "pyspark", "4.3.0", "a")
    make_distribution(installed, "pyspark-client", "4.0.1", "b")
    with pytest.raises(PySparkConflict, match=r"pip uninstall .* && pip install .*'pyspark==4\.3\.0'"):
        check_pyspark()


def test_files_of_the_same_version_that_are_not_its_own(installed: Path) -> None:
    make_distribution(installed, "pyspark", "4.3.0", "a")
    check_pyspark()
    (installed / "pyspark" / "version.py").write_text("b")
    assert damaged_files(metadata.distribution("pyspark")) == ["pyspark/version.py"]
    with pytest.raises(PySparkConflict, match=r"pyspark/version\.py"):
        check_pyspark()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no java here", None),
    ],
)
def test_java_versions(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_no_java_and_an_old_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install" in str(java_problem())
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    assert "is version 11" in str(java_problem())
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "/nowhere" in str(java_problem())
    with pytest.raises(EnvironmentProblem):
        environment.check_java()


def test_a_connect_session_is_refused() -> None:
    session = SimpleNamespace(_jvm=None)
    with pytest.raises(SparkConnectUnsupported, match=r"without \.remote"):
        require_classic(session)  # type: ignore[arg-type]
