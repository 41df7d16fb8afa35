"""Linked views as one self-contained HTML page: the bar of each row in each view as a typed array, and nothing else of the table.

Or without these: then a server counts."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.crossfilter.axis import axis_of
from airflow_lineage_provider.crossfilter.bars import MOST_BARS
from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.render.crossfilter_shown import check_shown
from airflow_lineage_provider.render.pages import asset, asset_hash, written

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.crossfilter import Crossfilter, View

_SCRIPTS = ("linked_bars.js", "crossfilter.js")


def to_html(found: Crossfilter, path: str | Path | None, max_rows: int) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises AnswerTooLarge: the table has more rows, or a view more bars, than a page may. :raises OSError: ``path`` cannot be written.
    :raises InvalidTarget: a view has a column that is withheld.
    """
    if found.rows > max_rows:
        raise AnswerTooLarge(
            f"{found.title} has {found.rows:,} rows, more than the {max_rows:,} that a page may have: make the views of fewer rows, or "
            "raise max_rows (a page has a byte or two of each row and view)"
        )
    _check_bars(found)
    return _page(found, path, {name: _codes(found, name) for name in found.views})


def served_page(found: Crossfilter) -> str:
    """The page of a server that counts (`answers.served_crossfilter`): it has nothing of the table's rows.

    :raises AnswerTooLarge: a view has more bars than a page may, or the table more rows than can be counted in 32 bits.
    :raises InvalidTarget: a view has a column that is withheld.
    """
    if found.rows >= 2**32:
        raise AnswerTooLarge(f"{found.title} has {found.rows:,} rows, more than can be counted in a page: make the views of fewer rows")
    _check_bars(found)
    return _page(found, None, {name: {"totals": found.totals(name).tolist(), "explained": _explained(found, name)} for name in found.views})


def _explained(found: Crossfilter, name: str) -> int:
    """So many bars of a view, the first, are rows of a result that can be explained."""
    rows = found.views[name].of_result
    return len(rows.positions) if rows is not None and rows.explain is not None else 0


def _check_bars(found: Crossfilter) -> None:
    """:raises AnswerTooLarge: a view has more bars than a page may."""
    for name, view in found.views.items():
        if len(view.values) > MOST_BARS:
            raise AnswerTooLarge(f"view {name} has {len(view.values):,} bars, more than the {MOST_BARS:,} of a page: bin {view.expression}")


def _page(found: Crossfilter, path: str | Path | None, counted_by: Mapping[str, Mapping[str, Any]]) -> str:
    check_shown(found)
    is_served = all("totals" in one for one in counted_by.values())
    return written(
        "crossfilter.html.j2", path, title=visible(found.title), rows=found.rows, data=_data(found, counted_by), is_served=is_served,
        css=asset("linked_bars.css", "crossfilter.css"), script=asset(*_SCRIPTS), script_hash=asset_hash(*_SCRIPTS),
    )  # fmt: skip


def _data(found: Crossfilter, counted_by: Mapping[str, Mapping[str, Any]]) -> Any:
    """The views as JSON that no text in it can leave: ``{"rows", "views": [{"name", "expression", "labels", "axis", …}]}``.

    Each has either ``bytes`` and ``codes`` (`_codes`) or, where a server counts, the ``totals`` of its bars, and how many the server
    has ``explained``.
    """
    from markupsafe import Markup

    views = [
        {
            "name": visible(name),
            "expression": visible(view.expression),
            "labels": labels(view.values),
            "axis": _axis(view),
            **counted_by[name],
        }
        for name, view in found.views.items()
    ]
    text = json.dumps({"rows": found.rows, "views": views}, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


def _axis(view: View) -> dict[str, Any] | None:
    """``{"left", "wide", "ticks"}`` (`crossfilter.axis`), or None."""
    axis = axis_of(view.values)
    return None if axis is None else asdict(axis)


def _codes(found: Crossfilter, name: str) -> dict[str, Any]:
    """The bar of each row: the base64 of unsigned numbers of so many ``bytes``, the least significant first."""
    codes = found.codes(name)
    little = codes.astype(codes.dtype.newbyteorder("<"), copy=False).tobytes()
    return {"bytes": codes.dtype.itemsize, "codes": base64.b64encode(little).decode("ascii")}


_NULL, _EMPTY = "NULL", "(empty)"


def labels(values: pa.Array) -> list[str]:
    """What bars are called: texts that differ where their values do."""
    return [_NULL if one is None else _label(visible(str(one))) for one in values.to_pylist()]


def _label(text: str) -> str:
    """A text that reads like a sign of ours has quotes, and one that reads like such a text has more."""
    return f'"{text}"' if text.strip('"') in (_NULL, _EMPTY) else text or _EMPTY
