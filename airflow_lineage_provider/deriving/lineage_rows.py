"""Lineage as rows: the source rows behind rows of a result, and the rows of a result that source rows live on in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.known_keys import KnownKeys
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, linked, result_rows, row_set_of
from airflow_lineage_provider.deriving.granular_forward import ByValue, descendants_by_value
from airflow_lineage_provider.deriving.inverted import descendants, keys_asked
from airflow_lineage_provider.deriving.links import pairs
from airflow_lineage_provider.deriving.sources import SourceReader
from airflow_lineage_provider.deriving.stale import worth_of_naming
from airflow_lineage_provider.deriving.why_not.found_rows import worth_of_copies
from airflow_lineage_provider.deriving.why_not.question import Asked, asked_of
from airflow_lineage_provider.errors import AnswerTooLarge
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.recording import Place, places_of, tables_of
from airflow_lineage_provider.tracing.maps import RESULT, distinct_rows, numbered_rows, tagged_rows
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.narrowing import Narrowing

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
) -> dict[str, KnownKeys]:
    """The keys of the rows of source tables, or places, that stand behind rows of the result; with a ``narrowing`` of those that meet it,
    and maybe of others.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises SparkRequired: it needs Spark, and there is no session.
    :raises NotCaptured: without ``lazy``, what captured lineage does not say.
    """
    chosen, sources = chosen_target(run, target, at, limit), {name: one.sources(run.recorded) for name, one in places.items()}
    with derivation(run, chosen.condition(), lazy=lazy, narrowing=narrowing, written=True) as made:
        run.progress("finding the target rows")
        asked = numbered_rows(RESULT, chosen.numbers(made.rows))
        run.progress("tracing")
        behind = {name: made.lineage.between(RESULT, row_set_of(own)).backward(asked) for name, own in sources.items()}
        return {
            name: KnownKeys(
                keys=rows.keys,
                guarantee=weakest(made.worth_of(rows), rows.guarantee),
                engine=rows.engine,
                asked=chosen.asked,
                asked_rows=asked.keys.num_rows,
                is_of_one_row=sources[name][0].identity.kind in _OF_ONE_ROW,
            )
            for name, rows in behind.items()
        }


def rows_behind(run: AskedRun, target: Any, *, at: Any, summary: RunSummary, limit: int, lazy: bool = True) -> dict[str, LineageRows]:
    """The rows of all source tables that stand behind rows of the result.

    :raises AnswerTooLarge: there are more than one answer may have; none was read.
    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, SparkRequired, NotCaptured: as `keys_behind`.
    """
    found = keys_behind(run, target, places_of(run.recorded, None, by_leaf=False), at=at, limit=limit, lazy=lazy)
    check_size({name: distinct_rows(one.of_rows) for name, one in found.items()}, run.most_sources)
    return {name: read_behind(run, name, one, summary) for name, one in found.items()}


def read_behind(run: AskedRun, name: str, known: KnownKeys, summary: RunSummary, keys: pa.Table | None = None) -> LineageRows:
    """The rows of a source table with the keys that are known; with ``keys`` those of them alone.

    :raises AnswerTooLarge: there are more than one answer may have. :raises SparkRequired: only Spark can read them.
    """
    started, source = time.perf_counter(), tables_of(run.recorded)[name][0]
    wanted = distinct_rows(known.of_rows) if keys is None else keys
    check_size({name: wanted}, run.most_sources)
    run.progress("reading source rows")
    found = SourceReader(run.tables, run.stored, dict(run.recorded.plan.conf), run.on_demand, run.kept).read(source, wanted)
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
        keys=found.keys.keys,
        seconds=time.perf_counter() - started,
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
) -> LineageRows:
    """The rows of the result that descend from rows of a source table; ``written`` as `derivation` takes it.

    ``by_value``: where values are kept in place of source rows they may be looked up by these; which row descends from which source row is
    not known then (`LineageRows.is_linked`).

    :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows cannot be meant so.
    :raises AnswerTooLarge: there are more than one answer may have. :raises NotCaptured: as `keys_behind`.
    :raises SparkRequired: there is no session, and without one the rows cannot be found, or not be followed.
    :raises UnsupportedOperator, TracingError: what became of the rows cannot be told.
    """
    started = time.perf_counter()
    asked = asked_of(rows, table, run.recorded, run.on_demand.session, at=at)
    if by_value and (known := descendants_by_value(run, asked, limit)) is not None:
        return _known_by_value(run, asked, known, summary=summary, lazy=lazy, started=started)
    run.progress("finding the source rows")
    meant = keys_asked(run, asked, limit)
    of = row_set_of(asked.leaves)
    with derivation(run, TRUE, lazy=lazy, written=written) as made:
        descending = descendants(made, tagged_rows(of, meant.keys))
        tags, found = (descending.keys.column(name).to_numpy() for name in (TAG, descending.keys.column_names[1]))
        return result_behind(
            made,
            tags,
            found,
            asked=asked.text,
            asked_rows=meant.keys.num_rows,
            asked_table=asked.table,
            summary=summary,
            guarantee=weakest(worth_of_naming(asked.table, meant.stale), descending.guarantee, worth_of_copies(asked.table, meant.copies)),
            engine=descending.engine,
            stale=meant.stale,
            started=started,
        )


def _known_by_value(run: AskedRun, asked: Asked, found: ByValue, *, summary: RunSummary, lazy: bool, started: float) -> LineageRows:
    """Rows of the result that were looked up by values: all that is known but which source row each descends from."""
    with derivation(run, TRUE, lazy=lazy, written=True) as made:
        rows = result_behind(
            made,
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


def result_behind(
    made: Derivation,
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
    stale: tuple[str, ...] = (),
) -> LineageRows:
    """Rows of the result that were found, by their numbers, each with the tag of a row that was asked about.

    :raises AnswerTooLarge: there are more than one answer may have.
    """
    numbers = different(found)
    _check_result(numbers, asked, made.run.most_sources)
    made.run.progress("reading the rows of the result")
    result = result_rows(made.rows, numbers)
    return LineageRows(
        run=summary,
        asked=asked,
        table="result",
        rows=result,
        links=pairs(tags, numbers.searchsorted(found)),
        guarantee=guarantee,
        engine=engine,
        stale=stale,
        asked_rows=asked_rows,
        asked_table=asked_table,
        numbers=tuple(numbers.tolist()),
        seconds=time.perf_counter() - started,
    )


def _check_result(numbers: Numbers, asked: str, most: int) -> None:
    if len(numbers) > most:
        raise AnswerTooLarge(
            f"{len(numbers):,} rows of the result descend from {asked}, more than the {most:,} that one answer may have: ask about fewer "
            "rows, or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
        )
