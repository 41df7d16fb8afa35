"""What lineage cost a run beside the pipeline itself, from the run's own clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LINEAGE = "lineage"
"""Among a run's timings: the seconds for its lineage alone, which are those of reading and rewriting the plan, deciding, entering the run,
and storing."""
TOGETHER = "lineage.together"
"""The seconds in which rows were computed that carried their lineage, or were stored by the very job that made them."""


@dataclass(frozen=True, kw_only=True)
class LineageCost:
    """What was measured.

    :ivar seconds: those for the lineage alone.
    :ivar share: the same, of the rest of the run: 0.1 is a tenth of what the pipeline takes without. None where nothing is left.
    :ivar at_least: there was more, which nobody can tell from the pipeline's own work.
    """

    seconds: float
    share: float | None
    at_least: bool


def ended(timings: Mapping[str, float], total: float, *, with_lineage: bool) -> dict[str, float]:
    """The timings that a run has in the end; ``with_lineage``: its rows carried it while they were computed.

    >>> ended({"lineage": 1.0}, 6.0, with_lineage=True)
    {'total': 6.0, 'lineage.together': 5.0}
    """
    return {"total": total, TOGETHER: total - timings[LINEAGE] if with_lineage else 0.0}


def lineage_cost(timings: Mapping[str, float]) -> LineageCost | None:
    """Of a run with these timings; None where they do not tell: the run has not ended well, or an earlier release recorded it.

    >>> lineage_cost({"total": 6.0, "lineage": 1.0, "lineage.together": 4.0})
    LineageCost(seconds=1.0, share=0.2, at_least=True)
    """
    if LINEAGE not in timings or "total" not in timings:
        return None
    seconds, total = timings[LINEAGE], timings["total"]
    plain = total - seconds
    return LineageCost(seconds=seconds, share=seconds / plain if plain > 0 else None, at_least=timings.get(TOGETHER, 0.0) > 0)
