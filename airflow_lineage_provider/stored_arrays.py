"""Lineage between the cells of arrays, kept in the results store: a log like one in memory, and those of tasks, runs and derivations."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider.answers.kept_arrays import KeptArrays
from airflow_lineage_provider.answers.touched import Touched, touched
from airflow_lineage_provider.arrays import owner as owners
from airflow_lineage_provider.arrays.codec import opened_together
from airflow_lineage_provider.arrays.given import check_name
from airflow_lineage_provider.arrays.keeping import Known, between
from airflow_lineage_provider.arrays.link import Link
from airflow_lineage_provider.arrays.log import Log
from airflow_lineage_provider.arrays.overlay import Overlay
from airflow_lineage_provider.arrays.tail import Further
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import DerivationNotFound, InvalidOption, RecordDamaged, RelationDamaged, RunNotFound, UnknownArray
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.settings import confirmations
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.arrays.boxes import Shape
    from airflow_lineage_provider.arrays.keeping import InParts, Pair, Said
    from airflow_lineage_provider.arrays.owner import Owner
    from airflow_lineage_provider.arrays.relation import Relation
    from airflow_lineage_provider.arrays.reuse import Operation
    from airflow_lineage_provider.arrays.tail import Part
    from airflow_lineage_provider.records.arrays import StoredArray
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Store
    from airflow_lineage_provider.store.known_arrays import FoundRelation

T = TypeVar("T")

_CACHED = 64
"""So many relations that were read stay in memory."""


class StoredArrays(AsksStore):
    """What `Lineage` can do with arrays."""

    current_task: Callable[[], Mapping[str, Any]] | None = None
    """The context of the task of Airflow's that this process runs; whoever opens this object in a task says it here."""
    _log: LogInStore | None = None

    @abstractmethod
    def derivation(self, derivation_id: str) -> Explanation: ...

    @abstractmethod
    def may_read(self, run: RunRecord) -> bool: ...

    @property
    def arrays(self) -> LogInStore:
        """Lineage between the cells of arrays, kept in the results store: `arrays.Log`, and more."""
        if self._log is None:
            self._log = LogInStore(self)
        return self._log


