"""Rows that lineage leads to, not read yet: their keys tell how many there are and which; conditions on them leave most of them unread."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.answers.consumed_rows import listed_expressions
from airflow_lineage_provider.answers.known_keys import KnownKeys, by_asked
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.sql.named_columns import named_columns
from airflow_lineage_provider.tracing.maps import distinct_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.reasons.discretion import Carried


MANY_ROWS = 10_000
"""Of fewer rows all columns are read at once, for all that is asked of them; of so many a condition reads its own first."""


class Reading(Protocol):
    """What reads the rows of a table that meet a condition (empty: all), with values for its parameters.

    ``is_divided``: whether their lineage was captured for conditions on them, so that one leaves rows unread.
    """

    @property
    def is_divided(self) -> bool: ...

    def known(self) -> KnownKeys:
        """The keys of all of them."""
        ...

    def rids(self, keys: pa.Table) -> npt.NDArray[np.int64]:
        """The numbers of rows with these keys.

        :raises NotCaptured, SourceUnavailable: nothing numbers them.
        """
        ...

    def first(self, limit: int) -> LineageRows | None:
        """So many of them, the first in the order in which all are read; None where not all are there as they were read."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the table."""
        ...

    def rows(self, condition: str, params: Mapping[str, Any], columns: Collection[str] | None = None) -> LineageRows:
        """The rows that meet it; with ``columns`` these, and maybe others."""
        ...

    def aggregate(
        self,
        by: Sequence[str],
        measures: Sequence[str],
        condition: str,
        params: Mapping[str, Any],
        columns: Collection[str] | None,
        *,
        reads: bool,
    ) -> pa.Table | LineageRows | None:
        """What was captured of aggregates of the rows that meet it; where these were not, the rows, as of `rows`, or with ``reads=False``
        None."""
        ...

    def check(self, condition: str, params: Mapping[str, Any]) -> None:
        """:raises InvalidOption: it is no condition over the table's columns."""
        ...


class UnreadRows(LineageRows):
    """Rows of a source table behind rows of a result (or of a stored segment), read when they are first needed.

    `count`, `rids`, `per_target`, ``asked_rows`` and ``engine`` are told by the rows' keys, and `to_arrow` of a few reads these few.
    `where` of many (`MANY_ROWS`) reads nothing yet, and then the columns that the condition names, and the others of rows that meet it;
    of rows whose lineage was captured for conditions on them (`CaptureTable`) only those that may meet it, where that is seen.
    `aggregate` looks up what a `Cube` has, and else reads the columns that it names. ``engine`` says how either was answered. Whatever
    else is asked of these rows reads all of them, once.
    """

    def __init__(
        self,
        *,
        run: RunSummary,
        asked: str,
        table: str,
        read: Reading,
        asked_of: str = "result",
        within: frozenset[str] = frozenset(),
        condition: str = "",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        given = {"run": run, "asked": asked, "table": table, "asked_of": asked_of, "within": within}
        given |= {"_read": read, "_condition": condition, "_params": params or {}}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    _read: Reading
    _condition: str
    _params: Mapping[str, Any]

    @cached_property
    def _whole(self) -> LineageRows:
        return self._read.rows(self._condition, self._params)

    @property
    def _is_read(self) -> bool:
        return "_whole" in vars(self)

    @cached_property
    def _known(self) -> KnownKeys | None:
        """Their keys; None where only the rows themselves tell which meet the condition."""
        return None if self._condition else self._read.known()

    @property
    def count(self) -> int:
        """How many rows there are. By their keys, where these tell rows apart: so many stood behind in the run."""
        known = self._known
        if known is None or not known.is_of_one_row:
            return self._whole.count
        return int(distinct_rows(known.of_rows).num_rows)

    @property
    def per_target(self) -> pa.LargeListArray:
        """As of `LineageRows`."""
        known = self._known
        if known is None:
            return self._whole.per_target
        return by_asked(known.tags, self._rids, known.asked_rows)

    @property
    def _rids(self) -> npt.NDArray[np.int64]:
        known = self._known
        return self._read.rids(self._whole.keys if known is None else known.of_rows)

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
        known = self._known
        return self._whole.engine if known is None else known.engine

    @property
    def stale(self) -> tuple[str, ...]:
        """What has changed since the run."""
        return self._whole.stale

    @property
    def asked_rows(self) -> int:
        """How many rows were asked about."""
        known = self._known
        return self._whole.asked_rows if known is None else known.asked_rows

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

    @property
    def carried(self) -> Carried | None:
        """As of `Explanation`."""
        return self._whole.carried

    def replaced(self, **changes: Any) -> LineageRows:
        """The same, read, with other fields."""
        return self._whole.replaced(**changes)

    def to_arrow(self, limit: int | None = None) -> pa.Table:
        """The rows, at most ``limit`` of them, as an Arrow table; of many unread rows those alone are read."""
        known = self._known if limit is not None and limit > 0 and not self._is_read else None
        if known is not None and limit is not None and known.is_of_one_row and limit < known.keys.num_rows:
            found = self._read.first(limit)
            if found is not None:
                return found.rows
        return self._whole.to_arrow(limit)

    def where(self, condition: str, /, **params: Any) -> LineageRows:
        """Those of the rows for which a condition holds, as of rows that were read.

        :raises InvalidOption, EnvironmentProblem: as of `query`.
        """
        if self._is_read or self._condition or not (self._read.is_divided or self._read.known().keys.num_rows >= MANY_ROWS):
            return self._whole.where(condition, **params)
        self._read.check(condition, params)
        return UnreadRows(
            run=self.run, asked=self.asked, table=self.table, read=self._read, asked_of=self.asked_of, within=self.within,
            condition=condition, params=params,
        )  # fmt: skip

    def aggregate(self, by: Sequence[str] | str = (), measures: Sequence[str] | str = ("count(*)",)) -> pa.Table:
        """The rows aggregated, as rows that were read; what a cube has is looked up.

        :raises InvalidOption, EnvironmentProblem: as of `LineageRows.aggregate`.
        """
        if self._is_read:
            return self._whole.aggregate(by, measures)
        named = self._named([*listed_expressions(by), *listed_expressions(measures)])
        rows = self._kept_with(named)
        if self._read.is_divided:
            asked = (listed_expressions(by), listed_expressions(measures), self._condition, self._params)
            found = self._read.aggregate(*asked, named, reads=rows is None)
            if found is not None and not isinstance(found, LineageRows):
                return found
            rows = rows if found is None else found
        elif rows is None:
            rows = self._read.rows(self._condition, self._params, named)
        assert rows is not None
        # What was read last is kept, and serves where it has the columns.
        vars(self)["_whole" if named is None else "_part"] = rows if named is None else (named, rows)
        return rows.aggregate(by, measures)

    def _named(self, asked: Sequence[str]) -> frozenset[str] | None:
        """The columns that an aggregation names; None: all."""
        named = named_columns(asked, self._read.columns) if all(isinstance(one, str) for one in asked) else None
        return None if named is None or len(named) == len(self._read.columns) else named

    def _kept_with(self, named: frozenset[str] | None) -> LineageRows | None:
        """The rows that were read last, where they have these columns."""
        kept: tuple[frozenset[str], LineageRows] | None = vars(self).get("_part")
        return kept[1] if named is not None and kept is not None and named <= kept[0] else None

    def parts(self) -> Iterator[LineageRows]:
        """The rows, read."""
        yield self._whole
