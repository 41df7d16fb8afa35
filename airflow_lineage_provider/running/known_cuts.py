"""The cuts of a sketched column, or of several that are cut together, from the first that knows them: the user, earlier sketches, footers
(of one column); or else a look at the column.

What is known without a look is known before the run, too, so that the rows can be numbered while they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.sketches import cuts
from airflow_lineage_provider.sketches.composite import AnyPartition, uncut
from airflow_lineage_provider.sketches.cuts import RowGroup
from airflow_lineage_provider.sketches.files import FILE_PATH, of_files, sketched_attributes
from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
from airflow_lineage_provider.sketches.steps import begun
from airflow_lineage_provider.sources.row_groups import InFooters, in_footers

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.sketches.choice import ChosenColumn
    from airflow_lineage_provider.sketches.cuts import ColumnValues


@dataclass(frozen=True)
class KnownCuts:
    """The cuts of one column of a source. ``kept`` are those, in bytes, that earlier sketches of the same version of it have."""

    source: RecordedSource
    column: ChosenColumn
    kept: Callable[[], Sequence[bytes]]

    @cached_property
    def known(self) -> KeptCuts | None:
        """The files, of which each is a fragment; the user's cuts; else those that earlier sketches have; else those at the bounds of row
        groups of clustered files, or at equal distances between those of dense numbers. None where nobody knows any.

        :raises SketchError: the user's are none, or are such as the proof is not of.
        """
        on = self.column.on
        if on.name == FILE_PATH:
            return self._of_earlier_or(of_files(self.source.files.values()))
        if on.cuts is not None:
            return self._aligned(self._of_earlier_or(replace(uncut(self._type), cuts=tuple(on.cuts))))
        found = next((one for one in self._of_earlier if one.asked == on.fragments), None) or self._of_footers()
        return None if found is None else self._aligned(found)

    @property
    def _type(self) -> str | tuple[str, ...]:
        """The type of the column; of several columns each one's."""
        types = tuple(one.type for one in sketched_attributes(self.source.source, self.column.on.name))
        return types[0] if len(types) == 1 else types

    def _of_earlier_or(self, partition: AnyPartition) -> KeptCuts:
        """The partition, with the numbers of rows that were counted for an earlier sketch that has it."""
        return next((one for one in self._of_earlier if one.partition == partition), KeptCuts(partition=partition))

    def read(self, values: ColumnValues) -> KeptCuts:
        """Those that are known; else a value a fragment, or percentiles of a sample.

        :raises SketchError: values of the type cannot be cut.
        """
        if self.known is not None:
            return self.known
        fragments, few = self.column.on.fragments, self.column.on.name in self._footers.in_no_file
        found = cuts.of_column(values, self._footers.rows, self._type, fragments, few=few)
        return self._aligned(KeptCuts(partition=found, asked=fragments))

    def _aligned(self, found: KeptCuts) -> KeptCuts:
        """With cuts that the proof is of: they are moved to where steps begin."""
        safe = self.column.safe
        problem = safe.why_not_cut(found.partition.cuts)
        if not problem:
            return found
        if self.column.on.cuts is not None:
            raise SketchError(problem)
        return KeptCuts(partition=replace(found.partition, cuts=begun(found.partition.cuts, safe.aligned)), asked=found.asked)

    @cached_property
    def _footers(self) -> InFooters:
        return in_footers(self.source.source, self.source.files.values())

    @cached_property
    def _of_earlier(self) -> list[KeptCuts]:
        found = []
        for one in self.kept():
            with suppress(SketchError):  # damaged, or of a later release
                found.append(KeptCuts.from_bytes(one))
        return [one for one in found if one.partition.type == self.column.safe.type]

    def _of_footers(self) -> KeptCuts | None:
        bounds, type_, fragments = self._footers.bounds.get(self.column.on.name), self.column.safe.type, self.column.on.fragments
        if bounds is None:
            return None
        groups = [RowGroup(*one) for one in bounds]
        try:
            found = cuts.of_row_groups(groups, type_, fragments) or cuts.of_whole_numbers(groups, self._footers.rows, type_, fragments)
        except (SketchError, TypeError):  # the footer has other values than the table
            return None
        return None if found is None else KeptCuts(partition=found, asked=fragments)
