"""The columns that sketches are to be of, as a submitted job's description keeps them: cuts are values, and JSON has few kinds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.sketches.kept_cuts import cut_of, kind_and_text
from airflow_lineage_provider.sketches.wanted import SketchOn


@dataclass(frozen=True, kw_only=True)
class SentSketchOn:
    """A `SketchOn`. ``cuts``: of each its kind, and the text that says it exactly."""

    column: str
    fragments: int
    cuts: tuple[tuple[str, str], ...] | None = None


def sent(sketch_on: Any) -> dict[str, SentSketchOn]:
    """What the option says, by table.

    :raises InvalidOption: it says something else, or a cut is nothing that columns hold.
    """
    return {table: _sent(table, one) for table, one in SketchOn.of(sketch_on).items()}


def _sent(table: str, one: SketchOn) -> SentSketchOn:
    try:
        cuts = None if one.cuts is None else tuple(map(kind_and_text, one.cuts))
    except TypeError as problem:
        raise InvalidOption(f"sketch_on of {table}: {problem}") from None
    return SentSketchOn(column=one.column, fragments=one.fragments, cuts=cuts)


def received(sent_on: Mapping[str, SentSketchOn]) -> dict[str, SketchOn]:
    """The option that was sent."""
    return {
        table: SketchOn(
            column=one.column, fragments=one.fragments, cuts=None if one.cuts is None else [cut_of(kind, text) for kind, text in one.cuts]
        )
        for table, one in sent_on.items()
    }
