"""The rows whose lineage is captured, and their numbers: as the run stored them, or made again, the result's as they stand in its output.

Where a run stored no result, its rows are made again for tracing queries to start at, with numbers of their own. Which row of the output
each is their values tell; of rows that are the same in all columns it does not matter which is which: nothing else tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.deriving.capturing_counts import counts_of, counts_of_numbers
from airflow_lineage_provider.deriving.rows import RemadeRows, StoredRows, result_columns
from airflow_lineage_provider.errors import TracingError

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.writing import Counts, RowSetKey
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.output_files import OutputFiles


class RowNumbers(NamedTuple):
    """All rows of a segment: the numbers that tracing queries know them by, and in the same order those that the index keeps."""

    asked: pa.Array
    kept: pa.Array


@dataclass(frozen=True)
class CapturedRows:
    """``output``: where the run stored no result, what it wrote."""

    made: Derivation
    output: OutputFiles | None = None
    _known: dict[int, RowNumbers] = field(default_factory=dict)

    def of(self, segment: int) -> RowNumbers:
        """All rows of a stored segment, or of one that was made again.

        :raises TracingError: the result's are not those that the run wrote.
        """
        if segment not in self._known:
            self._known[segment] = self._of_output if segment == 0 and self.output is not None else self._numbered(segment)
        return self._known[segment]

    def counts(self) -> Mapping[RowSetKey, Counts]:
        """How many rows segments and files have, part by part, where that is known."""
        found, rows = dict(counts_of(self.made.run)), self.made.rows
        if isinstance(rows, RemadeRows):
            for number in rows.restored.frames:
                told = self.output.counts(self.of(0).kept.to_numpy()) if number == 0 and self.output else self._by_parts(number)
                found |= {} if told is None else {("segment", number): told}
        return found

    def check_kept(self) -> None:
        """See that rows which were made again are what they were when their numbers were asked for.

        :raises TracingError: Spark has made some anew since.
        """
        if isinstance(self.made.rows, RemadeRows):
            self.made.rows.restored.check_kept()

    def _by_parts(self, segment: int) -> Counts | None:
        return counts_of_numbers(self.of(segment).kept.to_numpy())

    def _numbered(self, segment: int) -> RowNumbers:
        rows = self.made.rows
        assert isinstance(rows, StoredRows | RemadeRows)
        numbers = rows.numbers(segment)
        return RowNumbers(numbers, numbers)

    @cached_property
    def _of_output(self) -> RowNumbers:
        import numpy as np
        import pyarrow as pa

        rows, output = self.made.rows, self.output
        assert isinstance(rows, RemadeRows)
        assert output is not None
        self.made.run.progress(f"finding the rows of {output.source.source.relation.name} among those that were made again")
        remade = rows.restored.digests(0, result_columns(rows, output.source.source.output))
        keys, digests = rows.restored.written(output.source)
        asked, kept = same_rows(
            remade.column(0).to_numpy(), remade.column(1), output.numbers(keys), digests, output.source.source.relation.name
        )
        order = np.argsort(kept)
        return RowNumbers(pa.array(asked[order]), pa.array(kept[order]))


def same_rows(
    remade: Numbers, remade_digests: pa.ChunkedArray, written: Numbers, written_digests: pa.ChunkedArray, name: str
) -> tuple[Numbers, Numbers]:
    """The numbers of rows that were made again, and of the written row that each is, by digests of all their columns.

    >>> import numpy as np, pyarrow as pa
    >>> remade, written = pa.chunked_array([["b", "a", "a"]]), pa.chunked_array([["a", "b", "a"]])
    >>> [one.tolist() for one in same_rows(np.array([7, 8, 9]), remade, np.array([0, 1, 2]), written, "/out")]
    [[7, 8, 9], [1, 0, 2]]

    :raises TracingError: they are not the same rows.
    """
    import numpy as np
    import pyarrow as pa

    both = pa.chunked_array([*remade_digests.chunks, *written_digests.chunks], pa.string()).combine_chunks().dictionary_encode()
    codes = np.asarray(both.indices)
    own, theirs = codes[: len(remade)], codes[len(remade) :]
    left, right = np.lexsort((remade, own)), np.lexsort((written, theirs))
    if not np.array_equal(own[left], theirs[right]):
        many = max(len(own), len(theirs))
        each = np.bincount(own, minlength=len(both.dictionary)) - np.bincount(theirs, minlength=len(both.dictionary))
        raise TracingError(
            f"{int(each[each > 0].sum()):,} of {many:,} rows that the pipeline gives when it is run again are not in {name}, and "
            f"{int(-each[each < 0].sum()):,} rows there are none of them: what stands behind its rows cannot be told by their values (sums "
            "of floating-point numbers in another order are others, say). Run it with function_materialization, which stores its rows"
        )
    return remade[left], written[right]
