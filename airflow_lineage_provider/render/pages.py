"""What every page is made with: its templates, styles and scripts, and its file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import number, visible
from airflow_lineage_provider.render.diagram import NODE_WIDTH
from airflow_lineage_provider.render.sentence import clause

if TYPE_CHECKING:
    from jinja2 import Environment


def written(name: str, path: str | Path | None, **shown: Any) -> str:
    """The page that a template makes; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    text = _environment().get_template(name).render(shown)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@cache
def _environment() -> Environment:
    """What pages are set by: all that is put into one is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("airflow_lineage_provider.render")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    made.filters["clause"] = clause
    made.globals |= {"number": number, "shown": visible, "node_width": NODE_WIDTH}
    return made


@cache
def asset(*names: str) -> Any:
    """A style or a script of ours, of so many files, which stands in a page as it is."""
    from markupsafe import Markup

    return Markup("".join((Path(__file__).parent / "templates" / name).read_text(encoding="utf-8") for name in names))


@cache
def asset_hash(*names: str) -> Any:
    """The hash by which the policy of a page allows a script, and nothing else."""
    from markupsafe import Markup

    return Markup("sha256-" + base64.b64encode(hashlib.sha256(asset(*names).encode()).digest()).decode("ascii"))
