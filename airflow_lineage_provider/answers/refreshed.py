"""Rows of a result, and what their lineage alone gives now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.guarantees import Guarantee


@dataclass(frozen=True, kw_only=True, repr=False)
class Refreshed:
    """Rows of a result computed anew from the source rows behind them (``Run.refresh``).

    ``stored`` are the rows as the run has them, ``recomputed`` all rows that the pipeline makes of the source rows behind them. ``equal``
    says that every stored row is among these, as often (floating-point numbers to 12 digits: sums depend on the order of rows), and
    ``others`` how many rows come out besides: source rows may stand behind other rows, too. ``missing`` are the places, among the stored
    rows, of those that do not come out. ``guarantee`` is the weakest of the source rows', ``stale`` what has changed since the run.
    """

    stored: pa.Table
    recomputed: pa.Table
    missing: tuple[int, ...]
    others: int
    guarantee: Guarantee
    stale: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether every stored row comes out of its lineage again."""
        return not self.missing

    def __repr__(self) -> str:
        rows = self.stored.num_rows
        return f"<{rows - len(self.missing):,} of {rows:,} rows come out of their lineage again, and {self.others:,} others>"
