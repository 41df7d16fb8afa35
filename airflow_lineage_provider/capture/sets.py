"""Sets of rows that stand between what a run stored: groups, frames and partners of segments that are not stored.

Of a row of a result that goes back to a group, and of a group that goes back to rows, two indexes say as much as one from end to end, and
are much smaller where rows have their sets in common: with the subquery of TPC-H's Q11 they have 1,048 and 32,077 pairs, and end to end
there are 1,048 × 32,077. So what a set is found by is asked about once, its rows are found once, and the indexes are composed when they are
asked (Smoke, Sec. 3.3), unless there are about as few pairs from end to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.tracing.key_index import KeyIndex, placed
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.rids import RidSpace
    from airflow_lineage_provider.capture.writing import RowSetKey
    from airflow_lineage_provider.tracing.trace import StepOf

    Pair = tuple[RowSetKey, RowSetKey]

_TIMES = 2
"""Indexes are composed when they are asked where so many times their pairs are between the ends."""


class SetTargets(NamedTuple):
    """Sets of a segment that are asked about, each once: what they are found by, from the number ``first`` on."""

    of: StepOf
    first: int
    rows: pa.Table


@dataclass
class FoundEdges:
    """What leads from rows to rows: of each pair of row sets the places of rows on the one side (``asked``), and, but for controls, the
    keys of as many on the other, in parts. A set of rows is known by its number.

    :ivar sets: how many sets of a segment there are. :ivar kept: why the sets that are numbered are.
    """

    asked: dict[Pair, list[Numbers]] = field(default_factory=dict)
    keys: dict[Pair, list[pa.Table]] = field(default_factory=dict)
    sets: dict[int, int] = field(default_factory=dict)
    kept: dict[int, str] = field(default_factory=dict)
    _pending: dict[int, dict[StepOf, list[tuple[RowSetKey, Numbers, pa.Table]]]] = field(default_factory=dict)

    @property
    def pending(self) -> set[int]:
        """The segments whose sets were met, and not asked about yet."""
        return set(self._pending)

    def met(self, number: int, of: StepOf, parent: RowSetKey, asked: Numbers, found_by: pa.Table) -> None:
        """Rows go back to sets of a segment, which are found by these."""
        self._pending.setdefault(number, {}).setdefault(of, []).append((parent, asked, found_by))

    def begin(self, number: int) -> Iterator[SetTargets]:
        """The sets of a segment that were met, each once: what has to be asked about."""
        import numpy as np
        import pyarrow as pa

        first = 0
        for of, parts in self._pending.pop(number).items():
            targets, places, ids = _each_once([one for _, _, one in parts])
            ends = np.cumsum([len(asked) for _, asked, _ in parts])
            for (parent, asked, _), own in zip(parts, np.split(ids + first, ends[:-1]), strict=True):
                self.add((parent, ("set", number)), asked, pa.table({"key_0": own}))
            yield SetTargets(of, first, targets.take(pa.array(places)))
            first += len(places)
        self.sets[number] = first

    def once(self, number: int) -> pa.Table:
        """What the sets of a segment that were met are found by, each once, with a tag of its own."""
        import numpy as np
        import pyarrow as pa

        targets, places, _ = _each_once([one for _, _, one in self._pending[number].get("sets", ())])
        return targets.take(pa.array(places)).add_column(0, TAG, pa.array(np.arange(len(places))))

    def above(self, number: int) -> list[tuple[RowSetKey, pa.Table]]:
        """What goes back to the sets of a segment that were met: of each row set the rows, as tags, with what their sets are found by."""
        import pyarrow as pa

        found: dict[RowSetKey, list[pa.Table]] = {}
        for parent, asked, rows in self._pending[number].get("sets", ()):
            found.setdefault(parent, []).append(rows.add_column(0, TAG, pa.array(asked)))
        return [(parent, pa.concat_tables(parts)) for parent, parts in found.items()]

    def links_to(self, number: int) -> int:
        """How many rows go back to sets of a segment that were met, each set by itself."""
        return sum(len(asked) for parts in self._pending.get(number, {}).values() for _, asked, _ in parts)

    def leave(self, number: int) -> None:
        """The sets of a segment are not numbered: what stands behind them is asked about row by row (`above`)."""
        del self._pending[number]

    def add(self, pair: Pair, asked: Numbers, keys: pa.Table | None = None) -> None:
        """Some pairs of rows; of a control no rows are told."""
        self.asked.setdefault(pair, []).append(asked)
        if keys is not None:
            self.keys.setdefault(pair, []).append(keys)

    def expect(self, pair: Pair) -> None:
        """Rows lead to rows, which are known by numbers elsewhere."""
        self.asked[pair], self.keys[pair] = [], []

    # --- what is written --------------------------------------------------------------------------------------------------

    def compose(self) -> None:
        """Put pairs from end to end in place of sets that are not worth numbering, the lowest first."""
        for number in sorted(self.sets, reverse=True):
            ends, kept = self._pairs(number)
            if ends >= _TIMES * kept and ends:
                self.kept[number] = f"{ends:,} pairs from end to end are {kept:,} by way of segment {number}"
            else:
                self._compose(number)

    def into(self, number: int) -> list[Pair]:
        """What leads to the sets of a segment."""
        return [pair for pair in self.asked if pair[1] == ("set", number)]

    def out_of(self, number: int) -> list[Pair]:
        """What the sets of a segment lead to."""
        return [pair for pair in self.asked if pair[0] == ("set", number)]

    def _pairs(self, number: int) -> tuple[int, int]:
        """How many pairs there are from end to end, and by way of the sets of a segment."""
        import numpy as np

        many = self.sets[number]
        to, of = (sum((np.bincount(one, minlength=many) for one in each), np.zeros(many, np.int64)) for each in self._numbers(number))
        return int((to * of).sum()), int(to.sum() + of.sum())

    def _numbers(self, number: int) -> tuple[list[Numbers], list[Numbers]]:
        """The sets that are led to, and those that lead on."""
        to = [_column(one) for pair in self.into(number) for one in self.keys[pair]]
        return to, [one for pair in self.out_of(number) for one in self.asked[pair]]

    def _compose(self, number: int) -> None:
        import numpy as np
        import pyarrow as pa

        into, many = self.into(number), self.sets.pop(number)
        for pair in self.out_of(number):
            of = np.concatenate(self.asked.pop(pair))
            keys = pa.concat_tables(self.keys.pop(pair)) if pair in self.keys else None
            for one in into:
                parents, ids = np.concatenate(self.asked[one]), np.concatenate([_column(each) for each in self.keys[one]])
                places = placed(of, ids, many)
                self.add((one[0], pair[1]), parents[places.asked], None if keys is None else keys.take(pa.array(places.row)))
        for one in into:
            del self.asked[one], self.keys[one]

    def order(self, spaces: Mapping[RowSetKey, RidSpace]) -> None:
        """Number sets by the first rows that lead to them, and of one row by the rows that they lead to: the same sets have the same
        numbers, however they were found, and neighbours are near each other."""
        import numpy as np
        import pyarrow as pa

        for number in sorted(self.sets):
            many = self.sets[number]
            by = [_least(np.concatenate([_column(each) for each in self.keys[pair]]), np.concatenate(self.asked[pair]), many)
                  for pair in sorted(self.into(number))]  # fmt: skip
            for pair in sorted(one for one in self.out_of(number) if one in self.keys):
                rids = spaces[pair[1]].rids(pa.concat_tables(self.keys[pair]))
                by.append(_least(np.concatenate(self.asked[pair]), rids, many))
            place = np.empty(many, np.int64)
            place[np.lexsort(by[::-1])] = np.arange(many)
            for pair in self.into(number):
                self.keys[pair] = [pa.table({"key_0": place[_column(one)]}) for one in self.keys[pair]]
            for pair in self.out_of(number):
                self.asked[pair] = [place[one] for one in self.asked[pair]]


def _least(groups: Numbers, values: Numbers, many: int) -> Numbers:
    """The least value of each group; of none the greatest number that there is."""
    import numpy as np

    found = np.full(many, np.iinfo(np.int64).max)
    np.minimum.at(found, groups, values)
    return found


def _each_once(found_by: list[pa.Table]) -> tuple[pa.Table, Numbers, Numbers]:
    """All of them, the places of those that are not there before, and the number among these of each."""
    import numpy as np
    import pyarrow as pa

    met = pa.concat_tables([_plain(one) for one in found_by])
    _, places, ids = np.unique(KeyIndex(met, signs=True).number, return_index=True, return_inverse=True)
    schema = found_by[0].schema
    return pa.concat_tables([one.rename_columns(schema.names).cast(schema) for one in found_by]), places, ids.astype(np.int64)


def _plain(found_by: pa.Table) -> pa.Table:
    """What sets are found by, as columns that can be put together; where nothing tells them apart there is one."""
    import pyarrow as pa

    columns = found_by.columns or [pa.chunked_array([pa.nulls(found_by.num_rows, pa.int64())])]
    return pa.table(columns, names=[str(at) for at in range(len(columns))])


def _column(keys: pa.Table) -> Numbers:
    import numpy as np

    return np.asarray(keys.column(0).to_numpy(), np.int64)
