"""Answers of every kind, kept in the store and read again as they were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.deriving.kept import explanations, followed, why_nots
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.records.derivation_sets import ChunkPlace
from airflow_lineage_provider.store import DerivationRecord, Session, Store

Kept = TypeVar("Kept", bound=Answer)


def saved(answer: Kept, store: Store, context: Mapping[str, Any], place: ChunkPlace | None = None, session: Session | None = None) -> Kept:
    """Keep an answer, as a chunk of a set where it is one, in the transaction of the ``session`` that it was found in; the same one with
    its id."""
    record = replace(record_of(answer), airflow=dict(context) or None, place=place)
    return replace(answer, id=store.save_derivation(record, session))


def record_of(answer: Answer) -> DerivationRecord:
    """What is kept of an answer."""
    match answer:
        case Explanation():
            return explanations.record_of(answer)
        case WhyNot():
            return why_nots.record_of(answer)
    return followed.record_of(answer)


def restored(record: DerivationRecord, run: RunSummary) -> Answer:
    """The answer that was kept.

    :raises RecordDamaged: what is kept of it cannot be read.
    """
    match record.question:
        case "explain":
            return explanations.restored(record, run)
        case "why_not":
            return why_nots.restored(record, run)
        case "forward":
            return followed.restored(record, run)
    raise RecordDamaged(f"derivation {record.id} answers {record.question!r}, which is not known to this release")
