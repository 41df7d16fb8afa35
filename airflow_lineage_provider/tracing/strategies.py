"""Which segments a run stores (section 6.1 of the augmented-lineage paper), and why: `Choice` is for people too.

========================  =====================================================================================================
``rerun``                 nothing: a derivation makes again what it needs. Stored all the same: what could not be made again
``function_materialization``  segments with function operators, and the root's output, the result (the default)
``full_materialization``  every segment
``auto``                  of the segments that function materialization stores, those that take longer to make than to store
========================  =====================================================================================================

A segment that cannot be made again (a limit, a random number, a UDF that nobody will find) is stored under every strategy, and
so are the function operators below a stored segment: its rows point at theirs. Where lineage is to be captured ``auto`` stores the result
whatever it costs: an index numbers its rows. (Under ``rerun`` these are the rows of files that the run writes: `running.numbered_result`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan


@dataclass(frozen=True, kw_only=True)
class SegmentCost:
    """What an earlier run measured of a segment: seconds, added up over the executors' tasks."""

    rows: int
    compute: float
    store: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Whether a segment is stored, and why."""

    segment: int
    stored: bool
    because: str


def needed_for_tracing(plan: SegmentedPlan) -> frozenset[int]:
    """The segments whose rows a derivation needs: what function materialization stores."""
    return frozenset(s.number for s in plan.segments if s.number == 0 or s.functions or s.pinned)


def choose(
    plan: SegmentedPlan,
    strategy: str,
    not_repeatable: Set[int] = frozenset(),
    costs: Mapping[int, SegmentCost] | None = None,
    *,
    captured: bool = False,
) -> tuple[Choice, ...]:
    """One choice a segment. ``not_repeatable`` are the function operators whose UDF a derivation could not call again; ``captured``:
    whether the lineage of the result's rows is to be captured."""
    because = {s.number: _own_reason(s, strategy, not_repeatable, costs or {}, s.number in plan.traceable) for s in plan.segments}
    if captured and strategy == "auto":
        because[0] = (True, "it is the result, whose rows the index that is captured numbers")
    stored = {number for number, (store, _) in because.items() if store}
    if strategy == "auto":
        _leave_out_above(plan, stored, because, frozenset({0} if captured else ()))
    for number in sorted(stored):
        for lower in _below(plan, number):
            if plan.segments[lower].functions and lower not in stored:
                because[lower] = (True, f"segment {number} above it is stored, and its rows point at the rows of function operators")
    return tuple(Choice(segment=number, stored=store, because=text) for number, (store, text) in because.items())


def stored_segments(choices: tuple[Choice, ...]) -> frozenset[int]:
    """The numbers of the segments that are stored."""
    return frozenset(choice.segment for choice in choices if choice.stored)


def _own_reason(
    segment: Segment, strategy: str, not_repeatable: Set[int], costs: Mapping[int, SegmentCost], is_traced: bool
) -> tuple[bool, str]:
    if segment.pinned:
        return True, "its rows could not be made again: a limit, a random function, or one that depends on the order of rows"
    if any(not f.deterministic or f.function in not_repeatable for f in segment.functions):
        return True, "its UDF could not be called again: it is not deterministic, or not a declared reasoned UDF"
    if strategy == "full_materialization":
        return True, "full materialization stores every segment"
    wanted = segment.number == 0 or bool(segment.functions)
    if strategy == "rerun":
        return False, "made again when it is asked about"
    if strategy == "auto" and wanted and segment.number in costs:
        return _by_cost(costs[segment.number])
    if wanted:
        measured = "; nothing was measured yet" if strategy == "auto" else ""
        return True, ("it has function operators" if segment.functions else "it is the result") + measured
    return False, "it has no function operator: a tracing query reads through it" if is_traced else "no row is traced to it"


def _by_cost(cost: SegmentCost) -> tuple[bool, str]:
    """Storing pays when making the rows again takes longer than storing them does."""
    stores = cost.compute > cost.store
    compared = f"making its {cost.rows:,} rows took {cost.compute:.2f} s, storing them {cost.store:.2f} s, in an earlier run"
    return stores, compared + ("" if stores else ": made again when it is asked about")


def _leave_out_above(plan: SegmentedPlan, stored: set[int], because: dict[int, tuple[bool, str]], kept: Set[int]) -> None:
    """What stands on function operators that are not stored is not stored either: it is made again with them. ``kept`` is, all the same."""
    for segment in plan.segments:
        missing = [n for n in _below(plan, segment.number) if plan.segments[n].functions and n not in stored]
        if segment.number in stored - kept and missing and not segment.pinned:
            stored.discard(segment.number)
            because[segment.number] = (False, f"it is made again with segment {missing[0]}, which is not stored")


def _below(plan: SegmentedPlan, number: int) -> Iterator[int]:
    for leaf in plan.segments[number].inputs:
        if isinstance(leaf, o.SegmentOutput):
            yield leaf.segment
            yield from _below(plan, leaf.segment)
