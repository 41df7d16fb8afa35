"""Which lineage is captured (Smoke, Sec. 4.1: what will not be asked is not captured)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidCapture
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import CaptureDirection, CaptureWhen, is_one_of, words


@dataclass(frozen=True, kw_only=True)
class Capture:
    """What is captured of a run's lineage: which way it may be asked, and of which source ``tables`` (None: all).

    What is not captured is traced when it is asked for.

    :raises InvalidCapture: it cannot be meant so.
    """

    direction: CaptureDirection = "both"
    tables: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not is_one_of(self.direction, CaptureDirection):
            known = ", ".join(words(CaptureDirection))
            raise InvalidCapture(f"capture: direction={shown(self.direction)} is not known; it can be {known}")
        given = self.tables
        if given is None:
            return
        if not isinstance(given, list | tuple | set | frozenset) or not given or not all(isinstance(one, str) and one for one in given):
            raise InvalidCapture(f"capture: tables={shown(given)} is not understood; it can be a list of names of source tables")
        object.__setattr__(self, "tables", tuple(dict.fromkeys(given)))

    @classmethod
    def of(cls, given: Any) -> Capture | None:
        """What an option says: ``lazy`` for nothing, ``eager`` for everything, or what exactly.

        >>> Capture.of("eager")
        Capture(direction='both', tables=None)

        :raises InvalidCapture: it says something else.
        """
        if isinstance(given, cls):
            return given
        if is_one_of(given, CaptureWhen):
            return cls() if given == "eager" else None
        known = ", ".join(words(CaptureWhen))
        raise InvalidCapture(f"capture={shown(given)} is not known; it can be {known}, or Capture(direction=…, tables=[…])")
