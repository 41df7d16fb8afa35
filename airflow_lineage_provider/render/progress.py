"""The stages of long work, shown where a person waits for it: a terminal or a notebook. Anywhere else nothing is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.answers.values import seconds_text, visible
from airflow_lineage_provider.progress import Progress, unwatched

if TYPE_CHECKING:
    from rich.console import Console


class _Line(Protocol):
    """One line that is written over and over, and stands still in the end."""

    def say(self, text: str) -> None: ...

    def end(self, text: str) -> None: ...


@contextmanager
def watched(progress: Progress | bool | None, what: str) -> Iterator[Progress]:
    """What is told the stages of a piece of work, called ``what`` when it is done.

    ``None`` shows them where there is a terminal or a notebook, ``True`` on standard error wherever that goes, ``False`` nowhere; a
    function is called with each.
    """
    if callable(progress):
        yield progress
        return
    line = _line(progress)
    if line is None:
        yield unwatched
        return
    started = time.perf_counter()
    try:
        yield lambda stage: line.say(f"{visible(stage)} …")
    except BaseException:
        line.end(f"✗ {what}  {seconds_text(time.perf_counter() - started)}")
        raise
    line.end(f"✓ {what}  {seconds_text(time.perf_counter() - started)}")


def _line(wanted: bool | None) -> _Line | None:
    if wanted is False:
        return None
    if in_notebook():
        return _NotebookLine()
    if sys.stderr is not None and sys.stderr.isatty():
        return _TerminalLine()
    return _PlainLine() if wanted else None


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook. (Whoever runs one has IPython imported; nobody else should pay for it.)"""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class _NotebookLine:
    """An output of the cell, updated in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def say(self, text: str) -> None:
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    end = say


class _TerminalLine:
    """A spinner that goes away; the last line stays."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(stderr=True, highlight=False)
        self._status: Any = None

    def say(self, text: str) -> None:
        from rich.text import Text

        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        self._status.update(Text(text, style="dim"))

    def end(self, text: str) -> None:
        from rich.text import Text

        if self._status is not None:
            self._status.stop()
        self._console.print(Text(text, style="dim"))


class _PlainLine:
    """A line for each stage."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    end = say
