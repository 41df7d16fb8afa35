"""How many rows the row sets of a run have, part by part: what numbers their rows from 0 (`capture.rids`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS
from airflow_lineage_provider.sources.files import CannotReadHere, local_path, opened

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.writing import Counts, RowSetKey
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedSource


def counts_of(run: AskedRun) -> Mapping[RowSetKey, Counts]:
    """Of stored segments and files, where that is known."""
    found: dict[RowSetKey, Counts] = {}
    for number, one in run.recorded.materialized.items():
        if one.name in run.stored:
            found["segment", number] = ("numbered", run.store.partitions(run.stored[one.name]))
    for leaf, source in run.recorded.sources.items():
        if source.identity.kind == "snapshot" and f"source_{leaf}" in run.stored:
            found["source", leaf] = ("numbered", run.store.partitions(run.stored[f"source_{leaf}"]))
        elif source.identity.kind == "file_position" and (files := rows_of_files(source)) is not None:
            found["source", leaf] = ("in_files", files)
    return found


def rows_of_files(source: RecordedSource) -> list[tuple[int, int]] | None:
    """The hash and the number of rows of each file, in the order of their paths; None where they are not to be had here."""
    found = []
    try:
        for file_hash, path in sorted(source.files.items(), key=lambda one: one[1]):
            with opened(source.source, local_path(source.source, path)) as file:
                found.append((int(file_hash), int(file.metadata.num_rows)))
    except (CannotReadHere, SourceUnavailable):
        return None
    return found or None


def counts_of_numbers(numbers: Numbers) -> Counts | None:
    """Of rows by all their numbers, ascending; None where places are left out.

    >>> import numpy as np
    >>> counts_of_numbers(np.array([0, 1, (2 << PARTITION_BITS) + 0]))
    ('numbered', [(0, 2), (2, 1)])
    >>> counts_of_numbers(np.array([1])) is None
    True
    """
    import numpy as np

    partitions, first, rows = np.unique(numbers >> PARTITION_BITS, return_index=True, return_counts=True)
    places = np.arange(len(numbers)) - np.repeat(first, rows)
    if not np.array_equal(numbers & ((1 << PARTITION_BITS) - 1), places):
        return None
    return "numbered", [*zip(partitions.tolist(), rows.tolist(), strict=True)]
