"""Images that arguments of decisions are the paths of, read when the question is answered: later they may be gone, or others.

A path comes from data, so that it may name any file: only regular files below the folders that a setting allows are read, links followed
first, no more bytes than a setting allows, and only what is an image by its content.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.explanation import Image
from airflow_lineage_provider.answers.image_types import image_type

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
IMAGES, ALL_BYTES = 200, 20_000_000
"""At most so many images, and bytes of images, in one answer."""


def with_images(explanation: Explanation, rest: Callable[[], object] = lambda: None) -> Explanation:
    """The explanation with the images that its decisions' arguments name; ``rest`` is called before any is read."""
    paths = list(dict.fromkeys(_paths(explanation)))
    if not paths:
        return explanation
    rest()
    roots, most = settings.image_roots(), settings.image_bytes()
    found: dict[str, Image] = {}
    room = ALL_BYTES
    for at, path in enumerate(paths):
        found[path] = _read(path, roots, min(most, room)) if at < IMAGES else Image(problem=f"More than {IMAGES} images are in this answer")
        room -= len(found[path].data or b"")
    return replace(explanation, images=found)


def _paths(explanation: Explanation) -> Iterator[str]:
    import pyarrow as pa

    for made in explanation.reasons.values():
        for column in made.rows.columns[1:-2]:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                yield from (value for value in column.unique().to_pylist() if value is not None and value.lower().endswith(SUFFIXES))


def _read(text: str, roots: tuple[Path, ...], most: int) -> Image:
    try:
        path = _local(text)
        if path is None:
            return Image(problem="The image is not on a file system of this machine")
        real = path.resolve(strict=True)
        allowed = [root for root in roots if real.is_relative_to(root.resolve())]
        if not allowed:
            return Image(problem="The image is in no folder that AIRFLOW_LINEAGE_IMAGE_ROOTS allows to be read")
        return _content(real, most)
    except (OSError, ValueError, RuntimeError) as problem:
        return Image(problem=f"The image cannot be read ({type(problem).__name__})")


def _content(path: Path, most: int) -> Image:
    # Without blocking on a pipe that somebody put there, and without following a link that came in between.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return Image(problem="The image is no regular file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(max(0, most) + 1) if status.st_size <= most else b""
    finally:
        os.close(handle)
    if status.st_size > most or len(data) > most:
        return Image(problem=f"The image is too large ({status.st_size:,} bytes)")
    if image_type(data) is None:
        return Image(problem="The file is no PNG, JPEG, GIF or WebP image")
    return Image(data=data)


def _local(text: str) -> Path | None:
    """The path of a local file, given as such or as Spark writes it (``file:/…``); None for another file system."""
    if "\0" in text:
        raise ValueError("a NUL in a path")
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    return None if "://" in text or (parts.scheme and len(parts.scheme) > 1) else Path(text)
