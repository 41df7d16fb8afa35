"""Edges between numbered rows that are put in order in bounded memory: what is more than there is room for goes through files.

An edge is one number, ``row * others + rid``, as `csr.csr` sorts them. Numbers that have no more room are sorted and written as a run; the
runs are cut into stretches of values by samples of them, and each stretch, which has room, is sorted across all runs (the distribution
sort of external memory: Vitter, Algorithms and Data Structures for External Memory, Sec. 5.1). A row with more edges than there is room for
is cut like any other, since its edges are different numbers.

Files have no name from the beginning (`tempfile.TemporaryFile`, in ``TMPDIR``): a process that ends, however, leaves none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, TYPE_CHECKING

from airflow_lineage_provider.capture.csr import Csr

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.csr import Numbers

ROOM = 256 << 20
"""So many bytes pairs of rows take while they are put in order (`settings.capture_memory`)."""
_SAMPLES = 8
"""So many samples of a run there are for each stretch of values, at least."""


@dataclass
class Room:
    """So many bytes the spools that share it take, about: an array of numbers that wait, and four while a stretch is put in order."""

    most: int
    _spools: list[Spool] = field(default_factory=list)

    def spool(self, rows: int, others: int) -> Spool:
        """A spool of edges from so many rows to so many others."""
        made = Spool(rows, others, self)
        self._spools.append(made)
        return made

    @property
    def numbers(self) -> int:
        """So many numbers may wait, or be sorted at once."""
        return max(self.most // (5 * 8), 1)

    def shared(self) -> None:
        """Where more numbers wait than may, those that are the most in one spool are written."""
        while sum(one.waiting for one in self._spools) > self.numbers:
            max(self._spools, key=lambda one: one.waiting).write()

    def left(self, spool: Spool) -> None:
        """The spool holds no numbers any more."""
        self._spools.remove(spool)


def fits(rows: int, others: int) -> bool:
    """Whether an edge is one number."""
    return rows * max(others, 1) < 1 << 63


@dataclass(eq=False)
class Spool:
    """Edges in any order, some perhaps several times, from ``rows`` rows to ``others`` rows (`fits`)."""

    rows: int
    others: int
    room: Room
    waiting: int = 0
    _parts: list[Numbers] = field(default_factory=list)
    _runs: list[Numbers] = field(default_factory=list)
    _made: Csr | None = None

    def add(self, rows: Numbers, rids: Numbers) -> None:
        """Some edges."""
        for first in range(0, len(rows), self.room.numbers):
            some = slice(first, first + self.room.numbers)
            self._parts.append(rows[some] * self.others + rids[some])
            self.waiting += len(self._parts[-1])
            self.room.shared()

    def write(self) -> None:
        """Write what waits as a run."""
        self._runs.append(_written([self._taken()]))

    def _taken(self) -> Numbers:
        import numpy as np

        found = np.concatenate([np.empty(0, np.int64), *self._parts])
        self._parts, self.waiting = [], 0
        found.sort()
        return found

    def blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """All edges, in any order, not each once: rows, and rids."""
        if self._made is not None:
            yield from _blocks(self._made, self.room.numbers)
        for part in [*self._parts, *self._runs]:
            for first in range(0, len(part), self.room.numbers):
                yield self._divided(part[first : first + self.room.numbers])

    def _divided(self, numbers: Numbers) -> tuple[Numbers, Numbers]:
        import numpy as np

        rows, rids = np.divmod(numbers, max(self.others, 1))
        return rows, rids

    def csr(self) -> Csr:
        """All of them, each once; nothing may be added any more. What had no room is in a file, which is mapped."""
        if self._made is None:
            self._made = self._ordered()
            self.room.left(self)
        return self._made

    def _ordered(self) -> Csr:
        import numpy as np

        indptr = np.zeros(self.rows + 1, np.int64)

        def rids() -> Iterator[Numbers]:
            for stretch in self._stretches():
                asked, found = self._divided(_each_once(stretch))
                if len(asked):
                    first = int(asked[0])
                    counts = np.bincount(asked - first)
                    indptr[first + 1 : first + 1 + len(counts)] += counts
                yield found

        found = _written(rids()) if self._runs else next(rids())
        self._runs = []
        return Csr(np.cumsum(indptr, out=indptr), found)

    def _stretches(self) -> Iterator[Numbers]:
        """All numbers, sorted, stretch by stretch; equal ones are in one."""
        import numpy as np

        if not self._runs:
            yield self._taken()
            return
        if self.waiting:
            self.write()
        cuts = _cuts(self._runs, self.room.numbers)
        places = [np.concatenate([[0], np.searchsorted(run, cuts, side="left"), [len(run)]]).tolist() for run in self._runs]
        for at in range(len(cuts) + 1):
            found = np.concatenate([run[own[at] : own[at + 1]] for run, own in zip(self._runs, places, strict=True)])
            found.sort()
            yield found


def _cuts(runs: list[Numbers], most: int) -> Numbers:
    """Values at which to cut sorted runs, so that what lies between two of them has about so many numbers at most, equal ones aside.

    Of each run every ``step``-th number is a sample: between two samples of all runs that are so many places apart there are no more than
    ``(places + runs) * step`` numbers.
    """
    import numpy as np

    step = max(most // (_SAMPLES * len(runs)), 1)
    samples = np.sort(np.concatenate([np.asarray(run[step - 1 :: step]) for run in runs]))
    places = max(most // step - len(runs), 1)
    return np.unique(samples[places - 1 :: places])


def _each_once(ordered: Numbers) -> Numbers:
    """The numbers of a sorted array, each once."""
    import numpy as np

    new = np.ones(len(ordered), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered if new.all() else ordered[new]


def _written(parts: Iterator[Numbers] | list[Numbers]) -> Numbers:
    """The numbers as they come back from a file that they are written to, mapped."""
    import numpy as np

    with tempfile.TemporaryFile(prefix="lineage-capture-") as file:
        count = 0
        for part in parts:
            _write(file, part)
            count += len(part)
        file.flush()
        # (The map keeps the file.)
        return np.asarray(np.memmap(file, np.int64, mode="r", shape=(count,))) if count else np.empty(0, np.int64)


def _write(file: IO[bytes], numbers: Numbers) -> None:
    """Some at a time, so that few are copied."""
    for first in range(0, len(numbers), 1 << 20):
        file.write(numbers[first : first + (1 << 20)].tobytes())


def inverted(edges: Csr, others: int, room: Room) -> Csr:
    """The same edges from the other side, which has so many rows: in memory where there is room for it (`Csr.inverse`)."""
    if len(edges.rids) <= room.numbers or not fits(others, edges.rows):
        return edges.inverse(others)
    found = room.spool(others, edges.rows)
    for rows, rids in _blocks(edges, room.numbers):
        found.add(rids, rows)
    return found.csr()


def _blocks(edges: Csr, many: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Edges, so many at a time: rows, and rids."""
    import numpy as np

    for first, stop in pairwise([*range(0, len(edges.rids), many), len(edges.rids)]):
        # The rows that these edges are of: of the first and the last one maybe some.
        begin, end = (int(np.searchsorted(edges.indptr, at, side="right")) - 1 for at in (first, stop - 1))
        ends = np.clip(edges.indptr[begin : end + 2], first, stop)
        yield np.repeat(np.arange(begin, end + 1), np.diff(ends)), edges.rids[first:stop]
