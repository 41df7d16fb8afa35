"""An explanation as one self-contained HTML page: no request, everything escaped, no script but our own (by its hash)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.render.page import page
from airflow_lineage_provider.render.pages import asset, asset_hash, written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation

_SCRIPT = "explanation.js"


def to_html(explanation: Explanation, path: str | Path | None = None) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    return written(
        "explanation.html.j2",
        path,
        page=page(explanation),
        css=asset("explanation.css"),
        script=asset(_SCRIPT),
        script_hash=asset_hash(_SCRIPT),
    )


def script_hash() -> str:
    """The hash of the page's script, for the policy of what shows the page in a frame."""
    return str(asset_hash(_SCRIPT))
