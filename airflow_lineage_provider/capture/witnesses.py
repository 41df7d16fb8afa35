"""Witnesses as they are kept: for each row of the result the combinations of rids of source rows that made it (`tracing.witnesses`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.csr import Csr
from airflow_lineage_provider.capture.rids import RidSpace
from airflow_lineage_provider.plan.lineage_keys import AnyNumbers
from airflow_lineage_provider.tracing.numbers import in_order
from airflow_lineage_provider.tracing.witnesses import FoundWitnesses, Place

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.capture.looking_up import LookedUpLineage
    from airflow_lineage_provider.capture.recorded import RecordedWitnesses


@dataclass(frozen=True, eq=False)
class NumberedWitnesses:
    """The witnesses of row i are those from ``indptr[i]`` on, to ``indptr[i + 1]``: of each place the rids of the source's rows, or -1."""

    indptr: Numbers
    rids: Mapping[Place, Numbers]

    @property
    def edges(self) -> Csr:
        """Rows and the numbers of their witnesses."""
        import numpy as np

        return Csr(self.indptr, np.arange(self.indptr[-1]))

    def lists(self, first: int, stop: int) -> pa.Array:
        """Those of some rows, as they are written: for each row a list of structs with a field for each place."""
        import numpy as np
        import pyarrow as pa

        begin, end = int(self.indptr[first]), int(self.indptr[stop])
        columns = [pa.array(_small(rids[begin:end])) for rids in self.rids.values()]
        names = [f"place_{at}" for at in range(len(columns))]
        # A struct without fields has no array to know its length by.
        structs = pa.StructArray.from_arrays(columns, names=names) if columns else pa.array([{}] * (end - begin), pa.struct([]))
        return pa.LargeListArray.from_arrays(pa.array((self.indptr[first : stop + 1] - begin).astype(np.int64)), structs)


@dataclass
class BuildingWitnesses:
    """What was found of all rows of the result, part by part."""

    parts: list[tuple[int, FoundWitnesses]] = field(default_factory=list)

    def add(self, first: int, found: FoundWitnesses) -> int:
        """Those of rows whose tags count from the row ``first`` on; how many pairs of rows these are."""
        self.parts.append((first, found))
        return len(found.tags) * max(1, len(found.keys))

    def numbered(self, output: Numbers, rows: int, spaces: Mapping[int, RidSpace]) -> NumberedWitnesses:
        """All of them, in the order of the rows' rids; ``output`` has these by the places of the rows, of which there are ``rows``."""
        import numpy as np

        asked = np.concatenate([np.empty(0, np.int64), *(output[found.tags + first] for first, found in self.parts)])
        order = in_order(asked)
        places = sorted({place for _, found in self.parts for place in found.keys})
        rids = {place: np.concatenate([_rids(found, place, spaces) for _, found in self.parts])[order] for place in places}
        counts = np.bincount(asked, minlength=rows) if len(asked) else np.zeros(rows, np.int64)
        return NumberedWitnesses(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), rids)


def looked_up_witnesses(lineage: LookedUpLineage, kept: RecordedWitnesses, numbers: AnyNumbers) -> FoundWitnesses:
    """The witnesses of rows of the result, by their numbers, tagged from 0 in this order.

    :raises RecordDamaged: a part is missing.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    asked = lineage.space("segment", 0).rids(pa.table({"key_0": pa.array(numbers, pa.int64())}))
    begins = np.array(kept.starts, np.int64)
    part = np.searchsorted(begins, asked, side="right") - 1
    tags: list[Numbers] = [np.empty(0, np.int64)]
    found: list[list[Numbers]] = [[np.empty(0, np.int64)] for _ in kept.places]
    for number, array in lineage.parts(kept.number, np.unique(part).tolist()).items():
        at = np.flatnonzero(part == number)
        lists = array.take(pa.array(asked[at] - begins[number]))
        tags.append(np.repeat(at, pc.list_value_length(lists).to_numpy()))
        for place, column in enumerate(lists.flatten().flatten()):
            found[place].append(np.asarray(column.to_numpy(), np.int64))
    keys = {place: _keys(lineage.space("source", place[-1]), np.concatenate(own)) for place, own in zip(kept.places, found, strict=True)}
    return FoundWitnesses(np.concatenate(tags), keys)


def _rids(found: FoundWitnesses, place: Place, spaces: Mapping[int, RidSpace]) -> Numbers:
    """The rids of the source's rows that take part at a place; -1 where none does."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    made = np.full(len(found.tags), -1, np.int64)
    if place in found.keys:
        at = np.flatnonzero(pc.is_valid(found.keys[place].column(0)).to_numpy().astype(bool))
        if len(at):
            made[at] = spaces[place[-1]].rids(found.keys[place].take(pa.array(at)))
    return made


def _keys(space: RidSpace, rids: Numbers) -> pa.Table:
    """The keys of rows; NULL for -1."""
    import numpy as np
    import pyarrow as pa

    there = rids >= 0
    return space.keys(rids[there]).take(pa.array(np.cumsum(there) - 1, mask=~there))


def _small(rids: Numbers) -> Numbers:
    """In as few bytes as they fit into."""
    import numpy as np

    return rids.astype(np.int32) if not len(rids) or int(rids.max()) < 1 << 31 else rids
