"""The source rows behind rows of a plan that hold their lineage keys, with all their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.sources import SourceReader
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.deriving.stored_tables import StoredTables
from airflow_lineage_provider.errors import TracingError
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.tracing.key_index import Key, key_tuples

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.expressions import Attribute
    from airflow_lineage_provider.plan.lineage_keys import InputIdentity
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.following import Following

TableRows = Mapping[str, Mapping[str, Any]]


def table_names(recorded: RecordedPlan) -> dict[int, str]:
    """The name of each source leaf's table, as answers have it."""
    return {one.source.leaf: name for name, group in tables_of(recorded).items() for one in group}


def rows_behind(sources: Sequence[InputIdentity], rows: pa.Table, columns: Sequence[Attribute], following: Following) -> list[TableRows]:
    """For each row the source rows that it is made of, by table; a source that cannot be read any more is left out."""
    names = table_names(following.tracing.recorded)
    found: list[dict[str, Mapping[str, Any]]] = [{} for _ in range(rows.num_rows)]
    places = {a.id: at for at, a in enumerate(columns)}
    for one in sources:
        keys = rows.select([places[a.id] for a in one.attributes]).rename_columns([f"key_{i}" for i in range(len(one.attributes))])
        known = _source_rows(one.number, keys, following)
        for at, key in enumerate(key_tuples(keys)):
            if key in known:
                found[at][free_name(names[one.number], found[at])] = known[key]
    return list(found)


def _source_rows(leaf: int, keys: pa.Table, following: Following) -> dict[Key, Mapping[str, Any]]:
    import pyarrow as pa

    from airflow_lineage_provider.answers.values import rows_of
    from airflow_lineage_provider.plan.datatypes import to_arrow
    from airflow_lineage_provider.tracing.maps import distinct_rows

    tracing = following.tracing
    source, conf = tracing.recorded.sources[leaf], dict(tracing.recorded.plan.conf)
    schema = pa.schema([(f"key_{i}", to_arrow(column.type)) for i, column in enumerate(source.identity.columns)])
    spark = SparkOnDemand(tracing)
    try:
        read = SourceReader(StoredTables(tracing.store, tracing.store, spark), tracing.stored, conf, spark).read(
            source, distinct_rows(keys.cast(schema))
        )
    except TracingError:
        return {}
    values = rows_of(read.table)
    found: dict[Key, Mapping[str, Any]] = {}
    for key, row in zip(read.keys.tuples(), values, strict=True):
        found.setdefault(key, dict(zip(read.table.column_names, row, strict=True)))
    return found
