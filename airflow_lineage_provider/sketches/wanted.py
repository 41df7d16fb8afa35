"""Which column of a table is sketched, or which together, and how they are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches.column_text import of_columns
from airflow_lineage_provider.sketches.composite import MOST_COLUMNS
from airflow_lineage_provider.sketches.cuts import FRAGMENTS
from airflow_lineage_provider.sketches.partition import MOST_CUTS


@dataclass(frozen=True, kw_only=True)
class SketchOn:
    """A column whose fragments a sketch names: ``fragments`` of them, or those between given ``cuts``. (``_metadata.file_path`` is the file
    of each row: a fragment each.) Of several columns, given as a list, a fragment is a range of their values together, in the order of
    the list, and a cut is a tuple.

    :raises InvalidOption: it cannot be meant so.
    """

    column: str | Sequence[str]
    cuts: Sequence[Any] | None = None
    fragments: int = FRAGMENTS

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", _name(self.column))
        count = self.fragments
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_CUTS:
            raise InvalidOption(f"sketch_on: fragments={shown(count)}; it can be a whole number from 1 to {MOST_CUTS:,}")
        if self.cuts is not None:
            if not isinstance(self.cuts, list | tuple):
                raise InvalidOption(f"sketch_on: cuts={shown(self.cuts)} is not understood; it can be a list of values in ascending order")
            object.__setattr__(self, "cuts", tuple(tuple(one) if isinstance(one, list) else one for one in self.cuts))

    @property
    def name(self) -> str:
        """The column, or the columns in one text (`column_text`)."""
        assert isinstance(self.column, str)
        return self.column

    @classmethod
    def of(cls, given: Any) -> dict[str, SketchOn]:
        """What an option says, by table: the name of a column, the names of several, or a `SketchOn`.

        >>> SketchOn.of({"orders": "o_orderkey"})
        {'orders': SketchOn(column='o_orderkey', cuts=None, fragments=10000)}
        >>> SketchOn.of({"sales": ["store", "day"]})["sales"].name
        '`store`, `day`'

        :raises InvalidOption: it says something else.
        """
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not all(isinstance(table, str) and table for table in given):
            raise InvalidOption(
                f"sketch_on={shown(given)} is not understood; it can be {{table: column}}, {{table: [columns]}}, or "
                "{table: SketchOn(column=…)}"
            )
        return {table: one if isinstance(one, cls) else cls(column=one) for table, one in given.items()}


def _name(given: Any) -> str:
    """:raises InvalidOption: it is no name of a column, and no list of some."""
    names = list(given) if isinstance(given, list | tuple) else [given]
    if not names or not all(isinstance(one, str) and one for one in names):
        raise InvalidOption(f"sketch_on: column={shown(given)} is no name of a column, and no list of names")
    if len(set(names)) < len(names) or len(names) > MOST_COLUMNS:
        raise InvalidOption(f"sketch_on: column={shown(given)}: there can be up to {MOST_COLUMNS} columns, each once")
    return of_columns(names)
