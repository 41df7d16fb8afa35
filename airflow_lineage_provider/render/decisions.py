"""The decisions of reasoned UDFs as objects: what was judged, the value, the reason, and the source rows behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.blanked import Blanked
from airflow_lineage_provider.answers.cells import CellsOf, Place
from airflow_lineage_provider.answers.values import column_values, links_by_row, rows_of
from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.apart import Relations
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.traced import Traced
from airflow_lineage_provider.render.naming import outcome_text
from airflow_lineage_provider.render.reason_text import Reason, read

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One judged input. ``sources`` has the row numbers (from 0) of each source table that stands behind it; ``traced`` the cells of
    arguments that the reason is about, where it says them; ``blanked`` what became of it without the others; ``places`` by an argument's
    position, where those of one cell stand, if somebody has looked."""

    row: int
    arguments: tuple[tuple[str, Any], ...]
    value: Any
    reason: Reason | None
    sources: Mapping[str, tuple[int, ...]]
    traced: Traced | None = None
    blanked: tuple[Blanked, ...] = ()
    places: Mapping[int, Sequence[Place]] = field(default_factory=dict)


def decisions(explanation: Explanation, udf: str, limit: int | None = None) -> list[Decision]:
    """The first ``limit`` decisions of a UDF, or all.

    The table is read by position (row, arguments …, value, reason): an argument may well be called "value".
    """
    made = explanation.reasons[udf]
    table = made.rows.slice(0, limit)
    names = table.column_names[1:-2]
    behind = links_by_row(made.links)
    blanked: dict[int, tuple[Blanked, ...]] = {}
    for one in explanation.blanked:
        if one.udf == udf:
            blanked[one.row] = (*blanked.get(one.row, ()), one)
    return [
        Decision(
            row=row[0], arguments=tuple(zip(names, row[1:-2], strict=True)), value=row[-2], sources=behind.get(row[0], {}),
            blanked=blanked.get(row[0], ()), **_read(row[-1], made.relations),
        )
        for row in rows_of(table)
    ]  # fmt: skip


def placed(explanation: Explanation, udf: str, made: Sequence[Decision]) -> list[Decision]:
    """The first decisions of a UDF, with the columns of source rows in which their arguments of one cell stand that reasons are about."""
    if not any(source.shape == () for one in made if one.traced is not None for source in one.traced.sources):
        return list(made)
    try:
        found = CellsOf(explanation, udf).features(len(made))
    except PayloadError:  # which of the reasons it is, its own card says
        return list(made)
    return [replace(one, places={at: found[one.row, at] for at in range(len(one.arguments)) if (one.row, at) in found}) for one in made]


def _read(text: str | None, relations: Relations) -> dict[str, Any]:
    reason = read(text, relations)
    return {"reason": reason.reason, "traced": reason} if isinstance(reason, Traced) else {"reason": reason}


def outcomes(table: pa.Table, names: Names = NOTHING_SAID) -> list[tuple[str, int]]:
    """How often each value was decided, the most frequent first."""
    found: dict[str, int] = {}
    for value in column_values(table.column(table.num_columns - 2)):
        text = outcome_text(value, names)
        found[text] = found.get(text, 0) + 1
    return sorted(found.items(), key=lambda each: -each[1])
