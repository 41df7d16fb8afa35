"""Numbers by pcodec, all in one or in pages of so many rows, each of which is read by itself.

Pages stand behind everything else of a relation, each with its own checksum: a question reads those that its cells are in.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.tail import Part, Tail
from airflow_lineage_provider.arrays.whole_numbers import Source, number, signed
from airflow_lineage_provider.errors import RelationDamaged
from airflow_lineage_provider.extras import require

Unsigned = npt.NDArray[np.uint64]
Narrow = npt.NDArray[np.integer[Any]]

PAGED = 33
"""The first byte of a column in pages."""
_LARGE = 2**14
"""A column of so many bytes is written in pages."""
_PAGE, _MOST_PAGES = 2**14, 512
"""Rows a page, of so many pages at most: more rows have larger ones."""
_CHECKSUM = 4


def written(numbers: Unsigned, width: int) -> bytes:
    """All in one.

    :param width: how many bits they have.
    """
    return bytes(pcodec().standalone.simple_compress(numbers.astype(_type(width)), pcodec().ChunkConfig()))


def from_written(data: bytes, width: int, rows: int) -> npt.NDArray[np.unsignedinteger]:
    """What `written` wrote.

    :raises RelationDamaged: these bytes are not so many numbers.
    """
    found = np.zeros(rows, dtype=_type(width))
    try:
        progress = pcodec().standalone.simple_decompress_into(data, found)
    except (RuntimeError, TypeError, ValueError) as error:
        raise RelationDamaged(f"a relation's column cannot be decompressed: {error}") from error
    if progress.n_processed != rows or not progress.finished:
        raise RelationDamaged(f"a relation's column has other rows than {rows:,}")
    return found


def paged(column: Ints) -> tuple[bytes, bytes] | None:
    """A column as `read` reads it, and its pages, which stand behind everything else; None where it is too small to have any."""
    least = int(column.min())
    numbers = (column - least).astype(np.uint64)
    width = max(1, int(numbers.max()).bit_length())
    if width * len(column) < 8 * _LARGE:
        return None
    each = max(_PAGE, -(-len(column) // _MOST_PAGES))
    config = pcodec().ChunkConfig(paging_spec=pcodec().PagingSpec.exact_page_sizes(_sizes(len(column), each)))
    file = pcodec().wrapped.FileCompressor()
    chunk = file.chunk_compressor(numbers.astype(_type(width)), config)
    pages = [bytes(chunk.write_page(page)) for page in range(len(chunk.n_per_page()))]
    if sum(map(len, pages)) < _LARGE:
        return None
    meta = bytes(file.write_header()) + bytes(chunk.write_meta())
    head = [bytes([PAGED]), signed(least), number(width), number(each), number(len(meta)), meta, *(number(len(page)) for page in pages)]
    data = b"".join(pages)
    return b"".join([*head, *(zlib.crc32(one).to_bytes(_CHECKSUM, "little") for one in (*pages, data))]), data


def read(source: Source, rows: int, least: int) -> Paged:
    """A column of so many rows of which the first byte, and what is added to its numbers, are read.

    :raises RelationDamaged: it is none. :raises EnvironmentProblem: pcodec is not installed.
    """
    width, each = source.number(), source.number()
    if not 0 < width <= 64 or not each or not rows:
        raise RelationDamaged(f"a relation's column has pages of {each:,} numbers of {width} bits")
    count = -(-rows // each)
    if count > _MOST_PAGES:
        raise RelationDamaged(f"a relation's column has {count:,} pages, and {_MOST_PAGES} are the most")
    meta = source.take(source.number())
    lengths = source.numbers(count)
    checksums = np.frombuffer(source.take(_CHECKSUM * (count + 1)), dtype="<u4").tolist()
    pcodec()
    return Paged(rows, least, width, each, meta, lengths, checksums, source.tail, source.behind(sum(lengths)))


@dataclass(frozen=True, eq=False)
class Paged:
    """A column whose numbers differ, in pages, of which those are looked at that are asked for.

    :ivar rows: how many numbers it has. :ivar least: what is added to each of those in the pages, which have so many bits (``width``).
    :ivar each: how many a page has, but for the last. :ivar meta: what pcodec has to know of all pages.
    :ivar lengths: of each page, in bytes. :ivar checksums: of each, and of all together.
    :ivar tail: what has all pages, one after the other. :ivar begin: where they begin there.
    """

    rows: int
    least: int
    width: int
    each: int
    meta: bytes
    lengths: list[int]
    checksums: list[int]
    tail: Tail
    begin: int

    def numbers(self) -> Ints:
        """All of them, (rows,).

        :raises RelationDamaged: a page is not as it was written, or is not so many numbers.
        """
        return self.kept.astype(np.int64)

    def write(self, into: Ints) -> None:
        """The same, written there."""
        into[:] = self.kept

    def narrow(self) -> Narrow:
        """The same, of as few bytes each as they are read in; not to be written to."""
        return self.kept

    def listed(self) -> list[int]:
        """The same in plain numbers."""
        return [int(one) for one in self.kept]

    def is_within(self, most: int) -> bool:
        """Whether it is known that none is of a larger size."""
        return False

    @cached_property
    def kept(self) -> Narrow:
        """All of them, read once."""
        # Who wants most of one column wants other columns, too.
        self.tail.load()
        return self._read(range(len(self.lengths)))

    def at(self, rows: Ints) -> Narrow:
        """The numbers of some rows, (n,); pages are read in which these are, or all where that is most of them."""
        page, within = np.divmod(rows, self.each)
        pages = np.unique(page)
        if self._are_most(len(pages)):
            return self.kept.take(rows)
        return self._read(pages.tolist()).take(np.searchsorted(pages, page) * self.each + within)

    def parts_at(self, rows: Ints) -> list[Part]:
        """The bytes that `at` reads."""
        return self._parts(np.unique(rows // self.each).tolist())

    def between(self, first: int, end: int) -> Narrow:
        """The same of consecutive rows; not to be written to."""
        pages = self._between(first, end)
        if self._are_most(len(pages)):
            return self.kept[first:end]
        return self._read(pages)[first - pages.start * self.each : end - pages.start * self.each]

    def parts_between(self, first: int, end: int) -> list[Part]:
        """The bytes that `between` reads."""
        return self._parts(self._between(first, end))

    def _between(self, first: int, end: int) -> range:
        return range(first // self.each, -(-end // self.each))

    def _parts(self, pages: range | list[int]) -> list[Part]:
        if self._are_most(len(pages)):
            return [(0, self.tail.length)]
        return [(self.begin + self._starts[page], self.begin + self._starts[page + 1]) for page in pages]

    def _are_most(self, pages: int) -> bool:
        return "kept" in vars(self) or 2 * pages > len(self.lengths)

    @cached_property
    def _starts(self) -> list[int]:
        """Where each page begins."""
        return list(itertools.accumulate(self.lengths, initial=0))

    def _read(self, pages: range | list[int]) -> Narrow:
        """The numbers of some pages, one after the other."""
        sizes = _sizes(self.rows, self.each)
        found = np.empty(sum(sizes[page] for page in pages), dtype=_type(self.width))
        starts, begin = self._starts, self.begin
        self.tail.have((begin + starts[page], begin + starts[page + 1]) for page in pages)
        is_checked = len(pages) == len(sizes) and self._is_as_written(self.tail.at(begin, begin + starts[-1]), -1)
        chunk, at = self._chunk(), 0
        for page in pages:
            data = bytes(self.tail.at(begin + starts[page], begin + starts[page + 1]))
            if not is_checked and not self._is_as_written(data, page):
                raise RelationDamaged(f"page {page} of a relation's column is not as it was written: it was changed")
            into = found[at : at + sizes[page]]
            try:
                progress, length = chunk.read_page_into(data, len(into), into)
            except (RuntimeError, TypeError, ValueError) as error:
                raise RelationDamaged(f"page {page} of a relation's column cannot be decompressed: {error}") from error
            if (progress.n_processed, length) != (len(into), len(data)):
                raise RelationDamaged(f"page {page} of a relation's column has other rows than {len(into):,}")
            at += len(into)
        narrow = found.view(np.int64) if found.itemsize == 8 else found
        return narrow.astype(np.int64) + self.least if self.least else narrow

    def _is_as_written(self, data: bytes | memoryview, page: int) -> bool:
        return zlib.crc32(data) == self.checksums[page]

    def _chunk(self) -> Any:
        """What reads pages. (Made anew for each question: of several threads, one would have to wait for another.)"""
        try:
            file, length = pcodec().wrapped.FileDecompressor.new(self.meta)
            chunk, further = file.chunk_decompressor(self.meta[length:], f"u{8 * np.dtype(_type(self.width)).itemsize}")
        except (RuntimeError, TypeError, ValueError) as error:
            raise RelationDamaged(f"a relation's column cannot be decompressed: {error}") from error
        if length + further != len(self.meta):
            raise RelationDamaged("a relation's column has more than pcodec has to know of its pages")
        return chunk


def _sizes(rows: int, each: int) -> list[int]:
    """How many rows each page has."""
    return [each] * (rows // each) + [rows % each] * bool(rows % each)


def _type(width: int) -> type[np.unsignedinteger[Any]]:
    """What numbers of so many bits are given to pcodec in."""
    return np.uint16 if width <= 16 else np.uint32 if width <= 32 else np.uint64


def pcodec() -> Any:
    """The library, imported when it is first needed.

    :raises EnvironmentProblem: it is not installed; names the extra that has it.
    """
    # Asked for each column: to look for what is there already takes a part of what a column does.
    return sys.modules.get("pcodec") or require("pcodec", "arrays", "the encoding provrc-pco of a relation's columns")
