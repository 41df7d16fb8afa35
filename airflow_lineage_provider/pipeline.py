"""The facade: run a pipeline with lineage, and ask for the lineage of rows of its result (the paper's AL Manager).

>>> lineage = Lineage(spark)                                                        # doctest: +SKIP
>>> run = lineage.run(pipeline, params={"month": "2025-12"})                        # doctest: +SKIP
>>> run.explain("judge = 'Reject'").show()                                          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidOption, ResultNotStored, RunNotComplete, SparkRequired, StoreNotPermitted
from airflow_lineage_provider.explanation import Difference, Explanation, Guarantee, RunSummary
from airflow_lineage_provider.given_pipeline import pipeline_name
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.output import Output
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.recording import read as read_record
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.secrecy import Secrets, recorded_params
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.sealing import given_again
from airflow_lineage_provider.secrecy.showing import without_secrets
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.storage import RecordedUdf, SegmentNotStored, StoredTable, recorded_udfs, segments_not_stored, stored_tables
from airflow_lineage_provider.store import RunRecord, Store, pending
from airflow_lineage_provider.store.revival import Restarts
from airflow_lineage_provider.store.run_store import FAILURES, RunStore
from airflow_lineage_provider.tracing.column_lineage import ColumnLineage, column_lineage
from airflow_lineage_provider.why_not import WhyNot

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from airflow_lineage_provider.deriving.derive import Deriver
    from airflow_lineage_provider.spark.run import Execution

__all__ = ["ColumnLineage", "Explanation", "Guarantee", "Lineage", "Output", "Run", "RunSummary", "WhyNot"]

T = TypeVar("T")

Target: TypeAlias = "str | Column | Row | Mapping[str, Any] | Sequence[Mapping[str, Any] | Row] | pd.DataFrame | pa.Table"
"""Which rows are meant: a predicate, or rows by their values."""

WHY_NOT_LIMIT = 100
"""So many source rows `Run.why_not` follows, unless it is told otherwise."""


class Lineage:
    """A results store and, where pipelines are run or Spark must answer, a Spark session.

    ``store`` is a PostgreSQL URL, an open `Store`, or None for `settings.store_url()` and then the embedded server. ``on_store_failure`` is
    what runs do about a store that is missing, slow, or dies in the middle: ``fail``, or ``keep_result``: the result is made and written
    all the same, and the run is ``incomplete``. Then a store that is away is no error here; it is one where something is asked of it.

    :raises SparkRequired, SparkConnectUnsupported, EnvironmentProblem: no pipeline could run in this session (`spark.ready`).
    """

    def __init__(self, spark: SparkSession | None = None, *, store: str | Store | None = None, on_store_failure: str = "fail") -> None:
        check_options({"on_store_failure": on_store_failure})
        if spark is not None:
            from airflow_lineage_provider.spark.ready import require_ready

            require_ready(spark)
        self.spark = spark
        self.on_store_failure = on_store_failure
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

    def run(
        self,
        pipeline: Callable[..., Any] | str | DataFrame,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        output: Output | str | None = None,
        strategy: str = "function_materialization",
        reasons: str = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        on_store_failure: str | None = None,
        append_key: str | None = None,
        airflow: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Run:
        """Run a pipeline and record its lineage: a function ``(spark, **params) -> DataFrame``, a SQL text, or a DataFrame that stands.

        (A pandas-on-Spark frame is as good, without its index.) Without a ``name`` a run has the function's; a lambda's is its place.
        The result is what the pipeline itself gives; it is written to ``output`` where one is given. ``strategy`` says what is stored
        (`tracing.strategies`): ``function_materialization``, ``rerun``, ``full_materialization`` or ``auto``. ``keys`` names the
        primary keys of source tables that have no better row identity (anything but Parquet). ``on_store_failure`` is that of this object,
        unless it is said: with ``keep_result`` a store that fails costs the run its lineage (`Run.lineage_lost` says why) and nothing else.
        ``append_key`` identifies what is appended (an ``output`` with ``+append``): a later run that appends to the same place as the same
        key replaces these rows, and adds nothing to them.
        ``progress`` is called with each stage; without one the stages are shown where there is a terminal or a notebook (False: nowhere;
        True: on standard error, whatever it is).

        Of ``params`` the record has dates, truth values and those that ``clear_params`` names (``*`` stands for any letters); of the others
        a keyed digest, so that equality can be seen. One that became a literal of the plan is recorded there, as the plan is needed to
        trace, and so is the value of a session variable (``DECLARE VARIABLE``). Those that ``secret_params`` names (parameters, and session
        variables: ``key``, or ``session.key``), or that are given as `Secret`, are not stored there either: `Run.explain` is given them
        again.

        :raises SparkRequired: there is no session.
        :raises InvalidOption: an option is wrong. :raises InvalidOutput: the result could not be written to ``output`` (the place exists
            and the mode is ``error``, say). Both are found out before the pipeline is computed.
        :raises PlanError: the pipeline cannot be understood.
        :raises ParameterError: a parameter cannot be recorded as it was asked.
        :raises LineageError: the run failed; it is recorded as failed and nothing else of it is kept.
        """
        from airflow_lineage_provider.running import Request, execute
        from airflow_lineage_provider.spark.heartbeat import heartbeat

        on_failure = self.on_store_failure if on_store_failure is None else on_store_failure
        options = {"name": name, "strategy": strategy, "reasons": reasons, "output": output, "keys": keys, "params": params}
        named = {"clear_params": clear_params, "secret_params": secret_params, "airflow": airflow}
        check_options({**options, **named, "on_store_failure": on_failure, "append_key": append_key})
        written = None if output is None else Output.parse(output)
        if append_key is not None and (written is None or written.mode != "append"):
            raise InvalidOption(f"append_key={shown(append_key)} is for an output that is appended to (+append)")
        if self.spark is None:
            raise SparkRequired("running a pipeline needs a Spark session: Lineage(spark)")
        plain, secrets = Secrets.of(params or {}, secret_params or ())
        request = Request(
            pipeline=pipeline,
            name=name or pipeline_name(pipeline),
            params=plain,
            recorded_params=recorded_params(plain, clear_params or (), secrets.values),
            secrets=secrets,
            output=written,
            strategy=strategy,
            reasons=reasons,
            keys=keys or {},
            airflow=airflow or {},
            append_key=append_key or "",
        )
        keeps_result = on_failure == "keep_result"
        place, away = pending.place_of(self._url or settings.store_url()), self._away if keeps_result else ""
        store = RunStore(lambda: self.store, place, keeps_result=keeps_result, lost=away)
        with watched(progress, f"run {request.name}") as stages, heartbeat(self.spark, stages) as told:
            record, execution, result = execute(self.spark, store, request, told)
        if record.status == "complete":
            record = store.ask(f"reading run {record.id}", lambda opened: opened.run(record.id), record)
        return Run(self, record, execution=execution, result=result)

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
        return [_summary(record) for record in self.lasting(lambda: self.store.runs(pipeline, limit))]

    def get(self, run_id: str = "latest", pipeline: str | None = None, *, whole: bool = False) -> Run:
        """A recorded run by its id (or an unambiguous beginning of it), or ``latest``, the newest complete one; ``pipeline`` is the
        pipeline that it must be of. ``whole``: by its whole id alone.

        :raises RunNotFound: there is none, or nothing was given for an id. :raises AmbiguousRun: several runs' ids begin like that.
        """
        if isinstance(run_id, str) and run_id == "latest" and not whole:  # a Series compares with no text
            return Run(self, self.lasting(lambda: self.store.latest_run(pipeline)))
        return Run(self, self.lasting(lambda: self.store.find_run(run_id, pipeline, whole=whole)))

    def drop(self, run_id: str) -> None:
        """Drop a run's materializations and derivations; that there was a run stays known.

        :raises RunNotFound: there is no run with this id: neither a beginning of one nor ``latest`` will do.
        """
        found = self.get(run_id, whole=True).id
        self.lasting(lambda: self.store.drop_run(found))

    def derivation(self, derivation_id: str) -> Explanation:
        """A stored derivation, as it was answered.

        :raises DerivationNotFound: there is none.
        """
        from airflow_lineage_provider.deriving.record import restored

        record = self.lasting(lambda: self.store.derivation(derivation_id))
        return restored(record, _summary(self.lasting(lambda: self.store.run(record.run_id))))

    def close(self) -> None:
        """Close the store's connections, when this object opened them."""
        if self._owns_store and self._store is not None:
            self._store.close()

    def __enter__(self) -> Lineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Run:
    """A recorded run."""

    def __init__(self, lineage: Lineage, record: RunRecord, *, execution: Execution | None = None, result: DataFrame | None = None) -> None:
        self._lineage = lineage
        self.record = record
        self._execution = execution
        self._result = result

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def summary(self) -> RunSummary:
        return _summary(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.record.pipeline}: {self.record.status}>"

    @property
    def lineage_lost(self) -> str:
        """Why the run has a result and no lineage; empty where it has."""
        return (self.record.error or "its lineage is lost") if self.record.status == "incomplete" else ""

    @property
    def plan(self) -> RecordedPlan:
        """The run's plan as recorded.

        :raises RunNotComplete: the run failed, was dropped, is still going, or its lineage was lost.
        """
        self._check_complete()
        return read_record(self.record.plan, self.record.segments, self.record.inputs)

    def _check_complete(self) -> None:
        if self.record.status != "complete":
            raise RunNotComplete(f"run {self.id} of {self.record.pipeline} is {self.record.status}" + _because(self.record.error))

    @property
    def result(self) -> DataFrame:
        """The result as a Spark frame: the very rows that were computed, in their order, from Spark's memory or from the store.

        :raises SparkRequired: there is no session. :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.plan.lineage_keys import ROW
        from airflow_lineage_provider.spark.run import result_frame
        from airflow_lineage_provider.spark.tracing import read_materialization

        if self._result is None:
            if self._lineage.spark is None:
                raise SparkRequired("the result as a Spark frame needs a Spark session: Lineage(spark); or use result_table()")
            plan = self._with_result()
            stored = self._lineage.lasting(lambda: self._lineage.store.materializations(self.id))["result"]
            names = dict(plan.materialized[0].columns)
            frame = read_materialization(self._lineage.spark, self._lineage.store, stored).orderBy(ROW)
            self._result = result_frame(frame, tuple(names[a.id] for a in plan.plan.output), plan.plan.names)
        return self._result

    def result_table(self, limit: int | None = None) -> pa.Table:
        """The result, or its first ``limit`` rows, as an Arrow table; no Spark needed where it is stored.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.plan.lineage_keys import ROW

        check_options({"rows": limit})
        if self._result is not None and (self.lineage_lost or 0 not in self.plan.materialized):
            from airflow_lineage_provider.spark.arrow_border import to_arrow

            frame = self._result if limit is None else self._result.limit(limit)
            return to_arrow(frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))).rename_columns(frame.columns)
        plan = self._with_result()
        stored = self._lineage.lasting(lambda: self._lineage.store.materializations(self.id))["result"]
        names = dict(plan.materialized[0].columns)
        columns = [names[a.id] for a in plan.plan.output]
        chosen = [*dict.fromkeys(columns), ROW]
        rows = self._lineage.lasting(lambda: self._lineage.store.read(stored, columns=chosen, order_by=[ROW], limit=limit))
        return rows.select([rows.column_names.index(name) for name in columns]).rename_columns(list(plan.plan.names))

    def _with_result(self) -> RecordedPlan:
        plan = self.plan
        if 0 not in plan.materialized:
            written = f"it was written to {self.record.output['target']}" if self.record.output else "run it again to have it"
            raise ResultNotStored(f"run {self.id} did not store its result (strategy {self.record.strategy}): {written}")
        return plan

    @property
    def stored(self) -> tuple[StoredTable, ...]:
        """What the run stored, how large it is, and why. From the catalog: no Spark.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return self._lineage.lasting(lambda: stored_tables(self._lineage.store, self.record, self.plan))

    @property
    def not_stored(self) -> tuple[SegmentNotStored, ...]:
        """The segments that the run did not store, and why.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return segments_not_stored(self.record, self.plan)

    @property
    def udfs(self) -> tuple[RecordedUdf, ...]:
        """The UDFs of the run, and where a derivation will find each: in its module, in the store (kept with the run), or nowhere."""
        return recorded_udfs(self.record)

    def columns(self, *, by_leaf: bool = False) -> ColumnLineage:
        """For each column of the result the source columns that it is computed from, and those that only influence it.

        Read from the recorded plan: no Spark, no rows. A table that the pipeline reads twice is one, unless ``by_leaf``.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return column_lineage(self.plan.plan, by_leaf=by_leaf)

    def explain(
        self,
        target: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        limit: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        across: bool = True,
        save: bool = True,
        params: Mapping[str, Any] | None = None,
        airflow: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Explanation:
        """Augmented lineage of the result's rows that match ``target``: a predicate over the result's columns, or rows by their values.

        A predicate is a text of Spark SQL, or a `Column`. Rows are a dict of columns and values, a list of dicts or of Spark's rows, a
        pandas frame, or an Arrow table; a row matches where all columns that are named have these values. In place of a target, ``at``
        names rows by their positions, counted from 0 in the order of `result` and `result_table` (a text: ``"0,3"``).

        ``limit`` is the most rows that the target may match (`settings.target_limit`). ``verify`` runs the pipeline over
        the derived source rows and checks that it gives the target again (definition 5, condition 1). ``difference`` says what the
        right side of a difference (EXCEPT, NOT IN, NOT EXISTS) is in the answer: ``control``, one entry for the whole of it (the paper's
        T₂); ``data``, nothing; ``rows``, all its rows. ``across`` traces source rows that other recorded runs wrote through these runs,
        to the real sources, and has the rows between in the explanation's ``intermediate``; without it a derivation ends at the tables that
        this run read. ``save`` keeps the answer, and reasons that are computed for it, in
        the store; the explanation's ``id`` finds it again. Without it nothing is written: a user of role ``lineage_reader`` may ask, too.
        ``params`` gives secret parameters of the run again (and of other runs that are traced through); they are compared with the run's,
        and in no answer.

        :raises InvalidOption: an option is wrong.
        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the target cannot be used.
        :raises AnswerTooLarge: more source rows stand behind it than `settings.source_limit`.
        :raises ResultNotStored: ``at`` of a run that did not store its result: rows that are made again have no positions.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises StoreNotPermitted: the answer is to be kept, and the store's user may only read.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises SecretRequired, SecretMismatch: a secret parameter of the run is not given, or another value.
        """
        from airflow_lineage_provider.deriving.across import Across
        from airflow_lineage_provider.deriving.images import with_images
        from airflow_lineage_provider.deriving.record import saved
        from airflow_lineage_provider.deriving.verify import verified
        from airflow_lineage_provider.spark.heartbeat import heartbeat
        from airflow_lineage_provider.store.kept_udfs import UdfsOfRun

        check_options({"limit": limit, "verify": verify, "difference": difference, "across": across})
        check_options({"save": save, "params": params, "airflow": airflow})
        self._check_complete()
        most, given = settings.target_limit() if limit is None else limit, params or {}
        if save and not self._lineage.lasting(lambda: self._lineage.store.may_derive()):
            raise StoreNotPermitted(
                "this user of the results store may read it and not keep derivations: explain(…, save=False), or --no-save, writes nothing"
            )
        secrets, what = self._secrets(given), f"explain {self.record.pipeline}"

        def question(told: Progress) -> Explanation:
            derived = self._deriver(told, across, save, secrets).derive(
                target, at=at, summary=self.summary, limit=most, difference=difference
            )
            explanation = derived.explanation
            if verify:
                told("verifying")
                udfs = UdfsOfRun(self._lineage.store, self.record)
                explanation = verified(explanation, udfs, self._bound(secrets), self._lineage.spark)
            if across:
                further = Across(self._lineage.store, lambda one: self._other(one, told, save, given), self._describe, difference, most)
                explanation = further.trace(derived, explanation)
            explanation = without_secrets(explanation, secrets)
            explanation = with_images(explanation)
            return saved(explanation, self._lineage.store, airflow or {}) if save else explanation

        with guarded(secrets.message), watched(progress, what) as stages, heartbeat(self._lineage.spark, stages) as told:
            return self._lineage.lasting(lambda: question(told))

    def _secrets(self, given: Mapping[str, Any]) -> Secrets:
        return given_again(self.id, self.record.plan, self.record.params or {}, given) if self.record.status == "complete" else Secrets()

    def _bound(self, secrets: Secrets) -> RecordedPlan:
        """The run's plan with the secret parameters back in their places."""
        if not secrets.values:
            return self.plan
        return read_record(secrets.bound(self.record.plan), self.record.segments, self.record.inputs)

    def _deriver(self, progress: Progress, across: bool, save: bool, secrets: Secrets) -> Deriver:
        from airflow_lineage_provider.deriving.derive import Deriver
        from airflow_lineage_provider.deriving.kept import StoredOutputs

        recorded, store = self._bound(secrets), self._lineage.store
        kept = StoredOutputs(store, self.id) if across else None
        return Deriver(store, self.record, recorded, self._spark_tracing(recorded), progress, kept, save)

    def _describe(self, run_id: str) -> RunSummary:
        return _summary(self._lineage.store.run(run_id))

    def _other(self, run_id: str, progress: Progress, save: bool, given: Mapping[str, Any]) -> Deriver:
        """A run that wrote what this one, or another on the way, read."""
        progress(f"tracing through run {run_id}")
        other = Run(self._lineage, self._lineage.store.run(run_id))
        return other._deriver(progress, True, save, other._secrets(given))

    def why_not(
        self,
        rows: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        table: str | None = None,
        limit: int = WHY_NOT_LIMIT,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> WhyNot:
        """What became of source rows: which operator dropped them, or that they are in the lineage of the result.

        ``rows`` is a predicate over the columns of a source table, or rows, as `explain` takes them; ``table`` names the table as
        `Explanation.source` does, and may be left out where one table alone has all the columns. In place of rows, ``at`` names them by
        their positions in the table, counted from 0: a Parquet table has its files in the order of their paths, another the order of its
        key, or of the copy that the run stored. ``limit`` is the most rows that the question may match.

        A row of an operator's output *descends* from a source row when the source row is in its source lineage: rows live on in what is
        projected, selected and joined from them, in their group, in the frames of windows that see them, and on the right side of a
        semi-join in the left rows that found them. The right side of a difference has no descendants. Each place where the plan reads
        the table is a way of its own (a self-join has two). For each row and way the answer has the operators from the table to the result
        with the number of descendants at each, and where there are none at the end, the last operator with a descendant, the first
        without, and why. Values of UDFs, and rows that could not be chosen again (a limit), are those of the run, as it stored them.
        ``params`` gives secret parameters of the run again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the question cannot be answered as it is asked.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished, or under strategies rerun and auto
            has changed, so that a rerun would be of other data.
        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.why_not import why_not

        check_options({"table": table, "limit": limit, "params": params})
        secrets = self._secrets(params or {})
        recorded, what = self._bound(secrets), f"why not, {self.record.pipeline}"

        def question(told: Progress) -> WhyNot:
            spark = self._spark_tracing(recorded)
            return why_not(rows, table, self.record, recorded, spark, at=at, summary=self.summary, limit=limit, progress=told)

        with guarded(secrets.message), watched(progress, what) as stages:
            found = self._lineage.lasting(lambda: question(stages))
        return without_secrets(found, secrets)

    def _spark_tracing(self, recorded: RecordedPlan) -> Any:
        if self._lineage.spark is None:
            return None
        from airflow_lineage_provider.spark.ready import is_stopped
        from airflow_lineage_provider.spark.tracing import SparkTracing

        if is_stopped(self._lineage.spark):
            return None

        store = self._lineage.store
        return SparkTracing(self._lineage.spark, store, recorded, store.materializations(self.id))

    def close(self) -> None:
        """Let Spark forget the rows that it keeps for ``result``; what is stored stays."""
        if self._execution is not None:
            self._execution.close()
            self._execution = None
        self._result = None


def _summary(record: RunRecord) -> RunSummary:
    seconds = (record.finished - record.started).total_seconds() if record.finished and record.started else None
    return RunSummary(
        id=record.id,
        pipeline=record.pipeline,
        status=record.status,
        started=record.started.isoformat(timespec="seconds") if record.started else "",
        seconds=seconds,
        strategy=record.strategy,
        reasons=record.reasons,
        rows=(record.row_counts or {}).get("result"),
        error=record.error or "",
        airflow=record.airflow or {},
        params=record.params or {},
    )


def _because(error: str | None) -> str:
    return f": {error}" if error else ""
