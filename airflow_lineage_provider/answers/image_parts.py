"""The parts that an image file is made of: segments of a JPEG, chunks of a PNG or a WebP, up to where the file is cut off or damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_SCAN, _END, _FILL = 0xDA, 0xD9, 0xFF
_ALONE = (0x01, *range(0xD0, 0xD8))
"""Markers of a JPEG that have no length."""


@dataclass(frozen=True)
class Part:
    """A part from ``start`` to ``stop`` of the file: a JPEG's marker as one byte, or a chunk's four characters, and what is in it."""

    kind: bytes
    content: bytes
    start: int
    stop: int


def jpeg_parts(data: bytes) -> Iterator[Part]:
    """The segments before the first scan."""
    at = 2
    while at + 4 <= len(data) and data[at] == _FILL:
        marker, (length,) = data[at + 1], struct.unpack_from(">H", data, at + 2)
        if marker == _FILL:  # as many as somebody wrote may stand before a marker
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker in (_SCAN, _END) or length < 2:
            return
        else:
            yield Part(bytes([marker]), data[at + 4 : at + 2 + length], at, at + 2 + length)
            at += 2 + length


def png_parts(data: bytes) -> Iterator[Part]:
    """All chunks."""
    at = 8
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield Part(kind, data[at + 8 : at + 8 + length], at, at + 12 + length)
        at += 12 + length


def webp_parts(data: bytes) -> Iterator[Part]:
    """All chunks, of which each begins at an even place."""
    at = 12
    while at + 8 <= len(data):
        kind, length = struct.unpack_from("<4sI", data, at)
        stop = at + 8 + length + length % 2
        yield Part(kind, data[at + 8 : at + 8 + length], at, stop)
        at = stop


def without(data: bytes, parts: Iterable[Part]) -> bytes:
    """The file without these, which are in its order."""
    kept, at = [], 0
    for part in parts:
        kept.append(data[at : part.start])
        at = part.stop
    return b"".join([*kept, data[at:]])
