"""What a run writes down so that it can be traced in another process, months later, without the pipeline's code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.records.run import RecordedInput, RunRecord
from airflow_lineage_provider.records.versions import SourceVersion
from airflow_lineage_provider.tracing.trace import TracedRun


@dataclass(frozen=True, kw_only=True)
class RecordedSource:
    """A source leaf as it was read: the version of what was read, and the files behind the file hashes of its lineage keys."""

    source: Source
    identity: SourceIdentity
    version: SourceVersion
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


def recorded_segments(recorded: RecordedPlan) -> tuple[MaterializedSegment, ...]:
    """What was materialized, as the run record keeps it."""
    return tuple(recorded.materialized.values())


def recorded_inputs(recorded: RecordedPlan) -> tuple[RecordedInput, ...]:
    """The sources that were read, as the run record keeps them."""
    return tuple(
        RecordedInput(leaf=leaf, name=one.source.relation.name, identity=one.identity, version=one.version, files=dict(one.files))
        for leaf, one in recorded.sources.items()
    )


def read(record: RunRecord, plan: str | None = None) -> RecordedPlan:
    """What the run wrote down; ``plan`` in place of the record's, which has no secrets.

    :raises PlanVersionError: the record was written by a release whose plans this one cannot read.
    :raises RecordDamaged: its parts do not belong together.
    """
    segmented: SegmentedPlan = codec.from_json(record.plan if plan is None else plan)
    leaves = {node.leaf: node for s in segmented.segments for node in operators(s.plan) if isinstance(node, Source)}
    strange = sorted({one.leaf for one in record.inputs} - set(leaves))
    if strange:
        raise RecordDamaged(f"the record of run {record.id} has input {strange[0]}, and its plan has no such source")
    sources = {
        one.leaf: RecordedSource(source=leaves[one.leaf], identity=one.identity, version=one.version, files=one.files)
        for one in record.inputs
    }
    return RecordedPlan(plan=segmented, materialized={one.segment: one for one in record.segments}, sources=sources)
