"""What stands in a message: what somebody gave, quoted, and cut where it is long; what an error says first."""

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


def first_line(error: BaseException) -> str:
    """What an error says first; of one that Java raised, what Java says, and not where it was called."""
    java = getattr(error, "java_exception", None)
    lines = str(error if java is None else java.getMessage() or "").strip().splitlines()
    return lines[0] if lines else type(error).__name__
