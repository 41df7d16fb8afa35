"""`safe`: which columns a sketch may be of; no store is opened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.answers.safe_columns import SafeColumns
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.sketches.columns import SafeColumn
from tests.cli.stand_in import named

pytest.importorskip("z3")

FOUND = SafeColumns("best", (SafeColumn(0, "orders", "key", "bigint", True, "group", "α key", "each group is whole"),))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    given: list[Any] = []

    def judged(spark: Any, pipeline: Any, **options: Any) -> SafeColumns:
        given.append((spark, pipeline, options))
        return FOUND

    monkeypatch.setattr("airflow_lineage_provider.running.safe_columns.judged_columns", judged)
    return given


def test_safe(asked: list[Any], calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("best.sql").write_text("SELECT 1 AS x")
    given = ["best.sql", "--param", "year=2025", "--key", "orders=key,line", "--master", "local[1]"]
    assert main(["safe", *given]) == 0
    out = capfd.readouterr().out
    assert "orders (source 0)" in out
    assert "each group is whole" in out
    options = {"name": "best", "params": {"year": 2025}, "keys": {"orders": ("key", "line")}}
    assert asked == [("a session", "SELECT 1 AS x", options)]
    assert named(calls, "spark") == [("spark", "local[1]", {})]
    assert not named(calls, "open")
    assert main(["safe", *given, "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == FOUND.to_dict()


def test_without_z3_no_spark_is_started(
    asked: list[Any], calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("best.sql").write_text("SELECT 1 AS x")
    monkeypatch.setitem(sys.modules, "z3", None)
    assert main(["safe", "best.sql"]) != 0
    assert "airflow-provider-lineage[sketches]" in capfd.readouterr().err
    assert not asked
    assert not named(calls, "spark")
