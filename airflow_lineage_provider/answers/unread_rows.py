"""Rows that lineage leads to, not read yet: conditions on them are asked of what was captured, and leave most of them unread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.answers.consumed_rows import listed_expressions
from airflow_lineage_provider.answers.lineage_rows import LineageRows

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee


class Reading(Protocol):
    """What reads the rows of a table that meet a condition (empty: all), with values for its parameters."""

    def rows(self, condition: str, params: Mapping[str, Any]) -> LineageRows:
        """The rows that meet it, and maybe others."""
        ...

    def aggregate(self, by: Sequence[str], measures: Sequence[str], condition: str, params: Mapping[str, Any]) -> pa.Table | None:
        """What was captured of aggregates of the rows that meet it; None: these were not."""
        ...

    def check(self, condition: str, params: Mapping[str, Any]) -> None:
        """:raises InvalidOption: it is no condition over the table's columns."""
        ...


class UnreadRows(LineageRows):
    """Rows of a table of which lineage was captured for conditions on them (`CaptureTable`): read when they are first needed.

    `where` reads nothing yet; of its rows those alone are read that may meet its condition, where that is seen. `aggregate` looks up what a
    `Cube` has. ``engine`` says how either was answered. Whatever else is asked of these rows reads all of them, once.
    """

    def __init__(
        self, *, run: RunSummary, asked: str, table: str, read: Reading, condition: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        given = {"run": run, "asked": asked, "table": table, "_read": read, "_condition": condition, "_params": params or {}}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    _read: Reading
    _condition: str
    _params: Mapping[str, Any]

    @cached_property
    def _whole(self) -> LineageRows:
        found = self._read.rows(self._condition, self._params)
        return found.where(self._condition, **self._params) if self._condition else found

    @property
    def _is_read(self) -> bool:
        return "_whole" in vars(self)

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
    def keys(self) -> pa.Table | None:
        """Their lineage keys."""
        return self._whole.keys

    @property
    def seconds(self) -> float:
        """How long reading them took."""
        return self._whole.seconds

    def __repr__(self) -> str:
        of = f" where {self._condition}" if self._condition else ""
        return repr(self._whole) if self._is_read else f"<rows of {self.table}{of} for {self.asked}: not read yet>"

    def where(self, condition: str, /, **params: Any) -> LineageRows:
        """Those of the rows for which a condition holds, as of rows that were read.

        :raises InvalidOption, EnvironmentProblem: as of `query`.
        """
        if self._is_read or self._condition:
            return self._whole.where(condition, **params)
        self._read.check(condition, params)
        return UnreadRows(run=self.run, asked=self.asked, table=self.table, read=self._read, condition=condition, params=params)

    def aggregate(self, by: Sequence[str] | str = (), measures: Sequence[str] | str = ("count(*)",)) -> pa.Table:
        """The rows aggregated, as rows that were read; what a cube has is looked up.

        :raises InvalidOption, EnvironmentProblem: as of `LineageRows.aggregate`.
        """
        if not self._is_read:
            found = self._read.aggregate(listed_expressions(by), listed_expressions(measures), self._condition, self._params)
            if found is not None:
                return found
        return self._whole.aggregate(by, measures)

    def parts(self) -> Iterator[LineageRows]:
        """The rows, read."""
        yield self._whole
