"""The classes of a source's rows by what was said of them when their lineage was to be captured: read, and computed, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.classes import Classes, classes_of
from airflow_lineage_provider.deriving.derive import source_reader
from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.sources.row_expressions import row_values

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.rids import RidSpace
    from airflow_lineage_provider.capture.wanted import CaptureTable
    from airflow_lineage_provider.deriving.derivation import Derivation

_ROWS_AT_ONCE = 262_144


def classes_of_rows(made: Derivation, tables: Mapping[int, CaptureTable], leaf: int, space: RidSpace, rids: Numbers) -> Classes:
    """The classes of the rows of a source leaf with these rids; ``tables`` says by what.

    :raises SourceUnavailable: not all of them are there. :raises InvalidOption: an expression cannot be computed of a row.
    """
    import pyarrow as pa

    wanted = tables[leaf]
    expressions = [*([wanted.where] if wanted.where else []), *wanted.partition_by]
    made.run.progress(f"reading what rows of {made.recorded.sources[leaf].source.relation.name} are captured by")
    parts = [rids[at : at + _ROWS_AT_ONCE] for at in range(0, max(len(rids), 1), _ROWS_AT_ONCE)]
    found = pa.concat_tables([row_values(expressions, _rows(made, leaf, space, part)) for part in parts])
    kept = found.column(0) if wanted.where else None
    values = found.drop_columns(["value_0"]) if wanted.where else found
    return classes_of(rids, space.rows, kept, values if wanted.partition_by else None)


def _rows(made: Derivation, leaf: int, space: RidSpace, rids: Numbers) -> pa.Table:
    """The rows with these rids, one for each: those that nothing tells apart are the same in all columns."""
    import numpy as np

    source, keys = made.recorded.sources[leaf], space.keys(rids)
    rows = source_reader(made).read(source, keys)
    places = rows.keys.places(keys)
    if len(np.unique(places.asked)) < len(rids):
        raise SourceUnavailable(f"rows of {source.source.relation.name} are not there as the run read them: {rows.guarantee.cause}")
    row = np.zeros(len(rids), np.int64)
    row[places.asked] = places.row
    return rows.table.take(row)
