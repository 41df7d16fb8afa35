"""The columns that sketches are to be of, as a submitted job's description keeps them: cuts are values, and JSON has few kinds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.sketches.kept_cuts import cut_of, kind_and_text
from airflow_lineage_provider.sketches.wanted import SketchOn


@dataclass(frozen=True, kw_only=True)
class SentSketchOn:
    """A `SketchOn`. ``cuts``: of each its kind, and the text that says it exactly; ``composite_cuts``: the same of each column's value, or
    None for NULL, where it is of several columns."""

    column: str
    fragments: int
    cuts: tuple[tuple[str, str], ...] | None = None
    composite_cuts: tuple[tuple[tuple[str, str] | None, ...], ...] | None = None


def sent(sketch_on: Any) -> dict[str, SentSketchOn]:
    """What the option says, by table.

    :raises InvalidOption: it says something else, or a cut is nothing that columns hold.
    """
    return {table: _sent(table, one) for table, one in SketchOn.of(sketch_on).items()}


def _sent(table: str, one: SketchOn) -> SentSketchOn:
    plain = SentSketchOn(column=one.name, fragments=one.fragments)
    try:
        if one.cuts is None:
            return plain
        if any(isinstance(cut, tuple) for cut in one.cuts):
            rows = (cut if isinstance(cut, tuple) else (cut,) for cut in one.cuts)
            told = tuple(tuple(None if value is None else kind_and_text(value) for value in row) for row in rows)
            return replace(plain, composite_cuts=told)
        return replace(plain, cuts=tuple(map(kind_and_text, one.cuts)))
    except TypeError as problem:
        raise InvalidOption(f"sketch_on of {table}: {problem}") from None


def received(sent_on: Mapping[str, SentSketchOn]) -> dict[str, SketchOn]:
    """The option that was sent."""
    return {table: SketchOn(column=one.column, fragments=one.fragments, cuts=_cuts(one)) for table, one in sent_on.items()}


def _cuts(one: SentSketchOn) -> list[Any] | None:
    if one.composite_cuts is not None:
        return [tuple(None if value is None else cut_of(*value) for value in row) for row in one.composite_cuts]
    return None if one.cuts is None else [cut_of(kind, text) for kind, text in one.cuts]
