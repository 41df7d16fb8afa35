"""Arrays in the store, for a person who asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.records.arrays import StoredArray

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class KeptArrays:
    """Arrays, newest first: iterate over it."""

    arrays: Sequence[StoredArray]

    def __iter__(self) -> Iterator[StoredArray]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"<{len(self):,} arrays>"

    def show(self, console: Console | None = None) -> None:
        """Print them in the terminal."""
        from airflow_lineage_provider.render.kept_arrays import show

        show(self, console)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values (for ``--json``)."""
        from airflow_lineage_provider.render.kept_arrays import to_dict

        return to_dict(self)
