"""What became of source rows as one self-contained page: no request, no script, everything escaped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import rows_of, seconds_text, visible
from airflow_lineage_provider.render.page import badge
from airflow_lineage_provider.render.pages import asset, written
from airflow_lineage_provider.render.why_not_text import (
    descendant_lines,
    meaning,
    row_text,
    survived_text,
    surviving_text,
    title,
    way_text,
)
from airflow_lineage_provider.render.wording import more

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.why_not import Drop, Fate, WhyNot

ROWS = 500
"""So many source rows are in the page; all are in the JSON document."""


@dataclass(frozen=True, kw_only=True)
class StepView:
    """An operator on a row's way; ``lost``: the first without a descendant."""

    segment: int
    operator: str
    descendants: str
    lost: bool


@dataclass(frozen=True, kw_only=True)
class FateView:
    """What became of a row on one way; ``where`` says which of several ways it is, ``lines`` tell of the descendants that were dropped."""

    where: str
    steps: tuple[StepView, ...]
    survived: bool
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RowView:
    """A source row."""

    number: int
    text: str
    copies: int
    survived: bool
    fates: tuple[FateView, ...]


def to_html(found: WhyNot, path: str | Path | None = None) -> str:
    """The page; written to ``path`` (UTF-8) when one is given.

    :raises OSError: ``path`` cannot be written.
    """
    return written(
        "why_not.html.j2", path, title=title(found), asked=visible(found.asked), pipeline=visible(found.run.pipeline), run=found.run.id,
        surviving=surviving_text(found), badge_of=badge(found.guarantee, meaning(found)), stale=tuple(map(visible, found.stale)),
        rows=tuple(_rows(found)), more_rows=more(found.rows.num_rows - ROWS, "row"), seconds=seconds_text(found.seconds),
        css=asset("explanation.css"),
    )  # fmt: skip


def _rows(found: WhyNot) -> Iterator[RowView]:
    names = found.rows.column_names
    for row, values in enumerate(rows_of(found.rows.slice(0, ROWS))):
        fates = found.of(row)
        ways = (way_text(found.table, number, len(fates)) for number in range(1, len(fates) + 1))
        yield RowView(
            number=row + 1, text=row_text(dict(zip(names, values, strict=True))), copies=found.copies[row], survived=found.survived(row),
            fates=tuple(_fate(fate, where) for fate, where in zip(fates, ways, strict=True)),
        )  # fmt: skip


def _fate(fate: Fate, where: str) -> FateView:
    shown = fate.path if fate.lost is None else fate.path[: fate.lost + 1]
    steps = tuple(
        StepView(segment=step.segment, operator=visible(step.operator), descendants=f"{step.descendants:,}", lost=at == fate.lost)
        for at, step in enumerate(shown)
    )
    text = survived_text(fate) if fate.drop is None else visible(fate.drop.text)
    return FateView(where=where, steps=steps, survived=fate.survived, text=text, lines=tuple(_lines(fate.drop)))


def _lines(drop: Drop | None) -> Iterator[str]:
    for row in drop.rows if drop is not None else ():
        yield from map(str.strip, descendant_lines(row))
