"""What is made of a run that stands (captured lineage, sketches): whatever keeps it from being made does not fail the run."""

from __future__ import annotations

import logging
from collections.abc import Callable

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.secrecy import shown_text
from airflow_lineage_provider.shown import first_line

log = logging.getLogger(__name__)


def attempted(
    what: str, run_id: str, make: Callable[[], None], keep: Callable[[str], None], know: Callable[[str], None]
) -> Exception | None:
    """Make something of a run; what kept it from being made, if anything did.

    That is logged (``what`` says what the run lacks), and kept with the run (``keep`` is called with it); where it cannot be (the store is
    away, or the run was dropped meanwhile), the object that stands for the run knows it at least (``know``).
    """
    try:
        make()
        return None
    except Exception as problem:  # the run stands, whatever it is
        text = told(problem)
        log.warning("%s: %s", what, text)
        try:
            keep(text)
        except Exception as again:
            log.warning("that is not kept with run %s: %s", run_id, told(again))
            know(text)
        return problem


def told(problem: Exception) -> str:
    """What is recorded of an error: of this package's the text; of others the kind as well, and no login that stands in it."""
    return str(problem) if isinstance(problem, LineageError) else f"{type(problem).__name__}: {shown_text(first_line(problem))}"
