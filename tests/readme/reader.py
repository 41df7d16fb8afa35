"""Somebody who reads a document from its beginning, and tries everything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.readme.snippets import Snippet, snippets

ELSEWHERE = {
    'pip install ".[airflow,shap,lime,embedded,duckdb]"',
    "pip wheel --no-deps --wheel-dir dist .",
    'pip install "dist/airflow_provider_lineage-0.1.0-py3-none-any.whl[airflow,shap,lime,embedded,duckdb]"',
}
"""Commands that install: tests/install runs them, as they stand there. Those of ``make`` are named in the Makefile."""

LEFT_ALONE = ("make ", "export ", "airflow-lineage store stop", "airflow-lineage store upgrade", "airflow-lineage store grant")
"""Commands about the whole store, which other tests share: tests/cli and tests/store run them."""

FOLDERS = ("/data/", "/tmp/")
"""Folders of the documents; here they are below the test's own."""


@dataclass(frozen=True)
class Reader:
    """``names`` are those of a Python session, ``shell`` runs a line of ``airflow-lineage``, ``printed`` gives what was printed since."""

    names: dict[str, Any]
    folder: Path
    shell: Callable[[str], None]
    printed: Callable[[], str]

    def read(self, path: Path, own: list[Snippet] | None = None) -> None:
        """Try everything, in its order; what a ``text`` block says must have been printed by what stands before it."""
        said = ""
        for one in snippets(path) if own is None else own:
            try:
                if one.kind == "text" and not one.not_run:
                    check_printed(one.text, said)
                elif not one.not_run:
                    self._try(one, path)
                    said = self.printed()
            except Exception as error:
                error.add_note(f"at line {one.line} of {path.name}")
                raise

    def _try(self, one: Snippet, path: Path) -> None:
        if one.kind == "python":
            exec(compile(self._here(one.text), f"{path.name}:{one.line}", "exec"), self.names)
        elif one.kind in ("block", "command"):
            for line in one.commands():
                if line not in ELSEWHERE and not line.startswith(LEFT_ALONE):
                    self._command(line)

    def _command(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        assert words[0] == "airflow-lineage", f"{line!r} is neither run here nor named in ELSEWHERE"
        if "ID" in words:
            line = line.replace(" ID", f" {self._id(words[1])}")
        self.shell(line if words[1] != "drop" else f"{line} --yes")

    def _id(self, verb: str) -> str:
        """What ``ID`` stands for: the newest answer, or a run that nobody needs any more."""
        if verb == "show-derivation":
            return str(self.names["run"].explain("judge = 'Reject'").id)
        return str(self.names["lineage"].run(self.names["pipeline"], params={"month": 12}).id)

    def _here(self, text: str) -> str:
        for folder in FOLDERS:
            text = text.replace(f'"{folder}', f'"{self.folder}/')
        return text

    def write(self, name: str, text: str) -> None:
        """Put code of a document into a file, as the document asks for."""
        (self.folder / name).write_text(self._here(text))


def check_printed(wanted: str, said: str) -> None:
    """It was printed, in this order; a line ``…`` stands for what the document leaves out. Where lines are broken does not count."""
    words = " ".join(said.split())
    for part in re.split(r"^…$", wanted, flags=re.MULTILINE):
        told = " ".join(part.split())
        assert told in words, f"this was not printed, or not there:\n{part}\nin\n{said}"
        words = words[words.index(told) + len(told) :]
