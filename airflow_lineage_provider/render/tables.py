"""Tables of the page: cells with what is shown and what is told on hovering, and how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import is_number, rounded_text, rows_of, text_of, type_name, visible
from airflow_lineage_provider.render.wording import more

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 500
CELLS = 40_000
"""A table of many columns shows fewer rows: no more cells than this."""

CELL_CHARACTERS = 60
TITLE_CHARACTERS = 4_000


PAPER_CHARACTERS = 90
"""A wider table does not fit a sheet of A4."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """``title`` is the exact value where ``text`` is shortened or rounded."""

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
    """What is shown of a table: columns as (name, type), rows, and what is said about the rest.

    ``anchor`` is the prefix of its ids. ``numeric`` are the columns of numbers, which are set to the right. A ``wide`` one has no room on
    paper: there its rows are records, a column a line.
    """

    anchor: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    total: int
    more_rows: str
    more_columns: str
    numeric: tuple[int, ...] = ()
    wide: bool = False

    def column_anchor(self, at: int) -> str:
        """The id of a column's head."""
        return f"{self.anchor}-column-{at}"

    @property
    def css(self) -> str:
        """What only this table's columns look like: said once for each column and not in every cell."""
        cells = [f"#{self.anchor}-table td:nth-child({at + 2})" for at in range(len(self.columns))]
        right = ",".join(cells[at] for at in self.numeric)
        heads = "".join(f'{cell}::before{{content:"{_css_text(name)}"}}' for cell, (name, _) in zip(cells, self.columns, strict=True))
        return (f"{right}{{text-align:right}}" if right else "") + (f"@media print{{{heads}}}" if self.wide else "")


def cell(value: Any) -> Cell:
    """A value to be shown."""
    if value is None:
        return Cell(text=text_of(None), kind="null")
    full = text_of(value, TITLE_CHARACTERS)
    rounded = rounded_text(value)
    short = text_of(value, CELL_CHARACTERS) if rounded is None else rounded
    return Cell(text=short, title=full if short != full and full != f"{short}.0" else "")


def table_view(
    table: pa.Table, anchor: str, *, indices: Sequence[int] | None = None, most_rows: int = ROWS, most_columns: int | None = None
) -> TableView:  # fmt: skip
    """The first rows of a table (of those numbered ``indices``) with their first columns, all by default."""
    chosen = range(table.num_rows) if indices is None else indices
    part = table.select(range(min(table.num_columns, most_columns))) if most_columns is not None else table
    shown = list(chosen[: min(most_rows, max(1, CELLS // max(1, part.num_columns)))])
    values = rows_of(part, shown)
    rows = [tuple(cell(value) for value in row) for row in values]
    columns = tuple((visible(field.name), visible(type_name(field))) for field in part.schema)
    return TableView(
        anchor=anchor,
        columns=columns,
        rows=tuple(Row(number=n, anchor=f"{anchor}-{n}", cells=cells) for n, cells in zip(shown, rows, strict=True)),
        numeric=tuple(at for at in range(len(columns)) if any(is_number(row[at]) for row in values[:20])),
        wide=_characters(columns, rows) > PAPER_CHARACTERS,
        total=len(chosen),
        more_rows=more(len(chosen) - len(shown), "row"),
        more_columns=more(table.num_columns - part.num_columns, "column"),
    )


def _characters(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Cell, ...]]) -> int:
    """How wide a table is on a screen, in characters."""
    heads = [max(len(name), len(kind)) for name, kind in columns]
    return sum(2 + max([head, *(len(row[at].text) for row in rows)]) for at, head in enumerate(heads))


def _css_text(text: str) -> str:
    """A text within quotes of CSS: all but plain letters and digits as code points, so that no name can end the rule."""
    return "".join(each if each.isascii() and each.isalnum() else f"\\{ord(each):x} " for each in text[:60])
