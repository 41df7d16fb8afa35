"""The embedded server's log: in pieces of bounded size, of which the newest are kept."""

from __future__ import annotations

import contextlib
from pathlib import Path

FOLDER = "log"
_START = "postgres.log"  # what is said before the collector runs; begun anew at every start
_PIECE_MEGABYTES = 10
_KEPT = 5


def options(home: Path) -> dict[str, str]:
    """PostgreSQL's settings for it: a new piece when one is full, and one a day."""
    return {
        "logging_collector": "on",
        "log_directory": str(home / FOLDER),
        "log_filename": "postgres-%Y%m%d-%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_size": f"{_PIECE_MEGABYTES}MB",
        "log_rotation_age": "1d",
        # A statement has the literals of a plan, secret ones among them.
        "log_min_error_statement": "panic",
    }


def start_file(home: Path) -> Path:
    """Where the server speaks until its collector runs."""
    return home / _START


def prune(home: Path) -> None:
    """Remove all but the newest pieces. Names sort by time."""
    for old in sorted((home / FOLDER).glob("postgres-*.log"))[:-_KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()


def tail(home: Path) -> str:
    """The last lines, for messages."""
    pieces = [start_file(home), *sorted((home / FOLDER).glob("postgres-*.log"))[-1:]]
    lines = [line for piece in pieces if piece.exists() for line in piece.read_text(errors="replace").splitlines()[-12:]]
    return "\n".join(line for line in lines if "logging collector" not in line and "Future log output" not in line)
