"""How a verb gives an answer that is JSON, text, or a page as well."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from airflow_lineage_provider.cli.streams import Streams
from airflow_lineage_provider.errors import LineageError


def give_either(options: Namespace, out: Streams, *, to_dict: Callable[[], Any], show: Callable[[], Any]) -> int:
    """The answer as JSON (``--json``), or as a person reads it; the verb's exit code."""
    if options.json:
        out.answer_json(to_dict())
    else:
        show()
    return 0


def give(
    options: Namespace, out: Streams, *, page: Callable[[str], Any], to_dict: Callable[[], Any], show: Callable[[], Any], kept: str = ""
) -> None:
    """The answer, after its page (``--html``) is written; ``kept`` says what is not lost with a page that cannot be.

    :raises LineageError: the page cannot be written.
    """
    if options.html:
        out.progress("drawing the page")
        try:
            page(options.html)
        except OSError as error:
            raise LineageError(f"the page cannot be written to {options.html!r}: {error.strerror or error}{kept}") from error
    give_either(options, out, to_dict=to_dict, show=show)
    if options.html:
        out.say(f"page written to {options.html}")
