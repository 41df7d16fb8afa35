"""What source rows would be, as a person gives it: the values of a revision, in the types of the table's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_lineage_provider.deriving.given_rows import Cells, given_rows
from airflow_lineage_provider.deriving.values import MISSING, Column
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.shown import shown


def revised_values(revised: Any, columns: Sequence[tuple[str, Attribute]], zone: str) -> list[dict[int, Any]]:
    """For each row given the values of its columns, by attribute: of one mapping those that are said, else of all columns. None where the
    rows are removed. Values are converted as those of a target are, times without a zone in ``zone``.

    :raises InvalidTarget: it is no rows of the table, or a value is not exactly one of its column's type.
    """
    if _is_removed(revised):
        return []
    try:
        return [_typed(row, columns, zone, whole=not isinstance(revised, Mapping)) for row in given_rows(revised, columns)]
    except InvalidTarget as problem:
        text = str(problem).removeprefix("target row: ").replace("; name the row by its position, at=[…]", "")
        text = text.replace("column of the result", "column of the table").replace("the result has", "it has")
        raise InvalidTarget(f"what the rows would be: {text}") from None


def _typed(row: Cells, columns: Sequence[tuple[str, Attribute]], zone: str, *, whole: bool) -> dict[int, Any]:
    names, found = {a.id: name for name, a in columns}, {}
    for attribute, value in row:
        name = names[attribute.id]
        if attribute.id in found:
            raise InvalidTarget(f"the column {name} has two values")
        if value is MISSING and attribute.type in ("float", "double"):
            raise InvalidTarget(f"{name} is missing, which pandas has for NULL and for NaN: give dicts, with None or with float('nan')")
        found[attribute.id] = Column(name, attribute.type, zone).typed(value)
    missing = [name for name, a in columns if a.id not in found]
    if whole and missing:
        raise InvalidTarget(f"a row has no {missing[0]}; give each row whole, or one dict of the columns that are other")
    return found


def revised_text(revised: Any) -> str:
    """A revision, for people."""
    if _is_removed(revised):
        return "removed"
    return shown(dict(revised)) if isinstance(revised, Mapping) else f"{len(revised):,} other rows"


def _is_removed(revised: Any) -> bool:
    """Whether it is a list, a table or a frame without rows."""
    if isinstance(revised, list | tuple):
        return not revised
    if type(revised).__module__.startswith("pandas."):
        return type(revised).__name__ == "DataFrame" and not len(revised)
    return getattr(revised, "num_rows", None) == 0
