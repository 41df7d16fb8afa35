"""The answers that are kept in the results store, given again."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.carrying import WhenAsked, with_carried
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import DerivationNotFound, QueryTooSlow
from airflow_lineage_provider.reasons.discretion import Carried, Discretion

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.answer import Answer
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet
    from airflow_lineage_provider.records.run import RunRecord


_MOST_KEPT = 1_000
"""Of so many runs it is remembered what their columns carry."""


class StoredAnswers(AsksStore):
    """What `Lineage` knows of answers that were given before."""

    query_seconds: float | None
    carried: dict[str, Carried]

    @abstractmethod
    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunSummary: ...

    def carried_by(self, run_id: str) -> Carried:
        """What the columns of a run carry (`deriving.across.carried`): what is withheld under the settings goes by it.

        :raises QueryTooSlow: that takes longer than a question may; asked again, it goes on from there.
        """
        from airflow_lineage_provider.deriving.across.carried import carried_across
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        kept = self.carried.get(run_id)
        if kept is not None:
            return kept
        # (Others may find, and forget, at the same time.)
        before = dict(self.carried)
        known, in_time = dict(before), self._in_time()

        def found() -> Carried:
            with self.store.session(self.query_seconds) as session:
                return carried_across(KnownRuns(self.store, session), run_id, known, in_time)

        try:
            return self.lasting(found)
        finally:
            new = {one: known[one] for one in known.keys() - before.keys()}
            if len(self.carried) + len(new) > _MOST_KEPT:
                self.carried.clear()
            self.carried.update(new)

    def _in_time(self) -> Callable[[], None]:
        """To be called now and then: raises where it has taken longer than a query may."""
        seconds, began = self.query_seconds, time.monotonic()

        def in_time() -> None:
            if seconds is not None and time.monotonic() - began > seconds:
                raise QueryTooSlow(
                    f"following what columns carry through earlier runs took longer than {seconds:g} s and was ended: ask again"
                )

        return in_time

    def derivation(self, derivation_id: str) -> Explanation:
        """A stored explanation, as it was answered.

        :raises DerivationNotFound: there is none; or it answers another question (`answer`).
        """
        found = self.answer(derivation_id)
        if not isinstance(found, Explanation):
            raise DerivationNotFound(f"derivation {derivation_id} is no explanation: it answers another question, and answer() gives it")
        return found

    def answer(self, derivation_id: str) -> Answer:
        """A stored answer to whatever was asked of a run (`Run.explain`, `Run.why_not`, `Run.forward`), as it was given.

        :raises DerivationNotFound: there is none.
        """
        return self.shown_later(self._restored(derivation_id))

    def shown_later(self, answer: Answer) -> Answer:
        """An answer with what its columns carry: through the runs that wrote what was read where the settings withhold any; else as its own
        run says it, which an explanation knows of itself."""
        if Discretion.of():
            return with_carried(answer, self.carried_by)
        return answer if isinstance(answer, Explanation) else with_carried(answer, self._carried_alone)

    def _carried_alone(self, run_id: str) -> Carried:
        from airflow_lineage_provider.deriving.across.carried import carried_alone
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        def found() -> RunRecord | None:
            with self.store.session(self.query_seconds) as session:
                return KnownRuns(self.store, session).readable(run_id)

        return WhenAsked(partial(carried_alone, self.lasting(found)))

    def _restored(self, derivation_id: str) -> Answer:
        from airflow_lineage_provider.deriving.kept.answers import restored

        record = self.lasting(lambda: self.store.derivation(derivation_id))
        return restored(record, self.summary(record.run_id, whole=True))

    def explanation_set(self, set_id: str) -> ExplanationSet:
        """The stored derivations of one question (`Run.explain_in_chunks`), as far as they are made: ``ids`` are for `derivation`.

        :raises DerivationNotFound: there is no such set.
        """
        from airflow_lineage_provider.deriving.kept.explanations import restored_set

        record, stored = self.lasting(lambda: self.store.derivation_set(set_id))
        return restored_set(record, stored, self.summary(record.run_id, whole=True))
