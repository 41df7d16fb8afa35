"""Which columns of a pipeline's sources a provenance sketch may be of, for a person who asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.sketches.columns import SafeColumn

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class SafeColumns:
    """Every column of every source that a pipeline reads, and whether it is safe; one that is read twice is there twice.

    ``pipeline`` is its name. Iterate over it, or take ``columns``; ``safe`` are those that are safe.
    """

    pipeline: str
    columns: tuple[SafeColumn, ...]

    @property
    def safe(self) -> tuple[SafeColumn, ...]:
        """The columns that a sketch may be of."""
        return tuple(one for one in self.columns if one.safe)

    def __iter__(self) -> Iterator[SafeColumn]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<columns of the sources of {self.pipeline}: {len(self.safe):,} of {len(self):,} safe for a sketch>"

    def show(self, console: Console | None = None) -> None:
        """Print the columns in the terminal, by source."""
        from airflow_lineage_provider.render.safe_columns import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``)."""
        from airflow_lineage_provider.render.safe_columns import to_dict

        return to_dict(self)
