"""Annotated rows: what the oracle computes with. Every row carries its augmented lineage (definitions 5 to 8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

Rid = tuple[str, tuple[Any, ...]]
"""A source row: its table and its primary key."""


@dataclass(frozen=True)
class Call:
    """A UDF call on the way, and the source rows behind its input."""

    udf: str
    arguments: tuple[Any, ...]
    value: Any
    reason: str | None
    behind: frozenset[Rid]


class Row(NamedTuple):
    """A row's values, source rows, tables that stand behind a difference as a whole, and UDF calls."""

    values: tuple[Any, ...]
    lineage: frozenset[Rid] = frozenset()
    control: frozenset[str] = frozenset()
    calls: frozenset[Call] = frozenset()


def merged(values: tuple[Any, ...], rows: Iterable[Row]) -> Row:
    """A row made of all these rows."""
    lineage: set[Rid] = set()
    control: set[str] = set()
    calls: set[Call] = set()
    for row in rows:
        lineage |= row.lineage
        control |= row.control
        calls |= row.calls
    return Row(values, frozenset(lineage), frozenset(control), frozenset(calls))
