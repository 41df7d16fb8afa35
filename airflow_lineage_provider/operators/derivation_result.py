"""The XCom result of a task that derives: names of what is stored, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.why_not import WhyNot
    from airflow_lineage_provider.plan.guarantees import Guarantee
    from airflow_lineage_provider.words import QuestionKind

    Derived = Explanation | ExplanationSet | WhyNot | LineageRows | Descendants


def of_answer(found: Derived, question: QuestionKind, since: str | None) -> dict[str, Any]:
    """Whatever was kept; ``since`` is as of `of_explanation`."""
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet

    if isinstance(found, ExplanationSet):
        return of_set(found)
    return of_explanation(found, since) if isinstance(found, Explanation) else of_kept(found, question)


def of_explanation(explanation: Explanation, since: str | None) -> dict[str, Any]:
    """One derivation; ``since`` is the run that it was compared with."""
    worth = {name: one.guarantee for name, one in explanation.tables.items()}
    return _result([explanation.id], None, since) | _explained(explanation, explanation.counts(), worth)


def of_set(found: ExplanationSet) -> dict[str, Any]:
    """A set of derivations; ``derivation_id`` is that of its only one."""
    only = found.ids[0] if found.chunks == 1 else None
    return _result(found.ids, found.id, found.since) | {"derivation_id": only} | _explained(found, found.counts, found.guarantees)


def of_kept(answer: WhyNot | LineageRows | Descendants, question: QuestionKind) -> dict[str, Any]:
    """One kept answer to another question."""
    from airflow_lineage_provider.answers.descendants import Descendants

    found, worth = answer.here if isinstance(answer, Descendants) else answer, answer.guarantee
    told = _told(found, answer.counts(), {"answer": worth}, worth, verified=None)
    return _result([answer.id], None, None) | {"question": question} | told


def of_nothing(run_id: str | None, pipeline: str | None, target: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """No row was asked about."""
    return _result([], None, None) | {
        "lineage_run_id": run_id,
        "run_id": run_id,
        "pipeline": pipeline,
        "target": target if isinstance(target, str) else [dict(row) for row in target],
        "counts": {"target": 0},
        "guarantee": "exact",
        "guarantees": {},
        "stale": [],
        "verified": None,
        "seconds": 0.0,
    }


def _result(ids: Sequence[str], set_id: str | None, since: str | None) -> dict[str, Any]:
    return {
        "derivation_id": ids[0] if ids else None,
        "derivation_ids": list(ids),
        "derivation_set_id": set_id,
        "since": since,
    }


def _explained(found: Explanation | ExplanationSet, counts: Mapping[str, int], guarantees: Mapping[str, Guarantee]) -> dict[str, Any]:
    return _told(found, counts, guarantees, found.guarantee, verified=found.verified)


def _told(
    found: Explanation | ExplanationSet | WhyNot | LineageRows,
    counts: Mapping[str, int],
    guarantees: Mapping[str, Guarantee],
    guarantee: Guarantee,
    *,
    verified: bool | None,
) -> dict[str, Any]:
    return {
        "lineage_run_id": found.run.id,
        "run_id": found.run.id,  # its name in the release before
        "pipeline": found.run.pipeline,
        "target": found.asked,
        "counts": dict(counts),
        "guarantee": guarantee.level,
        "guarantees": {name: asdict(one) for name, one in guarantees.items()},
        "stale": list(found.stale),
        "verified": verified,
        "seconds": found.seconds,
    }
