"""The numbers of rows, by their keys: of source rows in the version of the table that a run read, and of rows of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.capture.rids import counted
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.capturing import check_unchanged
from airflow_lineage_provider.deriving.capturing_counts import rows_of_files
from airflow_lineage_provider.errors import NotCaptured, ResultNotStored
from airflow_lineage_provider.recording import RecordedSource, tables_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.rids import RidSpace
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers

Ask = Callable[[Callable[["AskedRun"], Any]], Any]
"""Asks a question of a run, as often as it is needed."""


def source_numbering(ask: Ask, table: str) -> Callable[[pa.Table], Numbers]:
    """What numbers rows of a source table of a run."""
    return lambda keys: ask(lambda run: _numbers_of(run, table, keys))


def stored_numbering(ask: Ask, name: str = "result") -> Callable[[pa.Table], Numbers]:
    """What numbers rows of a run's result, or of another stored segment, by its name: by their positions."""

    def numbers(run: AskedRun, keys: pa.Table) -> Numbers:
        import numpy as np

        index = run.record.captured if name == "result" else None
        if index is not None and index.of_output and (found := looked_up(run)) is not None:
            return found.space("segment", 0).rids(keys)
        if (stored := run.stored.get(name)) is None:
            raise ResultNotStored(f"run {run.record.id} ({run.record.strategy}) did not store its result: its rows have no numbers")
        return np.array(run.tables.positions_of(stored, keys.column(0).to_numpy()), np.int64)

    return lambda keys: ask(lambda run: numbers(run, keys))


def _numbers_of(run: AskedRun, table: str, keys: pa.Table) -> Numbers:
    """The numbers of source rows with these keys, in their order.

    :raises NotCaptured: nothing numbers them. :raises SourceUnavailable: the table is another now, and its lineage was not captured.
    """
    group = tables_of(run.recorded)[table]
    space = _captured_space(run, group) or _counted_space(run, group[0])
    found = None if space is None else space.rids(keys)
    if found is None or (found < 0).any():
        raise NotCaptured(
            f"rows of {table} are known by {group[0].identity.kind.replace('_', ' ')}, and have numbers where their lineage was captured: "
            "Run.capture(), or `airflow-lineage capture`, captures it"
        )
    return found


def _captured_space(run: AskedRun, group: list[RecordedSource]) -> RidSpace | None:
    """How captured lineage numbers the rows of a table; None where it does not, or has lists of its own for each place that reads it."""
    found = looked_up(run)
    if found is None:
        return None
    leaves = {one.source.leaf for one in group}
    spaces = [one for one in found.index.spaces if one.side == "source" and one.number in leaves]
    by_parts = [one for one in spaces if one.kind != "listed"]
    if not by_parts and len(group) > 1:
        return None
    return next((found.space("source", one.number) for one in by_parts or spaces), None)


def _counted_space(run: AskedRun, source: RecordedSource) -> RidSpace | None:
    """How the rows of a table are numbered by what is known of its parts; None where nothing is.

    :raises SourceUnavailable: it is another now.
    """
    if source.identity.kind == "snapshot":
        stored = run.stored.get(f"source_{source.source.leaf}")
        return None if stored is None else counted("numbered", run.store.partitions(stored))
    if source.identity.kind != "file_position":
        return None
    check_unchanged(run, [source], "numbers are given to rows")
    files = rows_of_files(source)
    return None if files is None else counted("in_files", files)
