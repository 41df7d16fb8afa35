"""What one owner says, over what is kept already: it is kept at the end, all of it or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from airflow_lineage_provider.arrays.keeping import InParts, Keeping, Known, Lesson, Memory, Pair, Said, between
from airflow_lineage_provider.arrays.owner import Owner, check_owner
from airflow_lineage_provider.arrays.reuse import Operation
from airflow_lineage_provider.errors import InvalidRelation


class Overlay:
    """An owner's new arrays and links in memory, with those of others behind them. What the owner has said before is as if it were not.

    :param base: where the others are.
    """

    def __init__(self, base: Keeping, owner: Owner) -> None:
        self._base = base
        self._owner = owner
        self._own = Memory(0)
        self._lessons: list[Lesson] = []

    @property
    def said(self) -> Said:
        """All that was said here."""
        return Said(dict(self._own.shapes), dict(self._own.links), tuple(self._lessons), dict(self._own.labels))

    def known(self, names: Collection[str], pairs: Collection[Pair] = (), parts: InParts | None = None) -> Known:
        """See `Keeping`, as for the rest."""
        own = self._own.known([one for one in names if self._owner.owns(one)], [one for one in pairs if self._touches(one)])
        of_others = [one for one in names if not self._owner.owns(one)]
        others = self._base.known(of_others, [one for one in pairs if not self._touches(one)], parts)
        return Known({**others.shapes, **own.shapes}, {**others.links, **own.links}, {**others.labels, **own.labels})

    def names(self, most: int) -> list[str]:
        own = self._own.names(most)
        return [*own, *(one for one in self._base.names(most) if not self._owner.owns(one))][:most]

    def linked(self, name: str) -> list[str]:
        own = self._own.linked(name)
        return own if self._owner.owns(name) else [*own, *(one for one in self._base.linked(name) if not self._owner.owns(one))]

    def edges(self, starts: Iterable[str]) -> list[Pair]:
        reached = [*starts, *(output for _, output in self._own.links)]
        others = self._base.edges([one for one in reached if not self._owner.owns(one)])
        return [*self._own.links, *(pair for pair in others if not self._touches(pair))]

    def has(self, pair: Pair) -> bool:
        return self._own.has(pair) or (not self._touches(pair) and self._base.has(pair))

    def operation(self, name: str) -> Operation:
        if name not in self._own.by_operation:
            self._own.by_operation[name] = self._base.operation(name)
        return self._own.by_operation[name]

    def operations(self) -> list[Operation]:
        return list({one.name: one for one in [*self._base.operations(), *self._own.operations()]}.values())

    def enter(self, said: Said) -> None:
        """See `Keeping`.

        :raises InvalidArray: an array is another owner's.
        :raises InvalidRelation: lineage is between arrays of others.
        """
        for name in said.shapes:
            check_owner(name, self._owner)
        for pair in said.links:
            if not self._touches(pair):
                raise InvalidRelation(f"{between(pair)} is not of an array that was named here; it is said where one of the two was")
        for name, _ in said.lessons:
            self.operation(name)
        self._own.enter(said)
        self._lessons += said.lessons

    def _touches(self, pair: Pair) -> bool:
        return any(map(self._owner.owns, pair))
