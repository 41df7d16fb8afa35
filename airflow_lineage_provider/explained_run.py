"""Why rows of a recorded run are as they are: the question that has the source rows and the reasons for its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.asking import Asking
from airflow_lineage_provider.errors import StoreNotPermitted
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.showing import without_secrets
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import Column, Row

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derive import Target as ChosenRows
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.target_rows import RowNumbers
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.records.run import RunRecord

Target: TypeAlias = "str | Column | Row | Mapping[str, Any] | Sequence[Mapping[str, Any] | Row] | pd.DataFrame | pa.Table | RowNumbers"
"""Which rows are meant: a predicate, or rows by their values."""


class ExplanationsOfRun(ABC):
    """The part of `Run` that explains its rows."""

    record: RunRecord
    _lineage: Lineage
    _asking: Asking

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
        T₂); ``data``, nothing; ``rows``, all its rows. ``across`` traces source rows that other recorded runs wrote through these runs,
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
        from airflow_lineage_provider.deriving.across.across import Across
        from airflow_lineage_provider.deriving.derive import derive_rows
        from airflow_lineage_provider.deriving.images import with_images
        from airflow_lineage_provider.deriving.known_runs import KnownRuns
        from airflow_lineage_provider.deriving.record import saved
        from airflow_lineage_provider.deriving.verify import verified
        from airflow_lineage_provider.spark.executing.heartbeat import heartbeat

        max_rows, context = renamed("max_rows", max_rows, "limit", limit), renamed("context", context, "airflow", airflow)
        check_options({"max_rows": max_rows, "verify": verify, "difference": difference, "across": across})
        check_options({"since": since, "save": save, "params": params, "context": context})
        self._asking.check_complete()
        most, given = settings.target_limit() if max_rows is None else max_rows, params or {}
        secrets, what = self._asking.secrets(given), f"explain {self.record.pipeline}"

        def question(told: Progress) -> Explanation:
            with self._asking.session() as session:
                explanation = explained(told, KnownRuns(self._lineage.store, session))
            explanation = with_images(without_secrets(explanation, secrets))
            return saved(explanation, self._lineage.store, context or {}) if save else explanation

        def explained(told: Progress, runs: KnownRuns) -> Explanation:
            if save and not runs.store.may_derive(runs.session):
                raise StoreNotPermitted(
                    "this user of the results store may read it and not keep derivations: explain(…, save=False), or --no-save, writes "
                    "nothing"
                )
            run = self._asking.asked(told, secrets, runs, across=across, save=save)
            earlier = None if since is None else self._earlier(since, runs, told, given)
            chosen = _chosen(run, target, at, earlier, most)
            derived = derive_rows(run, chosen, summary=self.summary, difference=difference)
            explanation = derived.explanation
            if verify:
                self._lineage.start("verifying runs the pipeline again")
                told("verifying")
                run.session.rest()
                explanation = verified(explanation, run.udfs, run.recorded, self._lineage.spark)
            if across:
                further = Across(
                    runs, lambda one: self._asking.other(one, runs, told, save, given), summary_of, difference, most, self._lineage.may_read
                )
                explanation = further.trace(derived, explanation)
            return explanation

        with guarded(secrets.message), watched(progress, what) as stages, heartbeat(lambda: self._lineage.spark, stages) as told:
            return self._lineage.lasting(lambda: question(told))

    def _earlier(self, since: str, runs: KnownRuns, told: Progress, given: Mapping[str, Any]) -> AskedRun:
        """The run that is compared with. Secrets are needed only where its rows are made again."""
        asking = Asking(self._lineage, runs.store.find_run(since, self.record.pipeline))
        secrets = Secrets() if 0 in asking.plan.materialized else asking.secrets(given)
        return asking.asked(told, secrets, runs, across=True)


def _chosen(run: AskedRun, target: Target | None, at: Any, earlier: AskedRun | None, most: int) -> ChosenRows:
    from airflow_lineage_provider.deriving.derive import chosen_target
    from airflow_lineage_provider.deriving.since import changed_target

    return chosen_target(run, target, at, most) if earlier is None else changed_target(run, target, at, earlier, most)
