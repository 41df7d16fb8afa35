"""What became of source rows, row by row, kept by whole columns: a question may be about a million rows, and a person looks at a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Protocol, overload

from airflow_lineage_provider.answers.why_not import Drop, Fate, Step

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Drops(Protocol):
    """Why one operator dropped rows, by their tags."""

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """The names of the values that are told of them, each with its source table (empty where the plan computes the value)."""
        ...

    def of(self, tag: int) -> Drop:
        """Why it dropped the last descendants of the row with this tag."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """A place where the plan reads the table, and the operators from there to the result.

    ``operators`` has of each the segment and the text, ``descendants`` of each a line with a count for every row; ``drops`` says of those
    that dropped rows why, by their places in ``operators``. The tag of row number n is ``first`` + n.
    """

    leaf: int
    operators: tuple[tuple[int, str], ...]
    descendants: npt.NDArray[np.int64]
    drops: Mapping[int, Drops]
    first: int = 0

    @cached_property
    def lost(self) -> npt.NDArray[np.int64]:
        """For each row the place of the first operator without a descendant; -1 where the last one has some."""
        import numpy as np

        without = self.descendants == 0
        return np.where(without.any(axis=0), without.argmax(axis=0), -1)

    def fate(self, row: int) -> Fate:
        """What became of one row on this way."""
        counts, lost = self.descendants[:, row].tolist(), int(self.lost[row])
        path = tuple(Step(segment=segment, operator=text, descendants=n) for (segment, text), n in zip(self.operators, counts, strict=True))
        if lost < 0:
            return Fate(row=row, leaf=self.leaf, path=path)
        return Fate(row=row, leaf=self.leaf, path=path, lost=lost, drop=self.drops[lost].of(self.first + row))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fates(Sequence[Fate]):
    """The fates of ``rows`` rows on all ways, row by row. Each is made when it is looked at, and goes through ``told``, in their order."""

    ways: tuple[Way, ...]
    rows: int
    told: tuple[Callable[[Fate], Fate], ...] = ()

    def __len__(self) -> int:
        return self.rows * len(self.ways)

    @overload
    def __getitem__(self, at: int) -> Fate: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Fate, ...]: ...

    def __getitem__(self, at: int | slice) -> Fate | tuple[Fate, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        # (A range knows negative places, and refuses those that are not there.)
        row, way = divmod(range(len(self))[at], len(self.ways))
        return reduce(lambda fate, tell: tell(fate), self.told, self.ways[way].fate(row))

    def __iter__(self) -> Iterator[Fate]:
        return (self[at] for at in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == each for one, each in zip(self, other, strict=True))

    def of(self, row: int) -> tuple[Fate, ...]:
        """The fates of one row, a way each; none where there is no such row."""
        return self[row * len(self.ways) : (row + 1) * len(self.ways)] if 0 <= row < self.rows else ()

    @cached_property
    def survived(self) -> npt.NDArray[np.bool_]:
        """For each row whether it is in the lineage of a row of the result, on any way."""
        import numpy as np

        found: npt.NDArray[np.bool_] = np.logical_or.reduce([one.lost < 0 for one in self.ways])
        return found

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The names of all values that are told of dropped rows, each once, with its table (`Drops.names`)."""
        return tuple(dict.fromkeys(one for way in self.ways for drops in way.drops.values() for one in drops.names))
