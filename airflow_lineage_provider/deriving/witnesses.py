"""Which source rows together made rows of a result (why-provenance: Smoke, Sec. 4.2): looked up where it was captured, else traced."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.answers.witnesses import Witnesses
from airflow_lineage_provider.capture.witnesses import looked_up_witnesses
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, source_reader
from airflow_lineage_provider.deriving.stale import worth_over
from airflow_lineage_provider.errors import AnswerTooLarge, NotCaptured, SourceUnavailable
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.tracing.maps import distinct_rows
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import INDEX
from airflow_lineage_provider.tracing.witnesses import FoundWitnesses, Place, WitnessTracer

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.sources import SourceRows
    from airflow_lineage_provider.recording import RecordedPlan


def witnesses_of(run: AskedRun, target: Any, *, at: Any, summary: RunSummary, limit: int, lazy: bool) -> Witnesses:
    """The combinations of source rows that made rows of the result.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises UnsupportedOperator: rows of a window, or of a Python function of groups, are made of sets of rows.
    :raises AnswerTooLarge: there are more than one answer may have. :raises SourceUnavailable: source rows are not there any more.
    :raises NotCaptured: without ``lazy``, they were not captured. :raises SparkRequired: it needs Spark, and there is no session.
    """
    started, chosen = time.perf_counter(), chosen_target(run, target, at, limit)
    _check_captured(run, lazy)
    with derivation(run, chosen.condition(), written=True) as made:
        run.progress("finding the target rows")
        numbers = chosen.numbers(made.rows)
        run.progress("tracing")
        found, engine = _found(made, numbers)
        _check_size(found, run.most_sources)
        run.progress("reading source rows")
        rows = _read(made, found)
        harm = {one.source.leaf: rows[name].harm for name, group in tables_of(made.recorded).items() if name in rows for one in group}
        changed = worth_over([text for leaf in sorted(made.read) for text in harm.get(leaf, ())])
        worth = weakest(changed, *(one.guarantee for one in rows.values()))
        places = _named(made.recorded, found.keys)
        columns = {name: _numbers(place, found, rows[table], table) for name, (table, place) in places.items()}
    return Witnesses(
        run=summary,
        asked=chosen.asked,
        places={name: table for name, (table, _) in places.items()},
        rows={table: one.table for table, one in rows.items()},
        combinations=_in_order(found.tags, columns),
        guarantee=worth,
        engine=engine,
        stale=tuple(dict.fromkeys(text for one in rows.values() for text in one.stale)),
        asked_rows=len(numbers),
        seconds=time.perf_counter() - started,
    )


def _check_captured(run: AskedRun, lazy: bool) -> None:
    captured = looked_up(run)
    if not lazy and (captured is None or captured.index.witnesses is None):
        raise NotCaptured(
            f"which source rows together made the rows of run {run.record.id} was not captured: Run.capture(witnesses=True), or "
            "`airflow-lineage capture --witnesses`, captures it; with lazy=True it is traced, through "
            f"{count(len(run.recorded.plan.segments), 'segment')} of the plan"
        )


def _found(made: Derivation, numbers: Numbers) -> tuple[FoundWitnesses, str]:
    """The witnesses of rows of the result, and who gave them."""
    import numpy as np
    import pyarrow as pa

    captured = made.captured
    if captured is not None and captured.index.witnesses is not None:
        return looked_up_witnesses(captured, captured.index.witnesses, numbers), f"{INDEX}witnesses"
    tracer = WitnessTracer(run=made.recorded.traced, executor=made.executor)
    target = pa.table({TAG: np.arange(len(numbers)), "key_0": numbers})
    found = tracer.of_result(target)
    return found, f"lazy: {', '.join(sorted(tracer.engines))}"


def _check_size(found: FoundWitnesses, most: int) -> None:
    if len(found.tags) > most:
        raise AnswerTooLarge(
            f"{len(found.tags):,} combinations of source rows made the target, more than the {most:,} that one answer may have: narrow the "
            "target, or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
        )


def _read(made: Derivation, found: FoundWitnesses) -> dict[str, SourceRows]:
    """The rows that take part, by table, each once."""
    import pyarrow as pa

    reader, keys, tables = source_reader(made), {}, tables_of(made.recorded)
    for table, group in tables.items():
        types = [to_arrow(column.type) for column in group[0].identity.columns]
        none = pa.table([pa.array([], kind) for kind in types], names=[f"key_{at}" for at in range(len(types))])
        own = [_there(found.keys[place])[1] for one in group for place in found.keys if place[-1] == one.source.leaf]
        keys[table] = distinct_rows(pa.concat_tables([none, *(one.cast(none.schema) for one in own)]))
    check_size(keys, made.run.most_sources)
    return {table: reader.read(tables[table][0], wanted) for table, wanted in keys.items()}


def _named(recorded: RecordedPlan, found: Collection[Place]) -> dict[str, tuple[str, Place | None]]:
    """What each place where a source is read is called, its table, and where rows of it were found; None: none takes part."""
    named: dict[str, tuple[str, Place | None]] = {}
    tables = tables_of(recorded)
    # The first place of each table has its name, whatever further places of others would be called.
    leaves = [(table, one.source.leaf) for part in (slice(1), slice(1, None)) for table, group in tables.items() for one in group[part]]
    for table, leaf in leaves:
        own: list[Place | None] = [each for each in sorted(found) if each[-1] == leaf]
        for place in own or [None]:
            named[free_name(table, {"asked", *named})] = (table, place)
    return named


def _there(keys: pa.Table) -> tuple[Numbers, pa.Table]:
    """The places of the combinations in which a row takes part, and its key in each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    at = np.flatnonzero(pc.is_valid(keys.column(0)).to_numpy().astype(bool))
    return at, keys.take(pa.array(at))


def _numbers(place: Place | None, found: FoundWitnesses, rows: SourceRows, table: str) -> pa.Array:
    """For each combination the number of the row that takes part at a place, among those that were read; NULL where none does.

    :raises SourceUnavailable: one is not there any more.
    """
    import numpy as np
    import pyarrow as pa

    numbers, missing = np.zeros(len(found.tags), np.int64), np.ones(len(found.tags), bool)
    if place is not None:
        at, own = _there(found.keys[place])
        places = rows.keys.places(own)
        asked, first = np.unique(places.asked, return_index=True)
        if len(asked) < len(at):
            raise SourceUnavailable(f"rows of {table} are not there as the run read them: {rows.guarantee.cause}")
        # Rows that nothing tells apart are the same in all columns: the first is as good as any.
        numbers[at], missing[at] = places.row[first], False
    return pa.array(numbers, mask=missing)


def _in_order(tags: Numbers, columns: Mapping[str, pa.Array]) -> pa.Table:
    """The combinations, by the row that was asked about, and then by the rows that take part."""
    import pyarrow as pa

    made = pa.table({"asked": pa.array(tags, pa.int64()), **columns})
    return made.sort_by([(name, "ascending") for name in made.column_names])
