"""What stands behind all columns of a relation's bytes, the pages of large ones: at hand, or elsewhere, where parts are read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from airflow_lineage_provider.errors import RelationDamaged

Part: TypeAlias = tuple[int, int]
"""Where some bytes begin, and where they end."""
Read: TypeAlias = Callable[[Sequence[Part]], Sequence[bytes]]
"""What reads parts of bytes that stand elsewhere, all in one go."""

_TRIP = 2**15
"""To ask for parts takes as long as so many bytes do."""


class Further(NamedTuple):
    """Bytes that go on elsewhere.

    :ivar length: of all, with those that are at hand. :ivar read: what reads them.
    """

    length: int
    read: Read

    def part(self, begin: int, end: int) -> bytes:
        """Some of them.

        :raises RelationDamaged: there are fewer.
        """
        return _as_asked(self.read, [(begin, end)])[0]


class Tail(Protocol):
    """Bytes that stand behind others."""

    @property
    def length(self) -> int:
        """How many there are."""

    @property
    def is_apart(self) -> bool:
        """Whether some stand elsewhere."""

    def at(self, begin: int, end: int) -> memoryview:
        """Some of them."""

    def have(self, parts: Iterable[Part]) -> None:
        """Those that stand elsewhere are read, of all these parts in one go."""

    def load(self) -> None:
        """The same of all."""


class AtHand:
    """All of them."""

    is_apart = False

    def __init__(self, data: memoryview | bytes) -> None:
        self._data = memoryview(data)
        self.length = len(data)

    def at(self, begin: int, end: int) -> memoryview:
        """See `Tail`, as for the rest."""
        return self._data[begin:end]

    def have(self, parts: Iterable[Part]) -> None:
        pass

    def load(self) -> None:
        pass


class Apart:
    """Bytes that stand elsewhere; those that were read are kept, and where more and more are asked for, all are read.

    It may be shared between threads: then a part is read twice at worst.

    :param begin: where they begin among the relation's.
    """

    def __init__(self, further: Further, begin: int) -> None:
        self.length = further.length - begin
        self._read = further.read
        self._begin = begin
        self._all: memoryview | None = None
        self._parts: dict[Part, memoryview] = {}
        self._spent = 0

    @property
    def is_apart(self) -> bool:
        """See `Tail`, as for the rest."""
        return self._all is None

    def at(self, begin: int, end: int) -> memoryview:
        while self._all is None:
            found = self._parts.get((begin, end))
            if found is not None:
                return found
            self.have([(begin, end)])
        return self._all[begin:end]

    def have(self, parts: Iterable[Part]) -> None:
        if self._all is not None:
            return
        missing = sorted({one for one in parts if one not in self._parts})
        if not missing:
            return
        # Whoever has asked for parts until they have taken as long as all do, and takes all then, never takes more than twice as long.
        self._spent += _TRIP + sum(end - begin for begin, end in missing)
        if self._spent >= self.length:
            self.load()
            return
        runs = _runs(missing)
        for run, data in zip(runs, self._asked([(run[0][0], run[-1][1]) for run in runs]), strict=True):
            view, first = memoryview(data), run[0][0]
            self._parts.update({(begin, end): view[begin - first : end - first] for begin, end in run})

    def load(self) -> None:
        if self._all is None:
            self._all = memoryview(self._asked([(0, self.length)])[0])
            self._parts.clear()

    def _asked(self, parts: Sequence[Part]) -> list[bytes]:
        return _as_asked(self._read, [(self._begin + begin, self._begin + end) for begin, end in parts])


def _runs(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """Parts in their order, by those that touch."""
    breaks = [at for at, (one, other) in enumerate(itertools.pairwise(parts), start=1) if one[1] != other[0]]
    return [parts[begin:end] for begin, end in itertools.pairwise([0, *breaks, len(parts)])]


def _as_asked(read: Read, parts: Sequence[Part]) -> list[bytes]:
    found = list(read(parts))
    for data, (begin, end) in zip(found, parts, strict=True):
        if len(data) != end - begin:
            raise RelationDamaged(f"a relation's bytes end before {end:,}, and those up to there belong to it")
    return found
