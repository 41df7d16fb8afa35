"""What Airflow tells OpenLineage of a task: its runs' datasets, in the classes of OpenLineage's client.

Imported when Airflow asks, which it does where its OpenLineage provider is installed (the extra ``openlineage``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attr
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import RunFacet
from openlineage.client.facet_v2 import column_lineage_dataset as of_columns
from openlineage.client.facet_v2 import dataset_version_dataset as of_versions
from openlineage.client.facet_v2 import output_statistics_output_dataset as of_statistics
from openlineage.client.facet_v2 import schema_dataset as of_schemas
from openlineage.client.facet_v2 import symlinks_dataset as of_symlinks

from airflow_lineage_provider.render.openlineage import asked_document, task_document
from airflow_lineage_provider.tracing.columns.facet import PRODUCER

if TYPE_CHECKING:
    from airflow_lineage_provider.recorded_run import Run

SCHEMA = "PipelineLineageRunFacet.json"


@attr.define
class PipelineLineageRunFacet(RunFacet):
    """The recorded runs of a task, by which its rows are explained; or the run that it asked about, and what was found."""

    runs: list[dict[str, Any]] = attr.field(factory=list)
    derivation: dict[str, Any] | None = attr.field(default=None)
    captured: dict[str, Any] | None = attr.field(default=None)

    @staticmethod
    def _get_schema() -> str:
        return f"{PRODUCER}#airflow_lineage_provider/operators/{SCHEMA}"


def operator_lineage(runs: Iterable[Run]) -> OperatorLineage[Any, Any]:
    """Inputs, outputs and the facet of a task's runs."""
    document = task_document([(run.record, None if run.lineage_lost else run.plan) for run in runs])
    return OperatorLineage(
        inputs=[InputDataset(namespace=one["namespace"], name=one["name"], facets=_facets(one["facets"])) for one in document["inputs"]],
        outputs=[
            OutputDataset(
                namespace=one["namespace"],
                name=one["name"],
                facets=_facets(one["facets"]),
                outputFacets=_statistics(one["outputFacets"]),
            )
            for one in document["outputs"]
        ],
        run_facets={"pipelineLineage": PipelineLineageRunFacet(runs=document["run"]["pipelineLineage"]["runs"], producer=PRODUCER)},
    )


def with_declared(found: OperatorLineage[Any, Any], task: Any, task_instance: Any) -> OperatorLineage[Any, Any]:
    """What was recorded, and beside it the inlets and outlets that the DAG's author declared, or the task told of when it ran.

    Airflow leaves these out where a task has any dataset of its own. What both name is told once, as it was recorded. Where nothing was
    recorded Airflow adds them itself.
    """
    from airflow.providers.openlineage.extractors.manager import ExtractorManager

    if not found.inputs and not found.outputs:
        return found
    declared: OperatorLineage[Any, Any] = OperatorLineage()
    manager: Any = ExtractorManager()  # type: ignore[no-untyped-call]
    manager.extract_inlets_and_outlets(declared, task, task_instance)
    return attr.evolve(found, inputs=_once(found.inputs, declared.inputs), outputs=_once(found.outputs, declared.outputs))


def _once(recorded: list[Any], declared: list[Any]) -> list[Any]:
    known = {(one.namespace, one.name): one for one in reversed([*recorded, *declared])}
    return [one for one in (*recorded, *declared) if known[one.namespace, one.name] is one]


def asked_lineage(run: Run, result: Mapping[str, Any]) -> OperatorLineage[Any, Any]:
    """The facet of a task that asked about a run.

    It has no datasets: what the DAG's author declared as inlets and outlets stands.

    :param result: the task's XCom; nothing where it failed.
    """
    facet = PipelineLineageRunFacet(
        runs=[asked_document(run.record)], derivation=_derivation(result), captured=_captured(result), producer=PRODUCER
    )
    return OperatorLineage(run_facets={"pipelineLineage": facet})


def _derivation(result: Mapping[str, Any]) -> dict[str, Any] | None:
    if "derivation_ids" not in result:
        return None
    known = {"id": result["derivation_id"], "setId": result["derivation_set_id"], "since": result["since"]}
    worth = {"rows": result["counts"]["target"], "derivations": len(result["derivation_ids"]), "guarantee": result["guarantee"]}
    return {name: value for name, value in (known | worth).items() if value is not None}


def _captured(result: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: result[name] for name in ("indexes", "pairs", "bytes")} if "indexes" in result else None


def _facets(given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, facet in given.items():
        match name:
            case "schema":
                fields = [of_schemas.SchemaDatasetFacetFields(**field) for field in facet["fields"]]
                found[name] = of_schemas.SchemaDatasetFacet(fields=fields, producer=PRODUCER)
            case "symlinks":
                names = [of_symlinks.Identifier(**one) for one in facet["identifiers"]]
                found[name] = of_symlinks.SymlinksDatasetFacet(identifiers=names, producer=PRODUCER)
            case "version":
                found[name] = of_versions.DatasetVersionDatasetFacet(**facet, producer=PRODUCER)
            case "columnLineage":
                columns = {
                    column: of_columns.Fields(inputFields=_input_fields(one["inputFields"])) for column, one in facet["fields"].items()
                }
                found[name] = of_columns.ColumnLineageDatasetFacet(
                    fields=columns, dataset=_input_fields(facet["dataset"]), producer=PRODUCER
                )
    return found


def _input_fields(given: Iterable[Mapping[str, Any]]) -> list[of_columns.InputField]:
    return [
        of_columns.InputField(**{**one, "transformations": [of_columns.Transformation(**kind) for kind in one["transformations"]]})
        for one in given
    ]


def _statistics(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: of_statistics.OutputStatisticsOutputDatasetFacet(**facet, producer=PRODUCER) for name, facet in given.items()}
