"""Rows of a stored segment, said and read as a result's rows are: by a condition on its columns, by values, by positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.derive import chosen_target, result_rows
from airflow_lineage_provider.deriving.rows import StoredRows
from airflow_lineage_provider.deriving.stored_ends import StoredEnd, columns_of
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, ResultNotStored, TargetTooLarge
from airflow_lineage_provider.plan.expressions import TRUE

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.derive import Target
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.rows import RowSource
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers


def chosen_end(run: AskedRun, end: StoredEnd, target: Any, at: Any, limit: int) -> Target:
    """Rows of it as a person says which.

    :raises InvalidTarget, TargetTooLarge, ResultNotStored: as `chosen_target`.
    """
    if end.is_result:
        return chosen_target(run, target, at, limit)
    seen = _seen_from(run, end)
    try:
        return _OfSegment(seen, end, chosen_target(seen, target, at, limit))
    except (InvalidTarget, TargetTooLarge, ResultNotStored) as problem:
        raise _in_words_of(end, problem) from None


@dataclass(frozen=True)
class _OfSegment:
    """Rows of a stored segment (`derive.Target`). What is made again for them are all rows of other segments."""

    seen: AskedRun
    end: StoredEnd
    chosen: Target

    @property
    def asked(self) -> str:
        return self.chosen.asked.replace("of the result", f"of {self.end.name}")

    def condition(self) -> Expression:
        return TRUE

    def numbers(self, rows: RowSource) -> Numbers:
        """:raises EmptyTarget, TargetTooLarge, SparkRequired: as of a result's rows."""
        try:
            return self.chosen.numbers(StoredRows(self.seen))
        except (InvalidTarget, EmptyTarget, TargetTooLarge) as problem:
            raise _in_words_of(self.end, problem) from None


def rows_of_end(made: Derivation, end: StoredEnd, numbers: AnyNumbers) -> pa.Table:
    """Rows of it by number, as a person has them."""
    return result_rows(made.rows if end.is_result else StoredRows(_seen_from(made.run, end)), numbers)


def _seen_from(run: AskedRun, end: StoredEnd) -> AskedRun:
    """The run as one whose result is what it stored of a segment, for whoever says, finds and reads rows of a result."""
    recorded, made = run.recorded, run.recorded.materialized[end.segment]
    columns, total = columns_of(recorded, end), run.record.row_counts.get(end.name)
    plan = replace(recorded.plan, output=tuple(one for _, one in columns), names=tuple(name for name, _ in columns))
    return replace(
        run,
        record=replace(run.record, row_counts={} if total is None else {"result": total}),
        recorded=replace(recorded, plan=plan, materialized={0: replace(made, segment=0)}),
        stored={"result": run.stored[end.name], end.name: run.stored[end.name]},
    )


def _in_words_of(end: StoredEnd, problem: InvalidTarget | EmptyTarget | TargetTooLarge | ResultNotStored) -> Exception:
    """An error about rows of a result, about these."""
    return type(problem)(str(problem).replace("the result", end.name))
