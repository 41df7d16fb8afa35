"""The program that a job runs: a Python file as it stands, or a function of a file or of a module."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown

OF_FUNCTIONS = "FILE.py:FUNCTION or MODULE:FUNCTION"
_FUNCTION = re.compile(r"(?P<place>.+):(?P<function>[^\W\d]\w*)", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A Python program.

    :ivar place: the path or URI of its file, or the name of its module.
    :ivar function: what is called; None: the file is run.
    """

    place: str
    function: str | None = None

    @classmethod
    def of(cls, application: str) -> Program:
        """What an application's text says.

        >>> Program.of("s3a://bank/jobs/judge.py:judge")
        Program(place='s3a://bank/jobs/judge.py', function='judge')

        :raises InvalidOption: it names no Python program.
        """
        found = _FUNCTION.fullmatch(application)
        made = cls(place=found["place"], function=found["function"]) if found else cls(place=application)
        if made.is_file or (made.function is not None and _MODULE.fullmatch(made.place)):
            return made
        raise InvalidOption(f"application={shown(application)} is no Python program; it can be FILE.py (a script), {OF_FUNCTIONS}")

    @property
    def is_file(self) -> bool:
        return self.place.endswith(".py")

    @property
    def is_on_driver(self) -> bool:
        """Whether nothing is to be sent: a module, or a file of the driver's machine (``local:``)."""
        return not self.is_file or urlsplit(self.place).scheme == "local"

    def on_submitting_machine(self) -> str | None:
        """The path of a file that lies here; None: it lies elsewhere (``hdfs:``, ``s3a:``)."""
        parts = urlsplit(self.place)
        if not self.is_file or parts.scheme not in ("", "file"):
            return None
        return os.path.abspath(unquote(parts.path) if parts.scheme else self.place)

    def on_driver(self, is_here: bool) -> str:
        """What the driver finds it by: a module, a path, or the name under which it was sent; ``is_here``: it runs where it is submitted.

        A script that lies here is run where it lies: what it imports from beside it is there. A file of a function is sent, since executors
        import it, too.
        """
        if self.is_on_driver:
            return unquote(urlsplit(self.place).path) if self.is_file else self.place
        here = self.on_submitting_machine()
        if here is not None and is_here and self.function is None:
            return here
        return self.place.rstrip("/").rpartition("/")[2]
