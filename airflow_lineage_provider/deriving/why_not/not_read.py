"""Source rows that a run has not read, as it read their table through a provenance sketch: none of them can matter to its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.fates import Fates
from airflow_lineage_provider.answers.fates import Way as FollowedWay
from airflow_lineage_provider.deriving.why_not.drops import DroppedBy
from airflow_lineage_provider.errors import ReadThroughSketch, SketchError
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.sketch import Sketch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.records.sketches import SketchUse

Told = tuple[int, str]
"""A segment, and the text of an operator in it."""


def used_sketches(run: AskedRun) -> dict[int, SketchUse]:
    """The sketches that the run has read sources through, by leaf."""
    return {one.leaf: one for one in run.record.sketches if one.state == "used"}


def fates_of_unread(run: AskedRun, rows: pa.Table, ways: Mapping[int, Told]) -> Fates:
    """What became of rows of a source table (its columns alone), all of which the run has not read; ``ways`` has of each leaf at which the
    plan reads the table the leaf itself.

    :raises ReadThroughSketch: whether it has is not known any more, or the run has read some of them. What operators made of these hangs on
        rows that it has not read, too (of a group it may have a part), so that nothing is told of them.
    """
    import numpy as np

    used = used_sketches(run)
    read = np.zeros(rows.num_rows, np.bool_)
    for one in (used[leaf] for leaf in ways if leaf in used):
        if run.store.sketch(one.sketch) is None:
            raise ReadThroughSketch(
                f"run {run.record.id} read {one.table} through sketch {one.sketch} of {one.column}, {one.rows} of {one.total} rows, and "
                "the sketch is gone, or damaged: which rows the run has read is not known. Run the pipeline with sketches='off', and ask "
                "that run"
            )
    for leaf in ways:
        read |= ~_outside(run, used[leaf], rows) if leaf in used else True
    if read.any():
        one = next(iter(used.values()))
        raise ReadThroughSketch(
            f"run {run.record.id} read {one.table} through a sketch of {one.column}, {one.rows} of {one.total} rows; {int(read.sum()):,} "
            f"of the {rows.num_rows:,} rows that are asked about it has read, and what operators would have made of them beside the others "
            "is not recorded. Run the pipeline with sketches='off', and ask that run"
        )
    return Fates(ways=tuple(_way(leaf, told, used[leaf], rows.num_rows) for leaf, told in ways.items()), rows=rows.num_rows)


def _way(leaf: int, told: Told, use: SketchUse, rows: int) -> FollowedWay:
    import numpy as np

    operators = (told, (told[0], f"σ {use.column} in {use.fragments:,} of {use.count:,} fragments"))
    descendants = np.array([[1], [0]], np.int64).repeat(rows, axis=1)
    says = f"not read: outside sketch {use.sketch} of run {use.run_id}, which has all rows that can matter to the result"
    return FollowedWay(
        leaf=leaf, operators=operators, descendants=descendants, drops={1: DroppedBy(reason="sketch", says=says, evidence=None)}
    )


def _outside(run: AskedRun, use: SketchUse, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows are in none of the sketch's fragments; none where that is not known: rows of files that came later are read besides."""
    import numpy as np

    nothing = np.zeros(rows.num_rows, np.bool_)
    found = run.store.sketch(use.sketch)
    columns = columns_in(use.column, rows.column_names)
    if found is None or use.new_files or not set(columns) <= set(rows.column_names):
        return nothing
    stored = found[0]
    try:
        sketch, partition = Sketch.from_bytes(stored.content), kept_cuts.from_bytes(stored.cuts)
        values = [rows.column(one).to_pylist() for one in columns]
        fragments = [partition.fragment_of(one) for one in (values[0] if len(columns) == 1 else zip(*values, strict=True))]
    except SketchError:
        return nothing
    return ~np.isin(fragments, sorted(sketch.fragments))
