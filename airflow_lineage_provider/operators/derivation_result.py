"""The XCom result of a task that derives: names of what is stored, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet


def of_explanation(explanation: Explanation, since: str | None) -> dict[str, Any]:
    """One derivation; ``since`` is the run that it was compared with."""
    return {
        "derivation_id": explanation.id,
        "derivation_ids": [explanation.id],
        "derivation_set_id": None,
        "lineage_run_id": explanation.run.id,
        "run_id": explanation.run.id,  # its name in the release before
        "pipeline": explanation.run.pipeline,
        "target": explanation.asked,
        "since": since,
        "counts": explanation.counts(),
        "guarantee": explanation.guarantee.level,
        "guarantees": {name: asdict(one.guarantee) for name, one in explanation.tables.items()},
        "stale": list(explanation.stale),
        "verified": explanation.verified,
        "seconds": explanation.seconds,
    }


def of_set(found: ExplanationSet) -> dict[str, Any]:
    """A set of derivations; ``derivation_id`` is that of its only one."""
    return {
        "derivation_id": found.ids[0] if found.chunks == 1 else None,
        "derivation_ids": list(found.ids),
        "derivation_set_id": found.id,
        "lineage_run_id": found.run.id,
        "run_id": found.run.id,  # as above
        "pipeline": found.run.pipeline,
        "target": found.asked,
        "since": found.since,
        "counts": dict(found.counts),
        "guarantee": found.guarantee.level,
        "guarantees": {name: asdict(one) for name, one in found.guarantees.items()},
        "stale": list(found.stale),
        "verified": found.verified,
        "seconds": found.seconds,
    }


def of_nothing(run_id: str | None, pipeline: str | None, target: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """No row was asked about."""
    return {
        "derivation_id": None,
        "derivation_ids": [],
        "derivation_set_id": None,
        "lineage_run_id": run_id,
        "run_id": run_id,
        "pipeline": pipeline,
        "target": target if isinstance(target, str) else [dict(row) for row in target],
        "since": None,
        "counts": {"target": 0},
        "guarantee": "exact",
        "guarantees": {},
        "stale": [],
        "verified": None,
        "seconds": 0.0,
    }
