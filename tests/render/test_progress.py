"""Stages are shown to whoever waits at a terminal or in a notebook, and to nobody else."""

from __future__ import annotations

import io
import sys
import types
from typing import Any

import pytest

from airflow_lineage_provider.render.progress import in_notebook, watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Notebook(types.ModuleType):
    """What a kernel has imported: `display` with handles that are updated."""

    def __init__(self, kernel: Any = "a kernel") -> None:
        super().__init__("IPython")
        self.outputs: list[list[str]] = []
        self.get_ipython = lambda: types.SimpleNamespace(kernel=kernel)

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        output = [data["text/plain"]]
        self.outputs.append(output)
        return types.SimpleNamespace(update=lambda data, raw: output.append(data["text/plain"]))


def work(progress: Any = None) -> None:
    with watched(progress, "explain loans") as told:
        told("tracing")
        told("reading\x1b reasons")


def test_silent_where_nobody_waits(capfd: pytest.CaptureFixture[str]) -> None:
    work()
    work(False)
    assert capfd.readouterr() == ("", "")


def test_shown_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    work()
    assert "✓ explain loans" in terminal.getvalue()
    assert "\x1b reasons" not in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    work(False)
    assert terminal.getvalue() == ""


def test_one_output_of_a_notebook_is_updated(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    work()
    ((first, second, last),) = notebook.outputs
    assert (first, second) == ("tracing …", "reading\\x1b reasons …")
    assert last.startswith("✓ explain loans  ")
    assert capfd.readouterr() == ("", "")


def test_a_shell_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", Notebook(kernel=None))
    assert not in_notebook()


def test_what_failed_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    def fail() -> None:
        with watched(None, "run loans") as told:
            told("reading the plan")
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert "✗ run loans" in terminal.getvalue()


def test_a_function_is_told_all(capfd: pytest.CaptureFixture[str]) -> None:
    stages: list[str] = []
    work(stages.append)
    assert stages == ["tracing", "reading\x1b reasons"]
    assert capfd.readouterr().err == ""


def test_on_request_anywhere(capfd: pytest.CaptureFixture[str]) -> None:
    work(True)
    assert capfd.readouterr().err.startswith("tracing …\nreading")
