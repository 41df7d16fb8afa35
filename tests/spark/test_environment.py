"""Installations that cannot work are told apart, with the command that repairs them."""

from __future__ import annotations

import base64
import hashlib
import importlib
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import importlib_metadata
import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, PySparkConflict
from airflow_lineage_provider.spark.environment import (
    REQUIREMENT,
    check_pyspark,
    damaged_files,
    java_problem,
    java_version,
    repair,
    with_java,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.spark
def test_this_installation_is_whole() -> None:
    check_pyspark()
    assert java_problem() is None


def make_distribution(place: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Install a distribution of these files into a site-packages, over what is there, as pip does."""
    info = place / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    with (info / "RECORD").open("w") as record:
        for path, content in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            record.write(f"{path},sha256={digest},{len(content)}\n")
    importlib.invalidate_caches()


def client_files(version: str) -> dict[str, str]:
    return {
        "pyspark/__init__.py": f"# {version}",
        "pyspark/version.py": f'__version__: str = "{version}"',
        "pyspark/sql/session.py": f"# {version}",
    }


def pyspark_files(version: str) -> dict[str, str]:
    return client_files(version) | {"pyspark/core/context.py": f"# {version}"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty site-packages, the only one that imports look in."""
    for name in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    return tmp_path


def test_no_pyspark(installed: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=re.escape("pip install 'pyspark>=4.0,<4.4'")):
        check_pyspark()


def test_a_client_alone_has_no_jvm(installed: Path) -> None:
    make_distribution(installed, "pyspark-client", "4.2.0", client_files("4.2.0"))
    with pytest.raises(EnvironmentProblem, match=r"pyspark-client 4\.2\.0 has no JVM.*pip install 'pyspark==4\.2\.0'"):
        check_pyspark()


@pytest.mark.parametrize("first", ["pyspark", "pyspark-client"])
def test_both_of_one_version_are_one_whole_pyspark(installed: Path, first: str) -> None:
    """Whichever was installed last: the files that both have are the same."""
    files = {"pyspark": pyspark_files("4.2.0"), "pyspark-client": client_files("4.2.0")}
    for name in sorted(files, key=lambda name: name != first):
        make_distribution(installed, name, "4.2.0", files[name])
    check_pyspark()


def test_another_version_over_the_files(installed: Path) -> None:
    make_distribution(installed, "pyspark", "4.3.0", pyspark_files("4.3.0"))
    make_distribution(installed, "pyspark-client", "4.2.0", client_files("4.2.0"))
    with pytest.raises(PySparkConflict) as refused:
        check_pyspark()
    assert "pyspark 4.3.0 and pyspark-client 4.2.0 are installed there" in str(refused.value)
    assert "pyspark/__init__.py, pyspark/version.py, pyspark/sql/session.py are missing or not its own" in str(refused.value)
    assert str(refused.value).endswith("pip install --force-reinstall --no-deps pyspark==4.2.0 pyspark-client==4.2.0")


def test_the_files_decide_and_not_what_else_says_it_is_installed(installed: Path) -> None:
    """As after ``pip install --force-reinstall --no-deps pyspark``: the client's files are gone, its record is not."""
    make_distribution(installed, "pyspark-client", "4.2.0", client_files("4.2.0"))
    make_distribution(installed, "pyspark", "4.3.0", pyspark_files("4.3.0"))
    check_pyspark()


@pytest.mark.parametrize("finder", ["importlib.metadata", "importlib_metadata"])
def test_a_file_that_is_missing(installed: Path, finder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backport's finder, which imports of Airflow install, tells of files that are there alone."""
    if finder == "importlib_metadata":
        monkeypatch.setattr(sys, "meta_path", [importlib_metadata.MetadataPathFinder(), *sys.meta_path])
    make_distribution(installed, "pyspark", "4.3.0", pyspark_files("4.3.0"))
    (installed / "pyspark" / "sql" / "session.py").unlink()
    assert damaged_files(metadata.distribution("pyspark")) == ["pyspark/sql/session.py"]
    with pytest.raises(PySparkConflict, match=r"session\.py is missing.* pip install --force-reinstall --no-deps pyspark==4\.3\.0$"):
        check_pyspark()


def test_a_pyspark_that_nobody_installed(installed: Path) -> None:
    """spark-submit puts its own on the path; a platform's has no records."""
    for path, content in pyspark_files("4.2.0").items():
        (installed / path).parent.mkdir(parents=True, exist_ok=True)
        (installed / path).write_text(content)
    check_pyspark()


@pytest.mark.parametrize("version", ["3.5.4", "4.4.0", "5.0.0"])
def test_a_version_that_is_not_known_to_work(installed: Path, version: str) -> None:
    make_distribution(installed, "pyspark", version, pyspark_files(version))
    with pytest.raises(EnvironmentProblem, match=r"works with PySpark 4\.0 to 4\.3, and .* is " + re.escape(version)):
        check_pyspark()


@pytest.mark.parametrize(
    ("versions", "command"),
    [
        ({"pyspark": "4.3.0"}, "pyspark==4.3.0"),
        ({"pyspark": "3.5.1"}, "pyspark==4.2.0"),
        ({"pyspark": "4.3.0", "pyspark-client": "4.2.0"}, "pyspark==4.2.0 pyspark-client==4.2.0"),
        ({"pyspark": "4.2.1", "pyspark-client": "3.5.4"}, "pyspark==4.2.0 pyspark-client==4.2.0"),
        ({"pyspark": "4.2.0", "pyspark-client": "4.3.0"}, "pyspark==4.3.0 pyspark-client==4.3.0"),
    ],
)
def test_the_repair(versions: dict[str, str], command: str) -> None:
    assert repair(versions) == f"pip install --force-reinstall --no-deps {command}"


def test_the_package_requires_what_the_check_accepts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert REQUIREMENT in project["dependencies"]
    assert {f"{name}==4.2.0" for name in ("pyspark", "pyspark-client")} <= set(project["optional-dependencies"]["airflow"])
    assert repair({"pyspark": "4.3.0", "pyspark-client": "1"}).endswith("pyspark==4.2.0 pyspark-client==4.2.0")


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


def test_java_is_looked_at_where_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("no gateway")

    with monkeypatch.context() as patch:
        patch.setattr("airflow_lineage_provider.spark.environment.java_problem", lambda: None)
        with pytest.raises(RuntimeError):
            with_java(fails)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(EnvironmentProblem, match="/nowhere"):
        with_java(fails)
    assert with_java(lambda: 3) == 3
