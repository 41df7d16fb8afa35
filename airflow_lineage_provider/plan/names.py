"""Names that are free, and names that are the same."""

from __future__ import annotations

import string
from collections.abc import Collection
from itertools import count


def free_name(name: str, taken: Collection[str], *, folded: bool = False) -> str:
    """The name, with the first number that makes it free where it is taken: ``judge``, ``judge_2``, ``judge_3`` …

    >>> free_name("judge", {"judge", "Judge_2"}), free_name("judge", {"judge", "judge_2"})
    ('judge_2', 'judge_3')

    ``folded``: ``taken`` are casefolded names, and names that differ in case alone are one, as in SQL.
    """
    candidates = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(one for one in candidates if (one.casefold() if folded else one) not in taken)


_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded_name(name: str) -> str:
    """A name as DuckDB tells it from others: in any case of ASCII's letters it is the same. (Spark folds all letters to lower case. No two
    names are one to either that `str.casefold` alone makes one.)

    >>> folded_name("Maße"), folded_name("MASSE"), folded_name("É")
    ('maße', 'masse', 'É')
    """
    return name.translate(_LETTERS)
