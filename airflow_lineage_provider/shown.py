"""What somebody gave, for a message: quoted, and cut where it is long."""

from __future__ import annotations

import reprlib


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 100

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to write out thousands of digits.
        return super().repr_int(x, level) if x.bit_length() < 1_000 else f"a number of {x.bit_length():,} bits"


def shown(given: object) -> str:
    """A short text of any value, whatever its own ``repr`` does."""
    try:
        return _Short().repr(given).encode("utf-8", "backslashreplace").decode()
    except Exception:
        return f"a {type(given).__name__}"
