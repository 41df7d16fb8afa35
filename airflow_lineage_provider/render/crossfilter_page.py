"""Linked views as one self-contained HTML page: the bar of each row in each view as a typed array, and nothing else of the table."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.render.pages import asset, asset_hash, written

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.crossfilter import Crossfilter

MOST_BARS = 100_000
"""Of one view, in a page."""


def to_html(found: Crossfilter, path: str | Path | None, max_rows: int) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises AnswerTooLarge: the table has more rows, or a view more bars, than a page may. :raises OSError: ``path`` cannot be written.
    """
    if found.rows > max_rows:
        raise AnswerTooLarge(
            f"{found.title} has {found.rows:,} rows, more than the {max_rows:,} that a page may have: make the views of fewer rows, or "
            "raise max_rows (a page has a byte or two of each row and view)"
        )
    for name, view in found.views.items():
        if len(view.values) > MOST_BARS:
            raise AnswerTooLarge(f"view {name} has {len(view.values):,} bars, more than the {MOST_BARS:,} of a page: bin {view.expression}")
    return written(
        "crossfilter.html.j2", path, title=visible(found.title), rows=found.rows, data=_data(found), css=asset("crossfilter.css"),
        script=asset("crossfilter.js"), script_hash=asset_hash("crossfilter.js"),
    )  # fmt: skip


def _data(found: Crossfilter) -> Any:
    """The views as JSON that no text in it can leave: ``{"rows", "views": [{"name", "expression", "labels", "bytes", "codes"}]}``.

    ``codes`` are the base64 of unsigned numbers of so many ``bytes``, the least significant first.
    """
    from markupsafe import Markup

    views = []
    for name, view in found.views.items():
        codes = found.codes(name)
        little = codes.astype(codes.dtype.newbyteorder("<"), copy=False).tobytes()
        encoded = base64.b64encode(little).decode("ascii")
        views.append({
            "name": visible(name), "expression": visible(view.expression), "labels": _labels(view.values), "bytes": codes.dtype.itemsize,
            "codes": encoded,
        })  # fmt: skip
    text = json.dumps({"rows": found.rows, "views": views}, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


_NULL, _EMPTY = "NULL", "(empty)"


def _labels(values: pa.Array) -> list[str]:
    return [_NULL if one is None else _label(visible(str(one))) for one in values.to_pylist()]


def _label(text: str) -> str:
    """A text that reads like a sign of ours has quotes, and one that reads like such a text has more."""
    return f'"{text}"' if text.strip('"') in (_NULL, _EMPTY) else text or _EMPTY
