"""The source rows behind rows of a plan that hold their lineage keys, with all their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.sources import SourceReader, SourceRows
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.deriving.stored_tables import StoredTables
from airflow_lineage_provider.errors import TracingError
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.recording import tables_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.plan.expressions import Attribute
    from airflow_lineage_provider.plan.lineage_keys import InputIdentity
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.following import Following


@dataclass(frozen=True, eq=False)
class RowsBehind:
    """Source rows behind rows: of each source the table's name, its rows, and for each of the others a place there (-1: none)."""

    sources: Sequence[tuple[str, pa.Table, Numbers]]

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """Of all columns, each with its table."""
        return [(column, name) for name, table, _ in self.sources for column in table.column_names]

    def of(self, at: int) -> Mapping[str, Mapping[str, Any]]:
        """What stands behind one row, by table."""
        from airflow_lineage_provider.answers.values import rows_of

        found: dict[str, Mapping[str, Any]] = {}
        for name, table, places in self.sources:
            if places[at] >= 0:
                (row,) = rows_of(table, [int(places[at])])
                found[free_name(name, found)] = dict(zip(table.column_names, row, strict=True))
        return found


def table_names(recorded: RecordedPlan) -> dict[int, str]:
    """The name of each source leaf's table, as answers have it."""
    return {one.source.leaf: name for name, group in tables_of(recorded).items() for one in group}


def rows_behind(sources: Sequence[InputIdentity], rows: pa.Table, columns: Sequence[Attribute], following: Following) -> RowsBehind:
    """For each row the source rows that it is made of; a source that cannot be read any more is left out."""
    names = table_names(following.tracing.recorded)
    place = {a.id: at for at, a in enumerate(columns)}
    found = []
    for one in sources:
        keys = rows.select([place[a.id] for a in one.attributes]).rename_columns([f"key_{i}" for i in range(len(one.attributes))])
        read = _source_rows(one.number, keys, following)
        if read is not None:
            found.append((names[one.number], read.table, _first_places(read, keys)))
    return RowsBehind(found)


def _first_places(read: SourceRows, keys: pa.Table) -> Numbers:
    """For each key the first row that has it; -1 where none has."""
    import numpy as np

    found = read.keys.places(keys)
    asked, first = np.unique(found.asked, return_index=True)
    places = np.full(keys.num_rows, -1)
    places[asked] = found.row[first]
    return places


def _source_rows(leaf: int, keys: pa.Table, following: Following) -> SourceRows | None:
    import pyarrow as pa

    from airflow_lineage_provider.plan.datatypes import to_arrow
    from airflow_lineage_provider.tracing.maps import distinct_rows

    tracing = following.tracing
    source, conf = tracing.recorded.sources[leaf], dict(tracing.recorded.plan.conf)
    schema = pa.schema([(f"key_{i}", to_arrow(column.type)) for i, column in enumerate(source.identity.columns)])
    spark = SparkOnDemand(tracing)
    try:
        return SourceReader(StoredTables(tracing.store, tracing.store, spark), tracing.stored, conf, spark).read(
            source, distinct_rows(keys.cast(schema))
        )
    except TracingError:
        return None
