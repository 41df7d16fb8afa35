"""The Parquet files that a run wrote its result to, as the table that its rows are numbered by where the run stored no result.

A row's number is the place of its file in the order of the files' paths, ``<< PARTITION_BITS``, and its position there: its rid
(`capture.rids`) is the one that a run which reads these files gives it as a row of a source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import ResultNotStored, SourceUnavailable
from airflow_lineage_provider.plan.lineage_keys import PARTITION_BITS
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.running.numbered_result import NUMBERED_OUTPUT
from airflow_lineage_provider.sources.file_uris import escaped
from airflow_lineage_provider.spark.identity import RESERVED, source_identity
from airflow_lineage_provider.spark.rereading.sources import changed
from airflow_lineage_provider.spark.xxhash64 import xxhash64

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.writing import Counts
    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord


@dataclass(frozen=True)
class OutputFiles:
    """``source``: the files as a source table, whose rows are told apart by file and position."""

    source: RecordedSource

    def check_unchanged(self, run_id: str, spark: SparkSession | None) -> None:
        """:raises SourceUnavailable: they are not what the run wrote. :raises SparkRequired: only Spark can tell."""
        relation = self.source.source.relation
        found = changed(relation, self.source.version, spark)
        if found:
            raise SourceUnavailable(
                f"rows of the result of run {run_id} are numbered as those of its output, and {relation.name} is another now: {found[0]}"
            )

    def numbers(self, keys: pa.Table) -> Numbers:
        """The numbers of rows by hash and position, in their order.

        :raises SourceUnavailable: a file is none of these.
        """
        import numpy as np

        hashes, positions = (np.asarray(keys.column(at).to_numpy(), np.int64) for at in (0, 1))
        order = np.argsort(self._hashes)
        at = order[np.minimum(np.searchsorted(self._hashes[order], hashes), len(order) - 1)]
        if not np.array_equal(self._hashes[at], hashes):
            raise SourceUnavailable(f"Spark names files of {self.source.source.relation.name} otherwise than they were listed")
        return (at << PARTITION_BITS) + positions

    def keys(self, numbers: AnyNumbers) -> pa.Table:
        """Hash and position of rows, by their numbers, in their order."""
        import numpy as np
        import pyarrow as pa

        asked = np.asarray(numbers, np.int64)
        hashes = self._hashes[asked >> PARTITION_BITS]
        return pa.table({"key_0": hashes, "key_1": asked & ((1 << PARTITION_BITS) - 1)})

    def counts(self, numbers: Numbers) -> Counts:
        """How many rows each file has, of the numbers of all rows."""
        import numpy as np

        rows = np.bincount(numbers >> PARTITION_BITS, minlength=len(self._hashes))
        return "numbered", list(enumerate(rows.tolist()))

    @cached_property
    def _hashes(self) -> Numbers:
        import numpy as np

        return np.array([int(number) for number, _ in sorted(self.source.files.items(), key=lambda one: one[1])], np.int64)


def output_files(record: RunRecord, recorded: RecordedPlan) -> OutputFiles:
    """The files that a run wrote its result to.

    :raises ResultNotStored: it wrote none whose rows can be numbered; says why, and what would work.
    """
    output, told = record.output, f"run {record.id} did not store its result (strategy {record.strategy}): its rows cannot be numbered"
    if output is None or output.kind != "path" or output.format != "parquet":
        where = "is written nowhere" if output is None else f"was written to {output.target}"
        raise ResultNotStored(f"{told}. It {where}: {NUMBERED_OUTPUT}")
    version = output.version
    if not isinstance(version, FilesVersion) or not version.files:
        why = getattr(version, "cause", "") or "there are too many to be told one by one, or none"
        raise ResultNotStored(f"{told}. Which files of {output.target} are its own is not known: {why}")
    if clash := sorted({name.lower() for name in recorded.plan.names} & (RESERVED | {"_metadata"})):
        raise ResultNotStored(f"{told}. It has a column {clash[0]}, a name that lineage needs for itself")
    by_id = {a.id: (name, a) for name, a in reversed([*zip(recorded.plan.names, recorded.plan.output, strict=True)])}
    columns = [by_id[one] for one in dict.fromkeys(a.id for a in recorded.plan.output)]
    source = Source(
        relation=Relation(name=output.target, kind="files", format="parquet", paths=tuple(sorted(version.files))),
        output=tuple(a for _, a in columns), columns=tuple(name for name, _ in columns), leaf=max(recorded.sources, default=-1) + 1,
    )  # fmt: skip
    return OutputFiles(
        RecordedSource(source=source, identity=source_identity(source, {}), version=version, files=_by_hash([*version.files]))
    )


def _by_hash(uris: Sequence[str]) -> dict[str, str]:
    return {str(xxhash64(path.encode())): path for path in map(escaped, uris)}
