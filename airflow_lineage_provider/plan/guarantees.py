"""How far an answer can be relied on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """How far an answer, or one table of it, can be relied on, and why not further.

    ``level`` is about the rows. ``origin`` is ``unknown`` where lineage ends at rows that were made in the session (a pandas frame, an
    RDD, a checkpoint, a cache of files that have changed): what these were made from, nothing says.
    """

    level: OneOf["exact", "superset", "unavailable"]
    cause: str = ""
    origin: OneOf["known", "unknown"] = "known"


EXACT = Guarantee(level="exact")

ORDER = {"exact": 0, "superset": 1, "unavailable": 2}


def weakest(*guarantees: Guarantee | None) -> Guarantee:
    """The weakest of several guarantees (None is no remark), with the causes of all that are as weak, and of an unknown origin."""
    given = [one for one in guarantees if one is not None]
    level = max(given, key=lambda one: ORDER[one.level], default=EXACT).level
    unknown = any(one.origin == "unknown" for one in given)
    causes = dict.fromkeys(one.cause for one in given if one.cause and (one.level == level or one.origin == "unknown"))
    return Guarantee(level=level, cause="; ".join(causes), origin="unknown" if unknown else "known")
