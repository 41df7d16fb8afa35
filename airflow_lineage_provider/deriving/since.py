"""Rows of a result that an earlier run's result has not: those that are new, and those that have changed.

No key is needed for that: a row that has changed has values that no row had. Results are bags: of three equal rows, where the earlier
result has two, one is new. Rows are compared as `compared_rows` has them, so that the rounding of sums changes none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.compared_rows import places_without
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import Target, chosen_target, result_rows
from airflow_lineage_provider.deriving.target import checked
from airflow_lineage_provider.deriving.target_rows import CANDIDATES
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, NothingChanged, TargetTooLarge

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.rows import RowSource
    from airflow_lineage_provider.reasons.description import UdfDescription

EVERY_ROW = "true"


def changed_target(run: AskedRun, target: Any, at: Any, earlier: AskedRun, limit: int) -> ChangedTarget:
    """Of the rows that ``target`` names (None: of all) those that the earlier run's result has not.

    :raises InvalidTarget: it is not of these columns, or positions are given, which are rows of one result alone.
    """
    if at is not None:
        raise InvalidTarget("positions are rows of one result alone: with since=…, name the rows by a predicate, by values, or not at all")
    among = chosen_target(run, EVERY_ROW if target is None else target, None, CANDIDATES)
    return ChangedTarget(run=run, among=among, earlier=earlier, target=target, limit=limit)


@dataclass(frozen=True, kw_only=True)
class ChangedTarget:
    """The rows that are new or have changed (`derive.Target`).

    Where a UDF is of another version than it was, or the result has other columns, every row counts as changed: its reasons, or its
    values, are others.

    :ivar among: the rows of the run that is asked, of which they are some. :ivar target: how ``among`` was given; None: every row.
    """

    run: AskedRun
    among: Target
    earlier: AskedRun
    target: Any
    limit: int

    @property
    def asked(self) -> str:
        """The target in words."""
        of = "" if self.target is None else f", among {self.among.asked}"
        return f"rows that are new or have changed since run {self.earlier.record.id}{of}"

    def condition(self) -> Any:
        """What the rows meet."""
        return self.among.condition()

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows, ascending.

        :raises NothingChanged: there is none.
        :raises TargetTooLarge: there are more than the limit, or more than are compared in this process.
        """
        numbers, why = _matching(self.among, rows), self._every_row()
        if why:
            self.run.progress(f"every row counts as changed: {why}")
        else:
            numbers = self._changed(numbers, rows)
        if not len(numbers):
            raise NothingChanged(f"there are no {self.asked}")
        return checked(numbers, self.asked, rows.recorded, self.limit, self.run.total)

    def _changed(self, numbers: Numbers, rows: RowSource) -> Numbers:
        self.run.progress(f"comparing with the rows of run {self.earlier.record.id}")
        chosen = chosen_target(self.earlier, EVERY_ROW if self.target is None else self.target, None, CANDIDATES)
        with derivation(self.earlier, chosen.condition()) as made:
            before = _matching(chosen, made.rows)
            if not len(before) or not len(numbers):
                return numbers
            now, then = result_rows(rows, numbers), result_rows(made.rows, before)
            # Of every column: what a source has may be sums that another run has made anew.
            return numbers[places_without(now, then, range(now.num_columns))]

    def _every_row(self) -> str:
        """Why the rows need not be compared; empty where they must be."""
        now, then = self.run.recorded.plan, self.earlier.recorded.plan
        if [now.names, [one.type for one in now.output]] != [then.names, [one.type for one in then.output]]:
            return f"the result of run {self.earlier.record.id} has other columns"
        others = _other_versions(self.run.udfs.descriptions, self.earlier.udfs.descriptions)
        return f"UDF {', '.join(others)} is not of the version that it was of in run {self.earlier.record.id}" if others else ""


def _matching(target: Target, rows: RowSource) -> Numbers:
    """The numbers of all rows that a target names.

    :raises TargetTooLarge: they are more than are compared in this process.
    """
    import numpy as np

    try:
        return target.numbers(rows)
    except EmptyTarget:
        return np.empty(0, np.int64)
    except TargetTooLarge as problem:
        text = f"{target.asked} matches more rows than the {CANDIDATES:,} that are compared with another run's: narrow it"
        raise TargetTooLarge(text) from problem


def _other_versions(now: Mapping[Any, UdfDescription], then: Mapping[Any, UdfDescription]) -> list[str]:
    """The names of UDFs whose version the earlier run has not called, in their order.

    A UDF without a version (no reasoned one) gives no reasons that could be others; its values are compared.
    """
    known = _versions(then.values())
    return sorted({name for name, version in _versions(now.values()) if (name, version) not in known})


def _versions(udfs: Collection[UdfDescription]) -> set[tuple[str, str]]:
    return {(one.name, one.version) for one in udfs if one.version}
