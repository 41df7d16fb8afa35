"""Which way up an image is read: an array of its pixels has them as they are stored, or turned as its metadata say.

Orientations have EXIF's numbers: 1 is as stored, 2 to 4 are mirrored or turned by half, in 5 to 8 width and height change places.
Readers differ: Pillow and scikit-image leave the pixels as they are stored unless they are told otherwise, OpenCV and browsers turn
them; and not all look into the same places (EXIF, its copy in a PNG's text, XMP). So what is told here is every orientation in which
somebody may have read an image.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from airflow_lineage_provider.answers.image_parts import Part, jpeg_parts, png_parts, webp_parts, without
from airflow_lineage_provider.answers.image_types import image_type

_T = TypeVar("_T")

AS_STORED = 1
ALL = frozenset(range(1, 9))
_SIDEWAYS = 5
"""From this one on width and height are changed."""

_EXIF = b"Exif\0\0"
_TAG = 0x0112
_TYPES = {1: "B", 3: "H", 4: "I"}
"""Of numbers in EXIF: a byte, two, four."""
_XMP = re.compile(rb"tiff:Orientation(?:\s*=\s*[\"']|>)\s*(\d)")
_PROFILE = b"Raw profile type "
_MOST_TEXT = 1_000_000
_HAS_EXIF = 0x08
"""The flag in a WebP's head."""


def orientations(data: bytes) -> frozenset[int]:
    """All in which an image may be read, `AS_STORED` among them; all there are where its metadata cannot be read."""
    found = {int(one) for one in _XMP.findall(data)}
    for block in _blocks(data):
        found |= _of_exif(block) if block is not None else ALL
    return frozenset({AS_STORED, *found} & ALL)


def turned_size(size: tuple[_T, _T], orientation: int) -> tuple[_T, _T]:
    """Width and height in this orientation of what is stored in this size; and the other way round, too."""
    return size if orientation < _SIDEWAYS else (size[1], size[0])


def without_orientation(data: bytes) -> bytes:
    """The image for a browser that shall not turn it: without EXIF."""
    match image_type(data):
        case "image/jpeg":
            return without(data, _jpeg_exif(data))
        case "image/png":
            return without(data, _chunks(png_parts(data), b"eXIf"))
        case "image/webp":
            return _webp_without(data)
    return data


def _blocks(data: bytes) -> Iterator[bytes | None]:
    """What may be EXIF, from its byte order on; None for what may have it in a form that is not understood."""
    match image_type(data):
        case "image/jpeg":
            yield from (part.content[len(_EXIF) :] for part in _jpeg_exif(data))
        case "image/webp":
            yield from (part.content.removeprefix(_EXIF) for part in _chunks(webp_parts(data), b"EXIF"))
        case "image/png":
            yield from (part.content.removeprefix(_EXIF) for part in _chunks(png_parts(data), b"eXIf"))
            for part in _chunks(png_parts(data), b"tEXt", b"zTXt", b"iTXt"):
                yield from _in_text(part)


def _jpeg_exif(data: bytes) -> Iterator[Part]:
    return (part for part in jpeg_parts(data) if part.kind == b"\xe1" and part.content.startswith(_EXIF))


def _chunks(parts: Iterable[Part], *kinds: bytes) -> Iterator[Part]:
    return (part for part in parts if part.kind in kinds)


def _of_exif(block: bytes) -> frozenset[int]:
    """What the first directory says, 1 where it says nothing; all where it cannot be read."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return ALL
    try:
        (at,) = struct.unpack_from(f"{order}I", block, 4)
        (entries,) = struct.unpack_from(f"{order}H", block, at)
        found = (_entry(block, order, at + 2 + 12 * number) for number in range(entries))
        return frozenset(one for one in found if one is not None)
    except (struct.error, KeyError):
        return ALL


def _entry(block: bytes, order: str, at: int) -> int | None:
    tag, kind = struct.unpack_from(f"{order}HH", block, at)
    return int(struct.unpack_from(f"{order}{_TYPES[kind]}", block, at + 8)[0]) if tag == _TAG else None


def _in_text(part: Part) -> Iterator[bytes | None]:
    """EXIF that ImageMagick wrote into a PNG's text, as hexadecimal digits after three lines; XMP that is compressed."""
    keyword, _, rest = part.content.partition(b"\0")
    if part.kind == b"iTXt" and keyword == b"XML:com.adobe.xmp" and rest[:1] != b"\0":
        yield None
    if not keyword.startswith(_PROFILE) or keyword.removeprefix(_PROFILE) not in (b"exif", b"app1", b"APP1"):
        return
    text = _inflated(rest[1:]) if part.kind == b"zTXt" else rest
    try:
        yield bytes.fromhex(b"".join(text.split(b"\n")[3:]).decode("ascii")).removeprefix(_EXIF) if part.kind != b"iTXt" else None
    except ValueError:
        yield None


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, _MOST_TEXT)
    except zlib.error:
        return b""


def _webp_without(data: bytes) -> bytes:
    """The length in its head says how long the file is, a flag that it has EXIF."""
    parts = list(_chunks(webp_parts(data), b"EXIF"))
    if not parts:
        return data
    made = bytearray(without(data, parts))
    struct.pack_into("<I", made, 4, len(made) - 8)
    if made[12:16] == b"VP8X":
        made[20] &= ~_HAS_EXIF
    return bytes(made)
