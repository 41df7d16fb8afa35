"""The command over the stand-in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    pass
from tests.cli.stand_in import FakeLineage


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple[Any, ...]]]:
    """The command over the stand-in, in an empty folder; the calls of the facade are recorded."""

    @contextmanager
    def session(master: str | None, conf: Any, out: Any) -> Iterator[str]:
        FakeLineage.calls.append(("spark", master, dict(conf)))
        yield "a session"

    FakeLineage.calls.clear()
    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(lambda spark: None), raising=False)
    monkeypatch.setattr(FakeLineage, "on_run", staticmethod(lambda pipeline: None), raising=False)
    monkeypatch.setattr("airflow_lineage_provider.pipeline.Lineage", FakeLineage)
    for module in ("opened", "verbs"):
        monkeypatch.setattr(f"airflow_lineage_provider.cli.{module}.spark_session", session)
    monkeypatch.setattr("airflow_lineage_provider.cli.verbs.register_udfs", lambda spark: None)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("airflow_lineage_provider.named_modules._FOLDERS", [])
    before = set(sys.modules)
    yield FakeLineage.calls
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
