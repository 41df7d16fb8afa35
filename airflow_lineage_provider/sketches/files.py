"""Fragments that are files: a reader skips those that are left out whole, in whatever order rows are.

The name of a row's file is taken for one more column of its source, called as Spark calls it, with a fragment for each file. No group
determines it, but by a primary key, so it is safe where any column is.

>>> days = of_files(["file:/t/2", "file:/t/1"])
>>> days.cuts, days.fragment_of("file:/t/2"), files_in(days, frozenset({2}))
(('file:/t/1', 'file:/t/2'), 2, ('file:/t/2',))
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.walk import transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.partition import Partition

FILE_PATH = "_metadata.file_path"
PATH = Attribute(id=-1, name=FILE_PATH, type="string", nullable=False)
"""A file's name, where a selection is by it: no column of the plan."""


def with_paths(plan: o.Plan, leaves: Collection[int]) -> o.Plan:
    """A plan whose leaves have the name of each row's file; what is above them has the columns that it had.

    Before: ``σ a > 1 (T)``. After: ``σ a > 1 (π a (T [a, _metadata.file_path]))``.
    """
    fresh = FreshAttributes(plan)

    def widened(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.Source) or node.leaf not in leaves:
            return node
        path = fresh.like(PATH)
        return o.Project(child=replace(node, output=(*node.output, path), columns=(*node.columns, FILE_PATH)), columns=node.output)

    return transform_up(plan, widened) if leaves else plan


def of_files(paths: Iterable[str]) -> Partition:
    """A fragment for each file.

    :raises SketchError: they are too many.
    """
    return Partition(type=PATH.type, cuts=tuple(sorted(set(paths), key=lambda path: path.encode("utf-8", "surrogatepass"))))


def files_in(partition: Partition, fragments: frozenset[int]) -> tuple[str, ...]:
    """The files that fragments are; before the first one is none."""
    return tuple(partition.cuts[at - 1] for at in sorted(fragments) if 1 <= at <= len(partition.cuts))


def sketched_attributes(source: o.Source, column: str) -> tuple[Attribute, ...]:
    """What a sketch of a column, or of several (`column_text`), selects a source's rows by.

    :raises SketchError: there is no such column.
    """
    if column == FILE_PATH:
        return (PATH,)
    found = []
    for one in columns_in(column, source.columns):
        if one not in source.columns:
            raise SketchError(f"{source.relation.name} has no column {one}")
        found.append(source.output[source.columns.index(one)])
    return tuple(found)
