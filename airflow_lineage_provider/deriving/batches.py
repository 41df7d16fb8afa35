"""Which of many runs have rows of a target: looked up in the results that they stored, a hundred of them in a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import recording
from airflow_lineage_provider.deriving.rows import where_stored
from airflow_lineage_provider.deriving.target import is_column, is_predicate, target_expression
from airflow_lineage_provider.deriving.target_rows import RowsTarget
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.sql import PortabilityProblem
from airflow_lineage_provider.store.read import select_sql

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Materialization, Store

RESULT = "result"


def with_target(store: Store, run_ids: Sequence[str], target: Any) -> list[RunRecord]:
    """Those of the runs that have rows of the target, in this order; those of which the store cannot tell are among them.

    Three statements, however many runs there are.

    :raises InvalidTarget: it is a target of none of the results. :raises StoreError: the store fails, or a run was dropped.
    """
    records, results = store.records(run_ids), store.materializations_named(run_ids, RESULT)
    questions: dict[str, str | None] = {}
    refused: list[InvalidTarget] = []
    for record in records:
        try:
            questions[record.id] = _question(record, results.get(record.id), target)
        except InvalidTarget as error:
            refused.append(error)
    if refused and not questions:
        raise refused[0]
    found = _found(store, {run_id: text for run_id, text in questions.items() if text is not None})
    return [record for record in records if record.id in questions and (questions[record.id] is None or record.id in found)]


def _question(record: RunRecord, result: Materialization | None, target: Any) -> str | None:
    """A query that has a row where the result has one of the target; None where only Spark can tell, or no table has the result."""
    if result is None or result.in_files or is_column(target):
        return None
    recorded = recording.read(record)
    try:
        where = where_stored(_condition(target, recorded), recorded, result)
    except PortabilityProblem:
        return None
    return select_sql(result.table, result.layout, [result.columns[0].name], where, None, 1)


def _condition(target: Any, recorded: RecordedPlan) -> Expression:
    """What every row of the target meets."""
    return target_expression(target, recorded)[0] if is_predicate(target) else RowsTarget(target, recorded, 1, None).condition()


def _found(store: Store, questions: Mapping[str, str]) -> set[str]:
    if not questions:
        return set()
    ids = list(questions)
    parts = (f"SELECT {number} AS run WHERE EXISTS ({questions[run_id]})" for number, run_id in enumerate(ids))
    with store.session() as session:
        return {ids[number] for number in session.query(" UNION ALL ".join(parts)).column(0).to_pylist()}
