"""One derivation: target rows, Algorithm 1, source rows, reasons, and what all of it is worth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Control, Explanation, RunSummary
from airflow_lineage_provider.answers.keyed_rows import KeyedRows
from airflow_lineage_provider.answers.tables import SourceTable
from airflow_lineage_provider.deriving.controls import controls
from airflow_lineage_provider.deriving.derivation import Derivation, derivation
from airflow_lineage_provider.deriving.links import target_links
from airflow_lineage_provider.deriving.reasons import ReasonReader, columns_of_calls, named_functions
from airflow_lineage_provider.deriving.rows import RowSource, result_columns
from airflow_lineage_provider.deriving.sources import SourceReader, SourceRows
from airflow_lineage_provider.deriving.stale import worth_over
from airflow_lineage_provider.deriving.target import PredicateTarget, is_predicate
from airflow_lineage_provider.deriving.target_rows import NumbersTarget, PositionTarget, RowNumbers, RowsTarget
from airflow_lineage_provider.errors import AnswerTooLarge, InvalidTarget
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.tracing.by_number import looked_up
from airflow_lineage_provider.tracing.maps import RESULT, Rows, RowSet, numbered_rows
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.trace import Trace, TracingQuery
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.recording import RecordedSource


@dataclass(kw_only=True)
class _Answer:
    """An explanation in the making."""

    sources: dict[str, SourceTable] = field(default_factory=dict)
    reasons: dict[str, Reasons] = field(default_factory=dict)
    links: pa.Table | None = None
    controls: tuple[Control, ...] = ()
    queries: list[TracingQuery] = field(default_factory=list)
    read: pa.Table | None = None


@dataclass(frozen=True, kw_only=True)
class FoundSources:
    """Source tables by name: their rows, and for each leaf where its keys are in them."""

    rows: Mapping[str, SourceRows]
    leaves: Mapping[int, str]
    tables: Mapping[str, RecordedSource]


class Target(Protocol):
    """Which rows of a result a derivation is about."""

    @property
    def asked(self) -> str: ...

    def condition(self) -> Expression: ...

    def numbers(self, rows: RowSource) -> Numbers: ...


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A derivation: the explanation, its source tables with the keys of their rows, and the numbers of the target's rows.

    ``read`` is the explanation's links of the target, without the rows of tables that decided as a whole (``difference="rows"`` has those).
    """

    explanation: Explanation
    sources: FoundSources
    numbers: Numbers
    read: pa.Table


def chosen_target(run: AskedRun, target: Any, at: Any, limit: int) -> Target:
    """Rows of the result as a person says which.

    :raises InvalidTarget, TargetTooLarge, ResultNotStored: they cannot be meant so.
    """
    if (target is None) == (at is None):
        raise InvalidTarget("name the rows to explain in exactly one way: a predicate or rows, or positions, at=[0, 3]")
    if at is not None:
        return PositionTarget(at, run.recorded, run.stored.get("result"), run.tables, limit, run.record.strategy)
    if isinstance(target, RowNumbers):
        return NumbersTarget(target, run.recorded, run.stored.get("result"), run.tables, limit)
    if is_predicate(target):
        return PredicateTarget(target, run.recorded, limit, run.total, run.on_demand.session)
    return RowsTarget(target, run.recorded, limit, run.total)


def derive_rows(run: AskedRun, target: Target, *, summary: RunSummary, difference: Difference = "control", reasons: bool = True) -> Derived:
    """The explanation of a target's rows, with or without ``reasons``.

    ``difference`` says what the right side of a difference (EXCEPT, NOT IN, NOT EXISTS) is in the answer: ``control``, one entry
    for the whole of it; ``data``, nothing; ``rows``, all its rows, among the source rows.

    :raises EmptyTarget, TargetTooLarge: the target cannot be used.
    :raises SparkRequired: a part of the answer needs a Spark session, and there is none.
    """
    started = time.perf_counter()
    with derivation(run, target.condition(), sketched=True, columns=_columns_read(run)) as made:
        run.progress("finding the target rows")
        numbers = target.numbers(made.rows)
        return explained(
            made, numbers, asked=target.asked, summary=summary, difference=difference, started=started, reasons=reasons
        )  # fmt: skip


def explained(
    made: Derivation,
    numbers: Numbers,
    *,
    asked: str,
    summary: RunSummary,
    difference: Difference,
    started: float,
    reasons: bool = True,
) -> Derived:
    """The same of rows whose numbers are known.

    :raises AnswerTooLarge: more source rows stand behind them than one answer may have; none was read.
    """
    run = made.run
    target_rows = result_rows(made.rows, numbers)
    run.progress("tracing")
    answer, found = _answer(made, numbers, difference, reasons)
    explanation = Explanation(
        id="",
        run=summary,
        asked=asked,
        target=target_rows,
        result_rows=run.total,
        sources=answer.sources,
        reasons=answer.reasons,
        target_links=answer.links,
        controls=answer.controls,
        stale=tuple(dict.fromkeys(text for one in answer.sources.values() for text in one.stale)),
        queries=tuple(answer.queries),
        plan=run.recorded.plan,
        materialized=frozenset(run.recorded.materialized),
        choices=run.record.choices,
        seconds=time.perf_counter() - started,
    )
    assert answer.read is not None
    return Derived(explanation=explanation, sources=found, numbers=numbers, read=answer.read)


