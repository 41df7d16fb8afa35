"""By which columns the rows of what a run stores are going to be looked up, and so what is indexed."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.expected_rows import is_laid_out
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.tracing.annotate import group_keys

if TYPE_CHECKING:
    from airflow_lineage_provider.running.run import Prepared


def looked_up(prepared: Prepared) -> dict[str, list[str]]:
    """The columns by which rows of what is stored are looked up: those that the result is indexed by, and of segments the grouping keys of
    the aggregations above, first those that the result is indexed by."""
    plan, stored = prepared.recorded.plan, prepared.recorded.materialized.values()
    keys = {key.id for s in plan.segments if s.aggregations for key in group_keys(s)}
    asked = list(dict.fromkeys(plan.output[at].id for one in prepared.index for at in one))
    wanted = [*(one for one in asked if one in keys), *sorted(keys - set(asked))]
    found = {one.name: dict(one.columns) for one in stored if one.segment}
    singly = {name: [columns[i] for i in wanted if i in columns] for name, columns in found.items()}
    # The order of rows that somebody has ordered is not changed for it.
    of_result = [] if is_laid_out(plan) else list(dict.fromkeys(chain.from_iterable(prepared.indexed)))
    return singly | {one.name: of_result for one in stored if not one.segment}


def stored_indexes(prepared: Prepared) -> dict[str, list[list[str]]]:
    """Row numbers, what the result is indexed by, and grouping keys, as `looked_up` says."""
    result = prepared.recorded.materialized.get(0)
    singly = {name: [[key] for key in keys] for name, keys in looked_up(prepared).items()}
    if result is not None:
        singly[result.name] = prepared.indexed
    indexes = {name: [[ROW], *together] for name, together in singly.items()}
    for leaf, source in prepared.recorded.sources.items():
        if source.identity.kind == "snapshot":
            indexes[f"source_{leaf}"] = [[ROW]]
    return indexes
