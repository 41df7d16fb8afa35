"""Why-provenance: which rows *together* made a row, one of each place where the plan reads a source (Smoke, Sec. 4.2).

Tracing asks which rows of a source stand behind a row, source by source. The tracing queries know more: each of their rows has the identity
of one row of every input, those that a join put together. A *witness* is such a combination, down to the sources: of a row that a join made
there is one, of a group there is one for each row that went into it, of a semi-join one for each partner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.lineage_keys import InputIdentity
from airflow_lineage_provider.plan.segments import Segment
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.tracing.by_number import groups_of_rows, stored_keys
from airflow_lineage_provider.tracing.key_index import KeyIndex, placed
from airflow_lineage_provider.tracing.maps import distinct_rows
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.row_sets import link_queries
from airflow_lineage_provider.tracing.trace import Executor, TracedRun, leads_on, passed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.plan.expressions import Attribute

Place: TypeAlias = tuple[int, ...]
"""A place where a plan reads a source: for each step of the way to it the place of an input among others and its number, a segment's or, at
last, the source leaf's. (A segment may be read twice.)"""


@dataclass(frozen=True, eq=False)
class FoundWitnesses:
    """Witnesses of rows that are asked about: of each the ``tags`` of the row, and of each place the ``keys`` of the source's row that
    takes part, NULL where none does. Each witness of a row is there once."""

    tags: npt.NDArray[np.int64]
    keys: Mapping[Place, pa.Table]


@dataclass(kw_only=True)
class WitnessTracer:
    """Finds the witnesses of rows of a run's stored segments. ``engines`` are those that have answered."""

    run: TracedRun
    executor: Executor
    engines: set[str] = field(default_factory=set)

    def of_result(self, target: pa.Table) -> FoundWitnesses:
        """The witnesses of rows of the result, which are given as a table of tag and row number.

        :raises UnsupportedOperator: the plan has a window function, or a Python function of groups or batches.
        """
        import numpy as np

        found = distinct_rows(self._of_rows(0, target, ()))
        keys = {place: found.select(names).rename_columns(_key_names(len(names))) for place, names in _places(found).items()}
        return FoundWitnesses(np.asarray(found.column(0).to_numpy(), np.int64), keys)

    def _of_rows(self, number: int, target: pa.Table, way: Place) -> pa.Table:
        """The witnesses of rows of a stored segment: the tag, and columns for each place (`_column`)."""
        segment, stored = self.run.plan.segments[number], self.run.materialized[number]
        if segment.aggregations:
            plan, keys = groups_of_rows(segment, stored)
            return self._expanded(self._ask(plan, target), keys.attributes, (keys,), way)
        query = stored_keys(stored)
        if not leads_on(query):
            return target.select([0])
        return self._expanded(self._ask(query.plan, target), query.identity_attributes, query.inputs, way)

    def _of_link(self, number: int, target: pa.Table, way: Place) -> pa.Table:
        """The witnesses of sets of rows, by what these are found by."""
        segment = self.run.plan.segments[number]
        check_has_witnesses(segment)
        tags = target.select([0])
        for query in link_queries(segment, self.run.context, self.run.materialized.get(number), asked := passed(segment, target)):
            if leads_on(query):
                return self._expanded(self._ask(query.plan, asked), query.identity_attributes, query.inputs, way)
        return tags.slice(0, 0)

    def _expanded(self, rows: pa.Table, attributes: Sequence[Attribute], inputs: Sequence[InputIdentity], way: Place) -> pa.Table:
        """Rows of a tracing query (the tag, and then ``attributes``) with what stands behind each of their inputs in place of it."""
        import pyarrow as pa

        made = rows.select([0]).rename_columns([TAG])
        columns: list[tuple[str, pa.ChunkedArray]] = []
        for place, one in ((at, each) for at, each in enumerate(inputs) if each.kind != "domain"):
            own = rows.select([1 + attributes.index(a) for a in one.attributes])
            if one.kind == "source":
                types = [to_arrow(column.type) for column in self.run.sources[one.number].columns]
                own = [column.cast(kind) for column, kind in zip(own.columns, types, strict=True)]
                behind = pa.table(own, names=[_column((*way, place, one.number), at) for at in range(len(types))])
            else:
                behind, again = self._behind(one, own, (*way, place, one.number))
                made, rows = made.take(again), rows.take(again)
                columns = [(name, column.take(again)) for name, column in columns]
            columns += zip(behind.column_names, behind.columns, strict=True)
        for name, column in columns:
            made = made.append_column(name, column)
        return made

    def _behind(self, one: InputIdentity, own: pa.Table, way: Place) -> tuple[pa.Table, pa.Array]:
        """The witnesses of the rows, or of the sets of rows, that rows lead to, and of which of these rows each is. A row that leads to
        nothing (no partner, a group of no rows) is there once, with nothing."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        there = pc.is_valid(own.column(0)).to_numpy().astype(bool)
        numbers = KeyIndex(own).number
        first = np.unique(numbers[there], return_index=True)[1] if there.any() else np.empty(0, np.int64)
        asked = np.flatnonzero(there)[first]
        target = own.take(pa.array(asked)).add_column(0, TAG, pa.array(numbers[asked], pa.int64()))
        target = target.rename_columns([TAG, *_key_names(own.num_columns)])
        of = self._of_link if one.kind == "link" else self._of_rows
        found = of(one.number, target, way) if len(asked) else target.select([0])
        many = int(numbers.max(initial=-1)) + 1
        pairs = placed(np.asarray(found.column(0).to_numpy(), np.int64), np.where(there, numbers, many), many + 1)
        alone = np.setdiff1d(np.arange(own.num_rows), pairs.asked)
        again = np.concatenate([pairs.asked, alone])
        rows = pa.array(np.concatenate([pairs.row, alone]), mask=np.arange(len(again)) >= len(pairs.asked))
        return found.drop_columns([found.column_names[0]]).take(rows), pa.array(again)

    def _ask(self, plan: o.Plan, target: pa.Table) -> pa.Table:
        rows, engine, _ = self.executor.run(plan, target)
        self.engines.add(engine)
        return rows


def check_has_witnesses(segment: Segment) -> None:
    """:raises UnsupportedOperator: what makes the segment's rows does not make them of combinations of rows, but of sets of them."""
    if isinstance(segment.plan, o.Window | o.PythonMap) and not (isinstance(segment.plan, o.Window) and segment.plan.limits):
        raise UnsupportedOperator(
            f"witnesses: {operator_text(segment.plan)} reads sets of rows as a whole, and no combination of single rows makes a row of it; "
            "backward gives the rows of these sets"
        )


def _column(place: Place, at: int) -> str:
    return f"{'/'.join(map(str, place))}:{at}"


def _places(found: pa.Table) -> dict[Place, list[str]]:
    """The columns of each place."""
    places: dict[Place, list[str]] = {}
    for name in found.column_names[1:]:
        places.setdefault(tuple(int(one) for one in name.partition(":")[0].split("/")), []).append(name)
    return dict(sorted(places.items()))


def _key_names(many: int) -> list[str]:
    return [f"key_{at}" for at in range(many)]
