"""Tables of the page: cells with what is shown and what is told on hovering, and how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.render.values import is_number, rows_of, text_of, type_name, visible
from airflow_lineage_provider.render.wording import more

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 500
CELLS = 40_000
"""A table of many columns shows fewer rows: no more cells than this."""

CELL_CHARACTERS = 60
TITLE_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class Cell:
    """``title`` is the full value where ``text`` is shortened."""

    text: str
    title: str = ""
    kind: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """``number`` counts the table's rows from 0; ``anchor`` is the row's id in its table of the page."""

    number: int
    anchor: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class TableView:
    """What is shown of a table: columns as (name, type), rows, and what is said about the rest."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    total: int
    more_rows: str
    more_columns: str


def cell(value: Any) -> Cell:
    """A value to be shown."""
    if value is None:
        return Cell(text=text_of(None), kind="null")
    full, short = text_of(value, TITLE_CHARACTERS), text_of(value, CELL_CHARACTERS)
    return Cell(text=short, title=full if short != full else "", kind="number" if is_number(value) else "")


def table_view(
    table: pa.Table, anchor: str, *, indices: Sequence[int] | None = None, most_rows: int = ROWS, most_columns: int | None = None
) -> TableView:  # fmt: skip
    """The first rows of a table (of those numbered ``indices``) with their first columns, all by default."""
    chosen = range(table.num_rows) if indices is None else indices
    part = table.select(range(min(table.num_columns, most_columns))) if most_columns is not None else table
    shown = list(chosen[: min(most_rows, max(1, CELLS // max(1, part.num_columns)))])
    rows = (tuple(cell(value) for value in row) for row in rows_of(part, shown))
    return TableView(
        columns=tuple((visible(field.name), visible(type_name(field.type))) for field in part.schema),
        rows=tuple(Row(number=n, anchor=f"{anchor}-{n}", cells=cells) for n, cells in zip(shown, rows, strict=True)),
        total=len(chosen),
        more_rows=more(len(chosen) - len(shown), "row"),
        more_columns=more(table.num_columns - part.num_columns, "column"),
    )
