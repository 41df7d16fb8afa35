"""An explanation as one self-contained HTML page: no request, everything escaped, no script but our own (by its hash)."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import number, visible
from airflow_lineage_provider.render.diagram import NODE_WIDTH
from airflow_lineage_provider.render.page import page
from airflow_lineage_provider.render.sentence import clause

if TYPE_CHECKING:
    from jinja2 import Environment, Template

    from airflow_lineage_provider.answers.explanation import Explanation


def to_html(explanation: Explanation, path: str | Path | None = None) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    script, hashed = _script()
    text = _template().render(page=page(explanation), css=css(), script=script, script_hash=hashed)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@cache
def _template() -> Template:
    return environment().get_template("explanation.html.j2")


@cache
def environment() -> Environment:
    """What pages are set by: all that is put into one is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("airflow_lineage_provider.render")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    made.filters["clause"] = clause
    made.globals |= {"number": number, "shown": visible, "node_width": NODE_WIDTH}
    return made


@cache
def css() -> Any:
    """What pages look like."""
    from markupsafe import Markup

    return Markup((Path(__file__).parent / "templates" / "explanation.css").read_text(encoding="utf-8"))


def script_hash() -> str:
    """The hash of the page's script, for the policy of what shows the page in a frame."""
    return str(_script()[1])


@cache
def _script() -> tuple[Any, Any]:
    """The page's script, and the hash by which its policy allows it, and nothing else."""
    from markupsafe import Markup

    text = (Path(__file__).parent / "templates" / "explanation.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Markup(text), Markup(f"sha256-{digest}")
