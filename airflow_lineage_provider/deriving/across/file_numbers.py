"""Which row of a run's result each row of the Parquet files is that the run wrote: told by the place in them.

Rows that stand in PostgreSQL, or nowhere, are written partition by partition: a file's name tells the number of its rows' partition. Rows
that the run stored in files are written out from these, which Spark reads the largest first, several after one another into one partition
where they are small. Where a run made folders by a column's values, a file has some rows of its partition, and nobody knows which. What is
told so is a guess (Spark cuts files that are large for the cluster into pieces, for one): whoever asks holds the values at both places
against each other, and looks for the row by them where they differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote

from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS
from airflow_lineage_provider.recording import read
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.spark.executing.outputs import partition_of

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.records.run import RunRecord

_MOST_FOOTERS = 500
"""Files: how many rows each of more has is not looked up, and their rows are found by their values."""


@dataclass(frozen=True)
class FileNumbers:
    """Numbers of rows by file and position, and back, of the files of one run.

    ``places``: of each file the places of its rows among all rows, where these were written out from files; None: a file has the rows
    of the partition that it is named after. ``partitions`` has then the number and the rows of each stored file, as they were read.
    ``folders``: the columns, in small letters, by whose values there may be folders: the files in them tell nothing.
    """

    places: Mapping[str, range] | None = None
    partitions: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    folders: frozenset[str] = frozenset()

    def numbers(self, uri: str, positions: Numbers) -> Numbers | None:
        """The numbers of the rows at positions of a file; None where it does not tell them."""
        import numpy as np

        partition = self.partition_of(uri)
        if partition is None:
            return None
        if self.places is None:
            return (partition << PARTITION_BITS) + positions
        if uri not in self.places:
            return None
        known, begins, ends = self._order
        places = self.places[uri].start + positions
        at = np.minimum(np.searchsorted(ends, places, "right"), len(known) - 1)
        return (known[at] << PARTITION_BITS) + places - begins[at]

    def among(self, uri: str, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Of rows with these numbers those that are in a file: their positions there, and their numbers."""
        import numpy as np

        partition = self.partition_of(uri)
        inside = numbers & ((1 << PARTITION_BITS) - 1)
        if self.places is None:
            own = numbers >> PARTITION_BITS == (-1 if partition is None else partition)
            return inside[own], numbers[own]
        known, begins, ends = self._order
        order = np.argsort(known)
        at = order[np.minimum(np.searchsorted(known[order], numbers >> PARTITION_BITS), len(order) - 1)]
        places, of_file = begins[at] + inside, self.places.get(uri, range(0))
        own = (known[at] == numbers >> PARTITION_BITS) & (places < ends[at]) & (places >= of_file.start) & (places < of_file.stop)
        return places[own] - of_file.start, numbers[own]

    def partition_of(self, uri: str) -> int | None:
        """The partition whose rows a file has; None where that is not known, or it has not all of them."""
        # Spark escapes what is in a folder's name, and a URI once more.
        name, is_partition, _ = uri.rpartition("/")[0].rpartition("/")[2].partition("=")
        return None if is_partition and unquote(unquote(name)).lower() in self.folders else partition_of(uri)

    @cached_property
    def _order(self) -> tuple[Numbers, Numbers, Numbers]:
        """Of the stored files, as they were read: the partition, and the places of its first row and behind its last."""
        import numpy as np

        known, rows = np.array(self.partitions, np.int64).reshape(-1, 2).T
        ends = np.cumsum(rows)
        return known, ends - rows, ends


def file_numbers(runs: KnownRuns, run_id: str) -> FileNumbers:
    """How the places in the files that a run wrote tell its rows' numbers.

    :raises StoreUnavailable: the store does not answer.
    """
    try:
        record = runs.run(run_id)
        by_name = FileNumbers(folders=_folders(record))
        return _written_from_files(runs, record, by_name) or by_name
    except StoreUnavailable:
        raise
    except LineageError:  # the run cannot be asked, which is said where it is
        return FileNumbers()


def _folders(record: RunRecord) -> frozenset[str]:
    """The columns of the result by which there may be folders: but those in the place that was named, which all rows have."""
    if record.output is None or record.status != "complete":
        return frozenset()
    named = {one.partition("=")[0].lower() for one in record.output.target.split("/") if "=" in one}
    return frozenset(name.lower() for name in read(record).plan.names) - named


def _written_from_files(runs: KnownRuns, record: RunRecord, by_name: FileNumbers) -> FileNumbers | None:
    """Of rows that were stored in files, and written out from these; None: of others, or it is not known how many rows each file has."""
    stored = runs.stored(record.id).get("result") if record.status == "complete" else None
    version = record.output.version if record.output is not None else None
    if stored is None or not stored.in_files or not isinstance(version, FilesVersion) or version.files is None:
        return None
    uris = [uri for uri in version.files if by_name.partition_of(uri) is not None]
    if len(uris) != len(version.files) or len(uris) > _MOST_FOOTERS:
        return None
    rows = _rows_in(sorted(uris, key=lambda uri: (partition_of(uri), uri)))
    sizes = {partition_of(name): size for name, size in stored.files.items()}
    loaded = runs.store.partitions(stored)
    if rows is None or sum(rows.values()) != sum(many for _, many in loaded) or not {one for one, _ in loaded} <= {*sizes}:
        return None
    places, begin = dict[str, range](), 0
    for uri, many in rows.items():
        places[uri] = range(begin, begin + many)
        begin += many
    # The largest first, and of equally large ones the one that is listed first (org.apache.spark.sql.execution.datasources.FilePartition).
    return FileNumbers(places, tuple(sorted(loaded, key=lambda one: (-sizes[one[0]], one[0]))))


def _rows_in(uris: list[str]) -> dict[str, int] | None:
    """How many rows each file has, from its footer; None where that cannot be read here."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = {}
    for uri in uris:
        path = local_path(uri)
        try:
            if path is None:
                return None
            found[uri] = pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException):
            return None
    return found
