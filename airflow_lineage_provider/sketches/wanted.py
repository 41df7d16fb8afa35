"""Which column of a table is sketched, and how it is cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches.cuts import FRAGMENTS
from airflow_lineage_provider.sketches.partition import MOST_CUTS


@dataclass(frozen=True, kw_only=True)
class SketchOn:
    """A column whose fragments a sketch names: ``fragments`` of them, or those between given ``cuts``. (``_metadata.file_path`` is the file
    of each row: a fragment each.)

    :raises InvalidOption: it cannot be meant so.
    """

    column: str
    cuts: Sequence[Any] | None = None
    fragments: int = FRAGMENTS

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InvalidOption(f"sketch_on: column={shown(self.column)} is no name of a column")
        count = self.fragments
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_CUTS:
            raise InvalidOption(f"sketch_on: fragments={shown(count)}; it can be a whole number from 1 to {MOST_CUTS:,}")
        if self.cuts is not None:
            if not isinstance(self.cuts, list | tuple):
                raise InvalidOption(f"sketch_on: cuts={shown(self.cuts)} is not understood; it can be a list of values in ascending order")
            object.__setattr__(self, "cuts", tuple(self.cuts))

    @classmethod
    def of(cls, given: Any) -> dict[str, SketchOn]:
        """What an option says, by table: the name of a column, or a `SketchOn`.

        >>> SketchOn.of({"orders": "o_orderkey"})
        {'orders': SketchOn(column='o_orderkey', cuts=None, fragments=10000)}

        :raises InvalidOption: it says something else.
        """
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not all(isinstance(table, str) and table for table in given):
            raise InvalidOption(
                f"sketch_on={shown(given)} is not understood; it can be {{table: column}}, or {{table: SketchOn(column=…)}}"
            )
        return {table: one if isinstance(one, cls) else cls(column=one) for table, one in given.items()}
