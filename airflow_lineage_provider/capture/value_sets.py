"""Captured lineage that leads to values of source rows in place of the rows (*lineage-on*: forward lineage, Sec. 4.3), asked both ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_lineage_provider.capture.looking_up import LookedUpLineage, Node, Tagged, place
from airflow_lineage_provider.capture.recorded import RecordedClasses, RecordedMap
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers


class FoundValues(NamedTuple):
    """The numbers of the values behind rows of a result, ascending, how they were looked up, and the segments whose sets were met."""

    numbers: Numbers
    name: str
    met: frozenset[int]


@dataclass(frozen=True, eq=False)
class ValueSets:
    """The values of one source leaf's rows that are kept in place of the rows (`recorded.RecordedClasses.granularity`)."""

    lineage: LookedUpLineage
    kept: RecordedClasses

    @cached_property
    def values(self) -> pa.Table:
        """All values, by their numbers: a column for each of the expressions.

        :raises RecordDamaged: they are gone.
        """
        found = self.lineage.values(self.kept)
        assert found is not None
        return found

    @cached_property
    def are_left_out(self) -> npt.NDArray[Any] | None:
        """Of each value whether rows that have it were left out, so that what is known of it is not all; None: no row was.

        :raises RecordDamaged: as `values`.
        """
        return self.lineage.flags(self.kept.left_out) if self.kept.left_out is not None else None

    def behind(self, rows: Sequence[int]) -> FoundValues | None:
        """The values of the rows behind rows of the result, by their numbers; None: that was not captured down to the source.

        :raises RecordDamaged: a part is missing, or cannot be what was written.
        """
        import numpy as np
        import pyarrow as pa

        index = self.lineage.index
        if "0" not in index.met or not self.lineage.is_complete:
            return None
        reached: dict[Node, list[Numbers]] = {
            ("segment", 0): [self.lineage.space("segment", 0).rids(pa.table({"key_0": pa.array(rows, pa.int64())}))]
        }
        found, used, met = [np.empty(0, np.int64)], list[RecordedMap](), set[int]()
        # What stands behind a segment has greater numbers.
        for node in sorted(self._leading, key=place):
            rids = different(np.concatenate(reached[node])) if node in reached else np.empty(0, np.int64)
            met.update(index.met[str(node[1])] if len(rids) and node[0] == "segment" else ())
            for one in self._maps(node) if len(rids) else ():
                into = found if one.side == "value" else reached.setdefault((one.side, one.input), [])
                into.append(self.lineage.edges(one, rids, "backward").rid)
                used.append(one)
        return FoundValues(different(np.concatenate(found)), self.lineage.names(used, "backward"), frozenset(met))

    def _maps(self, node: Node) -> Iterator[RecordedMap]:
        """The indexes of a segment, or of sets, that lead to the values."""
        for one in self.lineage.maps(node, "backward"):
            if (one.side, one.input) == ("value", self.kept.leaf) or (one.side, one.input) in self._leading:
                yield one

    @cached_property
    def _leading(self) -> frozenset[Node]:
        """The segments, and sets of rows, that lead to the values, maybe through others."""
        found: set[Node] = set()
        for one in sorted(self.lineage.index.maps, key=lambda each: place(each.node), reverse=True):
            if (one.side, one.input) == ("value", self.kept.leaf) or (one.side, one.input) in found:
                found.add(one.node)
        return frozenset(found)


def descendants_of_values(chosen: Mapping[int, Numbers], lineage: LookedUpLineage) -> tuple[Numbers, str] | None:
    """The numbers of the result's rows behind which rows with one of the ``chosen`` values stand, ascending, and how they were looked up.

    ``chosen`` are numbers of values, by source leaf. None: it was not captured down to the sources.

    :raises RecordDamaged: a part is missing, or cannot be what was written.
    """
    import numpy as np

    if "0" not in lineage.index.met or not lineage.is_complete:
        return None
    found: dict[Node, list[Tagged]] = {("value", leaf): [(np.zeros(len(one), np.int64), one)] for leaf, one in chosen.items()}
    rows, name = lineage.down(found, 0)
    return np.sort(np.asarray(rows.column(1).to_numpy(), np.int64)), name
