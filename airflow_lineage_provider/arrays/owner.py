"""Whose arrays they are. Those of a task of Airflow's, of a run and of a derivation have names that begin with it.

>>> owner = task("etl", "load", "manual__2026-01-01")
>>> owner.full("photo")
'task:etl/load/manual__2026-01-01/photo'
>>> owner.full("run:01JG3QZ8W5K4T2N6M0V7R9XYAB/photo")
'run:01JG3QZ8W5K4T2N6M0V7R9XYAB/photo'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.errors import InvalidArray
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import ArrayOwner, words

_KINDS = tuple(f"{kind}:" for kind in words(ArrayOwner))


@dataclass(frozen=True)
class Owner:
    """A task, a run or a derivation.

    :ivar parts: of a task its dag, its task with the map index, and its run; else the id.
    """

    kind: ArrayOwner
    parts: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """How the names of its arrays begin, and no others."""
        return f"{self.kind}:{'/'.join(map(_quoted, self.parts))}/"

    def full(self, name: Any) -> Any:
        """The name by which an array is kept: one of its own, unless it is that of an owner in full."""
        return self.prefix + name if isinstance(name, str) and name and not is_owned(name) else name

    def owns(self, name: str) -> bool:
        """Whether this is the full name of an array of its own."""
        return name.startswith(self.prefix)


def task(dag: str, task_id: str, run: str, map_index: int = -1) -> Owner:
    """A task instance, all tries of it.

    :param map_index: of a mapped task; -1 is none.
    """
    return Owner("task", (dag, task_id if map_index < 0 else f"{task_id}[{map_index}]", run))


def is_owned(name: str) -> bool:
    """Whether this is the full name of an owner's array."""
    return name.startswith(_KINDS)


def check_owner(name: str, owner: Owner | None) -> None:
    """That a new array is its owner's, or nobody's where there is none.

    :raises InvalidArray: it is another's.
    """
    if owner is not None and not owner.owns(name):
        raise InvalidArray(f"array {shown(name)} is another's, and is named there; those that are named here begin with {owner.prefix}")
    if owner is None and is_owned(name):
        raise InvalidArray(f"array {shown(name)} has a name that begins like those of a task, a run or a derivation: {', '.join(_KINDS)}")


def _quoted(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")
