"""One sketch of a store, and what is in it, in the terminal and as JSON.

::

    {"document": "airflow_lineage.sketch", "version": 1, "id", …, as in `airflow_lineage.sketches`,
     "values": [{"least", "below"}], "null", "nan", "runs": [id]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from airflow_lineage_provider.answers.values import bytes_text, count, visible
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.kept_sketches import SketchInDetail

NAME = "airflow_lineage.sketch"
VERSION = 1
_MOST = 20


def to_dict(found: SketchInDetail) -> dict[str, Any]:
    """The sketch, JSON-able."""
    values = [{"least": least, "below": below} for least, below in found.values]
    about = {"values": values, "null": found.null, "nan": found.nan, "runs": list(found.runs)}
    return {"document": NAME, "version": VERSION, **written(found.sketch), **about}


def show(found: SketchInDetail, console: Console | None = None) -> None:
    """Print the sketch, and the first values that are in it."""
    out = console or Console()
    out.print(Text(f"sketch {found.sketch.id}", style="bold"))
    for head, text in _lines(found):
        out.print(Text.assemble((f"  {head:<12}", "dim"), text))


def _lines(found: SketchInDetail) -> Iterator[tuple[str, str]]:
    one = found.sketch
    yield "of", f"{visible(one.table)}.{visible(one.column)}"
    yield "captured of", f"run {one.run_id} of {visible(one.pipeline)}" + (f", {one.created:%Y-%m-%d %H:%M}" if one.created else "")
    yield "constants", visible(", ".join("NULL" if text is None else text for text in one.constants)) or "none"
    yield "has", f"{one.rows:,} of {one.total:,} rows, in {one.fragments:,} of {one.count:,} fragments"
    if one.kind == "witness":
        yield "kind", "witness: one row in place of each group, for runs of the same constants with witness=True"
    yield "safe by", visible(one.proof) + (f", proved in {one.proof_ms:.0f} ms" if one.proof_ms is not None else "")
    if one.quarantined:
        yield "set aside", visible(one.quarantined)
    more = f" and {len(found.runs) - _MOST:,} more" if len(found.runs) > _MOST else ""
    yield "read by", ", ".join(found.runs[:_MOST]) + more if found.runs else "no run yet"
    if one.saved_seconds is not None:
        yield "saved", f"{one.saved_seconds:.1f} s in all"
    if one.skipped_bytes is not None:
        yield "skipped", f"{bytes_text(one.skipped_bytes)} in all"
    for text in one.outdated or ():
        yield "outdated", visible(text)
    for least, below in found.values[:_MOST]:
        yield "values", _range(least, below)
    if len(found.values) > _MOST:
        yield "", f"and {count(len(found.values) - _MOST, 'further range')}"
    for name, inside in (("NULL", found.null), ("NaN", found.nan)):
        if inside:
            yield "values", name


def _range(least: str | None, below: str | None) -> str:
    said = [f"from {visible(least)}"] if least is not None else []
    said += [f"below {visible(below)}"] if below is not None else []
    return ", ".join(said) or "all"
