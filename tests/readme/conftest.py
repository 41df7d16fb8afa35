"""A clone after ``make demo``, and somebody in it who has read the README."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider.cli import main
from tests.readme.reader import Reader
from tests.readme.snippets import snippets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, lineage_home: Path, patch: pytest.MonkeyPatch) -> Path:
    """A clone after ``make demo``: its store is the tests' own."""
    place = tmp_path_factory.mktemp("clone")
    (place / ".demo").mkdir()
    (place / ".demo" / "store").symlink_to(lineage_home)
    (place / ".venv").symlink_to(sys.prefix)
    for part in ("udfs", "dags"):
        (place / part).symlink_to(ROOT / part)
    patch.chdir(place)
    patch.setattr(sys, "path", list(sys.path))
    patch.setattr("airflow_lineage_provider.named_modules._FOLDERS", [])
    return place


@pytest.fixture(scope="module")
def shell(spark: SparkSession, patch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The console command, in this process and on this session."""

    @contextmanager
    def session(*_: Any) -> Iterator[SparkSession]:
        yield spark

    for module in ("opened", "verbs"):
        patch.setattr(f"airflow_lineage_provider.cli.{module}.spark_session", session)

    def run(line: str) -> None:
        assert main(shlex.split(line, comments=True)[1:]) == 0, line

    return run


@pytest.fixture(scope="module")
def newcomer(spark: SparkSession, store: object, folder: Path, shell: Callable[[str], None]) -> Reader:
    """Has an empty Python session on this Spark."""
    return Reader({"__name__": "__main__", "spark": spark}, folder, shell, str)


@pytest.fixture(scope="module")
def who_read_the_readme(newcomer: Reader) -> Reader:
    """Has run the README's Python."""
    reader = replace(newcomer, names=dict(newcomer.names))
    reader.read(README, [one for one in snippets(README) if one.kind == "python"])
    return reader


@pytest.fixture
def reader(who_read_the_readme: Reader, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Iterator[Reader]:
    """Goes on from there, in a session of its own; what a page adds to the README's data is gone for the next one."""
    capsys.readouterr()
    loans = who_read_the_readme.folder / "loans"
    there = set(loans.iterdir())
    yield replace(who_read_the_readme, names=dict(who_read_the_readme.names), printed=lambda: capsys.readouterr().out)
    if added := set(loans.iterdir()) - there:
        for file in added:
            file.unlink()
        spark.catalog.refreshTable("loans")
