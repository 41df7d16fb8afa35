"""Constant moments that are compared with columns, in the run's time zone.

Spark reads ``timestamp'2024-01-01 00:00:00'`` as a moment in the session's time zone. Compared with a ``timestamp_ntz`` column, it takes
the column's local times as moments of that zone too. Around a change of clocks two local times may be one moment; elsewhere the moments are
in the order of the local times, so that the constant may as well be a local time. Which moment a local time is needs no table of zones
where the zone is a fixed offset. In both cases PostgreSQL can compare; in all others Spark must.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from airflow_lineage_provider.plan.expression_walk import transform_expression
from airflow_lineage_provider.plan.expressions import Call, Expression, Literal

_COMPARISONS = frozenset({"=", "<=>", "<", "<=", ">", ">=", "in"})
_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?")
_UTC = frozenset({"UTC", "GMT", "Z", "Etc/UTC"})
_OFFSET = re.compile(r"[+-](?:0\d|1[0-7]):[0-5]\d")
NEAR = tuple(timedelta(hours=hours) for hours in range(-50, 51, 10))
"""Around a moment. The longest change of clocks was a day (Samoa, 2011)."""


def in_zone(condition: Expression, zone: str) -> Expression:
    """The condition with constant moments as the compared columns have them, where that certainly means the same."""

    def changed(part: Expression) -> Expression:
        if not isinstance(part, Call) or part.function not in _COMPARISONS:
            return part
        kinds = {side.type for side in part.arguments if not isinstance(side, Literal)}
        if len(kinds) != 1 or not kinds <= {"timestamp", "timestamp_ntz"}:
            return part
        kind = kinds.pop()
        sides = [_as(side, kind, zone) if isinstance(side, Literal) else side for side in part.arguments]
        # Spark finds one type for all of them: all are changed, or none is.
        known = tuple(side for side in sides if side is not None)
        return replace(part, arguments=known) if len(known) == len(sides) else part

    read: Expression = transform_expression(condition, changed)
    return read


def fixed_offset(zone: str) -> timedelta | None:
    """How far a zone is from UTC, where that never changes and its name alone says it."""
    if zone in _UTC:
        return timedelta()
    if not _OFFSET.fullmatch(zone):
        return None
    return (-1 if zone[0] == "-" else 1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))


@lru_cache(maxsize=64)
def place_of(zone: str) -> tzinfo | None:
    """A time zone by its name: a fixed offset, or a region's. (A name without a region may be another one to Java.)"""
    offset = fixed_offset(zone)
    if offset is not None:
        return timezone(offset)
    try:
        return ZoneInfo(zone) if "/" in zone else None
    except (KeyError, ValueError, OSError):
        return None


def _as(literal: Literal, kind: str, zone: str) -> Literal | None:
    text = literal.value
    if text is None or (literal.type == kind == "timestamp_ntz"):
        return literal
    if literal.type != "timestamp":
        return None
    local = _LOCAL.fullmatch(text) is not None
    if kind == "timestamp_ntz":
        return replace(literal, type=kind) if local and _keeps_order(text, zone) else None
    offset = "+00:00" if zone in _UTC else zone if _OFFSET.fullmatch(zone) else None
    if not local:
        return literal
    return None if offset is None else replace(literal, value=f"{text}{offset}")


def _keeps_order(text: str, zone: str) -> bool:
    """Whether no clock is changed near a local time."""
    if fixed_offset(zone) is not None:
        return True
    place = place_of(zone)
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=place)
        return place is not None and len({(moment + away).utcoffset() for away in NEAR}) == 1
    except (ValueError, OverflowError):
        return False
