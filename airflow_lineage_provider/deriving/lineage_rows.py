"""Lineage as rows: the source rows behind rows of a result, and the rows of a result that source rows live on in."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.known_keys import KnownKeys
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, linked, row_set_of
from airflow_lineage_provider.deriving.end_rows import chosen_end, rows_of_end
from airflow_lineage_provider.deriving.granular_forward import ByValue, descendants_by_value
from airflow_lineage_provider.deriving.inverted import descendants, keys_asked
from airflow_lineage_provider.deriving.links import pairs
from airflow_lineage_provider.deriving.rows import StoredRows
from airflow_lineage_provider.deriving.sources import SourceReader
from airflow_lineage_provider.deriving.stale import worth_of_naming
from airflow_lineage_provider.deriving.stored_ends import RESULT_END, StoredEnd, check_behind, segment_named
from airflow_lineage_provider.deriving.why_not.found_rows import worth_of_copies
from airflow_lineage_provider.deriving.why_not.question import Asked, asked_of
from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.recording import Place, places_of, tables_of
from airflow_lineage_provider.tracing.maps import RESULT, distinct_rows, numbered_rows, tagged_rows
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import INDEX, LAZY

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.narrowing import Narrowing
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.tracing.maps import Rows

_OF_ONE_ROW = ("file_position", "snapshot")
"""The keys of which no two rows have the same: a primary key is what somebody says is one."""


def keys_behind(
    run: AskedRun,
    target: Any,
    places: Mapping[str, Place],
    *,
    at: Any = None,
    limit: int,
    lazy: bool = True,
    narrowing: Narrowing | None = None,
    end: StoredEnd = RESULT_END,
) -> dict[str, KnownKeys]:
    """The keys of the rows of source tables, or places, that stand behind rows of the result (of an ``end``); with a ``narrowing`` of those
    that meet it, and maybe of others.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises SparkRequired: it needs Spark, and there is no session.
    :raises NotCaptured: without ``lazy``, what captured lineage does not say.
    """
    chosen, sources = chosen_end(run, end, target, at, limit), {name: one.sources(run.recorded) for name, one in places.items()}
    with derivation(run, chosen.condition(), lazy=lazy, narrowing=narrowing, written=end.is_result) as made:
        run.progress("finding the target rows")
        asked = numbered_rows(end.rows, chosen.numbers(made.rows))
        run.progress("tracing")
        behind = {name: made.lineage.between(end.rows, row_set_of(own)).backward(asked) for name, own in sources.items()}
        return {
            name: KnownKeys(
                keys=rows.keys,
                guarantee=weakest(made.worth_of(rows), rows.guarantee),
                engine=rows.engine,
                asked=chosen.asked,
                asked_rows=asked.keys.num_rows,
                is_of_one_row=sources[name][0].identity.kind in _OF_ONE_ROW,
                are_met=_are_met(made, sources[name], rows),
                asked_of=end.name,
                within=end.within,
            )
            for name, rows in behind.items()
        }


def _are_met(made: Derivation, sources: Sequence[RecordedSource], rows: Rows) -> bool:
    """Whether rows of source leaves are those that meet what the derivation was narrowed by: they were looked up, and none was traced."""
    captured = made.captured
    if captured is None or not rows.engine.startswith(INDEX) or LAZY in rows.engine:
        return False
    is_each = all(one.identity.kind in _OF_ONE_ROW for one in sources)
    return is_each and all(captured.gives_what_is_asked_for(one.source.leaf) for one in sources)


def rows_behind(run: AskedRun, target: Any, *, at: Any, summary: RunSummary, limit: int, lazy: bool = True) -> dict[str, LineageRows]:
    """The rows of all source tables that stand behind rows of the result.

    :raises AnswerTooLarge: there are more than one answer may have; none was read.
    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, SparkRequired, NotCaptured: as `keys_behind`.
    """
    found = keys_behind(run, target, places_of(run.recorded, None, by_leaf=False), at=at, limit=limit, lazy=lazy)
    check_size({name: distinct_rows(one.of_rows) for name, one in found.items()}, run.most_sources)
    return {name: read_behind(run, name, one, summary) for name, one in found.items()}


def read_behind(
    run: AskedRun,
    name: str,
    known: KnownKeys,
    summary: RunSummary,
    keys: pa.Table | None = None,
    columns: Collection[str] | None = None,
) -> LineageRows:
    """The rows of a source table with the keys that are known; with ``keys`` those of them alone, with ``columns`` these, and maybe others.

    :raises AnswerTooLarge: there are more than one answer may have. :raises SparkRequired: only Spark can read them.
    """
    started, source = time.perf_counter(), tables_of(run.recorded)[name][0]
    wanted = distinct_rows(known.of_rows) if keys is None else keys
    check_size({name: wanted}, run.most_sources)
    run.progress("reading source rows")
    found = SourceReader(run.tables, run.stored, dict(run.recorded.plan.conf), run.on_demand, run.kept).read(source, wanted, columns)
    return LineageRows(
        run=summary,
        asked=known.asked,
        table=name,
        rows=found.table,
        links=pairs(*linked(known.keys, found)),
        guarantee=weakest(found.guarantee, known.guarantee),
        engine=known.engine,
        stale=found.stale,
        asked_rows=known.asked_rows,
        asked_of=known.asked_of,
        within=known.within,
        keys=found.keys.keys,
        seconds=time.perf_counter() - started,
    )


def stored_behind(
    run: AskedRun, target: Any, behind: StoredEnd, *, end: StoredEnd, at: Any, summary: RunSummary, limit: int, lazy: bool
) -> LineageRows:
    """The rows of a stored segment that stand behind rows of the result, or of an ``end`` that is made of them.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, SparkRequired, NotCaptured: as `keys_behind`.
    :raises AnswerTooLarge: there are more than one answer may have.
    """
    started = time.perf_counter()
    chosen = chosen_end(run, end, target, at, limit)
    with derivation(run, chosen.condition(), lazy=lazy) as made:
        run.progress("finding the target rows")
        asked = numbered_rows(end.rows, chosen.numbers(made.rows))
        run.progress("tracing")
        rows = made.lineage.between(end.rows, behind.rows).backward(asked)
        return rows_found(
            made,
            behind,
            *_numbers(rows),
            asked=chosen.asked,
            asked_rows=asked.keys.num_rows,
            asked_of=end.name,
            within=end.within,
            summary=summary,
            guarantee=weakest(made.worth_of(rows), rows.guarantee),
            engine=rows.engine,
            started=started,
        )


def rows_from(
    run: AskedRun,
    rows: Any,
    table: str | None,
    *,
    at: Any = None,
    summary: RunSummary,
    limit: int,
    lazy: bool = True,
    by_value: bool = False,
    written: bool = True,
    to: StoredEnd = RESULT_END,
) -> LineageRows:
    """The rows of the result (of an end, ``to``) that descend from rows of a source table, or of a stored segment; ``written`` as
    `derivation` takes it.

    ``by_value``: where values are kept in place of source rows they may be looked up by these; which row descends from which source row is
    not known then (`LineageRows.is_linked`).

    :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows cannot be meant so.
    :raises AnswerTooLarge: there are more than one answer may have. :raises NotCaptured: as `keys_behind`.
    :raises SparkRequired: there is no session, and without one the rows cannot be found, or not be followed.
    :raises UnsupportedOperator, TracingError: what became of the rows cannot be told.
    """
    started = time.perf_counter()
    if (start := segment_named(run.recorded, table)) is not None:
        check_behind(run.recorded, to, start)
        chosen = chosen_end(run, start, rows, at, limit)
        meant = _Meant(chosen.asked, start.name, numbered_rows(start.rows, chosen.numbers(StoredRows(run))), within=start.within)
    else:
        asked = asked_of(rows, table, run.recorded, run.on_demand.session, at=at)
        if by_value and to.is_result and (known := descendants_by_value(run, asked, limit)) is not None:
            return _known_by_value(run, asked, known, summary=summary, lazy=lazy, started=started)
        if not to.is_result:
            check_behind(run.recorded, to, asked.table)
        run.progress("finding the source rows")
        meant = _meant(run, asked, limit)
    with derivation(run, TRUE, lazy=lazy, written=written and to.is_result) as made:
        descending = descendants(made, meant.rows, to)
        return rows_found(
            made,
            to,
            *_numbers(descending),
            asked=meant.asked,
            asked_rows=meant.rows.keys.num_rows,
            asked_table=meant.table,
            within=meant.within,
            summary=summary,
            guarantee=weakest(*meant.worth, descending.guarantee),
            engine=descending.engine,
            stale=meant.stale,
            started=started,
        )


@dataclass(frozen=True)
class _Meant:
    """Rows from which others descend, in words and by their keys; and what the answer is worth for how they were found."""

    asked: str
    table: str
    rows: Rows
    worth: tuple[Guarantee | None, ...] = ()
    stale: tuple[str, ...] = ()
    within: frozenset[str] = frozenset()


def _meant(run: AskedRun, asked: Asked, limit: int) -> _Meant:
    """Rows of a source table.

    :raises EmptyTarget, TargetTooLarge, InvalidTarget, SparkRequired: as `keys_asked`.
    """
    found = keys_asked(run, asked, limit)
    worth = (worth_of_naming(asked.table, found.stale), worth_of_copies(asked.table, found.copies))
    return _Meant(asked.text, asked.table, tagged_rows(row_set_of(asked.leaves), found.keys), worth, found.stale)


def _numbers(rows: Rows) -> tuple[Numbers, Numbers]:
    """Of rows of a segment the tags, and for each the row's number."""
    tags, numbers = (rows.keys.column(name).to_numpy() for name in (TAG, rows.keys.column_names[1]))
    return tags, numbers


