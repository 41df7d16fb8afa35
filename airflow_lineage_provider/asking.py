"""How questions reach a recorded run: its secrets given again, a session of the store, and Spark where it is needed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.carrying import WhenAsked, with_carried
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.errors import IndexReplaced, ReadThroughSketch, RunNotComplete, StoreNotPermitted
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.recording import read as read_record
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.render.withheld import error_shown
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.sealing import given_again
from airflow_lineage_provider.secrecy.showing import without_secrets

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.why_not import WhyNot
    from airflow_lineage_provider.deriving.across.onward import Onward
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing
    from airflow_lineage_provider.store import Materialization, Session

Answer = TypeVar("Answer")
Part = TypeVar("Part")
Kept = TypeVar("Kept", bound="WhyNot | LineageRows | Descendants")

_TIMES = 3
"""So often a question is asked whose captured lineage is captured anew each time: more is no accident."""


class Asking:
    """Asks one recorded run, with the store and the session of a `Lineage`.

    :ivar record: the run's record as it was read last.
    """

    def __init__(self, lineage: Lineage, record: RunRecord) -> None:
        self._lineage = lineage
        self.record = record

    @property
    def plan(self) -> RecordedPlan:
        """The run's plan as recorded.

        :raises RunNotComplete: the run failed, was dropped, is still going, or its lineage was lost.
        """
        self.check_complete()
        found = self._recorded
        return replace(found, behind=self._lineage.carried_by(self.record.id)) if Discretion.of() else found

    @cached_property
    def _recorded(self) -> RecordedPlan:
        """Read once: what is made of it is kept with it (`RecordedPlan.written`). One with secrets in it is not kept."""
        return read_record(self.record)

    def shown_later(self, answer: Answer) -> Answer:
        """An answer with what its columns carry, where the settings withhold any."""
        return with_carried(answer, self._lineage.carried_by) if Discretion.of() else answer

    def check_complete(self) -> None:
        """:raises RunNotComplete: the run failed, was dropped, is still going, or its lineage was lost."""
        if self.record.status != "complete":
            because = f": {error_shown(self.record.error)}" if self.record.error else ""
            raise RunNotComplete(f"run {self.record.id} of {self.record.pipeline} is {self.record.status}{because}")

    def secrets(self, given: Mapping[str, Any]) -> Secrets:
        """The run's secret parameters, as they are given again.

        :raises SecretRequired, SecretMismatch: one is not given, or another value.
        """
        return given_again(self.record.id, self.record.plan, self.record.params, given) if self.record.status == "complete" else Secrets()

    def bound(self, secrets: Secrets) -> RecordedPlan:
        """The run's plan with the secret parameters back in their places."""
        if not secrets.values:
            self.check_complete()
            return self._recorded
        return read_record(self.record, secrets.bound(self.record.plan))

    def asked(self, progress: Progress, secrets: Secrets, runs: KnownRuns, *, across: bool = False, save: bool = False) -> AskedRun:
        """The run as a question finds it; ``runs`` are those that the question has come by.

        :raises ReadThroughSketch: it has read one row of each group alone.
        """
        from airflow_lineage_provider.deriving.across.stored_outputs import StoredOutputs
        from airflow_lineage_provider.deriving.asked_run import AskedRun
        from airflow_lineage_provider.store.kept_udfs import UdfsOfRun

        self._check_has_lineage()
        recorded = self.bound(secrets)
        stored = runs.stored(self.record.id)
        spark = self.on_demand(recorded, stored, progress)
        return AskedRun(
            store=runs.store,
            session=runs.session,
            record=self.record,
            recorded=recorded,
            stored=stored,
            udfs=UdfsOfRun(runs.store, self.record, called=self._lineage.calls_udfs),
            on_demand=spark,
            progress=progress,
            kept=StoredOutputs(runs, self.record.id, spark, self._lineage.query_seconds) if across else None,
            keep_reasons=save,
            most_sources=self._lineage.most_sources or settings.source_limit(),
            query_seconds=self._lineage.query_seconds,
        )

    def _check_has_lineage(self) -> None:
        """:raises ReadThroughSketch: of groups the run has read one row each, and what stands behind them are all."""
        for one in self.record.sketches:
            if one.state == "used" and one.witness:
                raise ReadThroughSketch(
                    f"run {self.record.id} has read {one.table} through sketch {one.sketch}, which has one row in place of each group "
                    f"(witness=True): its lineage would lack the others. Ask run {one.run_id}, which has read them all, and has the same "
                    "result"
                )

    def other(self, run_id: str, runs: KnownRuns, progress: Progress, save: bool, given: Mapping[str, Any]) -> AskedRun:
        """A run that wrote what this one, or another on the way, read."""
        progress(f"tracing through run {run_id}")
        other = Asking(self._lineage, runs.run(run_id))
        return other.asked(progress, other.secrets(given), runs, across=True, save=save)

    def answered(
        self, what: str, params: Mapping[str, Any] | None, progress: Progress | bool | None, question: Callable[[AskedRun], Answer]
    ) -> Answer:
        """The answer to a question that is not kept, without the secrets that it was found with."""
        return self.answered_onward(what, params, progress, lambda run, _: question(run))

    def answered_onward(
        self, what: str, params: Mapping[str, Any] | None, progress: Progress | bool | None, question: Callable[[AskedRun, Onward], Answer]
    ) -> Answer:
        """The same of a question that follows rows on, into later runs."""

        def asked(stages: Progress) -> Answer:
            with self._question(stages, secrets) as (run, runs):
                return _carrying(_asked(run, self._onward(run, runs, stages, params or {}), question), runs)

        self.check_complete()
        secrets = self.secrets(params or {})
        with guarded(secrets.message), watched(progress, f"{what} {self.record.pipeline}") as stages:
            found = self.lasting(lambda: asked(stages))
        return self.shown_later(without_secrets(found, secrets))

    def lasting(self, question: Callable[[], Answer]) -> Answer:
        """The answer to a question of which nothing is lost when it is asked again (`Lineage.lasting`): it is, with the record as it is by
        then, where the run's lineage was captured anew, or forgotten, since the record was read.

        :raises IndexReplaced: it is captured anew again and again.
        """
        for _ in range(_TIMES - 1):
            try:
                return self._lineage.lasting(question)
            except IndexReplaced:
                self._read_again()
        return self._lineage.lasting(question)

    def _read_again(self) -> None:
        self.record = self._lineage.lasting(lambda: self._lineage.store.run(self.record.id))

    def streamed(
        self,
        what: str,
        params: Mapping[str, Any] | None,
        progress: Progress | bool | None,
        question: Callable[[AskedRun, KnownRuns, Progress], Generator[Part, None, None]],
    ) -> Generator[Part, None, None]:
        """The same of an answer that comes in parts: the run is asked from the first on, until they end or are closed."""
        self.check_complete()
        secrets = self.secrets(params or {})

        def parts(stages: Progress) -> Generator[Part, None, None]:
            with self._question(stages, secrets) as (run, runs), ExitStack() as stack:
                for part in stack.enter_context(closing(question(run, runs, stages))):
                    yield self.shown_later(without_secrets(_carrying(part, runs), secrets))

        def from_the_first() -> Generator[Part, None, None]:
            with guarded(secrets.message), watched(progress, f"{what} {self.record.pipeline}") as stages:
                first, others = self.lasting(lambda: _begun(parts(stages)))
                with closing(others):
                    while first:
                        yield first.pop()  # (and it is not held while the others are made)
                    yield from others

        return from_the_first()

    def check_may_keep(self) -> None:
        """:raises StoreNotPermitted: the store's user may only read."""
        if not self._lineage.lasting(lambda: self._lineage.store.may_derive()):
            raise StoreNotPermitted(
                "this user of the results store may read it and not keep answers: without save=True, or --save, nothing is written"
            )

    def kept(self, answer: Kept, context: Mapping[str, Any] | None) -> Kept:
        """An answer that is kept from now on, with its id; ``context`` says who asked."""
        from airflow_lineage_provider.deriving.kept.answers import saved

        return self._lineage.lasting(lambda: saved(answer, self._lineage.store, context or {}))

    @contextmanager
    def _question(self, stages: Progress, secrets: Secrets) -> Iterator[tuple[AskedRun, KnownRuns]]:
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        with self.session() as session:
            runs = KnownRuns(self._lineage.store, session, apart=True)
            yield self.asked(stages, secrets, runs, across=True), runs

    def _onward(self, run: AskedRun, runs: KnownRuns, stages: Progress, given: Mapping[str, Any]) -> Onward:
        from airflow_lineage_provider.deriving.across.onward import Onward

        return Onward(
            runs=runs, open_run=lambda one: self.other(one, runs, stages, save=False, given=given), describe=summary_of,
            may_read=self._lineage.may_read, most=run.most_sources, in_part=self._lineage.in_part,
        )  # fmt: skip

    def session(self, *, keeps: bool = False) -> Session:
        """A session of the store, in which a query takes no longer than it may, and which ``keeps`` the answer."""
        return self._lineage.store.session(self._lineage.query_seconds, keeps=keeps)

    def on_demand(self, recorded: RecordedPlan, stored: Mapping[str, Materialization], progress: Progress) -> SparkOnDemand:
        """Spark for a question: the session that there is, or one that is started when it is needed."""
        from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand

        def start(why: str) -> SparkTracing | None:
            self._lineage.start(why)
            found = self._spark_tracing(recorded, stored)
            if found is not None:
                progress("going on with Spark")
            return found

        return SparkOnDemand(self._spark_tracing(recorded, stored), start)

    def _spark_tracing(self, recorded: RecordedPlan, stored: Mapping[str, Materialization]) -> SparkTracing | None:
        if self._lineage.spark is None:
            return None
        from airflow_lineage_provider.spark.ready import is_stopped
        from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

        if is_stopped(self._lineage.spark):
            return None
        return SparkTracing(self._lineage.spark, self._lineage.store, recorded, stored)


