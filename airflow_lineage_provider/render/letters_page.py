"""Letters of reasons as a page to print, a sheet for each: no request, no script, everything escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import text_of, visible
from airflow_lineage_provider.render.html import css, environment

if TYPE_CHECKING:
    from jinja2 import Template

    from airflow_lineage_provider.answers.letters import Letters


def to_html(found: Letters, path: str | Path | None = None) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    text = _template().render(letters=found, css=css(), text=lambda value: text_of(value, 200), visible=visible)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@cache
def _template() -> Template:
    return environment().get_template("letters.html.j2")
