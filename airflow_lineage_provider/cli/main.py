"""From the arguments to an exit code: 0, 1 for a failure, 2 for bad input, 130 for Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Sequence

from airflow_lineage_provider.cli.arguments import parser
from airflow_lineage_provider.cli.streams import Streams, streams
from airflow_lineage_provider.errors import (
    DerivationNotFound,
    InvalidCells,
    InvalidOutput,
    LineageError,
    PlanError,
    RunNotFound,
    TargetError,
    UdfDeclarationError,
    UnknownArray,
)
from airflow_lineage_provider.secrecy import shown_text

INTERRUPTED = 130
BROKEN_PIPE = 141
_BAD_INPUT = (
    TargetError, PlanError, RunNotFound, DerivationNotFound, UdfDeclarationError, InvalidOutput, UnknownArray, InvalidCells,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    :raises SystemExit: for arguments that argparse refuses (2), ``--help`` and ``--version`` (0).
    """
    made = parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(made)
    options = made.parse_args(arguments)
    with streams(quiet=options.quiet, traceback=options.traceback) as out:
        if options.renamed:
            out.say(f"{options.renamed}; the old name will be gone in the next release")
        try:
            return int(options.verb(options, out))
        except KeyboardInterrupt:
            out.say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            out.abandon()
            return BROKEN_PIPE
        except Exception as error:
            if out.traceback:
                out.close_progress()
                raise
            return _failed(error, out)


def _failed(error: Exception, out: Streams) -> int:
    out.complain(_message(error))
    return 2 if _is_bad_input(error) else 1


def _message(error: Exception) -> str:
    text = str(error).strip()
    if isinstance(error, LineageError):
        return text or type(error).__name__
    first = shown_text(text.splitlines()[0]) if text else ""
    return f"{type(error).__name__}{f': {first}' if first else ''} (--traceback shows where)"


def _is_bad_input(error: Exception) -> bool:
    return isinstance(error, _BAD_INPUT)
