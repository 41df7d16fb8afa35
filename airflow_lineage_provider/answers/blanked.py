"""Decisions that were tried again with all cells of an argument blank that their reasons are not about (`deriving.blanking`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Blanked:
    """One argument of a decision, and what the UDF gave for it with the other cells blank.

    :ivar udf, row: the decision, as `Explanation.reasons` has it.
    :ivar argument, position: the argument's name, and which it is, from 0.
    :ivar path: the operations between, of the path with the fewest cells: these were left.
    :ivar left: so many of the argument's ``cells``.
    :ivar stays: whether the UDF decided as before; None where it could not be tried: ``cause`` says why.
    :ivar value: what it gave, as text.
    """

    udf: str
    row: int
    argument: str
    position: int
    path: tuple[str, ...]
    left: int = 0
    cells: int = 0
    stays: bool | None = None
    value: str = ""
    cause: str = ""


def blanked_text(found: Sequence[Blanked], more: bool = False) -> str:
    """All of them in one sentence.

    :param more: whether there were more decisions than were tried.
    """
    told = ((True, "as before"), (False, "otherwise"))
    counts = [f"{count:,} {how}" for stays, how in told if (count := sum(one.stays is stays for one in found))]
    decided = f"with all cells blank that reasons are not about the UDFs decide {' and '.join(counts)}" if counts else ""
    causes = list(dict.fromkeys(one.cause for one in found if one.stays is None))
    others = f"; {len(causes) - 1:,} other causes" if len(causes) > 1 else ""
    skipped = f"{sum(one.stays is None for one in found):,} could not be tried with blank cells ({causes[0]}{others})" if causes else ""
    return "; ".join(one for one in (decided, skipped, "no more were tried" if more else "") if one)


def blanked_line(one: Blanked) -> str:
    """One of them in words."""
    if one.stays is None:
        return f"With the other cells blank: not possible, {one.cause}"
    blank = one.cells - one.left
    return f"With the other {blank:,} cell{'' if blank == 1 else 's'} blank the UDF decides {'as before' if one.stays else one.value}"
