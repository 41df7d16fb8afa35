"""Standard output is for the answer alone; everything else, be it a pipeline's print() or Spark's, goes to standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from airflow_lineage_provider.answers.values import seconds_text, visible
from airflow_lineage_provider.progress import SoFar

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status

FILE_WIDTH = 140


class Streams:
    """Where a verb writes: `answer` and `answer_json` to standard output, the rest to standard error."""

    def __init__(self, answer: TextIO, *, quiet: bool, traceback: bool) -> None:
        self.traceback = traceback
        self._answer = answer
        self._quiet = quiet
        self._status: Status | None = None
        self._stage: tuple[str, float] | None = None
        self._consoles: dict[str, Console] = {}

    @property
    def console(self) -> Console:
        """Standard output as rich has it."""
        self.close_progress()
        return self._console("answer", self._answer)

    def answer(self, *parts: RenderableType) -> None:
        """Print the answer for people."""
        for part in parts:
            self.console.print(part)

    def answer_json(self, document: Any) -> None:
        """Print the answer as JSON."""
        self.close_progress()
        utf8 = self._answer.encoding.lower().replace("-", "") == "utf8"
        self._answer.write(json.dumps(document, indent=2, ensure_ascii=not utf8, allow_nan=False) + "\n")

    def answer_text(self, text: str) -> None:
        """Print a text as it is, for another program to read."""
        self.close_progress()
        self._answer.write(text)

    def say(self, text: str) -> None:
        """One line for the person at the terminal."""
        self.close_progress()
        print(visible(text, block=True), file=sys.stderr)

    def complain(self, text: str) -> None:
        """What went wrong."""
        self.say(f"error: {text}")

    def progress(self, stage: str) -> None:
        """A stage of long work begins (and the one before has ended), or the one that goes on has come so far."""
        if self._quiet:
            return
        if not isinstance(stage, SoFar):
            self._stage_ends()
            self._stage = (visible(stage), time.perf_counter())
        console = self._console("error", sys.stderr)
        if not console.is_terminal:
            print(f"{visible(stage)} …", file=sys.stderr, flush=True)
            return
        from rich.text import Text

        if self._status is None:
            self._status = console.status("")
            self._status.start()
        self._status.update(Text(f"{visible(stage)} …", style="dim"))

    def close_progress(self) -> None:
        """No stage is going on any more."""
        self._stage_ends()
        if self._status is not None:
            self._status.stop()
            self._status = None

    def abandon(self) -> None:
        """Whoever read standard output has gone: write no more to it."""
        with suppress(OSError), open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), self._answer.fileno())

    def _stage_ends(self) -> None:
        if self._stage is not None and self._status is not None:
            name, started = self._stage
            from rich.text import Text

            self._console("error", sys.stderr).print(Text(f"✓ {name}  {seconds_text(time.perf_counter() - started)}", style="dim"))
        self._stage = None

    def _console(self, name: str, file: TextIO) -> Console:
        if name not in self._consoles:
            # A file or a pipe has no width of its own, and rich would fold everything at 80 characters.
            width = None if file.isatty() or "COLUMNS" in os.environ else FILE_WIDTH
            self._consoles[name] = _console(file, width)
        return self._consoles[name]


def _console(file: TextIO, width: int | None) -> Console:
    from rich.console import Console as RichConsole

    class Console(RichConsole):
        def on_broken_pipe(self) -> None:
            # rich would close the standard output that it knows, which is standard error here, and exit.
            raise BrokenPipeError

    return Console(file=file, highlight=False, width=width)


@contextmanager
def streams(*, quiet: bool, traceback: bool) -> Iterator[Streams]:
    """Keep standard output for the answer, for this process and those that it starts (Spark's JVM and its workers)."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    answer = os.fdopen(kept, "w", encoding=sys.stdout.encoding or "utf-8", errors="backslashreplace")
    out = Streams(answer, quiet=quiet, traceback=traceback)
    try:
        with redirect_stdout(sys.stderr):
            yield out
            out.close_progress()
            _flush(out, answer)
    finally:
        out.close_progress()
        os.dup2(kept, 1)
        with suppress(BrokenPipeError):
            answer.close()


def _flush(out: Streams, answer: TextIO) -> None:
    try:
        answer.flush()
    except BrokenPipeError:
        out.abandon()
