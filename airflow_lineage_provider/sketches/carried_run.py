"""What a run executes, with the fragments behind the rows of its result (`capture`): through all of its programs, the lowest first.

What the rows of a stored segment carry stands in columns of their own, which are kept while the run is made and not stored. Everything is
carried up first; then what nothing reads is left out again, from the result down: where columns tell a fragment no number is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.walk import all_operators, operators, transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.sketches.capture import carry
from airflow_lineage_provider.sketches.marks import FRAGMENT, CannotCarry, Carried, Carrying, Mark, NumberLost, One
from airflow_lineage_provider.sketches.ties import takes_other_rows
from airflow_lineage_provider.sketches.unions import Union
from airflow_lineage_provider.sketches.witness import Witnessing
from airflow_lineage_provider.tracing.program import Groups, Program
from airflow_lineage_provider.tracing.prune import needed, prune

_ROOT = 0
_NO_GROUP = "no group has rows of several of its fragments"


@dataclass(frozen=True, kw_only=True)
class CarriedRun:
    """What is run, and what the rows of its result carry.

    :ivar programs, rest: as they were given, with marks. :ivar marks: by leaf; those that are carried at all.
    :ivar numbered: the leaves whose rows are numbered when they are read: the cuts of their columns have to be known by then.
    :ivar refused: why the fragments of other leaves are not carried.
    :ivar witnessed: the leaves of which one row of a group stands for all (`witness`). :ivar whole: why of others it does not, where it was
        to.
    """

    programs: tuple[Program, ...]
    rest: o.Plan | None
    marks: Mapping[int, tuple[Mark, ...]] = field(default_factory=dict)
    numbered: frozenset[int] = frozenset()
    refused: Mapping[int, str] = field(default_factory=dict)
    witnessed: frozenset[int] = frozenset()
    whole: Mapping[int, str] = field(default_factory=dict)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns of the result's rows that say what they carry, each once."""
        return tuple(dict.fromkeys(a for marks in self.marks.values() for mark in marks for a in told_by(mark)))


def told_by(mark: Mark) -> tuple[Attribute, ...]:
    """What is read of a mark at the end: of a row's own fragment the columns that tell it, where there are any."""
    return mark.told_by if isinstance(mark, One) else mark.attributes


def carried_run(
    programs: Sequence[Program],
    rest: o.Plan | None,
    columns: Mapping[int, str],
    counts: Mapping[int, int],
    union: Union | None = None,
    *,
    witness: bool = False,
) -> CarriedRun:
    """Programs, the lowest first, that carry the fragments of sketched ``columns`` (by leaf) to the rows of the result, which is the last
    program's, or the ``rest``'s. ``counts`` are the numbers of their fragments, where they are known. With ``witness`` one row of a group
    stands for all where that is enough for its value.
    """
    left, refused, grouped = dict(columns), dict[int, str](), False
    while left:
        told, fresh = Witnessing(), _fresh(programs, rest)
        how = Carrying(columns=left, counts=counts, fresh=fresh, union=union, grouped=grouped, witness=told if witness else None)
        try:
            made = _Run(programs, rest, how).made()
            whole = {leaf: told.refused.get(leaf, _NO_GROUP) for leaf in left if leaf not in told.leaves} if witness else {}
            return replace(made, refused=refused, witnessed=frozenset(told.leaves), whole=whole)
        except NumberLost as problem:
            if not grouped:
                grouped = True
                continue
            refused |= dict.fromkeys(problem.leaves, str(problem))
        except CannotCarry as problem:
            refused |= dict.fromkeys(problem.leaves, str(problem))
        left, grouped = {leaf: column for leaf, column in left.items() if leaf not in refused}, False
    return CarriedRun(programs=tuple(programs), rest=rest, refused=refused)


def _fresh(programs: Sequence[Program], rest: o.Plan | None) -> FreshAttributes:
    return FreshAttributes(*(plan for _, plan in _plans(programs, rest)))


def _plans(programs: Sequence[Program], rest: o.Plan | None) -> Iterator[tuple[int, o.Plan]]:
    """What is run, in order, by the segment that it makes; the root's is the last."""
    for program in programs:
        for groups in program.groups:
            yield groups.segment, groups.plan
        yield program.segment.number, program.plan
    if rest is not None:
        yield _ROOT, rest


@dataclass(frozen=True)
class _Run:
    programs: Sequence[Program]
    rest: o.Plan | None
    how: Carrying

    def made(self) -> CarriedRun:
        plans = dict(_plans(self.programs, self.rest))
        carried = self._carried(plans)
        root = carried[_ROOT].marks
        final = _pruned(plans, carried, tuple(dict.fromkeys(a for mark in root for a in told_by(mark))))
        numbered = {node.leaf for plan in final.values() for node in operators(plan) if isinstance(node, o.Source) and _is_numbered(node)}
        marks = {leaf: tuple(mark for mark in root if mark.leaf == leaf) for leaf in self.how.columns}
        return CarriedRun(
            programs=tuple(_with_plans(one, final) for one in self.programs), rest=None if self.rest is None else final[_ROOT],
            marks=marks, numbered=frozenset(numbered),
        )  # fmt: skip

    def _carried(self, plans: Mapping[int, o.Plan]) -> dict[int, Carried]:
        ordered, found = _ordered(plans), dict[int, Carried]()
        for number, plan in plans.items():
            found[number] = carry(plan, replace(self.how, segments=found), ordered=number in ordered)
        return found


def _ordered(plans: Mapping[int, o.Plan]) -> frozenset[int]:
    """The segments on the order of whose rows something above hangs."""
    found: set[int] = set()
    for number, plan in reversed([*plans.items()]):
        if number in found or any(map(takes_other_rows, operators(plan))):
            found |= {node.segment for node in all_operators(plan) if isinstance(node, o.SegmentOutput)}
    return frozenset(found)


def _pruned(plans: Mapping[int, o.Plan], carried: Mapping[int, Carried], told: tuple[Attribute, ...]) -> dict[int, o.Plan]:
    """The plans with the columns that they had, and of the further ones those that are read."""
    made: dict[int, o.Plan] = {}
    read = {a.id for a in told}
    for number, plan in reversed([*plans.items()]):
        added = tuple(dict.fromkeys(a for mark in carried[number].marks for a in mark.attributes if a.id in read))
        wanted = tuple(dict.fromkeys((*plan.output, *added)))
        pruned = o.Project(child=prune(carried[number].plan, wanted), columns=wanted)
        made[number] = _without_numbers(pruned) if carried[number].marks else plan
        read |= {a.id for node in operators(made[number]) if isinstance(node, o.SegmentOutput) for a in node.output}
    return {number: made[number] for number in plans}


def _without_numbers(plan: o.Plan) -> o.Plan:
    """Sources without the numbers that nothing reads."""
    read = needed(plan, plan.output)

    def narrowed(node: o.Plan) -> o.Plan:
        if _is_numbered(node) and node.output[-1].id not in read:
            assert isinstance(node, o.Source)
            return replace(node, output=node.output[:-1], columns=node.columns[:-1])
        return node

    return transform_up(plan, narrowed)


def _is_numbered(node: o.Plan) -> bool:
    return isinstance(node, o.Source) and node.columns[-1:] == (FRAGMENT,)


def _with_plans(program: Program, plans: Mapping[int, o.Plan]) -> Program:
    groups = tuple(_with_plan(one, plans) for one in program.groups)
    return replace(program, plan=plans[program.segment.number], groups=groups)


def _with_plan(groups: Groups, plans: Mapping[int, o.Plan]) -> Groups:
    return replace(groups, plan=plans[groups.segment])
