"""Names that are free."""

from __future__ import annotations

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
