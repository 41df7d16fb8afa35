"""What was said of a source's rows when their lineage was to be captured: their classes, and aggregates of them, read and computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.classes import Classes, classes_of
from airflow_lineage_provider.deriving.derive import source_reader
from airflow_lineage_provider.errors import InvalidCapture, SourceUnavailable
from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sources.row_expressions import row_values
from airflow_lineage_provider.sql.measures import kept_parts, measures_of
from airflow_lineage_provider.tracing.value_codes import has_two_zeros

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Csr, Numbers
    from airflow_lineage_provider.capture.rids import RidSpace
    from airflow_lineage_provider.capture.wanted import CaptureTable, Cube
    from airflow_lineage_provider.deriving.derivation import Derivation

_ROWS_AT_ONCE = 262_144


@dataclass(frozen=True, eq=False)
class DividedRows:
    """The rows of source leaves of which not all is captured in one (`capture.classes.Divided`): each is read once."""

    made: Derivation
    tables: Mapping[int, CaptureTable]
    _rids: dict[int, Numbers] = field(default_factory=dict)
    _values: dict[int, pa.Table] = field(default_factory=dict)

    def classes(self, leaf: int, space: RidSpace, rids: Numbers) -> Classes:
        """The classes of the rows of a source leaf with these rids, ascending.

        :raises SourceUnavailable: not all of them are there. :raises InvalidOption: an expression cannot be computed of a row.
        :raises InvalidCapture: rows that nothing tells apart are to be aggregated.
        """
        import pyarrow as pa

        wanted = self.tables[leaf]
        self.made.run.progress(f"reading what rows of {self._name(leaf)} are captured by")
        expressions = _expressions(wanted)
        zone = self.made.recorded.zone
        parts = [rids[at : at + _ROWS_AT_ONCE] for at in range(0, max(len(rids), 1), _ROWS_AT_ONCE)]
        found = pa.concat_tables([row_values(expressions, self._rows(leaf, space, part), zone) for part in parts]).rename_columns(
            expressions
        )
        self._rids[leaf], self._values[leaf] = rids, found
        kept = found.column(wanted.where) if wanted.where else None
        by = list(wanted.granularity or wanted.partition_by)
        return classes_of(rids, space.rows, kept, found.select(by) if by else None)

    def cells(self, leaf: int, cube: Cube, edges: Csr) -> pa.Array:
        """The cells of each row, which has edges to rows of the leaf: lists of ``by_0`` … and ``part_0`` …. Zeros of two signs, which are
        one group, have cells of their own: a condition may tell them apart."""
        import numpy as np
        import pyarrow as pa

        values, parts = self._values[leaf], kept_parts(measures_of(cube.measures))
        taken = values.take(pa.array(np.searchsorted(self._rids[leaf], edges.rids)))
        columns = {"of": pa.array(np.repeat(np.arange(edges.rows), edges.degrees))}
        columns |= {f"by_{at}": taken.column(one) for at, one in enumerate(cube.by)}
        columns |= {f"value_{at}": taken.column(one.argument) for at, one in enumerate(parts) if one.argument != "*"}
        aggregates = [f"{p.function}({'*' if p.argument == '*' else f'value_{at}'}) AS part_{at}" for at, p in enumerate(parts)]
        by = [f"by_{at}" for at in range(len(cube.by))]
        keys = ", ".join(["of", *by, *_signs(taken, cube)])
        order = ", ".join(f"{one} NULLS LAST" for one in ["of", *by])  # as answers have them
        query = f"SELECT {', '.join(['of', *by, *aggregates])} FROM rows GROUP BY {keys} ORDER BY {order}"
        found = selected(query, {"rows": pa.table(columns)}).combine_chunks()
        counts = np.bincount(found.column("of").to_numpy(), minlength=edges.rows)
        structs = found.drop_columns(["of"]).to_struct_array()
        structs = structs.combine_chunks() if isinstance(structs, pa.ChunkedArray) else structs
        return pa.LargeListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int64()), structs)

    def _rows(self, leaf: int, space: RidSpace, rids: Numbers) -> pa.Table:
        """The rows with these rids, one for each: those that nothing tells apart are the same in all columns."""
        import numpy as np

        keys = space.keys(rids)
        rows = source_reader(self.made).read(self.made.recorded.sources[leaf], keys)
        places = rows.keys.places(keys)
        if len(np.unique(places.asked)) < len(rids):
            raise SourceUnavailable(f"rows of {self._name(leaf)} are not there as the run read them: {rows.guarantee.cause}")
        if self.tables[leaf].cube and len(places.asked) > len(rids):
            raise InvalidCapture(f"capture: cube: nothing tells some rows of {self._name(leaf)} apart: no aggregates of them can be kept")
        row = np.zeros(len(rids), np.int64)
        row[places.asked] = places.row
        return rows.table.take(row)

    def _name(self, leaf: int) -> str:
        return self.made.recorded.sources[leaf].source.relation.name


def _signs(values: pa.Table, cube: Cube) -> list[str]:
    """What tells zeros apart that are one group, where values of a cube's dimensions can be such."""
    import pyarrow as pa

    kinds = [values.schema.field(one).type for one in cube.by]
    zeros = [(f"by_{at}", kind) for at, kind in enumerate(kinds) if has_two_zeros(kind)]
    return [f"signbit({name})" if pa.types.is_floating(kind) else f"CAST({name} AS VARCHAR)" for name, kind in zeros]


def _expressions(wanted: CaptureTable) -> list[str]:
    """All expressions over the rows, each once."""
    parts = [part for cube in wanted.cube for part in kept_parts(measures_of(cube.measures)) if part.argument != "*"]
    by = [one for cube in wanted.cube for one in cube.by]
    of_rows = [*([wanted.where] if wanted.where else []), *wanted.partition_by, *(wanted.granularity or ())]
    return list(dict.fromkeys([*of_rows, *by, *(one.argument for one in parts)]))
