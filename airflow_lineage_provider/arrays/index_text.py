"""An index of an array as it is written in a shell."""

from __future__ import annotations

import itertools
import re
from typing import Any

from airflow_lineage_provider.arrays.selection import are_labels
from airflow_lineage_provider.errors import InvalidCells
from airflow_lineage_provider.shown import shown

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""
_PART = re.compile(rf"""{_QUOTED}|\[(?:{_QUOTED}|[^\]'"])*\]|[^'"\[\]]""")
"""Something between quotes or brackets, or one character."""


def index_of(text: str) -> tuple[Any, ...]:
    """An index as it is written between brackets; labels are between quotes, which are doubled within.

    :raises InvalidCells: it is none.

    >>> index_of("0:2, ..., ::3")
    (slice(0, 2, None), Ellipsis, slice(None, None, 3))
    >>> index_of("0, 'it''s, net', ['a', 'b:c']")
    (0, "it's, net", ['a', 'b:c'])
    """
    parts = _PART.findall(text)
    if "".join(parts) != text:
        raise InvalidCells(f"{shown(text)} is no index: a quote or a bracket in it has no end")
    return tuple(_index_part(part) for part in _commas(parts)) if text.strip() else ()


def _commas(parts: list[str]) -> list[str]:
    """The text between commas that are neither in quotes nor in brackets."""
    starts = [0, *(at + 1 for at, one in enumerate(parts) if one == ",")]
    return ["".join(parts[start : stop - 1]) for start, stop in itertools.pairwise([*starts, len(parts) + 1])]


def _index_part(text: str) -> Any:
    part = text.strip()
    if part == "...":
        return ...
    if re.fullmatch(_QUOTED, part):
        return part[1:-1].replace(part[0] * 2, part[0])
    if part.startswith("["):
        found = index_of(part[1:-1])
        if are_labels(list(found)):
            return list(found)
    try:
        bounds = [int(one) if one.strip() else None for one in part.split(":")]
    except ValueError:
        bounds = []
    if not 1 <= len(bounds) <= 3 or bounds == [None]:
        known = "a whole number, start:stop, start:stop:step, ..., or labels: 'price', ['id', 'price']"
        raise InvalidCells(f"{shown(part)} is no part of an index: it can be {known}")
    return bounds[0] if len(bounds) == 1 else slice(*bounds)
