"""What a run writes down so that it can be traced in another process, months later, without the pipeline's code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.tracing.strategies import Choice
from airflow_lineage_provider.tracing.trace import TracedRun


@dataclass(frozen=True, kw_only=True)
class RecordedSource:
    """A source leaf as it was read: the version of what was read, and the files behind the file hashes of its lineage keys."""

    source: Source
    identity: SourceIdentity
    version: Mapping[str, Any]
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class RecordedPlan:
    """A run's plan, what was materialized of it, and its sources by leaf number."""

    plan: SegmentedPlan
    materialized: Mapping[int, MaterializedSegment]
    sources: Mapping[int, RecordedSource]

    @property
    def ansi(self) -> bool:
        """Whether the run's session computed as ANSI SQL says (Spark's default)."""
        return dict(self.plan.conf).get("spark.sql.ansi.enabled", "true") == "true"

    @property
    def traced(self) -> TracedRun:
        identities = {leaf: one.identity for leaf, one in self.sources.items()}
        return TracedRun(plan=self.plan, materialized=self.materialized, sources=identities)


def plan_text(recorded: RecordedPlan) -> str:
    """The plan, as the run record keeps it."""
    return codec.to_json(recorded.plan)


def segments_document(recorded: RecordedPlan) -> list[Any]:
    """What was materialized, JSON-able."""
    return [json.loads(codec.to_json(one)) for one in recorded.materialized.values()]


def inputs_document(recorded: RecordedPlan) -> list[dict[str, Any]]:
    """The sources that were read, JSON-able."""
    return [
        {
            "leaf": leaf,
            "name": one.source.relation.name,
            "identity": json.loads(codec.to_json(one.identity)),
            "version": dict(one.version),
            "files": dict(one.files),
        }
        for leaf, one in recorded.sources.items()
    ]


def choices_document(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Which segments were stored and why, JSON-able."""
    return [asdict(one) for one in choices]


def choices_of(document: Any) -> tuple[Choice, ...]:
    """The other way round; none for a run that recorded none (of an older release)."""
    return tuple(Choice(segment=one["segment"], stored=one["stored"], because=one["because"]) for one in document or ())


def read(plan: str, segments: list[Any], inputs: list[Any]) -> RecordedPlan:
    """The other way round.

    :raises PlanVersionError: the record was written by a release whose plans this one cannot read.
    """
    segmented: SegmentedPlan = codec.from_json(plan)
    leaves = {node.leaf: node for s in segmented.segments for node in operators(s.plan) if isinstance(node, Source)}
    materialized = [codec.from_json(json.dumps(one)) for one in segments]
    sources = {
        one["leaf"]: RecordedSource(
            source=leaves[one["leaf"]],
            identity=codec.from_json(json.dumps(one["identity"])),
            version=one["version"],
            files=one["files"],
        )
        for one in inputs
    }
    return RecordedPlan(plan=segmented, materialized={one.segment: one for one in materialized}, sources=sources)
