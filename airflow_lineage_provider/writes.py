"""What a program writes by Spark itself, recorded: each write a run.

>>> with lineage.recording() as recording:                                          # doctest: +SKIP
...     spark.table("loans").where("amount > 5").write.parquet("/data/large")
>>> recording.runs[0].explain("client_id = 7").show()                               # doctest: +SKIP
"""

from __future__ import annotations

import logging
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import LineageError, PlanError, RunFailed, SparkRequired
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.requested import requested
from airflow_lineage_provider.running.given_output import GivenOutput
from airflow_lineage_provider.words import OnStoreFailure, OnUnsupported, Reasons, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.spark.writing.given import GivenWrite
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)


class Recording:
    """The writes of a block, as they are recorded (`Lineage.recording`)."""

    def __init__(self, execute: Callable[[Request, SparkSession], Run], unread: Callable[..., Run], request: Request,
                 on_unsupported: OnUnsupported, named: bool) -> None:  # fmt: skip
        self._execute, self._unread = execute, unread
        self._request = request
        self._on_unsupported = on_unsupported
        self._named = named
        self._runs: list[Run] = []
        self.thread = threading.get_ident()
        """The thread that opened it."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of the writes that were made, in the order in which they ended. (A write that failed is in the store.)"""
        return tuple(self._runs)

    def write(self, given: GivenWrite) -> Any:
        """Make a write, and record it; what Spark answers: one at a time, since a run changes the session's settings for a while.

        :raises WriteNotRecorded, UnsupportedOperator: it cannot be recorded, and was not made. :raises LineageError: it failed.
        :raises pyspark.errors.PySparkException: Spark's own errors, as without a recording.
        """
        from airflow_lineage_provider.spark.session import SETTINGS
        from airflow_lineage_provider.spark.writing.given import sparks_own

        with SETTINGS:
            output = GivenOutput(given)
            try:
                if given.is_passed_over():
                    return None
                request = replace(self._request, pipeline=given.frame, name=self._name(output), output=output)
                run = self._execute(request, given.spark)
            except PlanError as problem:
                if output.started:
                    raise
                self.refuse(problem)
                request = replace(self._request, name=self._name(output), output=output)
                run = self._unread(given.frame, output, request, str(problem))
            except RunFailed as failed:
                raise (sparks_own(failed.__cause__) or failed) from None
        self._runs.append(run)
        run.close()
        return output.answer

    def refuse(self, what: LineageError) -> None:
        """Raise what says that a write cannot be recorded, unless such writes are to be made all the same."""
        if self._on_unsupported == "fail":
            what.add_note("nothing was written; with on_unsupported='incomplete' it is written, and the run is marked incomplete")
            raise what
        log.warning("a write is made that nobody will be able to explain: %s", what)

    def _name(self, output: GivenOutput) -> str:
        """The recording's name, or that of the place: the last part of it."""
        if self._named:
            return self._request.name
        return re.split(r"[/.]", output.shown.rstrip("/"))[-1].strip("`") if output.recorded().kind == "table" else _last(output.shown)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or "write"


class LineageOfWrites(ABC):
    """The part of `Lineage` that records what programs write by themselves."""

    spark: SparkSession | None
    on_store_failure: OnStoreFailure

    @abstractmethod
    def _run_store(self, on_failure: OnStoreFailure) -> RunStore: ...

    @abstractmethod
    def _recorded(self, record: RunRecord) -> Run: ...

    @abstractmethod
    def _executed(self, request: Request, spark: SparkSession, store: RunStore, progress: Progress | bool | None) -> Run: ...

    def recording(
        self,
        spark: SparkSession | None = None,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        strategy: Strategy = "function_materialization",
        reasons: Reasons = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        index: Sequence[str | Sequence[str]] = (),
        on_store_failure: OnStoreFailure | None = None,
        on_unsupported: OnUnsupported = "fail",
        context: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> AbstractContextManager[Recording]:
        """Record what the block writes by Spark's own writers, each write as a run: its rows are those that Spark would have written.

        Writers are ``df.write`` (files, tables, JDBC, other data sources), ``df.writeTo``, those of pandas on Spark, which write by
        these, and the SQL statements INSERT, CREATE TABLE … AS SELECT and REPLACE TABLE … AS SELECT. Each place is written once, by Spark,
        with the program's options, partitions and mode. A write that cannot be recorded raises, before anything is computed or written;
        ``on_unsupported="incomplete"`` has it made all the same, as an incomplete run that says why. (SQL and streams that are no writes of
        a query are then made without any run.)

        Recorded are the writes of the thread that opened the block, and of threads that have opened none; they are made one after the
        other. A recording inside another has the writes of its block. The runs are called ``name``, or after their places. ``params`` are
        recorded with each run as `Lineage.run` does; the other options are those of `Lineage.run`. ``index`` is of those writes that have
        all of its columns.

        :raises SparkRequired: there is no session. :raises SparkConnectUnsupported: it is one of Spark Connect.
        :raises InvalidOption, ParameterError: an option is wrong.
        """
        recording = _recorder(
            self, lambda of_frame: spark or self.spark or of_frame, name=name, params=params, clear_params=clear_params,
            secret_params=secret_params, strategy=strategy, reasons=reasons, keys=keys, index=index, on_store_failure=on_store_failure,
            on_unsupported=on_unsupported, context=context, progress=progress,
        )  # fmt: skip
        session = spark or self.spark
        if session is None:
            raise SparkRequired("recording writes needs a Spark session: Lineage(spark)")
        return _opened(session, recording)


def recording_of_program(lineage: LineageOfWrites, **options: Any) -> AbstractContextManager[Recording]:
    """`Lineage.recording` of a program that makes its sessions within the block: each write is recorded in the session of its frame.

    :raises InvalidOption, ParameterError: an option is wrong.
    """
    return _watched(_recorder(lineage, lambda of_frame: of_frame, **options))


def _recorder(
    lineage: LineageOfWrites,
    session_for: Callable[[SparkSession], SparkSession],
    *,
    name: str | None = None,
    on_store_failure: OnStoreFailure | None = None,
    on_unsupported: OnUnsupported = "fail",
    progress: Progress | bool | None = None,
    **options: Any,
) -> Recording:
    on_failure = lineage.on_store_failure if on_store_failure is None else on_store_failure
    check_options({"on_store_failure": on_failure, "on_unsupported": on_unsupported})
    given = {"params": None, "clear_params": (), "secret_params": (), "append_key": None, **options}
    request = requested("", name=name or "write", output=None, **given)

    def execute(write: Request, of_frame: SparkSession) -> Run:
        return lineage._executed(write, session_for(of_frame), lineage._run_store(on_failure), progress)

    def unread(frame: DataFrame, output: GivenOutput, write: Request, cause: str) -> Run:
        from airflow_lineage_provider.running.unread import write_unread

        return lineage._recorded(write_unread(frame, output, lineage._run_store("keep_result"), write, cause))

    return Recording(execute, unread, replace(request, params={}, shared_keys=True), on_unsupported, name is not None)


@contextmanager
def _opened(spark: SparkSession, recording: Recording) -> Iterator[Recording]:
    from airflow_lineage_provider.spark.ready import require_ready

    require_ready(spark)
    with _watched(recording):
        yield recording


@contextmanager
def _watched(recording: Recording) -> Iterator[Recording]:
    from airflow_lineage_provider.spark.writing.watching import watched

    with watched(recording):
        yield recording
