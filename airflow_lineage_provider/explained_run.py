"""Why rows of a recorded run are as they are: the question that has the source rows and the reasons for its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.asking import Asking, OfRecordedRun
from airflow_lineage_provider.errors import InvalidOption, StoreNotPermitted
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.showing import without_secrets
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import LAST_DERIVATION, Difference, Subqueries

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import Column, Row

    from airflow_lineage_provider.answers.explanation_stream import ExplanationStream
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derive import Derived
    from airflow_lineage_provider.deriving.derive import Target as ChosenRows
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.target_rows import RowNumbers
    from airflow_lineage_provider.records.derivation_sets import ChunkPlace

Target: TypeAlias = "str | Column | Row | Mapping[str, Any] | Sequence[Mapping[str, Any] | Row] | pd.DataFrame | pa.Table | RowNumbers"
"""Which rows are meant: a predicate, or rows by their values."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A question as `ExplanationsOfRun.explain` takes it; ``most`` is the most rows that it may be about.

    :ivar place: which chunk of which set the answer is kept as.
    """

    target: Target | None
    at: int | Sequence[int] | str | None
    since: str | None
    most: int
    verify: bool
    difference: Difference
    subqueries: Subqueries
    across: bool
    save: bool
    params: Mapping[str, Any]
    context: Mapping[str, Any]
    place: ChunkPlace | None = None

    def __post_init__(self) -> None:
        """:raises InvalidOption: the rows that are found could not be verified."""
        if self.verify and self.subqueries == "data":
            raise InvalidOption(
                "verify=True runs the pipeline over the rows found, and with subqueries='data' those are missing that let rows pass: take "
                "'partners', or 'rows'"
            )


class ExplanationsOfRun(OfRecordedRun, ABC):
    """The part of `Run` that explains its rows."""

    @property
    @abstractmethod
    def summary(self) -> RunSummary: ...

    def explain(
        self,
        target: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        since: str | None = None,
        max_rows: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        subqueries: Subqueries = "partners",
        across: bool = True,
        save: bool = True,
        params: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
        limit: int | None = None,
        airflow: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """Augmented lineage of the result's rows that match ``target``: a predicate over the result's columns, or rows by their values.

        A predicate is a text of Spark SQL, or a `Column`. Rows are a dict of columns and values, a list of dicts or of Spark's rows, a
        pandas frame, or an Arrow table; a row matches where all columns that are named have these values. In place of a target, ``at``
        names rows by their positions, counted from 0 in the order of `result` and `result_table` (a text: ``"0,3"``).

        ``since`` is the id of an earlier run of the pipeline: of the rows that ``target`` names (of all, without one) only those are
        explained that this run's result has not. They are new, or have changed: a row is the same where all its values are (numbers to 12
        digits), and of equal rows so many are new as there are more of them. Where a UDF is of another version now, every row counts as
        changed: its reasons are others. (That a row is the same does not mean that the same source rows stand behind it.)

        ``max_rows`` is the most rows that the target may match (`settings.target_limit`). ``verify`` runs the pipeline over
        the derived source rows and checks that it gives the target again (definition 5, condition 1). ``difference`` says what the
        right side of a difference (EXCEPT, NOT IN, NOT EXISTS) is in the answer: ``control``, one entry for the whole of it (the paper's
        T₂); ``data``, nothing; ``rows``, all its rows. ``subqueries`` says which rows of a subquery (IN, EXISTS; INTERSECT and LEFT SEMI
        JOIN are the same) stand behind a row that it let pass: ``partners``, those that matched it; ``data``, none; ``rows``, all that the
        subquery has, for whatever row. ``across`` traces source rows that other recorded runs wrote through these runs,
        to the real sources, and has the rows between in the explanation's ``intermediate``; without it a derivation ends at the tables that
        this run read. ``save`` keeps the answer, and reasons that are computed for it, in
        the store; the explanation's ``id`` finds it again. Without it nothing is written: a user of role ``lineage_reader`` may ask, too.
        ``params`` gives secret parameters of the run again (and of other runs that are traced through); they are compared with the run's,
        and in no answer. ``context`` is kept with the answer: who asks, a task of Airflow's for one. (``limit`` and ``airflow`` are the old
        names of ``max_rows`` and ``context``.)

        :raises InvalidOption: an option is wrong.
        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the target cannot be used.
        :raises NothingChanged: no row is new or has changed. :raises RunNotFound: ``since`` is no run of the pipeline.
        :raises AnswerTooLarge: more source rows stand behind it than `settings.source_limit`.
        :raises ResultNotStored: ``at`` of a run that did not store its result: rows that are made again have no positions.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises StoreNotPermitted: the answer is to be kept, and the store's user may only read.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises SecretRequired, SecretMismatch: a secret parameter of the run is not given, or another value.
        """
        max_rows, context = renamed("max_rows", max_rows, "limit", limit), renamed("context", context, "airflow", airflow)
        check_options({"max_rows": max_rows, "verify": verify, "difference": difference, "subqueries": subqueries, "across": across})
        check_options({"since": since, "save": save, "params": params, "context": context})
        if since == LAST_DERIVATION:
            raise InvalidOption(f"since={since!r} is known to explain_in_chunks alone, which knows who asks again; give the id of a run")
        most = settings.target_limit() if max_rows is None else max_rows
        wanted = Wanted(
            target=target, at=at, since=since, most=most, verify=verify, difference=difference, subqueries=subqueries, across=across,
            save=save, params=params or {}, context=context or {},
        )  # fmt: skip
        return self._explained(wanted, progress)

    def explain_stream(
        self,
        target: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        difference: Difference = "control",
        subqueries: Subqueries = "partners",
        across: bool = True,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> ExplanationStream:
        """Augmented lineage of very many rows as a stream: explanations one after the other, each of the next rows of the target.

        The options are those of `explain`. So many rows are explained at a time that what stands behind them fits a bounded memory, however
        many the target has; `settings.source_limit` holds for each part. A source row, or a decision, that stands behind rows of several
        parts is in each of them. Nothing is written into the store: `explain_in_chunks` keeps the answers, and goes on where it stopped.
        Nothing is read before the first part is asked for.

        :raises InvalidOption: an option is wrong. :raises RunNotComplete: the run failed, was dropped, or is still going.

        What else `explain` raises the first part does, and any part may.
        """
        from airflow_lineage_provider.answers.explanation_stream import ExplanationStream
        from airflow_lineage_provider.deriving.explanation_stream import explained_parts
        from airflow_lineage_provider.deriving.images import with_images

        check_options({"max_rows": max_rows, "difference": difference, "subqueries": subqueries, "across": across, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        wanted = Wanted(
            target=target, at=at, since=None, most=most, verify=False, difference=difference, subqueries=subqueries, across=across,
            save=False, params=params or {}, context={},
        )  # fmt: skip

        def parts(run: AskedRun, runs: KnownRuns, told: Progress) -> Generator[Explanation, None, None]:
            asked = replace(run, subqueries=subqueries, difference=_told_of(difference))

            def onward(derived: Derived) -> Explanation:
                return with_images(self._traced_on(wanted, derived, runs, told), run.session.rest)

            return explained_parts(asked, target, at, most, summary=self.summary, difference=difference, onward=onward)

        made = self._asking.streamed("explain", params, progress, parts)
        return ExplanationStream(asked=shown(target if at is None else at), parts=made)

    def _explained(self, wanted: Wanted, progress: Progress | bool | None) -> Explanation:
        from airflow_lineage_provider.deriving.images import with_images
        from airflow_lineage_provider.deriving.kept.answers import saved
        from airflow_lineage_provider.deriving.known_runs import KnownRuns
        from airflow_lineage_provider.spark.executing.heartbeat import heartbeat

        self._asking.check_complete()
        secrets, what = self._asking.secrets(wanted.params), f"explain {self.record.pipeline}"

        def question(told: Progress) -> Explanation:
            store = self._lineage.store
            with self._asking.session(keeps=wanted.save) as session:
                found = without_secrets(self._derived(wanted, secrets, KnownRuns(store, session), told), secrets)
                explanation = with_images(found, session.rest)
                if wanted.save:
                    explanation = saved(explanation, store, wanted.context, wanted.place, session)
            if wanted.save:
                store.index_looked_up(session.looked_up)
            return explanation

        with guarded(secrets.message), watched(progress, what) as stages, heartbeat(lambda: self._lineage.spark, stages) as told:
            return self._asking.shown_later(self._asking.lasting(lambda: question(told)))

    def _derived(self, wanted: Wanted, secrets: Secrets, runs: KnownRuns, told: Progress) -> Explanation:
        from airflow_lineage_provider.deriving.blanking import with_blanking
        from airflow_lineage_provider.deriving.derive import derive_rows
        from airflow_lineage_provider.deriving.verify import verified

        check_may_derive(wanted, runs)
        asked = self._asking.asked(told, secrets, runs, across=wanted.across, save=wanted.save)
        run = replace(asked, subqueries=wanted.subqueries, difference=_told_of(wanted.difference))
        derived = derive_rows(run, self._chosen(wanted, run, runs, told), summary=self.summary, difference=wanted.difference)
        explanation = derived.explanation
        if wanted.verify:
            self._lineage.start("verifying runs the pipeline again")
            told("verifying")
            run.session.rest()
            explanation = verified(explanation, run.udfs, run.recorded, self._lineage.spark)
            explanation = with_blanking(explanation, run.udfs, run.recorded)
        return self._traced_on(wanted, replace(derived, explanation=explanation), runs, told)

    def _traced_on(self, wanted: Wanted, derived: Derived, runs: KnownRuns, told: Progress) -> Explanation:
        """The explanation through the other runs, where these are wanted."""
        from airflow_lineage_provider.deriving.across.across import Across

        def other(run_id: str) -> AskedRun:
            found = self._asking.other(run_id, runs, told, wanted.save, wanted.params)
            return replace(found, subqueries=wanted.subqueries, difference=_told_of(wanted.difference))

        if not wanted.across:
            return derived.explanation
        further = Across(runs, other, summary_of, wanted.difference, wanted.most, self._lineage.may_read)
        return further.trace(derived, derived.explanation)

    def _chosen(self, wanted: Wanted, run: AskedRun, runs: KnownRuns, told: Progress) -> ChosenRows:
        from airflow_lineage_provider.deriving.derive import chosen_target
        from airflow_lineage_provider.deriving.since import changed_target

        if wanted.since is None:
            return chosen_target(run, wanted.target, wanted.at, wanted.most)
        return changed_target(run, wanted.target, wanted.at, self._earlier(wanted.since, runs, told, wanted.params), wanted.most)

    def _earlier(self, since: str, runs: KnownRuns, told: Progress, given: Mapping[str, Any]) -> AskedRun:
        """The run that is compared with. Secrets are needed only where its rows are made again."""
        asking = Asking(self._lineage, runs.store.find_run(since, self.record.pipeline))
        secrets = Secrets() if 0 in asking.plan.materialized else asking.secrets(given)
        return asking.asked(told, secrets, runs, across=True)


def check_may_derive(wanted: Wanted, runs: KnownRuns) -> None:
    """:raises StoreNotPermitted: the answer is to be kept, and the store's user may only read."""
    if wanted.save and not runs.store.may_derive(runs.session):
        raise StoreNotPermitted(
            "this user of the results store may read it and not keep derivations: explain(…, save=False), or --no-save, writes nothing"
        )


def _told_of(difference: Difference) -> Difference:
    """What captured lineage has to know of right sides: in which rows they have a say, which is told where their rows are listed, too. (It
    looks these up where it has them, and else they are traced.)"""
    return "control" if difference == "rows" else difference
