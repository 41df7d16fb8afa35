"""Computing a run: its programs, the lowest first, and what stands above the stored segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.walk import functions_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.running.run import Prepared
    from airflow_lineage_provider.spark.executing.run import Execution


def compute(execution: Execution, prepared: Prepared) -> DataFrame:
    """The result of a run; what is stored is stored on the way.

    :raises PlanCheckError: it would have other columns than the pipeline.
    """
    from airflow_lineage_provider.spark.executing.run import keep_groups, result_frame, run_program, run_rest, source_views

    plan = prepared.recorded.plan
    identities = {leaf: one.identity for leaf, one in prepared.recorded.sources.items()}
    leaves = dict(enumerate(prepared.captured.leaves))
    through = prepared.sketching
    carried = prepared.carried.numbered if prepared.carried is not None else {}
    numbered = {leaf: (through.capture[leaf].safe.column, how) for leaf, how in carried.items()}
    tables = source_views(execution, plan, leaves, identities, through.selections, prepared.captured.rows_of, through.in_full, numbered)
    if prepared.runs_as_it_is:
        return prepared.frame  # nothing is stored but the session's own data: the pipeline runs as it is
    names = _register_udfs(execution, prepared)
    frame = None
    for program in prepared.programs:
        for groups in program.groups:
            keep_groups(execution, groups, tables, names, prepared.captured)
        execution.progress(f"computing {program.materialized.name}")
        frame = run_program(execution, program, tables, names, prepared.captured)
    rest = prepared.rest
    root = prepared.programs[-1].plan if rest is None else rest
    names_by_id = {a.id: a.name for a in root.output}
    own = tuple(names_by_id[a.id] for a in plan.output)
    if rest is not None:
        frame = run_rest(execution, rest, tables, names)
    assert frame is not None
    if prepared.marks:
        frame = execution.marked = frame if rest is None else _kept_with_marks(execution, frame, (*own, *prepared.marks))
    result = result_frame(frame, own, plan.names)
    _check_schema(result, prepared.frame)
    return result


def _kept_with_marks(execution: Execution, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The result with what its rows carry, computed and kept by Spark, whatever becomes of it."""
    from airflow_lineage_provider.spark.executing.run import compute_result
    from airflow_lineage_provider.spark.frames import columns_named

    execution.progress("computing result")
    return compute_result(execution, columns_named(frame, list(dict.fromkeys(columns))))


def _register_udfs(execution: Execution, prepared: Prepared) -> dict[int, str]:
    """The temporary SQL function of every function operator: one for all that call the same."""
    from airflow_lineage_provider.spark.sql_functions import SqlFunctions

    made, names = SqlFunctions(execution.spark, execution.functions), dict[int, str]()
    with_keys = {node.function: node for program in prepared.programs for node in functions_of(program.plan)}
    for segment in prepared.recorded.plan.segments:
        for function in segment.functions:
            name = f"lineage_{execution.run_id.replace('-', '_')}_udf_{function.function}"
            udf = prepared.udfs.get(function.function)
            if udf is None:
                names[function.function] = made.captured(name, prepared.captured.udfs, function.call)
            else:
                names[function.function] = made.reasoned(name, udf, with_keys.get(function.function, function))
    return names


def _check_schema(result: DataFrame, expected: DataFrame) -> None:
    """The result has the columns of the user's own frame, or something was lost on the way."""
    ours = [(field.name, field.dataType.simpleString()) for field in result.schema]
    theirs = [(field.name, field.dataType.simpleString()) for field in expected.schema]
    if ours != theirs:
        raise PlanCheckError(f"the rewritten pipeline gives columns {ours}, the pipeline itself {theirs}: please report this")
