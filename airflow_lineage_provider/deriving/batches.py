"""Which batches of streams have rows of a target: looked up in the results that they stored.

Batches that have one plan are asked by one condition: those whose results stand in a table that they share by one statement, others, which
have tables or files of their own, a hundred at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from airflow_lineage_provider import recording
from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.deriving.rows import where_in_files, where_stored
from airflow_lineage_provider.deriving.target import is_column, is_predicate, target_expression
from airflow_lineage_provider.deriving.target_rows import RowsTarget
from airflow_lineage_provider.errors import InvalidTarget, StoredRowsGone, TargetTooLarge
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql import PortabilityProblem
from airflow_lineage_provider.store.read import select_sql

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Materialization, Store
    from airflow_lineage_provider.store.batch_groups import BatchGroup, BatchOfGroup

T = TypeVar("T")
_AT_ONCE = 100


class Asks(Protocol):
    """What asks the store: each question again where an embedded server was started again meanwhile."""

    @property
    def store(self) -> Store: ...

    def lasting(self, question: Callable[[], T]) -> T: ...


class Candidate(NamedTuple):
    """A batch that has rows of a target, or of which the store cannot tell, and the record of its run."""

    query: str
    batch: int
    record: RunRecord


@dataclass(frozen=True)
class _Asked:
    """What every row of a target meets, of runs with one plan; ``exactly``: no other rows do."""

    recorded: RecordedPlan
    condition: Expression
    exactly: bool


def with_target(asks: Asks, groups: Sequence[BatchGroup], target: Any, most: int) -> Iterator[Candidate]:
    """The batches of these groups that have rows of the target, in the groups' order of queries, and by number.

    Whoever asks one of them further finds out whether it was dropped meanwhile.

    :raises InvalidTarget: it is a target of none of the results. :raises TargetTooLarge: more than ``most`` batches of one table have rows.
    :raises StoreError: the store fails, or a table is gone: its batches were dropped meanwhile.
    """
    asked = _asked(asks, groups, target)
    understood = [one for one in groups if one.plan in asked]
    for query, its in groupby(understood, key=lambda one: one.query):
        found = [_of_group(asks, one, asked[one.plan], most) for one in its]
        yield from _with_records(asks, query, heapq.merge(*found, key=lambda one: one.batch))


def too_many(most: int) -> TargetTooLarge:
    """What is said where more batches than ``most`` would have to be explained."""
    return TargetTooLarge(f"more than {most:,} batches may have rows that match; narrow the target, or raise max_batches")


def _asked(asks: Asks, groups: Sequence[BatchGroup], target: Any) -> dict[tuple[str, str], _Asked | None]:
    """What there is to ask by plan, of plans whose results may have such rows; None where only explaining a batch tells."""
    if is_column(target):
        return dict.fromkeys(one.plan for one in groups)
    examples = {one.plan: one.example for one in groups}
    records = {one.id: one for one in asks.lasting(lambda: asks.store.records(list(examples.values())))}
    found: dict[tuple[str, str], _Asked | None] = {}
    refused: list[InvalidTarget] = []
    for plan, run_id in examples.items():
        record = records.get(run_id)
        try:  # (a run that was dropped just now has no plan any more, and others have the same)
            found[plan] = None if record is None or record.status != "complete" else _condition(target, recording.read(record))
        except InvalidTarget as error:  # of a time when the pipeline had other columns, unless all say so
            refused.append(error)
    if refused and not found:
        raise refused[0]
    return found


def _condition(target: Any, recorded: RecordedPlan) -> _Asked:
    if is_predicate(target):
        return _Asked(recorded, target_expression(target, recorded)[0], exactly=True)
    rows = RowsTarget(target, recorded, 1, None)
    return _Asked(recorded, rows.condition(), exactly=rows.is_plain)


def _of_group(asks: Asks, group: BatchGroup, asked: _Asked | None, most: int) -> Iterator[BatchOfGroup]:
    """Those of a group that have such rows, or may have, by number."""
    if asked is None or group.result is None:
        return chain.from_iterable(_pages(asks, group))
    try:
        if group.result.in_files:
            where, columns = where_in_files(asked.condition, asked.recorded)
            return _narrowed(_pages(asks, group), lambda some: _in_files(some, columns, where))
        where = where_stored(asked.condition, asked.recorded, group.result)
    except PortabilityProblem:  # only Spark can tell
        return chain.from_iterable(_pages(asks, group))
    if group.shared_table is None:
        return _narrowed(_pages(asks, group), lambda some: asks.lasting(lambda: _in_tables(asks.store, some, where)))
    found = asks.lasting(lambda: asks.store.batches_with_rows(group, where, most + 1 if asked.exactly else None))
    if asked.exactly and len(found) > most:
        raise too_many(most)
    return iter(found)


def _pages(asks: Asks, group: BatchGroup) -> Iterator[list[BatchOfGroup]]:
    """All of a group by number, read from the catalog as they are asked for."""
    after = -1
    while some := asks.lasting(partial(asks.store.batches_of_group, group, after, _AT_ONCE)):
        yield some
        after = some[-1].batch


def _narrowed(pages: Iterable[list[BatchOfGroup]], having: Callable[[Sequence[Materialization]], Sequence[bool]]) -> Iterator[BatchOfGroup]:
    """Those whose results have such rows, and those that have no result any more: asking them says why."""
    for some in pages:
        stored = [one.result for one in some if one.result is not None]
        found = {one.run_id for one, has in zip(stored, having(stored), strict=True) if has}
        yield from (one for one in some if one.result is None or one.run_id in found)


def _in_tables(store: Store, stored: Sequence[Materialization], where: str) -> list[bool]:
    """Which of these have a row that meets a condition of PostgreSQL's, each in a table of its own: one statement."""
    if not stored:
        return []
    parts = (
        f"SELECT {at} AS place WHERE EXISTS ({select_sql(one.table, one.layout, [one.columns[0].name], where, None, 1)})"
        for at, one in enumerate(stored)
    )
    with store.session() as session:
        places = set(session.query(" UNION ALL ".join(parts)).column(0).to_pylist())
    return [at in places for at in range(len(stored))]


def _in_files(stored: Sequence[Materialization], columns: Sequence[str], where: str) -> list[bool]:
    """Which of these have such a row, each in files of its own, or may have: this process does not reach its files, or not as written."""
    reached = [one for one in stored if _is_reached(one)]
    try:
        having = stored_files.having(reached, columns, where) if reached else []
    except (PortabilityProblem, CannotReadHere, StoredRowsGone):
        return [True] * len(stored)
    without = {one.run_id for one, has in zip(reached, having, strict=True) if not has}
    return [one.run_id not in without for one in stored]


def _is_reached(stored: Materialization) -> bool:
    try:
        stored_files.paths_of(stored)
    except (CannotReadHere, StoredRowsGone):
        return False
    return True


def _with_records(asks: Asks, query: str, found: Iterator[BatchOfGroup]) -> Iterator[Candidate]:
    while some := list(islice(found, _AT_ONCE)):
        records = {one.id: one for one in asks.lasting(partial(asks.store.records, [one.run_id for one in some]))}
        for one in some:
            yield Candidate(query, one.batch, records.get(one.run_id) or asks.store.run(one.run_id))
