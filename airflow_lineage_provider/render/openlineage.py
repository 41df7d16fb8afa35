"""What a task's runs read and wrote, as OpenLineage has it: JSON of datasets and their facets (openlineage.io/spec, version 2-0-2).

::

    {"inputs":  [{"namespace", "name", "facets": {"schema", "version"}}],
     "outputs": [{"namespace", "name", "facets": {"schema", "version", "columnLineage"}, "outputFacets": {"outputStatistics"}}],
     "run":     {"pipelineLineage": {"runs": [RUN]}}}

A RUN names a recorded run, by which its rows are explained (``PipelineLineageRunFacet.json`` beside the operators says what it has).
Ranges and data of a session are no datasets, and no inputs. Columns that the settings hide are left out. Of a run whose plan was not
recorded the inputs are names, without a schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import discretion_of
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion, OutputVersion, RowsVersion, SnapshotVersion, SourceVersion
from airflow_lineage_provider.tracing.columns.facet import dataset_names, symlinks_facet
from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage, column_lineage
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RecordedOutput, RunRecord

NAMESPACE = "spark"
"""That of tables which neither a path nor a URL names: those of Spark's catalog, and of runs of releases that recorded no URL."""

Dataset = dict[str, Any]
Names = tuple[tuple[str, str], ...]


def task_document(runs: Iterable[tuple[RunRecord, RecordedPlan | None]]) -> dict[str, Any]:
    """The document of a task: its runs with a result, and their plans where they have lineage."""
    inputs: dict[tuple[str, str], Dataset] = {}
    outputs: dict[tuple[str, str], Dataset] = {}
    told: list[dict[str, Any]] = []
    for record, plan in runs:
        for one in _inputs(record, plan) if plan is not None else _named_inputs(record):
            inputs.setdefault((one["namespace"], one["name"]), one)
        names = () if record.output is None else output_names(record.output)
        for namespace, name in names:
            outputs[namespace, name] = {"namespace": namespace, "name": name, **_output_facets(record, plan)}
        told.append(_run(record, names))
    return {"inputs": list(inputs.values()), "outputs": list(outputs.values()), "run": {"pipelineLineage": {"runs": told}}}


def asked_document(record: RunRecord) -> dict[str, Any]:
    """The run that a task asked about, as a RUN."""
    return _run(record, () if record.output is None else output_names(record.output))


def output_names(output: RecordedOutput) -> Names:
    """Namespace and name of what was written: as of who reads it."""
    return dataset_names(_as_read(output), NAMESPACE)


def _as_read(output: RecordedOutput) -> Relation:
    if output.kind == "path":
        return Relation(name=output.target, kind="files", paths=(output.target,))
    if output.database is not None:
        return Relation(name=output.target, kind="jdbc", options=(("dbtable", output.target), ("url", output.database)))
    options = () if output.table is None else (("table", output.table),)
    return Relation(name=output.target, kind="table", options=options, paths=() if output.location is None else (output.location,))


def _inputs(record: RunRecord, plan: RecordedPlan) -> list[Dataset]:
    discretion, found = Discretion.of(), []
    versions = {one.leaf: one.version for one in record.inputs}
    for leaf, read in plan.sources.items():
        relation = read.source.relation
        if relation.kind in ("range", "local"):
            continue
        if not relation.paths and read.paths:  # of a stream's batch
            relation = replace(relation, paths=read.paths)
        columns = zip(read.source.columns, (attribute.type for attribute in read.source.output), strict=True)
        facets = {"schema": _schema(columns, discretion, relation.name), **symlinks_facet(relation), **_version(versions.get(leaf))}
        found += [{"namespace": space, "name": name, "facets": facets} for space, name in dataset_names(relation, NAMESPACE)]
    return found


def _named_inputs(record: RunRecord) -> list[Dataset]:
    """Those of a run without a plan, of which only names are recorded, and the versions of files."""
    found: list[Dataset] = []
    for one in () if record.plan else record.inputs:
        relation = Relation(name=one.name, kind="files" if one.paths else "table", paths=one.paths)
        found += [
            {"namespace": space, "name": name, "facets": dict(_version(one.version))} for space, name in dataset_names(relation, NAMESPACE)
        ]
    return found


def _output_facets(record: RunRecord, plan: RecordedPlan | None) -> Dataset:
    output = record.output
    version = None if output is None else output.version
    rows = record.row_counts.get("result")
    statistics: dict[str, Any] = {} if rows is None else {"rowCount": rows}
    if isinstance(version, FilesVersion) and output is not None and output.mode != "append":  # of an append these are all files there
        statistics |= {"size": version.bytes, "fileCount": version.count}
    facets: dict[str, Any] = {**_version(version), **({} if output is None else symlinks_facet(_as_read(output)))}
    if plan is not None:
        lineage = _shown(column_lineage(plan.plan), discretion_of(plan))
        facets |= {"schema": _schema(((one.name, one.type) for one in lineage.columns), Discretion()), "columnLineage": _columns(lineage)}
    return {"facets": facets, "outputFacets": {"outputStatistics": statistics} if statistics else {}}


def _shown(lineage: ColumnLineage, discretion: Discretion) -> ColumnLineage:
    """Without columns that are hidden, on either side."""
    if not discretion:
        return lineage
    columns = tuple(
        replace(one, inputs=tuple(each for each in one.inputs if not discretion.hides(each.source.column, each.source.table)))
        for one in lineage.columns
        if not discretion.hides(one.name)
    )
    rows = tuple(each for each in lineage.rows if not discretion.hides(each.source.column, each.source.table))
    return ColumnLineage(columns=columns, rows=rows)


def _columns(lineage: ColumnLineage) -> dict[str, Any]:
    facet = lineage.to_openlineage(namespace=NAMESPACE)
    return {"fields": facet["fields"], "dataset": facet["dataset"]}


def _schema(columns: Iterable[tuple[str, str]], discretion: Discretion, table: str = "") -> dict[str, Any]:
    shown = [(name, kind) for name, kind in columns if not discretion.hides(name, table)]
    return {"fields": [{"name": name, "type": kind} for name, kind in shown]}


def _version(version: SourceVersion | OutputVersion | None) -> Mapping[str, Any]:
    text = None if version is None else _version_text(version)
    return {} if text is None else {"version": {"datasetVersion": text}}


def _version_text(version: SourceVersion | OutputVersion) -> str | None:
    """One text, the same for the same version; None where there is none."""
    match version:
        case NoVersion():
            return None
        case SnapshotVersion():
            return version.snapshot
        case FilesVersion():
            return version.digest or _digest(written(version.files or {"count": version.count, "bytes": version.bytes}))
        case RowsVersion():
            return version.checksum or f"{version.count} rows"
    return getattr(version, "version", None)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _run(record: RunRecord, names: Names) -> dict[str, Any]:
    found = {
        "id": record.id, "pipeline": record.pipeline, "status": record.status, "strategy": record.strategy, "reasons": record.reasons,
        "rows": record.row_counts.get("result"), "outputs": [{"namespace": space, "name": name} for space, name in names],
        "udfs": [{"name": one.name, "version": one.version, "hasReason": one.has_reason} for one in record.udfs],
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}
