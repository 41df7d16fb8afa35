"""Brushes on views of one table: every view counts the rows that the brushes on the *other* views leave.

A view's counts after a brush come from the rows that the brush is about: from those of the bars that were added and taken away (a moved
brush costs what changed), from the rows of the smallest brush, or, where one brush alone is left and has most of the rows, from all but
those; of one large brush from the counts of pairs of bars, once they are made (`cube`). The way that looks at the least is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.crossfilter.bars import Bars
from airflow_lineage_provider.crossfilter.cube import LARGE, PairCounts

if TYPE_CHECKING:
    import numpy.typing as npt

    from airflow_lineage_provider.crossfilter.bars import Mask, Numbers

Way = Literal["totals", "moved", "selected", "complement", "cube"]


@dataclass(frozen=True, eq=False)
class Counted:
    """The brushes that there are, by view the bars that they have, and every view's counts under the others. ``looked_at`` is how many
    rows (by ``cube``: counts of pairs) were looked at for it, and ``way`` which way was taken from the counts before."""

    brushes: Mapping[str, Mask]
    counts: Mapping[str, Numbers]
    way: Way
    looked_at: int


class Brushing:
    """Views of one table, by name. It keeps nothing of what was asked: each answer is made from one before, which stays as it is."""

    def __init__(self, views: Mapping[str, Bars]) -> None:
        self.views = dict(views)
        self.pairs = PairCounts(self.views)

    def unbrushed(self) -> Counted:
        """Every view's counts where nothing is brushed."""
        return Counted({}, {name: view.totals for name, view in self.views.items()}, "totals", 0)

    def counted(self, brushes: Mapping[str, Mask], before: Counted) -> Counted:
        """The counts under these brushes; a view that is not among them has none."""
        if not brushes:
            return self.unbrushed()
        cost, way = min(
            (self._cost_of_move(brushes, before), "moved"),
            (self._cost_of_selection(brushes), "selected"),
            (self._cost_of_rest(brushes), "complement"),
            (self._cost_of_pairs(brushes), "cube"),
        )
        if way != "cube" and cost > LARGE and len(brushes) == 1:
            self.pairs.begin()
        if way == "moved":
            return Counted(brushes, self._moved(brushes, before), "moved", int(cost))
        if way == "selected":
            return Counted(brushes, self._selected(brushes), "selected", int(cost))
        if way == "cube":
            return Counted(brushes, self._of_pairs(brushes), "cube", int(cost))
        return Counted(brushes, self._rest(brushes), "complement", int(cost))

    def rows(self, brushes: Mapping[str, Mask]) -> npt.NDArray[Any]:
        """The rows that all brushes leave, ascending."""
        import numpy as np

        if not brushes:
            return np.arange(len(next(iter(self.views.values())).codes))
        least = self._by_size(brushes)[0]
        rows = self.views[least].rows(brushes[least])
        return np.sort(rows[self._passing(rows, brushes, but=(least,))])

    # --- what each way looks at -----------------------------------------------------------------------------------------

    def _cost_of_move(self, brushes: Mapping[str, Mask], before: Counted) -> float:
        changed = self._changes(brushes, before.brushes)
        return sum(self.views[name].count(old != new) for name, (old, new) in changed.items())

    def _cost_of_selection(self, brushes: Mapping[str, Mask]) -> float:
        return sum(self.views[name].count(brushes[name]) for name in self._by_size(brushes)[:2])

    def _cost_of_rest(self, brushes: Mapping[str, Mask]) -> float:
        if len(brushes) > 1:
            return float("inf")
        ((name, chosen),) = brushes.items()
        return self.views[name].count(~chosen)

    def _cost_of_pairs(self, brushes: Mapping[str, Mask]) -> float:
        if len(brushes) > 1:
            return float("inf")
        ((name, chosen),) = brushes.items()
        return self.pairs.cost(name, chosen)

    # --- the ways -------------------------------------------------------------------------------------------------------

    def _moved(self, brushes: Mapping[str, Mask], before: Counted) -> dict[str, Numbers]:
        """From the counts before: one view after another gets its new brush, and the rows of the bars that differ move."""
        counts, now = dict(before.counts), dict(before.brushes)
        for name, (old, new) in self._changes(brushes, before.brushes).items():
            for bars, sign in ((new & ~old, 1), (old & ~new, -1)):
                rows = self.views[name].rows(bars)
                for other in self.views.keys() - {name}:
                    left = rows[self._passing(rows, now, but=(name, other))]
                    counts[other] = counts[other] + sign * self.views[other].histogram(left)
            now[name] = new
        return counts

    def _selected(self, brushes: Mapping[str, Mask]) -> dict[str, Numbers]:
        """Every view's from the rows of the smallest brush, and the smallest one's own from those of the next."""
        counts: dict[str, Numbers] = {}
        least, *others = self._by_size(brushes)
        rows = self.views[least].rows(brushes[least])
        for name in self.views.keys() - {least}:
            counts[name] = self.views[name].histogram(rows[self._passing(rows, brushes, but=(least, name))])
        if others:
            rows = self.views[others[0]].rows(brushes[others[0]])
            counts[least] = self.views[least].histogram(rows[self._passing(rows, brushes, but=(least, others[0]))])
        else:
            counts[least] = self.views[least].totals
        return counts

    def _rest(self, brushes: Mapping[str, Mask]) -> dict[str, Numbers]:
        """Under one brush: all rows but those that it leaves out."""
        ((brushed, chosen),) = brushes.items()
        rows = self.views[brushed].rows(~chosen)
        return {name: view.totals if name == brushed else view.totals - view.histogram(rows) for name, view in self.views.items()}

    def _of_pairs(self, brushes: Mapping[str, Mask]) -> dict[str, Numbers]:
        """Under one brush, from how many rows pairs of bars have."""
        ((brushed, chosen),) = brushes.items()
        return {**self.pairs.under(brushed, chosen), brushed: self.views[brushed].totals}

    # --- parts ----------------------------------------------------------------------------------------------------------

    def _passing(self, rows: npt.NDArray[Any], brushes: Mapping[str, Mask], but: tuple[str, ...]) -> Mask:
        """Which of the rows the brushes leave, those on some views aside."""
        import numpy as np

        left = np.ones(len(rows), bool)
        for name, chosen in brushes.items():
            if name not in but:
                left &= chosen[self.views[name].codes[rows]]
        return left

    def _by_size(self, brushes: Mapping[str, Mask]) -> list[str]:
        return sorted(brushes, key=lambda name: self.views[name].count(brushes[name]))

    def _changes(self, brushes: Mapping[str, Mask], before: Mapping[str, Mask]) -> dict[str, tuple[Mask, Mask]]:
        """Of each view whose brush differs the old one and the new one; no brush has all bars."""
        import numpy as np

        found = {}
        for name in sorted({*brushes, *before}):
            every = np.ones(self.views[name].number, bool)
            old, new = before.get(name, every), brushes.get(name, every)
            if not np.array_equal(old, new):
                found[name] = (old, new)
        return found
