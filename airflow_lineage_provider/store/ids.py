"""Identifiers that sort by the time they were made: UUIDs of version 7 (RFC 9562)."""

from __future__ import annotations

import secrets
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def is_possible(text: object) -> bool:
    """Whether anything in the store can have this identifier: it is text, not blank, and PostgreSQL can hold it."""
    if not isinstance(text, str) or not text.strip() or "\x00" in text:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in text)


def new_id() -> str:
    """A new identifier, greater than every one that this process made before."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 bits of their fraction.
        ticks = max((time.time_ns() << 12) // 1_000_000, _last + 1)
        _last = ticks
    milliseconds, fraction = divmod(ticks, 1 << 12)
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
