"""Arrays of a store, one of them, and cells that a question led to, in the terminal and as JSON.

::

    {"document": "airflow_lineage.arrays", "version": 1,
     "arrays": [{"name", "shape", "labels": {axis: [label, …], …}, "owner", "created", "bytes",
                 "relations": [{"source", "output", "guarantee", "operation", "rows", "bytes"}]}]}
    {"document": "airflow_lineage.cells", "version": 1,
     "array", "shape", "labels": {axis: [label at which there are cells, …], …}, "count", "guarantee",
     "boxes": [[[start, stop], …one an axis], …], "more": boxes left out,
     "hops": [{"source", "target", "boxes", "ms", "execution"}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from airflow_lineage_provider.answers.values import visible
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.kept_arrays import KeptArrays
    from airflow_lineage_provider.arrays.cells import Cells
    from airflow_lineage_provider.records.arrays import StoredArray

NAME, CELLS = "airflow_lineage.arrays", "airflow_lineage.cells"
VERSION = 1
_LABELS = 50
"""So many are told of an axis."""


def to_dict(found: KeptArrays) -> dict[str, Any]:
    """The arrays of a store, JSON-able."""
    return {"document": NAME, "version": VERSION, "arrays": [written(one) | {"bytes": one.bytes} for one in found]}


def show(found: KeptArrays, console: Console | None = None) -> None:
    """Print the arrays of a store, one a line."""
    out = console or Console()
    if not len(found):
        out.print(Text("no arrays: Lineage(…).arrays keeps them", style="dim"))
        return
    made = _table("array", "shape", "made from", "bytes", "created")
    for one in found:
        sources = ", ".join(visible(relation.source) for relation in one.relations if relation.output == one.name)
        created = f"{one.created:%Y-%m-%d %H:%M}"
        made.add_row(*map(Text, (visible(one.name), _shape(one.shape), sources, f"{one.bytes:,}", created)))
    out.print(made)


def array_view(one: StoredArray) -> list[Any]:
    """An array and its relations."""
    made = _table("from", "to", "operation", "rows", "bytes", "guarantee")
    for relation in one.relations:
        ends = (visible(relation.source), visible(relation.output), visible(relation.operation))
        made.add_row(*map(Text, (*ends, f"{relation.rows:,}", f"{relation.bytes:,}", relation.guarantee)))
    of = f", of {visible(one.owner)}" if one.owner else ""
    told = Text(f"{visible(one.name)} {_shape(one.shape)}{of}, since {one.created:%Y-%m-%d %H:%M}")
    lineage = made if one.relations else Text("no lineage links it with others", style="dim")
    return [told, *_labels(one.labels), lineage]


def cells_dict(found: Cells, limit: int) -> dict[str, Any]:
    """What a question led to, JSON-able, with so many boxes at most."""
    boxes = found.boxes
    labels = {str(axis): list(of) for axis, of in found.labels.items()}
    facts = {"array": found.array, "shape": list(found.shape), "labels": labels, "count": found.count, "guarantee": found.guarantee}
    listed = {"boxes": boxes[:limit].tolist(), "more": max(0, len(boxes) - limit), "hops": [written(hop) for hop in found.hops]}
    return {"document": CELLS, "version": VERSION} | facts | listed


def cells_view(found: Cells, limit: int) -> list[Any]:
    """What a question led to: how many cells, and the boxes that they are."""
    boxes = found.boxes
    worth = f"{found.guarantee}: {found.cause}" if found.cause else found.guarantee
    lines = [f"{found.count:,} cells of {visible(found.array)} {_shape(found.shape)}, {worth}"]
    told = [f"  [{', '.join(f'{start}:{stop}' for start, stop in box)}]" for box in boxes[:limit].tolist()]
    if len(boxes) > limit:
        told.append(f"  … {len(boxes) - limit:,} more boxes")
    return [*map(Text, lines), *_labels(found.labels), *map(Text, told)]


def _labels(labels: Mapping[int, tuple[str, ...]]) -> Iterator[Text]:
    for axis, of in labels.items():
        more = f", … {len(of) - _LABELS:,} more" if len(of) > _LABELS else ""
        yield Text(f"  axis {axis}: {', '.join(map(visible, of[:_LABELS]))}{more}")


def _table(*heads: str) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="bold")
    for head in heads:
        is_number = head in ("rows", "bytes")
        made.add_column(head, no_wrap=is_number, overflow="fold", justify="right" if is_number else "left")
    return made


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
