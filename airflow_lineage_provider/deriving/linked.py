"""A linked brush: rows of a run's result, and the rows of another run's result that were made of the same source rows (Smoke, Sec. 2.1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import check_size, chosen_target, row_set_of
from airflow_lineage_provider.deriving.inverted import descendants
from airflow_lineage_provider.deriving.lineage_rows import rows_found
from airflow_lineage_provider.deriving.links import pairs, same
from airflow_lineage_provider.deriving.stored_ends import RESULT_END
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest
from airflow_lineage_provider.recording import meant_tables, tables_of
from airflow_lineage_provider.records.versions import FilesVersion, RowsVersion, SnapshotVersion
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.maps import RESULT, numbered_rows, tagged_rows
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource

_SHOWN = 5
Ask = Callable[[Callable[["AskedRun"], Any]], Any]
"""Asks a question of a run."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A source table that two runs read in one version: its name in the first run, and its leaves in either."""

    name: str
    here: Sequence[RecordedSource]
    there: Sequence[RecordedSource]


@dataclass(frozen=True, kw_only=True)
class _Behind:
    """The source rows behind rows of the first run's result: their keys, each once, and which of them answers to which of those."""

    asked: str
    asked_rows: int
    keys: pa.Table
    links: pa.Table
    guarantee: Guarantee
    engine: str


def linked_rows(
    ask: Ask, ask_other: Ask, shared: Shared, target: Any, *, at: Any, summary: RunSummary, limit: int, lazy: bool
) -> LineageRows:
    """The rows of the other run's result that descend from the source rows behind rows of the run's.

    :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows cannot be meant so.
    :raises AnswerTooLarge: there are more than one answer may have. :raises NotCaptured: without ``lazy``, as `keys_behind`.
    """
    behind: _Behind = ask(lambda run: _behind(run, shared, target, at=at, limit=limit, lazy=lazy))
    found: LineageRows = ask_other(lambda run: _beyond(run, shared, behind, summary, lazy=lazy))
    return found


def _behind(run: AskedRun, shared: Shared, target: Any, *, at: Any, limit: int, lazy: bool) -> _Behind:
    chosen, of = chosen_target(run, target, at, limit), row_set_of(shared.here)
    with derivation(run, chosen.condition(), lazy=lazy, written=True) as made:
        run.progress("finding the target rows")
        asked = numbered_rows(RESULT, chosen.numbers(made.rows))
        run.progress("tracing")
        found = made.lineage.between(RESULT, of).backward(asked)
        worth = made.worth_of(found)
    keys = found.each_once()
    check_size({shared.name: keys}, run.most_sources)
    places = KeyIndex(keys).places(found.keys.drop_columns([TAG]))
    return _Behind(
        asked=chosen.asked,
        asked_rows=asked.keys.num_rows,
        keys=keys,
        links=pairs(found.keys.column(TAG).to_numpy()[places.asked], places.row),
        guarantee=weakest(worth, found.guarantee),
        engine=found.engine,
    )


def _beyond(run: AskedRun, shared: Shared, behind: _Behind, summary: RunSummary, *, lazy: bool) -> LineageRows:
    started = time.perf_counter()
    with derivation(run, TRUE, lazy=lazy, written=True) as made:
        run.progress("following the source rows")
        rows = tagged_rows(row_set_of(shared.there), behind.keys)
        # Of a row behind which there is nothing (a count of no rows, say) nothing descends.
        found = descendants(made, rows) if rows.keys.num_rows else replace(numbered_rows(RESULT, []), engine=behind.engine)
        tags, numbers = found.keys.column(TAG).to_numpy(), found.keys.column(1).to_numpy()
        left, right = same(behind.links.column("row").to_numpy(), tags)
        return rows_found(
            made,
            RESULT_END,
            behind.links.column("asked").to_numpy()[left],
            numbers[right],
            asked=behind.asked,
            asked_rows=behind.asked_rows,
            summary=summary,
            guarantee=weakest(behind.guarantee, found.guarantee, _worth(shared)),
            engine=found.engine if found.engine == behind.engine else f"{behind.engine}; {found.engine}",
            started=started,
        )


def _worth(shared: Shared) -> Guarantee:
    if shared.here[0].identity.kind != "row_digest":
        return EXACT
    return Guarantee(level="superset", cause=f"rows of {shared.name} that are the same in all columns are not told apart")


def shared_table(here: RecordedPlan, there: RecordedPlan, table: str | None) -> Shared:
    """The source table that two runs read in one version; ``table`` names it, as the first run has it.

    :raises InvalidTarget: there is none, or several and none is named; says in which files they differ.
    """
    tables, others = tables_of(here), tables_of(there)
    names = meant_tables(table, tables)
    found = [
        Shared(name=name, here=tables[name], there=group)
        for name in names
        for group in others.values()
        if _same_version(tables[name][0], group[0])
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidTarget(f"the runs both read {', '.join(one.name for one in found)}: say through which the rows are linked, table=…")
    told = [f"{name}: {_difference(tables[name][0], others)}" for name in names]
    raise InvalidTarget(f"the runs have no source table of one version in common ({'; '.join(told) or 'the first reads none'})")


def _same_version(one: RecordedSource, other: RecordedSource) -> bool:
    """Whether it is known that two sources are the same rows, told apart by the same keys."""
    if one.identity != other.identity or one.identity.kind == "snapshot" or one.version.kept_rows or other.version.kept_rows:
        return False
    match one.version, other.version:
        case FilesVersion(), FilesVersion():
            told = one.version.files is not None or one.version.digest is not None
            same_rows = one.identity.kind != "row_digest" or one.source.columns == other.source.columns
            return told and same_rows and one.version == other.version and one.files == other.files
        case RowsVersion(), RowsVersion():
            return bool(one.version.place and one.version.checksum) and one.version == other.version
        case SnapshotVersion(), SnapshotVersion():
            return one.version.is_known and (one.version, one.source.relation) == (other.version, other.source.relation)
    return False


def _difference(one: RecordedSource, others: dict[str, list[RecordedSource]]) -> str:
    """What keeps a table from being the same as that of the same name, or with files in common."""
    if one.identity.kind == "snapshot":
        return "data of the session, which no other run reads"
    own = _files(one)
    alike = [group[0] for name, group in others.items() if name == one.source.relation.name or set(own) & set(_files(group[0]))]
    if not alike:
        return "the other run does not read it"
    theirs = _files(alike[0])
    differing = list(islice(_differing(own, theirs), _SHOWN + 1))
    if not differing:
        return "what tells its rows apart, or its version, is not known to be the same"
    return ", ".join(differing[:_SHOWN]) + (" …" if len(differing) > _SHOWN else "")


def _files(source: RecordedSource) -> dict[str, tuple[int, int]]:
    return dict(source.version.files or {}) if isinstance(source.version, FilesVersion) else {}


def _differing(own: dict[str, tuple[int, int]], theirs: dict[str, tuple[int, int]]) -> Iterator[str]:
    for path in sorted({*own, *theirs}):
        if path not in theirs or path not in own:
            yield f"{path} was read by {'the other' if path in theirs else 'the first'} alone"
        elif own[path] != theirs[path]:
            yield f"{path} was another"
