"""How many rows of a result one part of a streamed answer is about: so many that what stands behind them fits the memory of any driver.

It follows from what stood behind the part before: how many links there were, and how many bytes their source rows had.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from airflow_lineage_provider import settings

FIRST = 64
LARGEST = 100_000
LINKS = 400_000
"""About so many links a part is to have."""
BYTES = 32 * 2**20
"""About so many bytes the source rows of a part are to have."""
_GROWTH = 8


def give_back() -> None:
    """Between two parts: Arrow's allocator, and that of the C library (NumPy's and DuckDB's), keep what one has left, in pieces that the
    next, of other sizes, often cannot use. So an answer would have the memory of several parts."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """glibc's; other C libraries have none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # TypeError: Windows knows no library without a name
        return None
    return found


@dataclass
class PartSize:
    """``rows`` of the next part, and the mean bytes of a source row in the last one; before any was read, more than nearly all have."""

    rows: int = field(default_factory=lambda: FIRST)
    row_bytes: float = field(default_factory=lambda: BYTES / 10_000)

    @property
    def most_sources(self) -> int:
        """The most source rows of a part that can be divided."""
        return min(settings.source_limit(), self.at_once)

    @property
    def at_once(self) -> int:
        """So many source rows are read at once."""
        return max(1, int(BYTES / self.row_bytes))

    def halve(self, rows: int) -> None:
        """More stood behind so many rows than a part may have."""
        self.rows = max(1, rows // 2)

    def learn(self, links: int, source_rows: int, size: int) -> None:
        """What stood behind the last part, and how many bytes its source rows had."""
        if source_rows:
            self.row_bytes = max(1.0, size / source_rows)
        fitting = min(LINKS / max(links, 1), BYTES / max(size, 1))
        self.rows = max(1, min(int(self.rows * fitting), self.rows * _GROWTH, LARGEST))
