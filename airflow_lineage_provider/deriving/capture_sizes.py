"""How much lineage there is to capture, told before it is fetched: what is too much is refused, the rest is asked for in parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.build import too_large
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.set_sizes import links_of, sets_of_rows, sizes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.capture.build import Building
    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.plan.segments import Segment
    from airflow_lineage_provider.tracing.set_sizes import Sizes

PAIRS_AT_ONCE = 4_000_000
"""About so many pairs are asked for at once."""
_FEW = 16_000_000
"""So many may come at once without having been counted."""
_LINKS_AT_ONCE = 1_000_000
"""So many rows are asked at once by what their sets are found."""


class TooManyAtOnce(Exception):
    """A part of the rows goes back to more ``rows`` than may come at once."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass
class Counting:
    """Counts the sets of rows behind those of a run's stored segments; ``rows`` are asked about at once now."""

    made: Derivation
    building: Building
    rows: int = 1
    _counted: set[int] = field(default_factory=set)
    _room: int = 0

    def of_all(self, segment: int, numbers: pa.Array) -> Numbers | None:
        """How many rows stand behind each row of a stored segment, as far as these go back to sets of rows; None where they are few.

        :raises IndexTooLarge: they are more than there may be pairs.
        """
        import numpy as np
        import pyarrow as pa

        run, found = self.made.recorded.traced, np.zeros(len(numbers), np.int64)
        self._counted, self._room = set(), self.building.most - self.building.edges
        if not run.plan.segments[segment].aggregations and not any(one.kind == "link" for one in run.materialized[segment].inputs):
            return None
        starts = range(0, len(numbers), _LINKS_AT_ONCE)
        for first in starts:
            part = numbers.slice(first, _LINKS_AT_ONCE)
            target = pa.table({TAG: pa.array(range(first, first + len(part)), pa.int64()), "key_0": part})
            for number, link in links_of(run, segment, target, self.made.executor).items():
                self._counted.add(number)
                for sizes in self._sizes(run.plan.segments[number], link, len(starts)):
                    found[sizes.tags] += sizes.rows
        return found if found.any() else None

    def check(self, segment: Segment, target: pa.Table) -> None:
        """Sets of rows that are looked for next (`tracing.trace.Check`): those that have not been counted with all others.

        :raises IndexTooLarge: as `of_all`. :raises TooManyAtOnce: fewer rows have to be asked about.
        """
        if segment.number in self._counted or not target.num_rows:
            return
        self._room = self.building.most - self.building.edges
        total = sum(sizes.total for sizes in self._sizes(segment, target))
        if total > _FEW and self.rows > 1:
            raise TooManyAtOnce(total)

    def _sizes(self, segment: Segment, target: pa.Table, parts: int = 1) -> list[Sizes]:
        """The sizes of the sets that are not few, where these targets are one of so many ``parts``."""
        run, most = self.made.recorded.traced, self.building.most
        found, enough = [], min(_FEW, max(self._room, 0)) / parts
        for linked, targets in sets_of_rows(run, segment, target, self.made.run.subqueries):
            sizes = sizes_of(run, linked, targets, self.building.known_rows, enough, self.made.executor)
            if sizes is None:
                continue
            found.append(sizes)
            if not self.building.wants(linked.body.inputs):
                continue
            self._room -= sizes.total if sizes.told == "pairs" else 0
            if self._room < 0 or (sizes.told != "at most" and int(sizes.rows.max()) > most):
                where = f"between {operator_text(segment.plan)} (segment {segment.number}) and what stands behind it"
                raise too_large(most, where, sizes.total, "pairs" if sizes.told == "pairs" else "combinations")
        return found


def rows_at_once(sizes: Numbers | None, first: int, most: int) -> int:
    """How many rows from ``first`` on to ask about at once, no more than ``most``.

    >>> import numpy as np
    >>> [rows_at_once(np.array([1, PAIRS_AT_ONCE - 1, 1, 9 * PAIRS_AT_ONCE]), first, 3) for first in range(4)]
    [2, 2, 1, 1]
    """
    import numpy as np

    if sizes is None:
        return most
    fitting = np.searchsorted(np.cumsum(sizes[first : first + most]), PAIRS_AT_ONCE, side="right")
    return max(int(fitting), 1)
