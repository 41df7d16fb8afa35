"""Which source rows together made rows of a result (why-provenance: Smoke, Sec. 4.2): looked up where it was captured, else traced."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.answers.witnesses import Witnesses
from airflow_lineage_provider.capture.witnesses import looked_up_witnesses
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, source_reader
from airflow_lineage_provider.errors import AnswerTooLarge, NotCaptured, SourceUnavailable
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
    with derivation(run, chosen.condition()) as made:
        run.progress("finding the target rows")
        numbers = chosen.numbers(made.rows)
        run.progress("tracing")
        found, engine = _found(made, numbers)
        _check_size(found, run.most_sources)
        run.progress("reading source rows")
        rows = _read(made, found)
        named = _named(made.recorded, found.keys)
        columns = {name: _places_of_rows(found.keys[place], rows[table], table) for place, (name, table) in named.items()}
    return Witnesses(
        run=summary,
        asked=chosen.asked,
        places=dict(named.values()),
        rows={table: one.table for table, one in rows.items()},
        combinations=_in_order(found.tags, columns),
        guarantee=weakest(*(one.guarantee for one in rows.values())),
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


def _found(made: Derivation, numbers: Sequence[int]) -> tuple[FoundWitnesses, str]:
    """The witnesses of rows of the result, and who gave them."""
    import pyarrow as pa

    captured = looked_up(made.run) if made.recorded is made.run.recorded else None
    if captured is not None and captured.index.witnesses is not None:
        return looked_up_witnesses(captured, captured.index.witnesses, numbers), f"{INDEX}witnesses"
    tracer = WitnessTracer(run=made.recorded.traced, executor=made.executor)
    target = pa.table({TAG: pa.array(range(len(numbers)), pa.int64()), "key_0": pa.array(numbers, pa.int64())})
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
        own = [_there(found.keys[place])[1] for one in group for place in found.keys if place[-1] == one.source.leaf]
        if own:
            keys[table] = distinct_rows(pa.concat_tables(own))
    check_size(keys, made.run.most_sources)
    return {table: reader.read(tables[table][0], wanted) for table, wanted in keys.items()}


def _named(recorded: RecordedPlan, places: Collection[Place]) -> dict[Place, tuple[str, str]]:
    """What each place is called, and its table, in the order in which the plan's leaves are numbered."""
    tables, taken, names = tables_of(recorded), {"asked"}, dict[int, tuple[str, str]]()
    # The first place of each table has its name, whatever further places of others would be called.
    for first in (True, False):
        for table, group in tables.items():
            for one in group[:1] if first else group[1:]:
                names[one.source.leaf] = (free_name(table, taken), table)
                taken.add(names[one.source.leaf][0])
    found: dict[Place, tuple[str, str]] = {}
    for place in sorted(places, key=lambda each: (each[-1], each)):
        name, table = names[place[-1]]
        found[place] = (name if name not in {known for known, _ in found.values()} else free_name(table, taken), table)
        taken.add(found[place][0])
    return found


def _there(keys: pa.Table) -> tuple[Numbers, pa.Table]:
    """The places of the combinations in which a row takes part, and its key in each."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    at = np.flatnonzero(pc.is_valid(keys.column(0)).to_numpy().astype(bool))
    return at, keys.take(pa.array(at))


def _places_of_rows(keys: pa.Table, rows: SourceRows, table: str) -> pa.Array:
    """For each combination the number of the row that takes part, among those that were read; NULL where none does.

    :raises SourceUnavailable: one is not there any more.
    """
    import numpy as np
    import pyarrow as pa

    at, own = _there(keys)
    places = rows.keys.places(own)
    asked, first = np.unique(places.asked, return_index=True)
    if len(asked) < len(at):
        raise SourceUnavailable(f"rows of {table} are not there as the run read them: {rows.guarantee.cause}")
    numbers, missing = np.zeros(keys.num_rows, np.int64), np.ones(keys.num_rows, bool)
    # Rows that nothing tells apart are the same in all columns: the first is as good as any.
    numbers[at], missing[at] = places.row[first], False
    return pa.array(numbers, mask=missing)


def _in_order(tags: Numbers, columns: Mapping[str, pa.Array]) -> pa.Table:
    """The combinations, by the row that was asked about, and then by the rows that take part."""
    import pyarrow as pa

    made = pa.table({"asked": pa.array(tags, pa.int64()), **columns})
    return made.sort_by([(name, "ascending") for name in made.column_names])
