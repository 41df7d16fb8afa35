"""The facade: run a pipeline with lineage, and ask for the lineage of rows of its result (the paper's AL Manager).

>>> lineage = Lineage(spark)                                                        # doctest: +SKIP
>>> run = lineage.run(pipeline, params={"month": "2025-12"})                        # doctest: +SKIP
>>> run.explain("judge = 'Reject'").show()                                          # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.dag_plans import PlansOfDags
from airflow_lineage_provider.errors import CaptureRequired, SparkRequired
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.profiled import ProfileOfTables
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.requested import requested
from airflow_lineage_provider.running.lineage_sources import lineage_sources
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.store import Store, pending
from airflow_lineage_provider.store.data_place import DataPlace
from airflow_lineage_provider.store.revival import Restarts
from airflow_lineage_provider.store.run_store import FAILURES, RunStore
from airflow_lineage_provider.stored_answers import StoredAnswers
from airflow_lineage_provider.stored_arrays import StoredArrays
from airflow_lineage_provider.stored_sketches import StoredSketches
from airflow_lineage_provider.streams import LineageOfStreams
from airflow_lineage_provider.words import CaptureWhen, OnStoreFailure, Reasons, SketchesWhen, Strategy
from airflow_lineage_provider.writes import LineageOfWrites

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.answers.crossfilter import Crossfilter
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.safe_columns import SafeColumns
    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.records.run import RunHead, RunRecord
    from airflow_lineage_provider.running.run import Executed, Request
    from airflow_lineage_provider.sketches.wanted import SketchOn

__all__ = ["Lineage"]

T = TypeVar("T")


class Lineage(LineageOfStreams, LineageOfWrites, PlansOfDags, ProfileOfTables, StoredAnswers, StoredArrays, StoredSketches):
    """A results store and, where pipelines are run or Spark must answer, a Spark session.

    ``store`` is a PostgreSQL URL, an open `Store`, or None for `settings.store_url()` and then the embedded server. ``on_store_failure`` is
    what runs do about a store that is missing, slow, or dies in the middle: ``fail``, or ``keep_result``: the result is made and written
    all the same, and the run is ``incomplete``. Then a store that is away is no error here; it is one where something is asked of it.
    ``data`` is a folder or URI of a file system of Spark's (``/shared/lineage``, ``s3a://bucket/lineage``; else `settings.data()`): what a
    run stores of a segment goes there, as Parquet files, from `settings.data_rows()` rows or `settings.data_bytes()` bytes on; PostgreSQL
    has the rest, and the catalog. Where neither says it, that place is in the home of the embedded server, for runs of a local Spark; with
    ``store`` there is none.
    ``start_spark`` is for an object without a session: a question that turns out to need one calls it with the reason, and goes on with the
    session that it gives, which is this object's from then on.

    :raises SparkRequired, SparkConnectUnsupported, EnvironmentProblem: no pipeline could run in this session (`spark.ready`).
    :raises InvalidOption: an option is wrong.
    """

    calls_udfs = True
    """Whether an answer may call UDFs, and so execute their code, for reasons that are not stored."""
    most_sources: int | None = None
    """The most source rows of one answer; None: `settings.source_limit`."""
    in_part = False
    """Whether an answer about several runs leaves out those that need Spark, and says so, where it would be refused otherwise."""
    query_seconds: float | None = None
    """The most seconds of one query of the store; None: `settings.statement_timeout`."""

    def may_read(self, run: RunHead) -> bool:
        """Whether the rows that another run wrote may be in an answer; a program that asks for other people says it here."""
        return True

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        store: str | Store | None = None,
        data: str | None = None,
        on_store_failure: OnStoreFailure = "fail",
        start_spark: Callable[[str], SparkSession] | None = None,
    ) -> None:
        check_options({"on_store_failure": on_store_failure})
        self.data = DataPlace.of(data)
        self._is_placed = data is not None or settings.data() is not None
        if spark is not None:
            from airflow_lineage_provider.spark.ready import require_ready

            require_ready(spark)
        self.spark = spark
        self._start_spark = start_spark
        self.on_store_failure = on_store_failure
        self.carried: dict[str, Carried] = {}
        self._owns_store = not isinstance(store, Store)
        self._url = store.url if isinstance(store, Store) else store
        self._store = store if isinstance(store, Store) else None
        self._away = ""
        try:
            self.store  # noqa: B018  (it is opened here, where that it is away is found out)
        except FAILURES as error:
            if on_store_failure == "fail":
                raise
            self._away = str(error)

    @property
    def store(self) -> Store:
        """The results store; one that was away is tried again.

        :raises StoreUnavailable: it does not answer.
        """
        if self._store is None:
            self._store = Store.open(self._url)
            self._away = ""
        return self._store

    def start(self, why: str) -> None:
        """Have a Spark session, where there is none and one can be started."""
        if self.spark is None and self._start_spark is not None:
            from airflow_lineage_provider.spark.ready import require_ready

            started = self._start_spark(why)
            require_ready(started)
            self.spark = started

    def run(
        self,
        pipeline: Callable[..., Any] | str | DataFrame,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        output: Output | str | None = None,
        strategy: Strategy = "function_materialization",
        reasons: Reasons = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        on_store_failure: OnStoreFailure | None = None,
        append_key: str | None = None,
        index: Sequence[str | Sequence[str]] = (),
        capture: CaptureWhen | Capture = "lazy",
        sketches: SketchesWhen = "off",
        sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
        verify_sketches: bool = False,
        witness: bool = False,
        sources: Mapping[str, LineageRows] | None = None,
        context: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
        airflow: Mapping[str, Any] | None = None,
    ) -> Run:
        """Run a pipeline and record its lineage: a function ``(spark, **params) -> DataFrame``, a SQL text, or a DataFrame that stands.

        (A pandas-on-Spark frame is as good, without its index.) Without a ``name`` a run has the function's; a lambda's is its place.
        The result is what the pipeline itself gives; it is written to ``output`` where one is given. ``strategy`` says what is stored
        (`tracing.strategies`): ``function_materialization``, ``rerun``, ``full_materialization`` or ``auto``. ``keys`` names the
        primary keys of source tables that have no better row identity (anything but Parquet). ``on_store_failure`` is that of this object,
        unless it is said: with ``keep_result`` a store that fails costs the run its lineage (`Run.lineage_lost` says why) and nothing else.
        ``append_key`` identifies what is appended (an ``output`` with ``+append``): a later run that appends to the same place as the same
        key replaces these rows, and adds nothing to them. ``index`` has columns of the result, or lists of columns, by which its rows are
        going to be asked for: they are indexed where PostgreSQL has the rows, and in files the rows are put in their order. With
        ``capture`` ``eager``, or a `Capture` that says of which tables and which way, the lineage of the result's rows is captured at the
        end of the run (`Run.capture`); what keeps it from being captured is told by `Run.index`, and where it is required raised, too.
        ``context`` is kept with the run: who runs it, a task of Airflow's for one (``airflow`` is its old name). ``sketches`` says what is
        done with provenance sketches: ``use`` reads each source through a sketch that fits, if there is one; ``eager`` also captures some
        after a run for which there was none, ``auto`` if that will pay (`sketches.policy`); ``capture`` reads everything, and captures
        some. ``sketch_on`` names the column of a table that a sketch is to be of, or several together (a `SketchOn` says how they are
        cut). `Run.sketches` says what became of each source. With ``verify_sketches`` a run through sketches is compared with the plain
        run, and where rows differ the sketches are set aside, and the result is the plain one. With ``witness`` sketches of groups that
        have a minimum or a maximum alone have one row in place of each: they serve runs with ``witness`` of the very same constants and
        versions, whose lineage is that of the run that the sketch is of (`Run.explain` says so).
        ``sources`` are rows of lineage that the pipeline reads: a SQL text as ``{name}``, a function as arguments that are frames. The run
        reads these rows of their table alone, in the version that the run that was asked has read, and lineage leads to that.
        ``progress`` is called with each stage; without one the stages are shown where there is a terminal or a notebook (False: nowhere;
        True: on standard error, whatever it is).

        Of ``params`` the record has dates, truth values and those that ``clear_params`` names (``*`` stands for any letters); of the others
        a keyed digest, so that equality can be seen. One that became a literal of the plan is recorded there, as the plan is needed to
        trace, and so is the value of a session variable (``DECLARE VARIABLE``). Those that ``secret_params`` names (parameters, and session
        variables: ``key``, or ``session.key``), or that are given as `Secret`, are not stored there either: `Run.explain` is given them
        again.

        :raises SparkRequired: there is no session.
        :raises InvalidOption: an option is wrong. :raises SketchUnsafe: a sketch of a column that ``sketch_on`` names is not proved safe.
        :raises InvalidIndex: the result has no such column, or nothing is stored.
        :raises InvalidCapture: the run does not read a table whose lineage is to be captured, or neither stores its result nor writes it to
            Parquet files, or would call a function once more to capture it.
        :raises InvalidOutput: the result could not be written to ``output`` (the place exists and the mode is ``error``, say). All of these
            are found out before the pipeline is computed.
        :raises PlanError: the pipeline cannot be understood.
        :raises SourceUnavailable: the table of one of ``sources`` is no longer what the run that was asked has read.
        :raises ParameterError: a parameter cannot be recorded as it was asked.
        :raises CaptureRequired: the run stands, and its lineage was not captured, which is required (`settings.capture_required`).
        :raises LineageError: the run failed; it is recorded as failed and nothing else of it is kept.
        """
        context = renamed("context", context, "airflow", airflow)
        on_failure = self.on_store_failure if on_store_failure is None else on_store_failure
        check_options({"on_store_failure": on_failure})
        request = requested(
            pipeline, name=name, params=params, clear_params=clear_params, secret_params=secret_params, output=output, strategy=strategy,
            reasons=reasons, keys=keys, append_key=append_key, index=index, context=context, capture=capture, sketches=sketches,
            sketch_on=sketch_on, verify_sketches=verify_sketches, witness=witness,
        )  # fmt: skip
        read = lineage_sources(sources, pipeline, request.params, lambda run_id: self.get_run(run_id, whole=True).plan)
        if self.spark is None:
            raise SparkRequired("running a pipeline needs a Spark session: Lineage(spark)")
        request = replace(request, sources=read)
        return self._executed(request, self.spark, self._run_store(on_failure), progress)

    def safe_columns(
        self,
        pipeline: Callable[..., Any] | str | DataFrame,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        secret_params: Sequence[str] = (),
        keys: Mapping[str, Sequence[str]] | None = None,
    ) -> SafeColumns:
        """Of which columns of a pipeline's sources a provenance sketch is safe, and which operator decides it (provenance-based data
        skipping, Sec. 6). The pipeline is given as to `run`; it is not run, and nothing is recorded.

        ``keys`` names the primary keys of source tables: what they determine is in one fragment with them. The answer holds for these
        ``params``: the constants of the pipeline's conditions are part of the proof. A parameter that is secret is in no text of it.

        :raises SparkRequired: there is no session. :raises EnvironmentProblem: z3 is not installed (the extra ``sketches``).
        :raises InvalidOption: an option is wrong. :raises PlanError: the pipeline cannot be understood, or ``keys`` names what it does
            not read.
        """
        from airflow_lineage_provider.running.safe_columns import judged_columns

        check_options({"name": name, "params": params, "secret_params": secret_params, "keys": keys})
        if self.spark is None:
            raise SparkRequired("judging a pipeline's columns needs a Spark session: Lineage(spark)")
        return judged_columns(self.spark, pipeline, name=name, params=params, secret_params=secret_params, keys=keys)

    def crossfilter(self, data: str | Path | Sequence[str | Path] | pa.Table | LineageRows, views: Mapping[str, str | Run]) -> Crossfilter:
        """Views of one table that filter one another: each counts the rows of its groups that the brushes on the other views leave.

        ``data`` is local Parquet (a file, a folder of them, or several), an Arrow table, or rows of lineage; ``views`` has an expression of
        DuckDB's SQL by the name of each view, for which neither Spark nor the store is asked; or a run that read these files: the rows of
        its result are the bars, and its lineage says which rows are in each (captured lineage without tracing any). The name of a source
        table that such a run has read stands for the table's files.

        >>> view = lineage.crossfilter("flights.parquet", {"carrier": "carrier", "delay": "floor(dep_delay / 10)"})  # doctest: +SKIP
        >>> view.brush(carrier=["AA"]).counts["delay"]  # doctest: +SKIP

        :raises InvalidOption: a view's expression cannot be computed for each row, or its values cannot be bars; names the view.
        :raises SourceUnavailable: there is no such file, or it changed meanwhile. :raises EnvironmentProblem: DuckDB is not installed.
        """
        from airflow_lineage_provider.answers.crossfilter import Crossfilter
        from airflow_lineage_provider.run_views import with_bars

        check_options({"views": views})
        return Crossfilter.over(*with_bars(data, views))

    def _run_store(self, on_failure: OnStoreFailure) -> RunStore:
        keeps_result = on_failure == "keep_result"
        place, away = pending.place_of(self._url or settings.store_url()), self._away if keeps_result else ""
        return RunStore(lambda: self.store, place, keeps_result=keeps_result, lost=away)

    def _recorded(self, record: RunRecord) -> Run:
        return Run(self, record)

    def _executed(self, request: Request, spark: SparkSession, store: RunStore, progress: Progress | bool | None) -> Run:
        from airflow_lineage_provider.running.made_again import executed
        from airflow_lineage_provider.spark.executing.heartbeat import heartbeat

        self._sweep()
        with watched(progress, f"run {request.name}") as stages, heartbeat(lambda: spark, stages) as told:
            done = executed(spark, store, replace(request, data=self._place(spark)), told)
        record = done.record
        if record.status == "complete" and request.batch is None:  # nobody looks at a batch's run now
            record = store.ask(f"reading run {record.id}", lambda opened: opened.run(record.id), record)
        made = Run(self, record, execution=done.execution, result=done.result)
        if record.status == "complete" and request.batch is None:
            self._captured(made, request, done, progress)
        return made

    def _captured(self, made: Run, request: Request, done: Executed, progress: Progress | bool | None) -> None:
        """What was to be captured of a run that stands: one thing whether the other was or not.

        :raises CaptureRequired: its lineage was not, and has to be; nobody has the run then.
        """
        missing = None
        if request.capture is not None:
            try:
                made._capture_with_run(request.capture, done.secrets, progress, done.captured)
            except CaptureRequired as problem:
                missing = problem
        elif made.record.strategy == "full_materialization":
            made._capture_sets(done.secrets)
        if done.sketching.capture:
            made._capture_sketches(done.sketching, done.secrets, progress, done.carried_with_run)
        if missing is not None:
            made.close()
            raise missing

    def _place(self, spark: SparkSession) -> DataPlace | None:
        """Where stored rows go that are many."""
        from airflow_lineage_provider.spark.session import is_local
        from airflow_lineage_provider.store import home_rows

        if self._is_placed or self._store is None or not self._store.is_started_again or not is_local(spark):
            return self.data
        return home_rows.place(self._store.home)

    def _index_place(self) -> DataPlace | None:
        """Where captured lineage goes that is much: beside the embedded server whatever Spark there is, since this process writes it."""
        from airflow_lineage_provider.store import home_rows

        if self._is_placed or not self.store.is_started_again:
            return self.data
        return home_rows.place_of_indexes(self.store.home)

    def lasting(self, question: Callable[[], T]) -> T:
        """The answer to a question of which nothing is lost when it is asked again: it is, when the embedded server died in the middle.

        :raises StoreUnavailable: the server does not start again, or dies again and again; a server that was given by its URL is away.
        """
        restarts = Restarts()
        while True:
            store = self.store
            try:
                return question()
            except Exception as error:
                if not restarts.mend(store, error):
                    raise

    def runs(self, pipeline: str | None = None, limit: int = 50) -> list[RunSummary]:
        """The newest runs, newest first."""
        return [summary_of(record) for record in self.lasting(lambda: self.store.runs(pipeline, limit))]

    def latest(self, pipeline: str | None = None) -> Run:
        """The newest complete run, of this pipeline where one is given.

        :raises RunNotFound: there is none.
        """
        return Run(self, self.lasting(lambda: self.store.latest_run(pipeline)))

    def get_run(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> Run:
        """A recorded run by its id, or an unambiguous beginning of it (``whole``: by its whole id alone); ``pipeline`` is the pipeline that
        it must be of.

        :raises RunNotFound: there is none, or nothing was given for an id. :raises AmbiguousRun: several runs' ids begin like that.
        """
        return Run(self, self.lasting(lambda: self.store.find_run(run_id, pipeline, whole=whole)))

    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunSummary:
        """A recorded run at a glance, found as by `get_run`. Its plan is not read: a run with a damaged record can be seen, and
        dropped.

        :raises RunNotFound, AmbiguousRun: as `get_run`.
        """
        return summary_of(self.lasting(lambda: self.store.find_head(run_id, pipeline, whole=whole)))

    def get(self, run_id: str = "latest", pipeline: str | None = None, *, whole: bool = False) -> Run:
        """The old name of `get_run`, and with ``latest`` of `latest`."""
        is_latest = isinstance(run_id, str) and run_id == "latest" and not whole  # a Series compares with no text
        new = "latest" if is_latest else "get_run"
        text = f"Lineage.get is called Lineage.{new} now; the old name will be gone in the next release"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.latest(pipeline) if is_latest else self.get_run(run_id, pipeline, whole=whole)

    def drop(self, run_id: str) -> None:
        """Drop a run's materializations and derivations; that there was a run stays known.

        :raises RunNotFound: there is no run with this id: neither a beginning of one nor ``latest`` will do.
        """
        found = self.summary(run_id, whole=True)
        self.lasting(lambda: self.store.drop_run(found.id))
        self._sweep()

    def _sweep(self) -> None:
        """Remove what runs that are gone have left where Spark alone removes it."""
        from airflow_lineage_provider.spark.executing.stored_files import sweep

        if self.spark is not None and self.data is not None and self._store is not None:
            sweep(self.spark, self._store, self.data.folder)

    def close(self) -> None:
        """Close the store's connections, when this object opened them."""
        if self._owns_store and self._store is not None:
            self._store.close()

    def __enter__(self) -> Lineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
