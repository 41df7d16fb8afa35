"""Spark's writers, watched while a recording is open: what a program writes by them is handed to the recording, which makes the write.

PySpark tells nobody of writes, so the methods that write are replaced, in its classes, from the first recording that is opened to the last
that is closed. Whoever is not in a recording does not notice: the methods do then what they did.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.errors import WriteNotRecorded
from airflow_lineage_provider.spark.writing.given import GivenWrite, warn_unseen
from airflow_lineage_provider.spark.writing.statements import statement
from airflow_lineage_provider.spark.writing.writers import ACTIONS, ACTIONS_V2, of_writer, of_writer_v2

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

Understood = Callable[[Any, "JavaObject", str, tuple[Any, ...]], GivenWrite]


class Recorder(Protocol):
    """Who is handed the writes."""

    def write(self, given: GivenWrite) -> JavaObject | None:
        """Make the write, and record it; what Spark answers."""

    def refuse(self, what: WriteNotRecorded) -> None:
        """Hear of something that cannot be recorded.

        :raises WriteNotRecorded: it is not to be done then.
        """


_LOCK = threading.Lock()
_OPEN: list[Recorder] = []
"""The recordings that are open, in the order of their opening."""
_MINE: ContextVar[tuple[Recorder, ...]] = ContextVar("lineage_recordings", default=())
"""Those that this thread has opened, the outermost first."""
_BY_ITSELF: ContextVar[bool] = ContextVar("lineage_writes_by_itself", default=False)
_REPLACED: list[tuple[type, str, Any, Any]] = []


@contextmanager
def watched(recorder: Recorder) -> Iterator[None]:
    """Hand a recorder what is written meanwhile: by this thread, and by others that have opened no recording of their own."""
    with _LOCK:
        if not _OPEN:
            _replace()
        _OPEN.append(recorder)
    token = _MINE.set((*_MINE.get(), recorder))
    try:
        yield
    finally:
        _MINE.reset(token)
        with _LOCK:
            _OPEN.remove(recorder)
            if not _OPEN:
                _restore()


@contextmanager
def unwatched() -> Iterator[None]:
    """Let this thread write without anybody's being told: what a recording itself writes."""
    token = _BY_ITSELF.set(True)
    try:
        yield
    finally:
        _BY_ITSELF.reset(token)


def _recorder() -> Recorder | None:
    """Whose a write of this thread is.

    :raises WriteNotRecorded: the thread has opened none, and several are open that do not stand in each other.
    """
    if _BY_ITSELF.get():
        return None
    with _LOCK:
        mine = [one for one in _MINE.get() if one in _OPEN]
        if mine or not _OPEN:
            return mine[-1] if mine else None
        outer = list(_OPEN)
    threads = {getattr(one, "thread", None) for one in outer}
    if len(threads) > 1:
        raise WriteNotRecorded(
            f"{len(outer)} recordings of different threads are open, and this thread has opened none: whose the write is cannot be told. "
            "Open one recording in the thread that starts the others, or one in each thread that writes"
        )
    return outer[-1]


def _replace() -> None:
    from pyspark.core.rdd import RDD
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.merge import MergeIntoWriter
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
    from pyspark.sql.session import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    for action in sorted(ACTIONS & vars(DataFrameWriter).keys()):
        _put(DataFrameWriter, action, _writing("_jwrite", ACTIONS, of_writer))
    for action in sorted(ACTIONS_V2.keys() & vars(DataFrameWriterV2).keys()):
        _put(DataFrameWriterV2, action, _writing("_jwriter", frozenset(ACTIONS_V2), of_writer_v2))
    _put(SparkSession, "sql", _sql)
    _put(MergeIntoWriter, "merge", _refused("mergeInto(…).merge() changes rows in place; write the merged rows by df.write"))
    stream = (
        "a stream writes when this block has ended; start it outside of the recording, with Lineage.foreach_batch to record its batches"
    )
    for action in ("start", "toTable"):
        _put(DataStreamWriter, action, _refused(stream))
    for action in sorted(name for name in vars(RDD) if name.startswith("saveAs")):
        _put(RDD, action, _refused(f"{action}(…) writes an RDD, whose rows have no plan; write a DataFrame by df.write"))
    for kind in (RDD, DataFrame):
        for action in ("foreach", "foreachPartition"):
            _put(kind, action, _unseen(action))


