"""Rows that lineage leads to, not read yet: conditions on them are asked of what was captured, and leave most of them unread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.lineage_rows import LineageRows

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee


Reading = Callable[[str, Mapping[str, Any]], LineageRows]
"""Reads the rows that meet a condition (empty: all) with values for its parameters, and maybe others."""


class UnreadRows(LineageRows):
    """Rows of a table of which lineage was captured for conditions on them (`CaptureTable`): read when they are first needed.

    `where` reads those alone that may meet its condition, where that is seen; ``engine`` of what it gives says how. Whatever else is asked
    of these rows reads all of them, once.
    """

    def __init__(self, *, run: RunSummary, asked: str, table: str, read: Reading) -> None:
        for name, value in {"run": run, "asked": asked, "table": table, "_read": read}.items():
            object.__setattr__(self, name, value)

    _read: Reading

    @cached_property
    def _whole(self) -> LineageRows:
        return self._read("", {})

    @property
    def rows(self) -> pa.Table:
        """All of them."""
        return self._whole.rows

    @property
    def links(self) -> pa.Table:
        """Which of them answers to which of the rows that were asked about."""
        return self._whole.links

    @property
    def guarantee(self) -> Guarantee:
        """What the answer is worth."""
        return self._whole.guarantee

    @property
    def engine(self) -> str:
        """Who gave it."""
        return self._whole.engine

    @property
    def stale(self) -> tuple[str, ...]:
        """What has changed since the run."""
        return self._whole.stale

    @property
    def asked_rows(self) -> int:
        """How many rows were asked about."""
        return self._whole.asked_rows

    @property
    def seconds(self) -> float:
        """How long reading them took."""
        return self._whole.seconds

    def __repr__(self) -> str:
        return repr(self._whole) if "_whole" in vars(self) else f"<rows of {self.table} for {self.asked}: not read yet>"

    def where(self, condition: str, /, **params: Any) -> LineageRows:
        """Those of the rows for which a condition holds, as of rows that were read."""
        if "_whole" in vars(self):
            return self._whole.where(condition, **params)
        return self._read(condition, params).where(condition, **params)

    def parts(self) -> Iterator[LineageRows]:
        """The rows, read."""
        yield self._whole