def _columns_read(run: AskedRun) -> list[str]:
    """What an explanation reads of the target's rows, where the run stored its result: themselves, what leads on from them, and the calls
    that are stored there."""
    stored = run.recorded.materialized.get(0)
    if stored is None:
        return []
    own = [stored.column(a) for a in (*run.recorded.plan.output, *looked_up(run.recorded.plan.segments[0], stored))]
    functions = [function for segment, named in named_functions(run.recorded) if segment.number == 0 for function in named.values()]
    return list(dict.fromkeys([*own, *(name for function in functions for name in columns_of_calls(function, stored))]))


def result_rows(rows: RowSource, numbers: AnyNumbers) -> pa.Table:
    """Rows of the result by number, as a person has them."""
    output = rows.recorded.plan.output
    columns = result_columns(rows, output)
    found = rows.read(0, [*dict.fromkeys(columns), ROW], numbers)
    chosen = found.select([found.column_names.index(name) for name in columns]).rename_columns(list(rows.recorded.plan.names))
    return with_interval_types(chosen, [a.type for a in output])


def _answer(made: Derivation, numbers: Numbers, difference: Difference, reasons: bool) -> tuple[_Answer, FoundSources]:
    answer = _Answer()
    target, whole = numbered_rows(RESULT, numbers), difference == "rows"
    traced = made.lineage.behind(target, differences=whole)
    answer.queries.extend(traced.queries)
    made.run.progress("reading source rows")
    found = _sources(made, traced, answer)
    answer.links = _links(traced, found)
    # What let a row through, and what a function read, is the same whether the rows of whole tables are listed or not.
    read = made.lineage.behind(target)
    answer.read = answer.links if read is traced else _links(read, found)
    answer.controls = () if difference == "data" else controls(made.recorded, read, found.leaves, listed=whole)
    if reasons:
        made.run.progress("reading reasons")
        _reasons(made, traced, found, answer)
    return answer, found


def source_reader(made: Derivation) -> SourceReader:
    """Who reads the source rows of a derivation."""
    run = made.run
    return SourceReader(run.tables, run.stored, dict(made.recorded.plan.conf), made.spark, run.kept)


def _sources(made: Derivation, traced: Trace, answer: _Answer) -> FoundSources:
    """Every source table once, whatever number of leaves read it (a self-join reads one table twice)."""
    import numpy as np

    reader, tables = source_reader(made), tables_of(made.recorded)
    rows: dict[str, SourceRows] = {}
    leaves: dict[int, str] = {}
    behind = {name: traced.rows(row_set_of(group)) for name, group in tables.items()}
    wanted = {name: one.each_once() for name, one in behind.items()}
    check_size(wanted, made.run.most_sources)
    for name, group in tables.items():
        rows[name] = reader.read(group[0], wanted[name])
    harm = {one.source.leaf: rows[name].harm for name, group in tables.items() for one in group}
    for name, group in tables.items():
        leaves |= {one.source.leaf: name for one in group}
        tracing = worth_over([text for leaf in sorted(behind[name].leaves & made.read) for text in harm[leaf]])
        worth = weakest(rows[name].guarantee, behind[name].guarantee, tracing)
        keyed = KeyedRows.of(made.run.record.id, name, rows[name].keys.keys, np.arange(rows[name].table.num_rows))
        answer.sources[name] = SourceTable(rows[name].table, guarantee=worth, stale=tuple(rows[name].stale), keyed=(keyed,))
    return FoundSources(rows=rows, leaves=leaves, tables={name: group[0] for name, group in tables.items()})


def _reasons(made: Derivation, traced: Trace, found: FoundSources, answer: _Answer) -> None:
    run = made.run
    reader = ReasonReader(run, made.rows)
    for segment, functions in named_functions(made.recorded):
        own = RowSet("segment", (segment.number,))
        reached = traced.rows(own)
        numbers = different(reached.each_once().column(0).to_numpy())
        for name, function in functions.items():
            calls = reader.read(function, made.recorded.materialized[segment.number], numbers)
            answer.reasons[name] = Reasons(
                calls.table,
                guarantee=weakest(calls.guarantee, reached.guarantee),
                # A table that decided as a whole let the row through; the function read no row of it.
                links=_links(made.lineage.behind(Rows(of=own, keys=calls.rows)), found),
                names=Names.of(run.udfs.descriptions[function.function].said),
                run_id=run.record.id,
                relations=calls.relations,
            )


def row_set_of(group: Sequence[RecordedSource]) -> RowSet:
    """A source table, at whatever places the plan reads it."""
    return RowSet("source", tuple(one.source.leaf for one in group))


def check_size(wanted: Mapping[str, pa.Table], most: int) -> None:
    """Before any source row is read.

    :raises AnswerTooLarge: there are more of them than one answer may have.
    """
    rows = sum(keys.num_rows for keys in wanted.values())
    if rows > most:
        tables = ", ".join(f"{keys.num_rows:,} of {name}" for name, keys in wanted.items() if keys.num_rows)
        raise AnswerTooLarge(
            f"{rows:,} source rows stand behind the target ({tables}), more than the {most:,} that one answer may have: narrow the target,"
            " or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
        )


def _links(traced: Trace, found: FoundSources) -> pa.Table:
    """Which source rows stand behind which tag."""
    parts = []
    for name, rows in found.rows.items():
        of = RowSet("source", tuple(leaf for leaf, table in found.leaves.items() if table == name))
        parts.append((name, *linked(traced.rows(of).keys, rows)))
    return target_links(parts)


def linked(keys: pa.Table, rows: SourceRows) -> tuple[Numbers, Numbers]:
    """Each tag with the places of its rows among those that were read."""
    places = rows.keys.places(keys.select(range(1, keys.num_columns)))
    return keys.column(0).to_numpy()[places.asked], places.row
