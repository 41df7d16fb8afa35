"""A page of a run's result: some rows, in the order and under the condition that a person asks for, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.deriving.rows import StoredRows, result_columns, where_stored
from airflow_lineage_provider.deriving.target import target_expression
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidTarget, ResultNotStored, SparkRequired
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.time_limits import TimeLimit
from airflow_lineage_provider.sql import PortabilityProblem
from airflow_lineage_provider.store.read import Order

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.store import Materialization

_FEW = 50
"""Rows that are read whatever they take: a page that people look at."""
_GROWS = 20
"""So many times the rows of a part are the most of the next: rows that were small tell little of those that follow."""
_PAGES = 1_000
"""Rows of pages that one look finds: so many from a multiple of it on, and as many again, for the page that begins before its end."""


@dataclass(frozen=True, kw_only=True)
class PageWanted:
    """Which rows of a result: those that meet a predicate, by columns (name, descending), ``limit`` of them after ``offset``; more than
    a few of them may have no more than ``most_bytes`` together."""

    where: str | None = None
    order: Sequence[tuple[str, bool]] = ()
    offset: int = 0
    limit: int = 50
    most_bytes: int | None = None

    @property
    def bound(self) -> int | None:
        """The most bytes that the rows may have; None where they are read whatever they take."""
        return self.most_bytes if self.limit > _FEW else None


@dataclass(frozen=True, kw_only=True)
class ResultPage:
    """Rows of a result as a person has them, with their numbers (`target_rows.RowNumbers`); ``more``: others follow."""

    rows: pa.Table
    numbers: tuple[int, ...]
    more: bool


def result_page(run: AskedRun, wanted: PageWanted) -> ResultPage:
    """The page, from PostgreSQL or from files that this process reads.

    :raises ResultNotStored: the run's strategy did not store it.
    :raises InvalidTarget: the predicate does not parse, or a column is not there.
    :raises SparkRequired: only Spark can evaluate the predicate, or reach the rows, or sort them.
    :raises QueryTooSlow: it takes longer than a query may (`AskedRun.query_seconds`).
    :raises AnswerTooLarge: the rows are more than so many bytes.
    """
    if 0 not in run.recorded.materialized:
        raise ResultNotStored(f"run {run.record.id} did not store its result (strategy {run.record.strategy})")
    result, columns = run.stored["result"], result_columns(StoredRows(run), run.recorded.plan.output)
    read = [*dict.fromkeys(columns), ROW]
    try:
        found = _of_files(run, result, read, wanted) if result.in_files else _of_table(run, result, read, wanted)
    except (PortabilityProblem, CannotReadHere) as problem:
        raise SparkRequired(f"these rows need Spark: {problem}; a simpler predicate may not") from problem
    shown = found.slice(0, wanted.limit)
    numbers = tuple(int(one) for one in shown.column(ROW).to_pylist())
    rows = shown.select([shown.column_names.index(name) for name in columns]).rename_columns(list(run.recorded.plan.names))
    typed = with_interval_types(rows, [a.type for a in run.recorded.plan.output])
    return ResultPage(rows=typed, numbers=numbers, more=found.num_rows > wanted.limit)


def _of_table(run: AskedRun, result: Materialization, read: list[str], wanted: PageWanted) -> pa.Table:
    condition = _condition(run, wanted)
    where = None if condition is None else where_stored(condition, run.recorded, result)
    order: list[str | Order] = [Order(_sortable(run, result, name), descending) for name, descending in wanted.order]
    found = run.session.read(result, read if wanted.bound is None else [ROW], where, [*order, ROW], wanted.limit + 1, wanted.offset)
    if wanted.bound is None:
        return found
    return _numbered(found.column(0).to_numpy(), lambda numbers: run.session.rows(result, read, numbers), wanted.bound)


def _of_files(run: AskedRun, result: Materialization, read: list[str], wanted: PageWanted) -> pa.Table:
    import numpy as np

    within = TimeLimit.of(run.query_seconds)
    if wanted.where is None and not wanted.order:
        numbers: AnyNumbers = run.tables.numbers_at(result, range(wanted.offset, wanted.offset + wanted.limit + 1))
    else:
        numbers = _looked_for(run, result, wanted, within)
    return _numbered(np.asarray(numbers, np.int64), lambda some: stored_files.rows(result, read, some, within), wanted.bound)


def _numbered(numbers: Numbers, read: Callable[[Numbers], pa.Table], bound: int | None) -> pa.Table:
    """The rows with these numbers, in this order, read some at a time, as many as are likely to be no more bytes than there may be.

    :raises AnswerTooLarge: they are.
    """
    import numpy as np
    import pyarrow as pa

    parts: list[pa.Table] = []
    held, at, some = 0, 0, len(numbers) if bound is None else _FEW + 1
    while at < len(numbers) or not parts:
        chosen = numbers[at : at + some]
        parts.append(read(chosen).take(pa.array(np.argsort(np.argsort(chosen)))))
        held, at = held + parts[-1].nbytes, at + len(chosen)
        if bound is not None:
            if held > bound:
                told = (
                    f"the first {at:,} of the {len(numbers):,} rows have {held:,} bytes, and no more than {bound:,} are read here together"
                )
                raise AnswerTooLarge(f"{told}: ask for fewer")
            some = min(_GROWS * some, (bound - held) * at // max(held, 1) + 1)
    return pa.concat_tables(parts)


def _looked_for(run: AskedRun, result: Materialization, wanted: PageWanted, within: TimeLimit) -> Numbers:
    """The numbers of the page's rows, and of one more. All rows are looked at for them: those of the pages around are found by the same
    look, which is kept (`StoredRows.in_order`).
    """
    condition = _condition(run, wanted)
    order = [Order(_sortable(run, result, name), descending) for name, descending in wanted.order]

    def look(limit: int, offset: int) -> Numbers:
        return StoredRows(run).in_order(TRUE if condition is None else condition, order, limit, offset, within)

    if wanted.limit > _PAGES:
        return look(wanted.limit + 1, wanted.offset)
    begin = wanted.offset // _PAGES * _PAGES
    first = wanted.offset - begin
    return look(2 * _PAGES, begin)[first : first + wanted.limit + 1]


def _condition(run: AskedRun, wanted: PageWanted) -> Expression | None:
    return None if wanted.where is None else target_expression(wanted.where, run.recorded)[0]


def _sortable(run: AskedRun, result: Materialization, name: str) -> str:
    """The stored column of a column of the result.

    :raises InvalidTarget: there is none, or several. :raises PortabilityProblem: it is stored in a form with another order.
    """
    found = [a for shown, a in zip(run.recorded.plan.names, run.recorded.plan.output, strict=True) if shown == name]
    if len(found) != 1:
        raise InvalidTarget(f"the result has {len(found)} columns {name!r} to sort by")
    column = dict(run.recorded.materialized[0].columns)[found[0].id]
    if column in result.escaped or found[0].type.lower().startswith(("array", "map", "struct", "variant", "interval")):
        raise PortabilityProblem(f"the order of column {name}", f"{found[0].type} is stored in another form")
    return column
