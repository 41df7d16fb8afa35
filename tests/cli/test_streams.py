"""Progress on standard error: stages, and how far one has come."""

from __future__ import annotations

import io
import sys

import pytest

from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.progress import SoFar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_in_between_is_no_stage_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    out = Streams(io.StringIO(), quiet=False, traceback=False)
    out.progress("computing")
    out.progress(SoFar("computing: 3 of 8 tasks done"))
    out.progress("publishing")
    out.close_progress()
    said = terminal.getvalue()
    assert said.count("✓ computing") == 1
    assert "✓ computing:" not in said


def test_elsewhere_it_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    out = Streams(io.StringIO(), quiet=False, traceback=False)
    out.progress("computing")
    out.progress(SoFar("computing: 3 of 8 tasks done"))
    out.close_progress()
    assert capsys.readouterr().err.splitlines() == ["computing …", "computing: 3 of 8 tasks done …"]
