"""Cases that once failed, shrunk: what each is about is its name."""

from __future__ import annotations

from tests.oracle.strategies import Case

REGRESSIONS: dict[str, Case] = {}
