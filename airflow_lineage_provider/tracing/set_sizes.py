"""How many rows sets of rows have, before any of them is fetched: by what is known of tables, by the links themselves, or by counting.

A window's frames are said by first and last positions, so that their sizes are differences. Groups are counted without being joined with
the rows that go back to them. And where even the rows of all tables are few, nothing has to be counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.magnitudes import rows_above
from airflow_lineage_provider.plan.walk import children, operators
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.looked_up import LookedUp
from airflow_lineage_provider.tracing.numbers import in_order_of_both
from airflow_lineage_provider.tracing.row_sets import LinkedRows, linked_rows, whole_side
from airflow_lineage_provider.tracing.trace import Trace, passed, trace_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.plan.segments import Segment
    from airflow_lineage_provider.tracing.trace import Executor, TracedRun
    from airflow_lineage_provider.words import Subqueries

    Numbers: TypeAlias = npt.NDArray[np.int64]

KnownRows = Callable[[str, int], "int | None"]
"""How many rows a leaf has (``source`` or ``segment``, and its number), where that is known."""


class Sizes(NamedTuple):
    """How many ``rows`` the set of each tag has. ``told``: there are so many ``pairs`` with rows of the only table; or ``combinations`` of
    rows of several tables, or of rows that are equal; or ``at most`` so many, where sets of one tag have rows in common."""

    tags: Numbers
    rows: Numbers
    told: Literal["pairs", "combinations", "at most"]

    @property
    def total(self) -> int:
        return int(self.rows.sum())


def links_of(run: TracedRun, start: int, target: pa.Table, executor: Executor) -> Mapping[int, pa.Table]:
    """The links of rows of a stored segment to sets of rows, by segment: what the sets are found by, and none of their rows."""
    found = Trace(run=run)
    found.segments[start] = target
    trace_rows(run, run.plan.segments[start], found, executor, LookedUp())
    return found.links


def sets_of_rows(run: TracedRun, segment: Segment, target: pa.Table, subqueries: Subqueries) -> list[tuple[LinkedRows, pa.Table]]:
    """The sets of rows that `trace.step` looks for by the targets of a segment's link, each with the targets that go back to it."""
    if subqueries == "partners" or not segment.has_partners:
        return [(one, target) for one in linked_rows(segment, run.context, run.materialized.get(segment.number), target)]
    return [(whole_side(segment, run.context), passed(segment, target).select([0, 1]))] if subqueries == "rows" else []


def sizes_of(run: TracedRun, linked: LinkedRows, target: pa.Table, known: KnownRows, enough: float, executor: Executor) -> Sizes | None:
    """The sizes of the sets behind targets; None where all together are surely no more than ``enough``."""
    import numpy as np

    told: Literal["pairs", "combinations", "at most"] = "pairs" if _is_of_one(run, linked) else "combinations"
    if linked.frames:
        found = Sizes(*_in_frames(target, linked.frames), told)
    elif at_most(linked, target, known) <= enough:
        return None
    else:
        tags, rows = (np.asarray(column.to_numpy(), np.int64) for column in executor.run(linked.counted, target)[0].columns)
        each, place = np.unique(tags, return_inverse=True)
        if len(each) < len(tags) and not linked.by_keys:  # (The rows of two groups are others.)
            told = "at most"
        found = Sizes(each, np.bincount(place, weights=rows, minlength=len(each)).astype(np.int64), told)
    return found if found.total > enough else None


def _is_of_one(run: TracedRun, linked: LinkedRows) -> bool:
    """Whether each row of the body is a row of its own, of the only input."""
    inputs = [one for one in linked.body.inputs if one.kind != "domain"]
    if len(inputs) != 1 or any(isinstance(node, o.Generate) for node in operators(linked.body.plan)):
        return False
    (one,) = inputs
    return one.kind == "segment" or (one.kind == "source" and run.sources[one.number].kind in ("file_position", "snapshot"))


def _in_frames(target: pa.Table, frames: int) -> tuple[Numbers, Numbers]:
    """The tags, each once, and how many rows are in any of its frames: targets have a tag, a constant, what their partition is known by,
    and first and last position of each frame.

    >>> import pyarrow as pa
    >>> ends = {"low": [1, 3, None, 2], "high": [4, 3, None, 9], "other_low": [3, 9, None, 5], "other_high": [6, 11, None, 5]}
    >>> rows = pa.table({"tag": [7, 7, 8, 9], "there": [True] * 4, "partition": ["a", "b", "a", "a"], **ends})
    >>> [one.tolist() for one in _in_frames(rows, 2)]
    [[7, 8, 9], [10, 0, 8]]
    """
    import numpy as np

    keys = target.drop_columns([target.column_names[1], *target.column_names[-2 * frames :]])
    partition = np.tile(KeyIndex(keys).number, frames)
    ends = [column.combine_chunks() for column in target.columns[-2 * frames :]]
    low, high = (np.concatenate([one.fill_null(none).to_numpy() for one in ends[at::2]]).astype(np.int64) for at, none in ((0, 0), (1, -1)))
    order = in_order_of_both(partition, low)
    partition, low, high = partition[order], low[order], high[order]
    # How far the frames before reach, those of the same partition: others are further apart than any of its positions.
    apart = partition * (int(high.max(initial=0)) + 2)
    reached = np.maximum.accumulate(high + apart) - apart
    before = np.full(len(low), -1)
    same = np.flatnonzero(partition[1:] == partition[:-1])
    before[same + 1] = reached[same]
    rows = np.maximum(high - np.maximum(low, before + 1) + 1, 0)
    tags = np.tile(np.asarray(target.column(0).to_numpy(), np.int64), frames)[order]
    each, place = np.unique(tags, return_inverse=True)
    return each, np.bincount(place, weights=rows, minlength=len(each)).astype(np.int64)


def at_most(linked: LinkedRows, target: pa.Table, known: KnownRows) -> float:
    """So many rows at most are in all sets together; infinite where nothing is known of a table."""
    import numpy as np

    rows, targets = most_rows(linked.body.plan, known), int(target.num_rows)
    if not targets or rows == 0:
        return 0
    if not linked.by_keys or math.isinf(rows):
        return rows * targets
    # A row of the body is in the sets of all targets that have its keys.
    keys = target.select(range(2, target.num_columns))
    in_most = int(np.bincount(KeyIndex(keys).number).max()) if keys.num_columns else targets
    return rows * in_most


def most_rows(plan: o.Plan, known: KnownRows) -> float:
    """So many rows a plan has at most; infinite where nothing is known of a table, or of an operator."""
    match plan:
        case o.Source():
            return _or_infinite(known("source", plan.leaf))
        case o.SegmentOutput():
            return _or_infinite(known("segment", plan.segment))
    return rows_above(plan, [most_rows(child, known) for child in children(plan)])


def _or_infinite(rows: int | None) -> float:
    return math.inf if rows is None else rows
