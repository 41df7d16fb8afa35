"""Column-level lineage as a JSON document with stable keys.

::

    {"document": "airflow_lineage.columns", "version": 1, "run",
     "columns": [{"position", "name", "type", "inputs": [INPUT]}],      computed from, and what influences this column alone
     "rows":    [INPUT],                                                what influences every column
     "facets":  {"columnLineage": …}}                                   the same as OpenLineage's facet

An INPUT is ``{"source", "column", "type", "subtype", "masking", "opaque", "udfs"}``; ``run`` is as in `document`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.render.document import run_dict

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, ColumnLineage

NAME = "airflow_lineage.columns"
VERSION = 1


def columns_dict(run: RunSummary, lineage: ColumnLineage) -> dict[str, Any]:
    """The column-level lineage of a run's result, JSON-able."""
    return {
        "document": NAME,
        "version": VERSION,
        "run": run_dict(run),
        "columns": [
            {"position": one.position, "name": one.name, "type": one.type, "inputs": [_input(each) for each in one.inputs]}
            for one in lineage.columns
        ],
        "rows": [_input(one) for one in lineage.rows],
        "facets": {"columnLineage": lineage.to_openlineage()},
    }


def _input(one: ColumnInput) -> dict[str, Any]:
    kind = one.transformation
    return {
        "source": one.source.table, "column": one.source.column, "type": kind.type, "subtype": kind.subtype, "masking": kind.masking,
        "opaque": kind.opaque, "udfs": list(kind.udfs),
    }  # fmt: skip
