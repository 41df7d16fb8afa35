"""The answers that are kept in the results store, given again."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.carrying import with_carried
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import DerivationNotFound
from airflow_lineage_provider.reasons.discretion import Carried, Discretion

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.answer import Answer
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet


_MOST_KEPT = 1_000
"""Of so many runs it is remembered what their columns carry."""


class StoredAnswers(AsksStore):
    """What `Lineage` knows of answers that were given before."""

    query_seconds: float | None
    carried: dict[str, Carried]

    @abstractmethod
    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunSummary: ...

    def carried_by(self, run_id: str) -> Carried:
        """What the columns of a run carry (`deriving.across.carried`): what is withheld under the settings goes by it."""
        from airflow_lineage_provider.deriving.across.carried import carried_across
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        def found() -> Carried:
            with self.store.session(self.query_seconds) as session:
                return carried_across(KnownRuns(self.store, session), run_id)

        if run_id not in self.carried:
            if len(self.carried) >= _MOST_KEPT:
                self.carried.clear()
            self.carried[run_id] = self.lasting(found)
        return self.carried[run_id]

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
        from airflow_lineage_provider.deriving.kept.answers import restored

        record = self.lasting(lambda: self.store.derivation(derivation_id))
        found = restored(record, self.summary(record.run_id, whole=True))
        return with_carried(found, self.carried_by) if Discretion.of() else found

    def explanation_set(self, set_id: str) -> ExplanationSet:
        """The stored derivations of one question (`Run.explain_in_chunks`), as far as they are made: ``ids`` are for `derivation`.

        :raises DerivationNotFound: there is no such set.
        """
        from airflow_lineage_provider.deriving.kept.explanations import restored_set

        record, stored = self.lasting(lambda: self.store.derivation_set(set_id))
        return restored_set(record, stored, self.summary(record.run_id, whole=True))
