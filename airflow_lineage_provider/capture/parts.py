"""Parts of indexes as they are written, one after another, in bounded memory: what there is no room for waits in a temporary file.

The file has no name from the beginning (`tempfile.TemporaryFile`, in ``TMPDIR``): a process that ends, however, leaves none.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from airflow_lineage_provider.capture.encodings.written import checksum

ROOM = 256 << 20
"""So many bytes of parts are kept in memory (`settings.capture_memory`)."""
_PIECE = 4 << 20


@dataclass(frozen=True)
class PartPlace:
    """Where a part of an index stands in the bytes of all of them.

    :ivar number: of the index within its run. :ivar part: of the part within the index. :ivar at, length: in bytes.
    :ivar crc: its checksum (`encodings.written.checksum`).
    """

    number: int
    part: int
    at: int
    length: int
    crc: int


class Parts:
    """The parts of a run's indexes. Iterating gives the number of an index, that of its part and the part's content, as they were put.

    :ivar most: so many bytes are kept in memory, and one part more. :ivar places: where each part stands. :ivar total: the bytes of all.
    """

    def __init__(self, most: int = ROOM) -> None:
        self.most = most
        self.places: list[PartPlace] = []
        self.total = 0
        self._waiting: list[bytes] = []
        self._spilled = 0
        self._file: IO[bytes] | None = None
        self._bytes = Counter[int]()

    def put(self, number: int, contents: Iterable[bytes]) -> int:
        """Write the parts of an index; how many they are."""
        part = 0
        for content in contents:
            self.places.append(PartPlace(number, part, self.total, len(content), checksum(content, number, part)))
            self.total += len(content)
            self._bytes[number] += len(content)
            self._waiting.append(content)
            part += 1
            if self.total - self._spilled > self.most:
                self._spill()
        return part

    def put_beside(self, contents: Iterable[bytes]) -> int:
        """Write what is no index beside them; the number, below 0, by which it is found."""
        number = min([0, *self._bytes]) - 1
        self._bytes[number] = 0
        self.put(number, contents)
        return number

    def content(self, number: int, part: int) -> bytes:
        """A part of an index, as it was put."""
        at = next(at for at, one in enumerate(self.places) if (one.number, one.part) == (number, part))
        waiting = at - (len(self.places) - len(self._waiting))
        if waiting >= 0:
            return self._waiting[waiting]
        assert self._file is not None
        self._file.seek(self.places[at].at)
        return self._file.read(self.places[at].length)

    def bytes_of(self, number: int) -> int:
        """The bytes of an index's parts."""
        return self._bytes[number]

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="lineage-capture-")  # noqa: SIM115  (`close` closes it, or that it is gone)
            weakref.finalize(self, self._file.close)
        self._file.seek(self._spilled)  # (it may have been read)
        for content in self._waiting:
            self._file.write(content)
        self._waiting, self._spilled = [], self.total

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        for place, content in zip(self.places, self._contents([place.length for place in self.places]), strict=True):
            yield place.number, place.part, content

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all parts, some at a time."""
        whole, rest = divmod(self._spilled, _PIECE)
        yield from self._contents([*[_PIECE] * whole, *([rest] if rest else []), *map(len, self._waiting)])

    def _contents(self, lengths: Iterable[int]) -> Iterator[bytes]:
        """So many bytes each, from the first on; where the file ends one of them does."""
        at, waiting = 0, iter(self._waiting)
        for length in lengths:
            if at < self._spilled:
                assert self._file is not None
                self._file.seek(at)
                yield self._file.read(length)
            else:
                yield next(waiting)
            at += length

    def close(self) -> None:
        """Remove what waits; nothing can be read any more."""
        if self._file is not None:
            self._file.close()
        self._waiting = []

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
