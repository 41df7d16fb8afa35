"""Bytes that tell what they are, of which format, and whether they are as they were written."""

from __future__ import annotations

import zlib

from airflow_lineage_provider.errors import SketchDamaged, SketchTooNew

FORMAT = 2
"""The newest: that of fragments of several columns."""
_HEAD = 8


def packed(magic: bytes, body: bytes, version: int = 1) -> bytes:
    """Three letters, the version of the format, a checksum, and the body, compressed."""
    content = zlib.compress(body, 9)
    return magic + bytes([version]) + zlib.crc32(content).to_bytes(4, "little") + content


def unpacked(magic: bytes, data: bytes, what: str, most: int) -> bytes:
    """The body; of what says that it has more than ``most`` bytes so many.

    :raises SketchDamaged: these bytes are no such thing, or not as they were written. :raises SketchTooNew: a later release wrote them.
    """
    if len(data) < _HEAD or data[:3] != magic:
        raise SketchDamaged(f"these bytes are no {what}")
    if data[3] > FORMAT:
        raise SketchTooNew(f"a {what} of format {data[3]}; this release reads up to {FORMAT}: upgrade it")
    if zlib.crc32(data[_HEAD:]) != int.from_bytes(data[4:_HEAD], "little"):
        raise SketchDamaged(f"a {what}'s checksum is wrong")
    try:
        return zlib.decompressobj().decompress(data[_HEAD:], most)
    except zlib.error as error:
        raise SketchDamaged(f"a {what} cannot be read: {error}") from error