def _put(kind: type, name: str, wrapped: Callable[[Any], Any]) -> None:
    original = vars(kind)[name]
    replaced = wrapped(original)
    setattr(kind, name, replaced)
    _REPLACED.append((kind, name, original, replaced))


def _restore() -> None:
    for kind, name, original, replaced in _REPLACED:
        if vars(kind).get(name) is replaced:  # somebody else has replaced it since: then ours does what it did
            setattr(kind, name, original)
    _REPLACED.clear()


def _writing(field: str, actions: frozenset[str], understood: Understood) -> Callable[[Any], Any]:
    """A method that writes, by a Java writer that is watched meanwhile: what it sets up, and then writes, PySpark knows best."""

    def wrapped(original: Any) -> Any:
        @functools.wraps(original)
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            recorder = _recorder()
            if recorder is None:
                return original(self, *arguments, **named)
            real = getattr(self, field)

            def write(action: str, given: tuple[Any, ...]) -> None:
                recorder.write(understood(self._df, real, action, given))

            setattr(self, field, _Watched(real, actions, write))
            try:
                return original(self, *arguments, **named)
            finally:
                setattr(self, field, real)

        return method

    return wrapped


class _Watched:
    """A Java writer, whose methods that write are handed on."""

    def __init__(self, real: JavaObject, actions: frozenset[str], write: Callable[[str, tuple[Any, ...]], None]) -> None:
        self._real, self._actions, self._write = real, actions, write

    def __getattr__(self, name: str) -> Any:
        if name in self._actions:
            return lambda *arguments: self._write(name, arguments)

        def set_up(*arguments: Any) -> _Watched:
            getattr(self._real, name)(*arguments)
            return self

        return set_up


def _sql(original: Any) -> Any:
    from pyspark.sql.sql_formatter import SQLStringFormatter

    @functools.wraps(original)
    def sql(self: Any, sqlQuery: str, args: Any = None, **named: Any) -> Any:
        recorder = _recorder()
        if recorder is None or not isinstance(sqlQuery, str):
            return original(self, sqlQuery, args, **named)
        formatter = SQLStringFormatter(self)
        try:
            text = formatter.format(sqlQuery, **named) if named else sqlQuery
            given = _statement(recorder, self, text, bool(args))
            if given is None:
                return original(self, sqlQuery, args, **named)
            return _answer(self, recorder.write(given))
        finally:
            formatter.clear()

    return sql


def _statement(recorder: Recorder, spark: Any, text: str, parameters: bool) -> GivenWrite | None:
    try:
        return statement(spark, text, parameters)
    except WriteNotRecorded as problem:
        recorder.refuse(problem)
        return None


def _answer(spark: Any, java: JavaObject | None) -> Any:
    from pyspark.sql.classic.dataframe import DataFrame

    return spark.createDataFrame([], "") if java is None else DataFrame(java, spark)


def _refused(why: str) -> Callable[[Any], Any]:
    def wrapped(original: Any) -> Any:
        @functools.wraps(original)
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            recorder = _recorder()
            if recorder is not None:
                recorder.refuse(WriteNotRecorded(f"this cannot be recorded: {why}"))
            return original(self, *arguments, **named)

        return method

    return wrapped


def _unseen(action: str) -> Callable[[Any], Any]:
    """A method that runs the program's own code on rows: it may write, or only look at them."""

    def wrapped(original: Any) -> Any:
        @functools.wraps(original)
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            if _recorder() is None:
                return original(self, *arguments, **named)
            warn_unseen(f"what the function of {action}(…) writes")
            with unwatched():  # a DataFrame's calls that of its RDD
                return original(self, *arguments, **named)

        return method

    return wrapped
