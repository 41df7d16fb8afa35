"""The answers that are kept in the results store, given again."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import DerivationNotFound

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.answer import Answer
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet


class StoredAnswers(AsksStore):
    """What `Lineage` knows of answers that were given before."""

    @abstractmethod
    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunSummary: ...

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
        return restored(record, self.summary(record.run_id, whole=True))

    def explanation_set(self, set_id: str) -> ExplanationSet:
        """The stored derivations of one question (`Run.explain_in_chunks`), as far as they are made: ``ids`` are for `derivation`.

        :raises DerivationNotFound: there is no such set.
        """
        from airflow_lineage_provider.deriving.kept.explanations import restored_set

        record, stored = self.lasting(lambda: self.store.derivation_set(set_id))
        return restored_set(record, stored, self.summary(record.run_id, whole=True))
