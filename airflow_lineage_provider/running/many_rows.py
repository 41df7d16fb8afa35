"""Which of the tables that a run stores are likely to have many rows, before any is made: these go straight into files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expected_rows import Leaf, expected_rows, is_laid_out
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.sources.row_groups import about_rows

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.tracing.program import Program

_BYTES_OF_A_VALUE = 8
"""Of files that nobody looks into here: what is written of a value, about."""


def probably_many(recorded: RecordedPlan, programs: Sequence[Program], least: int) -> frozenset[str]:
    """The names of the materializations that are likely to have so many rows, and all that the segments above read of them.

    None where the rows are laid out as somebody wants them, in an order or in so many partitions: what is read from files again is laid out
    as Spark likes.
    """
    if is_laid_out(recorded.plan):
        return frozenset()
    expected: dict[int, int] = {}

    @cache  # several segments may read a source
    def of_source(leaf: int) -> int:
        return _rows_of(recorded.sources[leaf], least)

    def of_leaf(leaf: Leaf) -> int:
        return expected.get(leaf.segment, 0) if isinstance(leaf, o.SegmentOutput) else of_source(leaf.leaf)

    for program in programs:
        expected[program.segment.number] = expected_rows(program.plan, of_leaf)
    return frozenset(one.materialized.name for one in programs if expected[one.segment.number] >= least and _is_whole(one))


def rows_expected(recorded: RecordedPlan, body: o.Plan, least: int) -> int:
    """How many rows the body of an aggregation is likely to give, at most; of sources that surely have fewer than ``least``, 0."""

    def of_leaf(leaf: Leaf) -> int:
        if isinstance(leaf, o.SegmentOutput):
            return expected_rows(recorded.plan.segments[leaf.segment].plan, of_leaf)
        return _rows_of(recorded.sources[leaf.leaf], least)

    return expected_rows(body, of_leaf)


def _is_whole(program: Program) -> bool:
    """Whether every column of the segment is stored; of what function materialization stores, some are read by the segments above alone."""
    return {a.id for a in program.plan.output} <= {a.id for a in program.stored}


def _rows_of(source: RecordedSource, least: int) -> int:
    version = source.version
    if not isinstance(version, FilesVersion) or version.bytes < least:
        return 0  # a row has a byte, about, however well it is packed
    told = about_rows(source.source, source.files.values()) if source.files else None
    return version.bytes // (_BYTES_OF_A_VALUE * max(1, len(source.source.columns))) if told is None else told
