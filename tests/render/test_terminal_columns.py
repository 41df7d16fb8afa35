"""Column-level lineage in the terminal and as a document."""

from __future__ import annotations

import io
import json

from rich.console import Console

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.render.column_document import columns_dict
from airflow_lineage_provider.render.terminal_columns import columns_view
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage, column_lineage
from tests.plan.paper_plans import CLIENT, example_4
from tests.tracing.told_columns import one_segment

RUN = RunSummary(
    id="run-1", pipeline="exam[bold]", status="complete", started="2025-12-31T06:00:00+00:00", seconds=1.5,
    strategy="function_materialization", reasons="lazy", rows=2, error="",
)  # fmt: skip


def shown(lineage: ColumnLineage) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=120).print(columns_view(RUN, lineage))
    return [" ".join(line.split()) for line in out.getvalue().splitlines() if line.strip()]


def test_the_papers_example() -> None:
    assert shown(column_lineage(rewrite(example_4()))) == [
        "2 columns of exam[bold], run run-1",
        "column computed from how",
        "judge client.income transformed by credit_exam",
        "debt.debt transformed by credit_exam",
        "loan.loan_amount transformed by credit_exam",
        "count no source column a constant, or a count of rows",
        "Which rows there are, and so every column, is decided by",
        "client.client_id join key",
        "client.income group key on what comes from credit_exam",
        "debt.client_id join key",
        "debt.debt group key on what comes from credit_exam",
        "loan.client_id join key",
        "loan.loan_amount group key on what comes from credit_exam",
        "loan.date filter",
    ]


def test_several_ways_masks_opaque_functions_and_influences() -> None:
    key, name, country, income = CLIENT.output
    made = e.Attribute(id=50, name="\x1b[31mred", type="string")
    hashed = e.Call(function="sha2", arguments=(name,), type="string")
    chosen = e.Call(function="when", arguments=(income, name, country, hashed, name), type="string")
    assert shown(column_lineage(one_segment(o.Project(child=CLIENT, columns=(e.Alias(child=chosen, attribute=made),))))) == [
        "1 column of exam[bold], run run-1",
        "column computed from how",
        "\\x1b[31mred client.name as it is; transformed, masked",
        "client.country only influences it: condition",
        "client.income only influences it: condition",
        "No source column decides which rows there are.",
    ]
    output = (e.Attribute(id=60, name="x", type="int"),)
    whole = o.PythonMap(children=(o.Project(child=CLIENT, columns=(key,)),), kind="map", udf="f", call=1, eval_type=205, output=output)
    assert shown(column_lineage(one_segment(whole)))[2:] == [
        "x client.client_id transformed, perhaps (f is opaque)",
        "Which rows there are, and so every column, is decided by",
        "client.client_id filter, perhaps (f is opaque)",
    ]


def test_the_document_is_json() -> None:
    document = json.loads(json.dumps(columns_dict(RUN, column_lineage(rewrite(example_4()))), allow_nan=False))
    assert (document["document"], document["version"], document["run"]["id"]) == ("airflow_lineage.columns", 1, "run-1")
    assert [(one["position"], one["name"], one["type"], len(one["inputs"])) for one in document["columns"]] == [
        (0, "judge", "string", 3), (1, "count", "bigint", 0),
    ]  # fmt: skip
    assert len(document["rows"]) == 7
    assert set(document["facets"]["columnLineage"]["fields"]) == {"judge", "count"}
