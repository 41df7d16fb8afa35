"""Being told the stages of long work: what every part of the product calls, and `render.progress` draws."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Is called with each stage, in words."""


class SoFar(str):
    """How far the stage has come that was told last: no stage of its own."""

    __slots__ = ()


def unwatched(_stage: str) -> None:
    """Progress that nobody watches."""


def is_watched(progress: Progress) -> bool:
    """Whether anybody is told."""
    return progress is not unwatched
