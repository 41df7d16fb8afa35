"""Rows that lineage leads to: those of a source table that stand behind rows of a result, or those of the result that descend from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee


@dataclass(frozen=True, kw_only=True, repr=False)
class LineageRows:
    """Rows of one table, each once.

    ``table`` is a source table, as `Run.why_not` names it, or ``result``; ``rows`` are its rows with all their columns. ``links`` says
    which of them (``row``, counted from 0) answers to which of the rows that were asked about (``asked``, counted from 0 in the order of
    the result, or of the source rows' lineage keys). ``guarantee`` is what the answer is worth, ``engine`` who gave it: ``lazy: …`` where
    the rows were looked for when they were asked for. ``stale`` says what has changed since the run. ``asked_rows`` is how
    many rows were asked about. ``numbers`` are those of rows of the result, as `Run.numbered` takes them.
    """

    run: RunSummary
    asked: str
    table: str
    rows: pa.Table
    links: pa.Table
    guarantee: Guarantee
    engine: str
    stale: tuple[str, ...] = ()
    asked_rows: int = 0
    numbers: tuple[int, ...] = ()
    seconds: float = 0.0

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        what = f"{len(self):,} row{'' if len(self) == 1 else 's'} of {self.table} for {self.asked}"
        return f"<{what}: {self.guarantee.level}, {self.engine}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.rows.to_pandas()
