"""What an image's first bytes tell: its media type and its size."""

from __future__ import annotations

import struct

_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"))


def image_type(data: bytes) -> str | None:
    """The media type of a PNG, JPEG, GIF or WebP image (formats that cannot carry scripts); None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _KINDS if data.startswith(magic)), None)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF or JPEG image, read from its header; None where it does not tell."""
    try:
        match image_type(data):
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                return _jpeg_size(data)
    except (struct.error, IndexError):
        return None
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a start of frame
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