def _known_by_value(run: AskedRun, asked: Asked, found: ByValue, *, summary: RunSummary, lazy: bool, started: float) -> LineageRows:
    """Rows of the result that were looked up by values: all that is known but which source row each descends from."""
    with derivation(run, TRUE, lazy=lazy, written=True) as made:
        rows = rows_found(
            made,
            RESULT_END,
            found.numbers,
            found.numbers,
            asked=asked.text,
            asked_rows=0,
            summary=summary,
            guarantee=made.lineage.between(RESULT, row_set_of(asked.leaves)).guarantee,
            engine=found.engine,
            started=started,
        )
    return replace(rows, links=rows.links.slice(0, 0), is_linked=False)


def rows_found(
    made: Derivation,
    end: StoredEnd,
    tags: Numbers,
    found: Numbers,
    *,
    asked: str,
    asked_rows: int,
    summary: RunSummary,
    guarantee: Guarantee,
    engine: str,
    started: float,
    asked_table: str = "",
    asked_of: str = "result",
    stale: tuple[str, ...] = (),
    within: frozenset[str] = frozenset(),
) -> LineageRows:
    """Rows of the result, or of a stored segment, that were found, by their numbers, each with the tag of a row that was asked about.

    :raises AnswerTooLarge: there are more than one answer may have.
    """
    import pyarrow as pa

    numbers, how = different(found), "descend from" if asked_table or end.is_result else "stand behind"
    if len(numbers) > made.run.most_sources:
        raise AnswerTooLarge(
            f"{len(numbers):,} rows of {end.in_words} {how} {asked}, more than the "
            f"{made.run.most_sources:,} that one answer may have: ask about fewer rows, or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
        )
    made.run.progress(f"reading the rows of {end.in_words}")
    return LineageRows(
        run=summary,
        asked=asked,
        table=end.name,
        rows=rows_of_end(made, end, numbers),
        links=pairs(tags, numbers.searchsorted(found)),
        guarantee=guarantee,
        engine=engine,
        stale=stale,
        asked_rows=asked_rows,
        asked_table=asked_table,
        asked_of=asked_of,
        within=within | end.within,
        numbers=tuple(numbers.tolist()) if end.is_result else (),
        keys=None if end.is_result else pa.table({"key_0": numbers}),
        seconds=time.perf_counter() - started,
    )
