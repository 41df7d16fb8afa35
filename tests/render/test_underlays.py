"""The image under cells and boxes: the very pixels that were judged, however they were read, or none."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider import arrays, payload
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.image_orientation import ALL, orientations, without_orientation
from airflow_lineage_provider.answers.image_types import image_size
from airflow_lineage_provider.reasons.payload import Box, Boxes
from airflow_lineage_provider.render.html import to_html
from airflow_lineage_provider.render.pictures import box_picture
from airflow_lineage_provider.render.underlays import Underlay, underlay
from tests.chromium import needs_chromium, opened
from tests.in_turn import sampled
from tests.render import explanation_examples as examples
from tests.render.turned_photos import BLOCK, READERS, photo, same

KINDS = ("JPEG", "PNG", "WEBP")
TIFF = b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
"""EXIF of one entry: orientation 6."""


def size_of(pixels: Any) -> tuple[int, int]:
    return pixels.shape[1], pixels.shape[0]


def drawn(found: Underlay, size: tuple[int, int]) -> Any:
    """What a viewer shows that knows SVG's matrices and does not look for an orientation: each pixel where its middle comes to stand."""
    from PIL import Image

    data = base64.b64decode(found.href.partition(",")[2])
    assert orientations(data) == {1}, "nothing tells a browser to turn it"
    stored = np.array(Image.open(io.BytesIO(data)).convert("RGB"))
    assert (found.width, found.height) == size_of(stored)
    a, b, c, d, e, f = map(float, re.findall(r"-?[\d.]+", found.transform)) if found.transform else (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    y, x = np.indices(stored.shape[:2]) + 0.5
    made = np.full((size[1], size[0], 3), -100)
    made[np.floor(b * x + d * y + f).astype(int), np.floor(a * x + c * y + e).astype(int)] = stored
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("orientation", range(9))
def test_the_image_is_the_array_that_was_read_or_not_drawn(kind: str, orientation: int, tmp_path: Path) -> None:
    data = photo(orientation, kind)
    for name, reader in READERS.items():
        pixels = reader(data, tmp_path / f"photo.{kind.lower()}")
        found, why = underlay(data, "", size_of(pixels), size_of(pixels))
        if orientation in (2, 3, 4):
            assert (found, "whether the array that was judged is turned is not known" in why) == (None, True), name
        else:
            assert found is not None, name
            assert same(drawn(found, size_of(pixels)), pixels), name


@pytest.mark.parametrize("orientation", range(2, 9))
def test_which_way_up_a_square_was_read_cannot_be_known(orientation: int) -> None:
    data = photo(orientation, blocks=(4, 4))
    found, why = underlay(data, "", (4 * BLOCK, 4 * BLOCK), (4 * BLOCK, 4 * BLOCK))
    assert found is None
    assert "is not known, so only the places are drawn." in why


def test_boxes_without_cells_stand_over_what_was_judged_too() -> None:
    boxes = (Box(1, 2, 3, 4),)
    turned = box_picture(Boxes(boxes, image_size=(4 * BLOCK, 6 * BLOCK)), [("photo", photo(6))]).image
    assert turned is not None
    assert turned.transform == f"matrix(0 1 -1 0 {4 * BLOCK} 0)"
    assert box_picture(Boxes(boxes, image_size=(6 * BLOCK, 4 * BLOCK)), [("photo", photo(6))]).image is not None
    scaled = Boxes(boxes, image_size=(416, 416))
    assert box_picture(scaled, [("photo", photo(1))]).image is not None
    for reason in (scaled, Boxes(boxes)):
        assert "is turned is not known" in box_picture(reason, [("photo", photo(6))]).note


def exif(data: bytes) -> bytes:
    """A JPEG with this block as its EXIF."""
    block = b"Exif\0\0" + data
    return b"\xff\xd8\xff\xff\xe1" + struct.pack(">H", len(block) + 2) + block + photo(0)[2:]  # a byte to fill up with before the marker


def text_of(kind: bytes, content: bytes) -> bytes:
    """A PNG with this chunk."""
    stored = photo(0, "PNG")
    chunk = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return stored[:33] + chunk + stored[33:]


PROFILE = b"\nexif\n      32\n" + (b"Exif\0\0" + TIFF).hex().encode()
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (exif(TIFF), {1, 6}),
        (exif(b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 5, 0, 0)), {1, 5}),
        (exif(TIFF.replace(b"\3\0", b"\4\0", 1)), {1, 6}),
        (exif(TIFF.replace(b"\6\0", b"\x2a\0", 1)), {1}),
        (exif(TIFF[:12]), ALL),
        (exif(TIFF.replace(b"\3\0", b"\2\0", 1)), ALL),
        (exif(b"nothing that is known"), ALL),
        (exif(b"II*\0\x08\0\0\0\0\0"), {1}),
        (text_of(b"eXIf", TIFF), {1, 6}),
        (text_of(b"tEXt", b"Raw profile type exif\0" + PROFILE), {1, 6}),
        (text_of(b"zTXt", b"Raw profile type APP1\0\0" + zlib.compress(PROFILE)), {1, 6}),
        (text_of(b"zTXt", b"Raw profile type exif\0\0" + b"not compressed"), ALL),
        (text_of(b"tEXt", b"Raw profile type exif\0no digits\n\n\nxy"), ALL),
        (text_of(b"tEXt", b"Comment\0Raw profile type exif"), {1}),
        (text_of(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP), {1, 8}),
        (text_of(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(XMP)), ALL),
        (b"GIF89a" + XMP, {1, 8}),
        (b"GIF89a", {1}),
    ],
)
def test_what_a_reader_may_find(data: bytes, found: Any) -> None:
    assert orientations(data) == found


