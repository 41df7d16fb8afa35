"""Letters of reasons as a page to print, a sheet for each: no request, no script, everything escaped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import text_of, visible
from airflow_lineage_provider.render.pages import asset, written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.letters import Letters


def to_html(found: Letters, path: str | Path | None = None) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    return written(
        "letters.html.j2", path, letters=found, css=asset("explanation.css"), text=lambda value: text_of(value, 200), visible=visible
    )
