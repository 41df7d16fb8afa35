"""How much lineage there is to capture, told before it is fetched: what is too much is refused, the rest is asked for in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.build import too_large
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.row_sets import whole_side
from airflow_lineage_provider.tracing.set_sizes import links_of, sets_of_rows, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from airflow_lineage_provider.capture.build import Building
    from airflow_lineage_provider.capture.csr import Numbers
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.plan.segments import Segment
    from airflow_lineage_provider.tracing.row_sets import LinkedRows
    from airflow_lineage_provider.tracing.set_sizes import Sizes

PAIRS_AT_ONCE = 4_000_000
"""About so many pairs are asked for at once."""
_FEW = 16_000_000
"""So many may come at once without having been counted."""
_LINKS_AT_ONCE = 1_000_000
"""So many rows are asked at once by what their sets are found."""


@dataclass
class Counting:
    """Counts the sets of rows behind those of a run's stored segments."""

    made: Derivation
    building: Building
    _room: int = 0

    def of_rows(self, segment: int, numbers: pa.Array, *, further: bool = False) -> Numbers | None:
        """How many rows stand behind each row of a stored segment, where each is a group; None where they are few, or found by way of sets
        that are counted by themselves (`of_sets`). With ``further`` what is behind these counts as well.

        :raises IndexTooLarge: they are more than there may be pairs.
        """
        import pyarrow as pa

        run = self.made.recorded.traced
        is_linked = further and any(one.kind == "link" for one in run.materialized[segment].inputs)
        if not run.plan.segments[segment].aggregations and not is_linked:
            return None

        def links(first: int) -> Mapping[int, pa.Table]:
            part = numbers.slice(first, _LINKS_AT_ONCE)
            target = pa.table({TAG: pa.array(range(first, first + len(part)), pa.int64()), "key_0": part})
            found = links_of(run, segment, target, self.made.executor)
            return {number: link for number, link in found.items() if further or number == segment}

        return self._of_all(len(numbers), links)

    def of_sets(self, segment: int, sets: pa.Table) -> Numbers | None:
        """How many rows each of the sets of a segment has, given by what they are found by; None where they are few.

        :raises IndexTooLarge: as `of_rows`.
        """
        import pyarrow as pa

        def links(first: int) -> Mapping[int, pa.Table]:
            part = sets.slice(first, _LINKS_AT_ONCE)
            return {segment: part.add_column(0, TAG, pa.array(range(first, first + part.num_rows), pa.int64()))}

        return self._of_all(sets.num_rows, links)

    def check_side(self, segment: int, target: pa.Table) -> None:
        """The rows of the right side of a difference are no more than there may be pairs.

        :raises IndexTooLarge: as `of_rows`.
        """
        own, run = self.made.recorded.plan.segments[segment], self.made.recorded.traced
        self._room = self.building.most - self.building.edges
        self._counted(own, whole_side(own, run.context), target, 1)

    def of_rows_above(self, segment: int) -> list[Sizes] | None:
        """How many rows stand behind each of `Building.rows_above`, where frames overlap so that these are fewer than all frames have: the
        frames of a group of running sums are all in the last one. None where they are not.

        :raises IndexTooLarge: as `of_rows`.
        """
        own, above = self.made.recorded.plan.segments[segment], self.building.rows_above(segment)
        if not isinstance(own.plan, o.Window) or not above:
            return None
        sets, *rows = (self._of_frames(own, target) for target in (self.building.sets_once(segment), *(each for _, each in above)))
        found = [one for one in rows if one is not None]
        total = sum(one.total for one in found)
        if sets is None or total >= sets.total:
            return None
        if total > self.building.most - self.building.edges + self.building.links_to(segment):  # which these are in place of
            raise too_large(self.building.most, _where(own), total)
        return found

    def _of_frames(self, segment: Segment, target: pa.Table) -> Sizes | None:
        """How many rows are in the frames of each target; None where they are no frames, or their rows are not wanted."""
        run = self.made.recorded.traced
        (found,) = sets_of_rows(run, segment, target, self.made.run.subqueries)
        if not found[0].frames or not self.building.wants(found[0].body.inputs):
            return None
        return sizes_of(run, *found, self.building.known_rows, -1, self.made.executor)

    def _of_all(self, many: int, links: Callable[[int], Mapping[int, pa.Table]]) -> Numbers | None:
        import numpy as np

        found, starts = np.zeros(many, np.int64), range(0, many, _LINKS_AT_ONCE)
        self._room = self.building.most - self.building.edges
        for first in starts:
            for number, link in links(first).items():
                for sizes in self._sizes(self.made.recorded.plan.segments[number], link, len(starts)):
                    found[sizes.tags] += sizes.rows
        return found if found.any() else None

    def _sizes(self, segment: Segment, target: pa.Table, parts: int = 1) -> list[Sizes]:
        """The sizes of the sets that are not few, where these targets are one of so many ``parts``."""
        sets = sets_of_rows(self.made.recorded.traced, segment, target, self.made.run.subqueries)
        found = (self._counted(segment, linked, targets, parts) for linked, targets in sets)
        return [one for one in found if one is not None]

    def _counted(self, segment: Segment, linked: LinkedRows, targets: pa.Table, parts: int) -> Sizes | None:
        """The sizes of the sets behind these targets; None where they are few."""
        run, most = self.made.recorded.traced, self.building.most
        enough = min(_FEW, max(self._room, 0)) / parts
        sizes = sizes_of(run, linked, targets, self.building.known_rows, enough, self.made.executor)
        if sizes is None or not self.building.wants(linked.body.inputs):
            return sizes
        self._room -= sizes.total if sizes.told == "pairs" else 0
        if self._room < 0 or (sizes.told != "at most" and int(sizes.rows.max()) > most):
            raise too_large(most, _where(segment), sizes.total, "pairs" if sizes.told == "pairs" else "combinations")
        return sizes


def _where(segment: Segment) -> str:
    return f"between {operator_text(segment.plan)} (segment {segment.number}) and what stands behind it"


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