class LogInStore(Log):
    """A log in the results store: each call that says something is one transaction, and what one process says others see.

    Relations are read when a question leads along them, and no others are; of large ones what it needs, where that is a part.
    """

    def __init__(self, lineage: StoredArrays) -> None:
        self._lineage = lineage
        self._kept_in_store = KeptInStore(lineage)
        super().__init__(kept=self._kept_in_store)

    @contextmanager
    def task(self, context: Mapping[str, Any] | None = None) -> Iterator[OwnersLog]:
        """A log whose arrays belong to the task of Airflow's that this runs in, all its tries.

        All that is said in the ``with`` block is kept at its end, in one transaction, in place of what an earlier try has kept; where the
        block raises, nothing is. Arrays of others are asked, and linked with, by their whole names (`OwnersLog.name`).

        :param context: Airflow's, ``get_current_context()``; without one `LineageHook` knows it.
        :raises InvalidOption: no task is known here.
        """
        with self._owned(self._task(context)) as log:
            yield log

    @contextmanager
    def of_run(self, run_id: str) -> Iterator[OwnersLog]:
        """The same for arrays that belong to a complete run.

        :raises RunNotFound: there is no such run. :raises RunNotComplete: it is not complete.
        """
        with self._owned(owners.Owner("run", (run_id,))) as log:
            yield log

    @contextmanager
    def of_derivation(self, derivation_id: str) -> Iterator[OwnersLog]:
        """The same for arrays that belong to a derivation.

        :raises DerivationNotFound: there is no such derivation.
        """
        with self._owned(owners.Owner("derivation", (derivation_id,))) as log:
            yield log

    def kept(self, prefix: str = "", limit: int = 50) -> KeptArrays:
        """The newest arrays, those whose names begin so, with their relations.

        :raises InvalidOption: an option is wrong.
        """
        check_options({"name": prefix or None, "limit": limit})
        return KeptArrays(self._lineage.lasting(lambda: self._lineage.store.list_arrays(prefix, limit)))

    def kept_array(self, name: str) -> StoredArray:
        """An array, with its relations.

        :raises UnknownArray: there is none of this name.
        """
        self._shape(name, self._known(name))
        found = self._lineage.lasting(lambda: self._lineage.store.stored_array(name))
        if found is None:
            raise UnknownArray(f"array {shown(name)} was dropped meanwhile")
        return found

    def touching(
        self, table: str, row: Mapping[str, Any], cells: Any = ..., *, column: str | None = None, limit: int | None = None
    ) -> Touched:
        """The decisions explained so far whose reasons are about these cells of a source row's value: of which judgements was this corner
        of the picture a cause?

        :param table: the source table, as explanations name it.
        :param row: values of columns by which the row is known: ``{"path": "/data/7.png"}``.
        :param cells: an index, slices, a mask, indices or boxes of the array that reasoning mode made of the value. A value in which there
            are no such cells is left out, and said (`Touched.remarks`).
        :param column: of the value; without, that of any column of the row that a reason is about.
        :param limit: look at so many derivations that have rows of the table, the newest; at all by default.
        :raises InvalidTarget: ``row`` or ``column`` names no columns of the table. :raises InvalidOption: an option is wrong.
        :raises InvalidCells: no such array has these cells.
        """
        check_options({"table": table, "max_rows": limit})
        found = self._lineage.lasting(lambda: self._lineage.store.derivations_reading(table, limit))
        return touched(self._explanations(found), table, row, cells, column)

    def _explanations(self, found: Iterable[tuple[str, str]]) -> Iterator[Explanation | str]:
        """Derivations that may be shown, or why one cannot be read; one that is dropped meanwhile is none."""
        for derivation_id, run_id in found:
            with suppress(DerivationNotFound, RunNotFound):
                try:
                    if self._lineage.may_read(self._record(run_id)):
                        yield self._lineage.derivation(derivation_id)
                except RecordDamaged as problem:
                    yield f"derivation {derivation_id} cannot be read: {problem}"

    def _record(self, run_id: str) -> RunRecord:
        return self._lineage.lasting(lambda: self._lineage.store.run(run_id))

    def drop(self, *names: str) -> int:
        """Drop arrays, with the lineage from and to them; how many there were. A name that ends with ``/`` stands for all that begin so.

        :raises UnknownArray: there is none of one of these names: nothing is dropped.
        """
        for name in names:
            check_name(name)
        return self._lineage.lasting(lambda: self._lineage.store.drop_arrays(names))

    @contextmanager
    def _owned(self, owner: Owner) -> Iterator[OwnersLog]:
        overlay = Overlay(self._kept_in_store, owner)
        yield OwnersLog(overlay, owner)
        self._kept_in_store.enter(overlay.said, owner)

    def _task(self, context: Mapping[str, Any] | None) -> Owner:
        if context is None:
            if self._lineage.current_task is None:
                raise InvalidOption(
                    "which task of Airflow's this is is not known here: open the store by LineageHook, or give the task's context, "
                    "task(get_current_context())"
                )
            context = self._lineage.current_task()
        try:
            ti = context["ti"]
            return owners.task(ti.dag_id, ti.task_id, ti.run_id, -1 if ti.map_index is None else ti.map_index)
        except (TypeError, KeyError, AttributeError) as error:
            raise InvalidOption(f"{shown(context)} is no context of a task: it has no task instance ({error!r})") from error


class OwnersLog(Log):
    """The arrays of one owner, and by their whole names those of others."""

    def __init__(self, kept: Overlay, owner: Owner) -> None:
        super().__init__(kept=kept, owner=owner)
        self._of = owner

    def name(self, array: str, *, task: str | None = None, dag: str | None = None, run: str | None = None, map_index: int = -1) -> str:
        """The whole name of an array: of this owner or, of a task's, of another task, in the same DAG and run where no others are named.

        :raises InvalidOption: another task is named, and this owner is none.
        """
        if task is None and dag is None and run is None:
            return str(self._of.full(array))
        if self._of.kind != "task":
            raise InvalidOption(f"these are the arrays of a {self._of.kind}: another task's have to be named in full")
        own_dag, own_task, own_run = self._of.parts
        return str(owners.task(dag or own_dag, task or own_task, run or own_run, map_index).full(array))


