"""Several columns in one text, as everything that keeps or shows a sketch names the column that it is of.

>>> text = of_columns(["store", "day"])
>>> text, columns_in(text, ["day", "store"]), columns_in("store", ["day", "store"])
('`store`, `day`', ('store', 'day'), ('store',))
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_SEVERAL = re.compile(r"`(?:[^`]|``)+`(?:, `(?:[^`]|``)+`)+")
_ONE = re.compile(r"`((?:[^`]|``)+)`(?:, |$)")


def of_columns(columns: Sequence[str]) -> str:
    """The text of these columns; of one its name."""
    return columns[0] if len(columns) == 1 else ", ".join(f"`{one.replace('`', '``')}`" for one in columns)


def columns_in(text: str, there: Collection[str] = ()) -> tuple[str, ...]:
    """The columns that a text names; the whole text where it is one of those that are ``there``, or names no several ones."""
    if text in there or not _SEVERAL.fullmatch(text):
        return (text,)
    return tuple(one.replace("``", "`") for one in _ONE.findall(text))
