"""Rows that a run stored on the way to its result, as ends of lineage: which there are, and what can stand behind which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.recording import listed_tables, tables_of
from airflow_lineage_provider.tracing.maps import RowSet

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Attribute
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource


@dataclass(frozen=True)
class StoredEnd:
    """The rows of a run's result (segment 0), or of another segment that it stored, by the name under which it stored them."""

    segment: int
    name: str

    @property
    def is_result(self) -> bool:
        return self.segment == 0

    @property
    def in_words(self) -> str:
        return "the result" if self.is_result else self.name

    @property
    def rows(self) -> RowSet:
        """The rows, for the maps between row sets."""
        return RowSet("segment", (self.segment,))

    @property
    def within(self) -> frozenset[str]:
        """Its name, where it is on the way to the result (`LineageRows.within`)."""
        return frozenset() if self.is_result else frozenset({self.name})


RESULT_END = StoredEnd(0, "result")


def named_end(recorded: RecordedPlan, name: str | None) -> StoredEnd:
    """The result (None, ``result``, or ``0``), or a stored segment.

    :raises InvalidTarget: the run stored nothing of that name that rows of its result go back to; says what it did.
    """
    if name in (None, RESULT_END.name, "0"):
        return RESULT_END
    found = segment_named(recorded, name)
    if found is None:
        stored = "; ".join(f"{one.name} ({', '.join(name for name, _ in columns_of(recorded, one))})" for one in _stored(recorded))
        raise InvalidTarget(f"the run stored no segment {name!r}; it stored {stored or 'none on the way to its result'}")
    return found


def segment_named(recorded: RecordedPlan, name: str | None) -> StoredEnd | None:
    """The stored segment of this name, or of this number (as `show` has it); None where there is none, or a source table is called so."""
    if name is None or name.lower() in {one.lower() for one in tables_of(recorded)}:
        return None
    return next((one for one in _stored(recorded) if name in (one.name, str(one.segment))), None)


def _stored(recorded: RecordedPlan) -> list[StoredEnd]:
    made, plan = recorded.materialized, recorded.plan
    return [StoredEnd(number, made[number].name) for number in sorted(made) if number and number in plan.traceable]


def check_behind(recorded: RecordedPlan, end: StoredEnd, behind: StoredEnd | str) -> None:
    """That rows of a stored segment, or of a source table, can stand behind rows of ``end``.

    :raises InvalidTarget: they cannot.
    """
    segments, own = recorded.plan.behind(end.segment)[0], tables_behind(recorded, end)
    is_behind, name = (behind.segment in segments, behind.name) if isinstance(behind, StoredEnd) else (behind in own, behind)
    if not is_behind:
        others = [one.name for one in _stored(recorded) if one.segment in segments]
        raise InvalidTarget(
            f"no row of {name} stands behind rows of {end.name}, which is made of {listed_tables(own) or 'no source table'}"
            + (f", by way of {', '.join(others)}" if others else "")
        )


def tables_behind(recorded: RecordedPlan, end: StoredEnd) -> dict[str, list[RecordedSource]]:
    """The source tables of which rows of a stored segment are made."""
    leaves = recorded.plan.behind(end.segment)[1]
    return {name: of for name, of in tables_of(recorded).items() if any(one.source.leaf in leaves for one in of)}


def columns_of(recorded: RecordedPlan, end: StoredEnd) -> list[tuple[str, Attribute]]:
    """The columns that the run stored of it, as they are called there."""
    names = dict(recorded.materialized[end.segment].columns)
    return [(names[one.id], one) for one in recorded.plan.segments[end.segment].plan.output if one.id in names]
