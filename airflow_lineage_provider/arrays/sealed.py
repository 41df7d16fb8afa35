"""Bytes that say what they are, of which version, and whether they are as they were written."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from airflow_lineage_provider.arrays.tail import Apart, AtHand, Further
from airflow_lineage_provider.arrays.whole_numbers import Source, number
from airflow_lineage_provider.errors import RelationDamaged, RelationTooNew

_CHECKSUM = 4


@dataclass(frozen=True, kw_only=True)
class Seal:
    """What stands before a body: four bytes that say what it is, its version, and its checksum.

    :ivar version: raised whenever an older release could not read what is written.
    :ivar what: it is, for messages. :ivar other: what other bytes are.
    :ivar tailed: the first version whose body stands behind its length, and before what has checksums of its own.
    """

    magic: bytes
    version: int
    what: str
    other: str
    tailed: int = 256

    def put_on(self, body: bytes, version: int | None = None, tail: bytes = b"") -> bytes:
        """The body with this before it.

        :param version: the newest by default. :param tail: what stands behind, of versions that have it.
        """
        version = self.version if version is None else version
        if version >= self.tailed:
            body = number(len(body)) + body
        return self.magic + bytes([version]) + zlib.crc32(body).to_bytes(_CHECKSUM, "little") + body + tail

    def taken_off(self, data: bytes, further: Further | None = None) -> Source:
        """The body, to be read.

        :param further: where these are the first of the bytes, the others: read now, but for what has checksums of its own.
        :raises RelationTooNew: a newer release wrote it. :raises RelationDamaged: it is cut off, was changed, or never was that.
        """
        source = Source(data)
        if source.take(len(self.magic)) != self.magic:
            raise RelationDamaged(f"these bytes are {self.other}: they begin otherwise")
        (version,) = source.take(1)
        if version > self.version:
            text = f"{self.what} is of version {version}, and this release reads up to {self.version}; a newer release wrote it"
            raise RelationTooNew(text)
        checksum = int.from_bytes(source.take(_CHECKSUM), "little")
        begin, length = source.at, source.number() if version >= self.tailed else len(data)
        if further is not None and (version < self.tailed or source.at + length > len(data)):
            return self.taken_off(data + further.part(len(data), further.length))
        end = min(source.at + length, len(data))
        if not version or zlib.crc32(memoryview(data)[begin:end]) != checksum:
            raise RelationDamaged(f"the bytes of {self.what} are not those that were written: they are cut off, or were changed")
        if version < self.tailed:
            return source
        return Source(data[source.at : end], AtHand(memoryview(data)[end:]) if further is None else Apart(further, end))

    def version_of(self, data: bytes) -> int:
        """The version that these bytes are of, which `taken_off` has checked."""
        return data[self.at_version]

    @property
    def at_version(self) -> int:
        """At which byte it stands."""
        return len(self.magic)


def damaged(problem: Exception, where: str) -> RelationDamaged:
    """The error that says what is wrong with the bytes of a relation.

    :param where: which relation; empty where that is not known.
    """
    text = str(problem) if isinstance(problem, RelationDamaged) else f"these bytes are no relation between two arrays: {problem}"
    kind = type(problem) if isinstance(problem, RelationDamaged) else RelationDamaged
    return kind(f"{where} cannot be read: {text}" if where else text)
