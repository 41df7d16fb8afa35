"""Impact: what a revision of source rows does to a result. What stored lineage knows, and what has to be computed anew."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.impact import Impact
from airflow_lineage_provider.deriving.compared_rows import places_without
from airflow_lineage_provider.deriving.descent import stale_sources, worth_of_following
from airflow_lineage_provider.deriving.lineage_rows import rows_from
from airflow_lineage_provider.deriving.links import pairs
from airflow_lineage_provider.deriving.revised_values import revised_text, revised_values
from airflow_lineage_provider.deriving.verify import can_be_repeated, whole_plan
from airflow_lineage_provider.deriving.why_not.found_rows import found_rows
from airflow_lineage_provider.deriving.why_not.question import asked_of
from airflow_lineage_provider.errors import SparkRequired, TracingError
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.rewrite.rounding import rounded_columns
from airflow_lineage_provider.tracing.changes import changes

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

ENGINE = "computed anew: spark"


def impact_of(run: AskedRun, rows: Any, table: str | None, *, at: Any, revised: Any, summary: RunSummary, limit: int) -> Impact:
    """The rows of the result that descend from source rows, and what becomes of the result when these are revised.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows, or what they would be, cannot be meant so.
    :raises SparkRequired: there is no session. :raises TracingError: the pipeline cannot be repeated, or Spark failed.
    :raises AnswerTooLarge: too many rows of the result hang on them. :raises UdfUnavailable, UdfVersionMismatch: as of a rerun.
    """
    if not can_be_repeated(run.recorded):
        raise TracingError(
            f"{summary.pipeline} has a limit, a random function or one that depends on the order of rows, or groups by a text with a "
            "collation, of which one spelling is shown: what it would make of other rows cannot be told from what it "
            "made of these. forward() has the rows of the result that descend from them"
        )
    asked = asked_of(rows, table, run.recorded, run.on_demand.session, at=at)
    columns = list(zip(asked.leaves[0].source.columns, asked.leaves[0].source.output, strict=True))
    values = revised_values(revised, columns, run.recorded.zone)
    # (Which takes its time to start, and is not started for a question that is none.)
    spark = run.on_demand.needed(SparkRequired("what a revision does is computed by the pipeline's operators: give a Spark session"))
    touched = rows_from(run, rows, table, at=at, summary=summary, limit=limit)
    run.session.rest()
    started = time.perf_counter()
    run.progress("finding the source rows")
    found = found_rows(asked, spark, limit)
    run.progress("computing anew what they touch")
    gone, instead = _computed(
        run, spark, asked.leaves, found, _instead(values, found, columns, in_each=isinstance(revised, Mapping)), columns
    )
    rounded = rounded_columns(whole_plan(run.recorded))
    worth = weakest(
        worth_of_following(stale_sources(run.recorded, spark), _missing(touched, gone, rounded)),
        Guarantee(level="superset", cause=touched.guarantee.cause) if touched.guarantee.level == "superset" else None,
        _of_the_same_files(run.recorded, asked.leaves),
    )
    left, more = _less(gone, instead, rounded), _less(instead, gone, rounded)
    whole = replace(
        touched, links=pairs(*_none()), guarantee=worth, engine=ENGINE, numbers=(), seconds=time.perf_counter() - started
    )  # fmt: skip
    return Impact(
        touched=touched,
        gone=replace(whole, rows=gone.take(left)),
        may_appear=replace(whole, rows=instead.take(more)),
        unchanged=_kept(touched, gone.take(left), rounded),
        revised=revised_text(revised),
    )


def _computed(
    run: AskedRun,
    spark: SparkTracing,
    leaves: Sequence[RecordedSource],
    found: pa.Table,
    instead: pa.Table,
    columns: Sequence[tuple[str, Attribute]],
) -> tuple[pa.Table, pa.Table]:
    from airflow_lineage_provider.spark.rereading.revised import RevisedRows, revised_result

    made = changes(whole_plan(run.recorded), {one.source.leaf for one in leaves})
    assert made is not None, "the run reads the table"
    keys = found.select([name for name in found.column_names if name.startswith("key_")])
    old = _repeated(found).select(range(found.num_columns - len(columns), found.num_columns))
    revised = RevisedRows(leaves=leaves, keys=keys, gone=old, instead=instead)
    given = revised_result(spark, made, revised, run.udfs, run.most_sources)
    names = list(run.recorded.plan.names)
    return given[0].rename_columns(names), given[1].rename_columns(names)


def _of_the_same_files(recorded: RecordedPlan, leaves: Sequence[RecordedSource]) -> Guarantee | None:
    """A remark where other tables of the plan read some of the same files, with another schema: of these the rows are as they are."""
    own, files = {one.source.leaf for one in leaves}, {path for one in leaves for path in one.files.values()}
    others = {
        name: group
        for name, group in tables_of(recorded).items()
        if own.isdisjoint(one.source.leaf for one in group) and not files.isdisjoint(path for one in group for path in one.files.values())
    }
    if not others:
        return None
    text = f"{', '.join(sorted(others))} reads files of {leaves[0].source.relation.name}, too, whose rows are not revised there"
    return Guarantee(level="exact", cause=text)


def _repeated(found: pa.Table) -> pa.Table:
    """Each row as often as it stands in the table."""
    import numpy as np
    import pyarrow as pa

    return found.take(pa.array(np.repeat(np.arange(found.num_rows), found.column("copies").to_numpy())))


# --- what the rows would be ---------------------------------------------------------------------------------------------


def _instead(given: Sequence[Mapping[int, Any]], found: pa.Table, columns: Sequence[tuple[str, Attribute]], *, in_each: bool) -> pa.Table:
    """The rows that are there instead of those that were found, with the table's columns: the given ones, or, with ``in_each``, the same
    ones with the values of the only row that is given."""
    import numpy as np
    import pyarrow as pa

    names, first = [str(at) for at in range(len(columns))], found.num_columns - len(columns)
    if not in_each:
        return pa.table([_column([row[a.id] for row in given], a) for _, a in columns], names=names)
    old, (said,) = _repeated(found), given
    each = pa.array(np.zeros(old.num_rows, np.int64))
    arrays = [_column([said[a.id]], a).take(each) if a.id in said else old.column(first + at) for at, (_, a) in enumerate(columns)]
    return pa.table(arrays, names=names)


def _column(values: Sequence[Any], attribute: Attribute) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, to_arrow(attribute.type))


# --- what that does -----------------------------------------------------------------------------------------------------


def _less(one: pa.Table, other: pa.Table, rounded: Collection[int]) -> pa.Array:
    import pyarrow as pa

    return pa.array(places_without(one, other, rounded), pa.int64())


def _missing(touched: LineageRows, gone: pa.Table, rounded: Collection[int]) -> list[str]:
    """Rows that descend from the source rows are computed anew, too: those of the run must be among them."""
    missing = len(places_without(touched.rows, gone, rounded))
    return [f"{missing:,} rows of the result that descend from them do not come out again as the run has them"] if missing else []


def _kept(touched: LineageRows, gone: pa.Table, rounded: Collection[int]) -> LineageRows:
    """The touched rows that are not gone."""
    import numpy as np

    kept = _less(touched.rows, gone, rounded)
    places = np.full(len(touched), -1)
    places[kept.to_numpy()] = np.arange(len(kept))
    row = places[touched.links.column("row").to_numpy()]
    asked = touched.links.column("asked").to_numpy()
    numbers = tuple(np.array(touched.numbers)[kept.to_numpy()].tolist()) if touched.numbers else ()
    return replace(touched, rows=touched.rows.take(kept), links=pairs(asked[row >= 0], row[row >= 0]), numbers=numbers)


def _none() -> tuple[Any, Any]:
    import numpy as np

    return np.zeros(0, np.int64), np.zeros(0, np.int64)
