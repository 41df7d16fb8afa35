"""What violates functional dependencies, as one self-contained page: a graph of dependencies, values and rows, and the rows themselves.

No request, no script, everything escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import count, shortened, text_of, visible
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.pages import asset, written
from airflow_lineage_provider.render.profile_text import told
from airflow_lineage_provider.render.tables import TableView, table_view
from airflow_lineage_provider.render.withheld import table_shown
from airflow_lineage_provider.render.wording import more
from airflow_lineage_provider.tracing.key_index import KeyIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.profile import Profile

VALUES = 200
"""So many violating values of a dependency have their rows in the page, each at most `ROWS` of them."""
ROWS = 20
DRAWN_VALUES, DRAWN_ROWS = 12, 6
"""So many of each are drawn; what is left out is said."""
_LINE, _LABEL = 22, 34
_LEFT, _MIDDLE, _RIGHT = 8, 330, 660


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the drawing; ``anchor`` is what it leads to."""

    x: int
    y: int
    text: str
    title: str
    anchor: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Nodes of three columns, and edges as (x1, y1, x2, y2)."""

    height: int
    dependencies: tuple[Node, ...]
    values: tuple[Node, ...]
    rows: tuple[Node, ...]
    edges: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class ValueView:
    """A violating value with its rows."""

    anchor: str
    text: str
    told: str
    table: TableView


@dataclass(frozen=True, kw_only=True)
class DependencyView:
    """A dependency, and the values that violate it."""

    anchor: str
    text: str
    told: str
    holds: bool
    values: tuple[ValueView, ...]
    more_values: str


def to_html(profile: Profile, path: str | Path | None = None, *, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    discretion = Discretion.of(hide, mask)
    shown = [table_shown(profile.values(at), discretion, profile.table) for at in range(len(profile))]
    views = tuple(_dependency(profile, at, values, discretion) for at, values in enumerate(shown))
    table_css = "".join(value.table.css for view in views for value in view.values)
    return written(
        "violations.html.j2", path,
        title=f"{visible(profile.table)}: what violates {count(len(profile), 'dependency', 'dependencies')}", table=visible(profile.table),
        rows=count(profile.given.num_rows, "row"), views=views, drawing=_drawing(profile, shown), css=asset("explanation.css"),
        table_css=table_css,
    )  # fmt: skip


def _dependency(profile: Profile, at: int, values: pa.Table, discretion: Discretion) -> DependencyView:
    found = profile[at]
    shown = range(min(len(found), VALUES))
    return DependencyView(
        anchor=f"dependency-{at}", text=visible(str(found.dependency)), told=told(found), holds=found.holds,
        values=tuple(_value(profile, at, violation, values, discretion) for violation in shown),
        more_values=more(len(found) - len(shown), "value"),
    )  # fmt: skip


def _value(profile: Profile, at: int, violation: int, values: pa.Table, discretion: Discretion) -> ValueView:
    import pyarrow as pa

    found = profile[at]
    numbers = found.rows_of(violation)
    telling = pa.array(_telling(profile, at, violation, ROWS), pa.int64())
    part = profile.rows.take(telling)
    part = part.add_column(0, "row number", telling) if "row number" not in part.column_names else part
    view = table_view(table_shown(part, discretion, profile.table), f"rows-{at}-{violation}")
    told_of = f"{count(int(found.different[violation]), 'different value')} in {count(len(numbers), 'row')}"
    left_out = more(len(numbers) - part.num_rows, "row")
    return ValueView(
        anchor=f"value-{at}-{violation}", text=_text(values, violation), told=f"{told_of}{f' ({left_out})' if left_out else ''}", table=view
    )


def _telling(profile: Profile, at: int, violation: int, most: int) -> list[int]:
    """So many rows of a violating value, ascending: the first of each different value of the dependent before all others."""
    import numpy as np

    found = profile[at]
    numbers = found.rows_of(violation)
    again = KeyIndex(profile.values_at(found.dependency.dependent, numbers)).earlier > 0
    chosen: list[int] = numbers[np.sort(np.argsort(again, kind="stable")[:most])].tolist()
    return chosen


def _text(values: pa.Table, violation: int) -> str:
    """A violating value: the determinant's, one after another."""
    row: list[Any] = [column[violation].as_py() for column in values.columns[:-2]]
    return ", ".join(text_of(one, 200) for one in row) or "…"


def _drawing(profile: Profile, values: Sequence[pa.Table]) -> Drawing | None:
    """The first violating values of each dependency, with their first rows; a row of several dependencies is one node."""
    lefts: list[tuple[int, list[tuple[int, list[int]]]]] = []
    for at, found in enumerate(profile):
        if not found.holds:
            first = range(min(len(found), DRAWN_VALUES))
            lefts.append((at, [(one, _telling(profile, at, one, DRAWN_ROWS)) for one in first]))
    if not lefts:
        return None
    numbers = sorted({row for _, drawn in lefts for _, rows in drawn for row in rows})
    total = sum(len(drawn) for _, drawn in lefts)
    lines = max(len(numbers), total)
    row_at = {row: _place(i, len(numbers), lines) for i, row in enumerate(numbers)}
    made: list[Node] = []
    dependencies: list[Node] = []
    edges: list[tuple[int, int, int, int]] = []
    for at, drawn in lefts:
        places = [_place(len(made) + i, total, lines) for i in range(len(drawn))]
        y = sum(places) // len(places)
        text = str(profile[at].dependency)
        left_out = more(len(profile[at]) - len(drawn), "value")
        title = f"{visible(text)}{f' ({left_out})' if left_out else ''}"
        dependencies.append(Node(x=_LEFT, y=y, text=shortened(visible(text), _LABEL), title=title, anchor=f"dependency-{at}"))
        for (violation, rows), place in zip(drawn, places, strict=True):
            label = _text(values[at], violation)
            left_out = more(len(profile[at].rows_of(violation)) - len(rows), "row")
            title = f"{label}{f' ({left_out})' if left_out else ''}"
            made.append(Node(x=_MIDDLE, y=place, text=shortened(label, _LABEL), title=title, anchor=f"value-{at}-{violation}"))
            edges.append((_LEFT + 250, y, _MIDDLE - 8, place))
            edges += [(_MIDDLE + 250, place, _RIGHT - 8, row_at[row]) for row in rows]
    nodes = tuple(Node(x=_RIGHT, y=y, text=f"row {row:,}", title=f"row {row:,}") for row, y in row_at.items())
    return Drawing(height=lines * _LINE + 12, dependencies=tuple(dependencies), values=tuple(made), rows=nodes, edges=tuple(edges))


def _place(number: int, of: int, lines: int) -> int:
    """Where the middle of a column's node stands: columns of fewer nodes have them further apart."""
    return int((number + 0.5) * lines / of * _LINE) + 6
