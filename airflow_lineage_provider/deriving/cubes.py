"""Aggregates of lineage that a cube has, looked up: no row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.consumed_rows import aggregated_schema, grouped
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.narrowing import holding
from airflow_lineage_provider.recording import empty_rows, tables_of
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sql.asked_sql import named_expression
from airflow_lineage_provider.sql.conditions import implies, meaning, parts_beyond
from airflow_lineage_provider.sql.measures import Measure, kept_parts, measure_of, measures_of
from airflow_lineage_provider.tracing.python_guarantees import opaque
from airflow_lineage_provider.tracing.trace import INDEX
from airflow_lineage_provider.tracing.value_codes import has_two_zeros

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.looking_up import LookedUpLineage
    from airflow_lineage_provider.capture.recorded import RecordedCube
    from airflow_lineage_provider.deriving.asked_run import AskedRun


@dataclass(frozen=True, kw_only=True)
class AskedCube:
    """Aggregates that are asked for of rows that meet a condition (empty: of all): as of `LineageRows.where` and `aggregate`."""

    by: Sequence[str]
    measures: Sequence[str]
    condition: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def of(self, run: AskedRun, table: str, numbers: Sequence[int]) -> pa.Table | None:
        """Of the rows of a source table behind these rows of the result; None where no cube has them.

        :raises InvalidOption: there cannot be such aggregates of the table. :raises RecordDamaged: a part of the cube is gone.
        """
        captured, (source, *others), zone = looked_up(run), tables_of(run.recorded)[table], run.recorded.zone
        unknown = opaque(run.recorded.plan, range(len(run.recorded.plan.segments))).leaves
        if captured is None or others or source.source.leaf in unknown:
            return None
        for cube in (one for one in captured.index.cubes if one.leaf == source.source.leaf):
            named = self._named(cube, disjoint=cube.disjoint or len(numbers) == 1)
            cells = self._cells(captured, cube, numbers, zone) if named is not None else None
            if named is not None and cells is not None:
                wanted, own = aggregated_schema(self.by, self.measures, empty_rows(source), zone), self._as_kept(cells, cube, len(numbers))
                engine = f"{INDEX}cube by {', '.join(cube.by) or 'nothing'}"
                found = _computed(cells, named, zone) if own is None else own.rename_columns(wanted.names)
                return found.cast(wanted).replace_schema_metadata({"engine": engine, "guarantee": "exact"})
        return None

    def _cells(self, captured: LookedUpLineage, cube: RecordedCube, numbers: Sequence[int], zone: str) -> pa.Table | None:
        """Those of rows that meet the condition; None where it is not about their values alone, or about rows that the cube has not."""
        import pyarrow as pa

        where = next((one.where for one in captured.index.classes if one.leaf == cube.leaf), "")
        if where and not (self.condition and implies(self.condition, where)):
            return None
        found = captured.cells(cube, numbers)
        asked = parts_beyond(self.condition, where)
        if not asked:
            return found
        if not cube.by:
            return None
        values = found.select([f"by_{at}" for at in range(len(cube.by))])
        held, left = holding(asked, cube.by, values, self.params, zone)
        return None if left else found.filter(pa.array(held))

    def _named(self, cube: RecordedCube, *, disjoint: bool) -> tuple[list[str], list[str]] | None:
        """The columns that are asked for, from those of the cells; None where these have them not."""
        places = {meaning(one): at for at, one in enumerate(cube.by)}
        columns = {one.meaning: f"part_{at}" for at, one in enumerate(kept_parts(measures_of(cube.measures)))}
        keys, values = [], []
        for text in self.by:
            expression, called = named_expression(text)
            if meaning(expression) not in places:
                return None
            keys.append(f"by_{places[meaning(expression)]} AS {quoted(called)}")
        for text in self.measures:
            expression, called = named_expression(text)
            found = measure_of(expression)
            if found is None or not _has(columns, found) or not (disjoint or found.overlaps):
                return None
            values.append(f"{found.of_parts(columns)} AS {quoted(called)}")
        return keys, values

    def _as_kept(self, cells: pa.Table, cube: RecordedCube, rows: int) -> pa.Table | None:
        """The cells of one row of the result, which are what is asked for, in their order: by the cube's own expressions, measures that are
        kept. None: something is to be computed of them, zeros of two signs to be one group among it."""
        import pyarrow.compute as pc

        by = [meaning(named_expression(text)[0]) for text in self.by]
        if rows != 1 or not by or by != [meaning(one) for one in cube.by]:
            return None
        if any(has_two_zeros(cells.schema.field(f"by_{at}").type) for at in range(len(by))):
            return None
        places = {one.meaning: at for at, one in enumerate(kept_parts(measures_of(cube.measures)))}
        measures = [measure_of(named_expression(text)[0]) for text in self.measures]
        if any(one is None or one.meaning not in places for one in measures):
            return None  # an average
        names = [*(f"by_{at}" for at in range(len(by))), *(f"part_{places[one.meaning]}" for one in measures if one is not None)]
        columns = [cells.column(name) for name in names]
        for at, one in enumerate(measures, len(by)):
            columns[at] = pc.fill_null(columns[at], 0) if one is not None and one.function == "count" else columns[at]
        return cells.from_arrays(columns, names=[str(at) for at in range(len(columns))])


def _computed(cells: pa.Table, named: tuple[list[str], list[str]], zone: str) -> pa.Table:
    keys, values = named
    return selected(f"SELECT {', '.join([*keys, *values])} FROM rows{grouped(len(keys))}", {"rows": cells}, zone=zone)


def _has(columns: Mapping[Any, str], measure: Measure) -> bool:
    return all(one.meaning in columns for one in measure.parts)