class KeptInStore:
    """What `arrays.keeping.Keeping` asks, answered by the store."""

    def __init__(self, lineage: StoredArrays) -> None:
        self._lineage = lineage
        self._tables: OrderedDict[int, Relation] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, names: Collection[str], pairs: Collection[Pair] = (), parts: InParts | None = None) -> Known:
        """See `Keeping`, as for the rest; one statement, and one for parts of a large relation that a question goes along.

        :raises RelationTooNew: a newer release wrote a relation. :raises RelationDamaged: its bytes are none between these arrays.
        """
        if not names:
            return Known()
        with self._lock:
            read = dict(self._tables)
        if parts is None:
            # What is read whole needs nobody to read on, as long as anybody has it.
            read = {number: table for number, table in read.items() if not table.is_apart}
        shapes, found, labels = self._asked(lambda store: store.known_arrays(names, pairs, read.keys(), parts))
        tables = {one.id: read[one.id] for one in found.values() if one.content is None} | self._opened(found, shapes)
        self._keep(tables)
        links = {pair: Link(tables[one.id], one.turned, one.guarantee, one.operation, one.cause) for pair, one in found.items()}
        return Known(shapes, links, labels)

    def names(self, most: int) -> list[str]:
        return self._asked(lambda store: store.array_names(most))

    def linked(self, name: str) -> list[str]:
        return self._asked(lambda store: store.linked_arrays(name))

    def edges(self, starts: Iterable[str]) -> list[Pair]:
        wanted = tuple(starts)
        return self._asked(lambda store: store.array_edges(wanted)) if wanted else []

    def has(self, pair: Pair) -> bool:
        return self._asked(lambda store: store.has_relation(pair))

    def _keep(self, tables: Mapping[int, Relation]) -> None:
        """Those that were asked for last are not read again: of an id the relation is the same for ever."""
        with self._lock:
            for number, table in tables.items():
                self._tables[number] = table
                self._tables.move_to_end(number)
            while len(self._tables) > _CACHED:
                self._tables.popitem(last=False)

    def operation(self, name: str) -> Operation:
        return self._asked(lambda store: store.array_operation(name, confirmations()))

    def operations(self) -> list[Operation]:
        return self._asked(lambda store: store.array_operations(confirmations()))

    def enter(self, said: Said, owner: Owner | None = None) -> None:
        """See `Keeping`; with an owner in place of what it had until now."""
        if owner is None:
            for name in said.shapes:
                owners.check_owner(name, None)
        self._asked(lambda store: store.save_arrays(said, owner, replace=owner is not None))

    def _asked(self, question: Callable[[Store], T]) -> T:
        return self._lineage.lasting(lambda: question(self._lineage.store))

    def _opened(self, found: Mapping[Pair, FoundRelation], shapes: Mapping[str, Shape]) -> dict[int, Relation]:
        """The relations that were read, by their ids."""
        read = [(pair, one, one.content) for pair, one in found.items() if one.content is not None]
        tables = opened_together((content, partial(between, pair), self._further(pair, one, content)) for pair, one, content in read)
        for (pair, one, _), table in zip(read, tables, strict=True):
            ends = (table.in_shape, table.out_shape) if not one.turned else (table.out_shape, table.in_shape)
            if ends != tuple(shapes.get(name) for name in pair):
                raise RelationDamaged(f"{between(pair)} cannot be read: it is between arrays of shapes {ends[0]} and {ends[1]}")
        return {one.id: table for (_, one, _), table in zip(read, tables, strict=True)}

    def _further(self, pair: Pair, one: FoundRelation, content: bytes) -> Further | None:
        """What reads the bytes of a relation of which only the first are read."""
        return Further(one.length, partial(self._bytes, pair, one.id)) if len(content) < one.length else None

    def _bytes(self, pair: Pair, number: int, parts: Sequence[Part]) -> list[bytes]:
        found = self._asked(lambda store: store.array_bytes(number, parts))
        if not found:
            raise UnknownArray(f"{between(pair)} was dropped meanwhile")
        return found
