"""What an image's first bytes tell: its media type and its size."""

from __future__ import annotations

import struct

from airflow_lineage_provider.answers.image_parts import jpeg_parts, webp_parts

_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"))
_NO_FRAMES = (0xC4, 0xC8, 0xCC)
"""Markers of a JPEG between those that begin a frame."""


def image_type(data: bytes) -> str | None:
    """The media type of a PNG, JPEG, GIF or WebP image (formats that cannot carry scripts); None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _KINDS if data.startswith(magic)), None)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF or WebP image as it is stored, read from its header; None where it does not tell."""
    try:
        match image_type(data):
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                return _jpeg_size(data)
            case "image/webp":
                return _webp_size(data)
    except (struct.error, IndexError):
        return None
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    for part in jpeg_parts(data):
        if 0xC0 <= part.kind[0] <= 0xCF and part.kind[0] not in _NO_FRAMES:
            height, width = struct.unpack_from(">HH", part.content, 1)
            return width, height
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """Of the canvas, or of the one picture: lossless or not."""
    part = next(webp_parts(data), None)
    match part.kind if part is not None else b"":
        case b"VP8X":
            width, more, height, still_more = struct.unpack_from("<HBHB", data, 24)
            return width + (more << 16) + 1, height + (still_more << 16) + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None