def _asked(run: AskedRun, onward: Onward, question: Callable[[AskedRun, Onward], Answer]) -> Answer:
    """The answer to a question; where captured lineage does not say it of rows that only it numbers, without captured lineage."""
    from airflow_lineage_provider.deriving.only_captured import TracedInstead

    try:
        return question(run, onward)
    except TracedInstead:
        return question(replace(run, record=replace(run.record, captured=None)), onward)


def _begun(parts: Generator[Part, None, None]) -> tuple[list[Part], Generator[Part, None, None]]:
    """The first of the parts, where there is one, and the others: what is raised until the first is there is raised now."""
    return [*islice(parts, 1)], parts


class OfRecordedRun:
    """A part of `Run`: what it has of the recorded run."""

    _lineage: Lineage
    _asking: Asking

    @property
    def record(self) -> RunRecord:
        """The run's record, as it was read last."""
        return self._asking.record


def _carrying(answer: Answer, runs: KnownRuns) -> Answer:
    """An answer with what its columns carry as the plans of its runs say it, for who is shown it without some; an explanation has its plan.

    (The settings have more: see `Asking.shown_later`.)
    """
    from airflow_lineage_provider.deriving.across.carried import carried_alone

    if isinstance(answer, Explanation):
        return answer
    return with_carried(answer, lambda run_id: WhenAsked(partial(carried_alone, runs.readable(run_id))))