def test_xmp_turns_what_pillow_reads() -> None:
    """Which browsers do not look at."""
    pixels = READERS["Pillow, turned"](text_of(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP), Path())
    assert size_of(pixels) == (4 * BLOCK, 6 * BLOCK)


def test_images_that_are_cut_off_are_read_as_far_as_they_go() -> None:
    for kind in KINDS:
        data = photo(6, kind)
        for length in range(0, len(data), 7):
            assert orientations(data[:length]) <= ALL
            assert image_size(data[:length]) in (None, (6 * BLOCK, 4 * BLOCK))
            without_orientation(data[:length])


@pytest.mark.parametrize("lossless", [True, False])
def test_the_size_of_a_webp(lossless: bool) -> None:
    from PIL import Image

    for size in ((1, 1), (300, 17), (257, 4000)):
        for mode, more in (("RGB", {}), ("RGB", {"exif": b"Exif\0\0" + TIFF}), ("RGBA", {})):
            out = io.BytesIO()
            Image.new(mode, size, (1, 2, 3, 4)[: len(mode)]).save(out, "WEBP", lossless=lossless, **more)
            assert image_size(out.getvalue()) == size


# --- in a browser -------------------------------------------------------------------------------------------------------


def explained(photos: list[bytes], read: list[Any]) -> Explanation:
    """A decision over each, and its reason, traced to a pixel."""
    reasons = []
    for pixels in read:
        record = payload.as_payload(arrays.traced(Boxes((Box(0, 0, 1, 1),)), on=arrays.source("photo", pixels)[:1, :1].mean(axis=2)))
        assert isinstance(record, payload.Traced)
        source = payload.ArraySource("photo", record.sources[0].shape, record.sources[0].paths, 0)
        reasons.append(payload.to_json(payload.Traced(record.reason, record.shape, (source,), record.cells, record.threshold, record.axes)))
    table = pa.table({"row": list(range(len(photos))), "photo": photos, "value": [True] * len(photos), "reason": reasons})
    return examples.explanation(reasons={"udf": table})


def shown(page: Any) -> Iterator[Any]:
    """The images under cells as a browser draws them, without what stands over them."""
    from PIL import Image

    page.add_style_tag(content=".cells svg path, .cells svg text { display: none }")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for one in page.locator(".cells svg image").all():
        yield Image.open(io.BytesIO(one.screenshot())).convert("RGB")


@needs_chromium
def test_a_browser_shows_what_was_judged(tmp_path: Path) -> None:
    cases = sampled(product(KINDS, (1, 5, 6, 7, 8), READERS.values()))
    photos = [photo(orientation, kind) for kind, orientation, _ in cases]
    read = [reader(data, tmp_path / f"photo.{kind.lower()}") for data, (kind, _, reader) in zip(photos, cases, strict=True)]
    (tmp_path / "page.html").write_text(to_html(explained(photos, read)), encoding="utf-8")
    with opened(f"file://{tmp_path}/page.html", f"file://{tmp_path}") as (page, problems):
        pictures = list(shown(page))
    assert len(pictures) == len(read)
    for picture, pixels in zip(pictures, read, strict=True):
        assert same(picture.resize(size_of(pixels)), pixels)
    assert [one for one in problems if not one.startswith("data:")] == []
