"""The source rows behind rows of a result, through the runs that wrote what was read: those of an explanation, without reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.across.across import Across
from airflow_lineage_provider.deriving.derive import chosen_target, derive_rows
from airflow_lineage_provider.errors import InvalidTarget, NotCaptured
from airflow_lineage_provider.tracing.trace import engine_of
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.tables import SourceTable
    from airflow_lineage_provider.deriving.across.onward import Onward
    from airflow_lineage_provider.deriving.asked_run import AskedRun


def rows_behind_all(run: AskedRun, target: Any, *, at: Any, limit: int, whole_sides: bool, onward: Onward) -> dict[str, LineageRows]:
    """The rows of the real sources, by the names that an explanation has for their tables; with ``whole_sides`` all rows of the right sides
    of differences among them.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises AnswerTooLarge: there are more of one run than one answer may have. :raises SparkRequired: as `derive_rows`.
    """

    def other(run_id: str) -> AskedRun:
        return replace(onward.open_run(run_id), subqueries=run.subqueries, difference=run.difference)

    difference: Difference = "rows" if whole_sides else "data"
    chosen, summary = chosen_target(run, target, at, limit), onward.describe(run.record)
    derived = derive_rows(run, chosen, summary=summary, difference=difference, reasons=False)
    through = Across(onward.runs, other, onward.describe, difference, limit, onward.may_read, reasons=False)
    found = through.trace(derived, derived.explanation)
    return {name: _behind(name, one, found) for name, one in found.sources.items()}


def named_rows(found: Mapping[str, LineageRows], table: str) -> LineageRows:
    """Those of one table, whose name need not be in its letters' case.

    :raises InvalidTarget: there is no such table among them.
    """
    names = [name for name in found if name == table] or [name for name in found if name.lower() == table.lower()]
    if len(names) != 1:
        raise InvalidTarget(f"no source table {table!r} is behind the run; there are {', '.join(found) or 'none'}")
    return found[names[0]]


def _behind(name: str, rows: SourceTable, found: Explanation) -> LineageRows:
    assert rows.links is not None
    keys = _keys(name, rows, found.run.id)
    return LineageRows(
        run=found.run,
        asked=found.asked,
        table=name,
        rows=rows.rows,
        links=rows.links.rename_columns(["asked", "row"]),
        guarantee=rows.guarantee,
        engine=engine_of([*found.queries, *(query for one in found.intermediate.values() for query in one.queries)]),
        stale=rows.stale,
        asked_rows=found.target.num_rows,
        keys=keys,
        seconds=found.seconds,
        numbering=None if keys is not None else partial(_refused, name, tuple(one.run_id for one in rows.keyed)),
    )


def _keys(name: str, rows: SourceTable, asked: str) -> pa.Table | None:
    """The lineage keys of the rows, in their order, of a table that the run itself has read, and no other."""
    import numpy as np
    import pyarrow as pa

    if [(one.run_id, one.table) for one in rows.keyed] != [(asked, name)]:
        return None
    (read,) = rows.keyed
    order = np.argsort(read.at)
    return read.keys.take(pa.array(order)) if np.array_equal(read.at[order], np.arange(len(rows))) else None


def _refused(name: str, readers: tuple[str, ...], keys: pa.Table) -> NoReturn:
    """:raises NotCaptured: always."""
    raise NotCaptured(f"rows of {name} have numbers for the run that read them: ask {' or '.join(readers) or 'it'}, without across=True")
