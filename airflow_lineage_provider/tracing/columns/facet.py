"""OpenLineage's columnLineage facet (version 1-2-0) of a result, and the facet's names of datasets.

What influences one column stands under that column in ``fields``; what influences all stands once, under ``dataset``. The facet's fields
are known by name: columns of a result that share one share an entry. A table of several paths is several datasets to OpenLineage.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_lineage_provider import __version__
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.tracing.columns.transformation import Transformation

if TYPE_CHECKING:
    from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, ColumnLineage

SCHEMA_URL = "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json"
PRODUCER = f"pkg:pypi/airflow-provider-lineage@{__version__}"

# OpenLineage has one name for a store that Hadoop reads under several.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_DATABASES = {"postgresql": "postgres"}
_BUCKETS = ("s3", "gs")
# What a URL, or the name of a table, may leave out, and a name may not.
_PORTS = {"postgres": 5432, "mysql": 3306}
_SCHEMAS = {"postgres": "public"}


def column_lineage_facet(lineage: ColumnLineage, namespace: str) -> dict[str, Any]:
    """The value of ``columnLineage`` among an output dataset's facets."""
    fields: dict[str, list[ColumnInput]] = {}
    for column in lineage.columns:
        fields.setdefault(column.name, []).extend(column.inputs)
    return {
        "_producer": PRODUCER,
        "_schemaURL": SCHEMA_URL,
        "fields": {name: {"inputFields": _input_fields(inputs, namespace)} for name, inputs in fields.items()},
        "dataset": _input_fields(lineage.rows, namespace),
    }


def _input_fields(inputs: Iterable[ColumnInput], namespace: str) -> list[dict[str, Any]]:
    """One entry a source column, with every way in which it takes part."""
    found: dict[tuple[str, str, str], dict[Transformation, None]] = {}
    for one in inputs:
        for place, name in dataset_names(one.source.relation, namespace):
            found.setdefault((place, name, one.source.column), {})[one.transformation] = None
    return [
        {"namespace": place, "name": name, "field": column, "transformations": [_transformation(kind) for kind in kinds]}
        for (place, name, column), kinds in found.items()
    ]


def _transformation(kind: Transformation) -> dict[str, Any]:
    return {"type": kind.type, "subtype": kind.subtype, "description": kind.description, "masking": kind.masking}


def dataset_names(relation: Relation, namespace: str) -> tuple[tuple[str, str], ...]:
    """Namespace and name of the datasets behind a source, as openlineage.io/docs/spec/naming has them for files and databases. A table of a
    catalog is called by its location, as openlineage-spark calls it, and has its name beside it (`symlinks_facet`)."""
    options = dict(relation.options)
    match relation.kind:
        case "files" if relation.paths:
            return tuple(_of_path(path) for path in relation.paths)
        case "jdbc" if "dbtable" in options and "url" in options:
            return (_of_database(options),)
        case "table" if len(relation.paths) == 1:
            return (_of_path(relation.paths[0]),)
        case "table" if "table" in options:
            return ((namespace, _unquoted(options["table"])),)
    return ((namespace, relation.name),)


def symlinks_facet(relation: Relation) -> dict[str, Any]:
    """``symlinks`` of a dataset: what a catalog calls a table whose name here is its location."""
    table = dict(relation.options).get("table")
    if relation.kind != "table" or table is None or len(relation.paths) != 1:
        return {}
    place = relation.paths[0].rstrip("/").rpartition("/")[0]
    return {"symlinks": {"identifiers": [{"namespace": place, "name": _unquoted(table), "type": "TABLE"}]}}


def _of_path(path: str) -> tuple[str, str]:
    parts = urlsplit(path)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme) or "file"
    if scheme == "file" or not parts.netloc:
        return scheme, parts.path
    return f"{scheme}://{parts.netloc}", parts.path.lstrip("/") if scheme in _BUCKETS else parts.path


def _of_database(options: Mapping[str, str]) -> tuple[str, str]:
    parts = urlsplit(options["url"].removeprefix("jdbc:"))
    scheme, table = _DATABASES.get(parts.scheme, parts.scheme), options["dbtable"]
    if scheme in _SCHEMAS and re.fullmatch(r"\w+", table):
        table = f"{_SCHEMAS[scheme]}.{table}"
    database = parts.path.strip("/")
    has_port = re.search(r":\d+$", parts.netloc) is not None
    place = f"{parts.netloc}:{_PORTS[scheme]}" if scheme in _PORTS and parts.netloc and not has_port else parts.netloc
    return f"{scheme}://{place}", f"{database}.{table}" if database else table


def _unquoted(table: str) -> str:
    """`` `a`.`b` `` as OpenLineage writes it: ``a.b``."""
    parts = re.findall(r"`((?:[^`]|``)*)`", table)
    return ".".join(part.replace("``", "`") for part in parts) if parts else table
