"""What a run executes and stores: one program for each segment that is stored (`tracing.strategies`), the lowest first."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, MaterializedSegment, SourceIdentity
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import functions_of, operators, transform_up
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.tracing.annotate import Annotated, Context, annotate_segment, group_keys, inline
from airflow_lineage_provider.tracing.collecting import Carried, carried_inputs, collecting
from airflow_lineage_provider.tracing.prune import needed, prune
from airflow_lineage_provider.tracing.row_sets import read_by_links


@dataclass(frozen=True, kw_only=True)
class Program:
    """One segment as it is run: ``plan`` gives the columns that segments above read and those that are ``stored``.

    ``carried``: what else its rows say of the rows behind them. ``groups`` are made before it, the lowest first: it reads them.
    """

    segment: Segment
    plan: o.Plan
    stored: tuple[Attribute, ...]
    materialized: MaterializedSegment
    carried: Carried | None = None
    groups: tuple[Groups, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Groups:
    """An aggregated segment that is not stored, made apart and kept while the run is made, with the rows behind its groups."""

    segment: int
    plan: o.Plan
    carried: Carried


def with_reasons(plan: SegmentedPlan, reasoned: Set[int]) -> SegmentedPlan:
    """The plan with the function operators of these numbers in reasoning mode (definition 4), where rows of the result go back to them."""
    fresh = FreshAttributes(*(segment.plan for segment in plan.segments))
    taken = {a.name.casefold() for s in plan.segments for node in operators(s.plan) for a in node.output}

    def reason(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.FunctionOperator) or node.function not in reasoned:
            return node
        name = free_name(f"{node.value.name}_reason", taken, folded=True)
        taken.add(name.casefold())
        return replace(node, reason=fresh.attribute(name, "string"))

    traceable = plan.traceable
    segments = tuple(replace(s, plan=transform_up(s.plan, reason)) if s.number in traceable else s for s in plan.segments)
    return replace(plan, segments=segments)


def programs(
    plan: SegmentedPlan,
    sources: Mapping[int, SourceIdentity],
    stored: Set[int],
    keyed: Set[int] = frozenset(),
    *,
    whole: bool = False,
    collected: Mapping[int, int] | None = None,
    wanted: Set[int] | None = None,
) -> tuple[Program, ...]:
    """The programs of the ``stored`` segments, in the order in which they run; the root's, where it is stored, is the last.

    ``keyed`` are the function operators whose UDFs take the row's lineage keys after their arguments. ``whole`` stores all that
    segments above read (full materialization). Where the root is not stored, what is made again from the stored
    segments decides what they hold.

    ``collected`` are the segments whose groups have the rows behind them collected, of the ``wanted`` source leaves (None: all), each with
    the stored segment that stands on it, or that it is. What is stored is the same.
    """
    collected = collected or {}
    context = Context(plan=plan, materialized=frozenset(stored), sources=sources)
    traced = _needed_for_tracing(context)
    again = frozenset[int]() if 0 in stored else _needed_to_make_again(context)
    context = replace(context, collected=frozenset(collected))
    made: list[Program] = []
    groups: dict[int, list[Groups]] = {}
    above = set(again)
    for segment in plan.segments:
        if segment.number in context.materialized:
            kept = traced | again | (frozenset(above) if whole else frozenset())
            program = _program(segment, context, kept, frozenset(above), keyed, wanted)
            made.append(program)
            above |= needed(program.plan, program.plan.output)
        elif segment.number in context.collected:
            one = _groups(segment, context, frozenset(above), wanted)
            groups.setdefault(collected[segment.number], []).insert(0, one)
            above |= needed(one.plan, one.plan.output)
    return tuple(replace(one, groups=tuple(groups.get(one.segment.number, ()))) for one in reversed(made))


def rest_of_plan(plan: SegmentedPlan, stored: Set[int]) -> o.Plan:
    """What stands above the stored segments, as one plan over their outputs and the sources: the result of the run."""
    context = Context(plan=plan, materialized=frozenset(stored), sources={})
    body = prune(inline(plan.root.plan, context), plan.output)
    return unique_names(o.Project(child=body, columns=plan.output))


def whole_plan(plan: SegmentedPlan) -> o.Plan:
    """The segments in one, over all columns of the sources."""
    body = inline(plan.root.plan, Context(plan=plan, materialized=frozenset(), sources={}))
    return unique_names(o.Project(child=body, columns=plan.output))


def _needed_to_make_again(context: Context) -> frozenset[int]:
    """The attributes of stored segments that the rest of the plan reads, arguments and values of its UDFs among them."""
    rest = inline(context.plan.root.plan, context)
    judged = tuple(a for function in functions_of(rest) for a in (*function.arguments, function.value))
    return needed(rest, (*context.plan.output, *judged))


def _program(
    segment: Segment, context: Context, traced: frozenset[int], above: frozenset[int], keyed: Set[int], leaves: Set[int] | None
) -> Program:
    annotated = _body(segment, context, keyed, leaves)
    inputs = tuple(one for one in annotated.inputs if not _is_made_apart(one, context))
    identities = tuple(dict.fromkeys(a for one in inputs for a in one.attributes))
    position = annotated.position
    identities = identities if position is None else (*identities, position)
    stored_ids = {a.id for a in _stored(segment, context.plan, traced)}
    wanted = tuple(dict.fromkeys([*(a for a in segment.plan.output if a.id in stored_ids or a.id in above), *identities]))
    # Where nothing is read but the number of rows (a global aggregation that only joins), a column stands for them.
    wanted = wanted or segment.plan.output[:1]
    carried = annotated.carried
    own = () if carried is None else carried.attributes if carried.sets is None else (carried.sets,)
    columns = tuple(dict.fromkeys((*wanted, *own)))
    final = unique_names(o.Project(child=prune(annotated.plan, columns), columns=columns))
    names = {attribute.id: attribute for attribute in final.output}
    stored = tuple(names[a.id] for a in wanted if a.id in stored_ids or a in identities)
    return Program(
        segment=segment,
        plan=final,
        stored=stored,
        materialized=MaterializedSegment(
            segment=segment.number,
            name="result" if segment.number == 0 else f"segment_{segment.number}",
            columns=tuple((a.id, a.name) for a in stored),
            inputs=tuple(replace(one, attributes=tuple(names[a.id] for a in one.attributes)) for one in inputs),
            position=None if position is None else names[position.id],
        ),
        carried=None if carried is None else _named(carried, names),
    )


@dataclass(frozen=True, kw_only=True)
class _Body(Annotated):
    """A segment's plan with the identities that are stored, and what its rows carry besides."""

    carried: Carried | None = None


def _body(segment: Segment, context: Context, keyed: Set[int], leaves: Set[int] | None) -> _Body:
    if segment.aggregations and segment.number in context.collected:
        made = collecting(segment, context, leaves)
        return _Body(plan=made.plan, inputs=(), carried=made.carried)
    if segment.aggregations:
        return _Body(plan=inline(segment.plan, context), inputs=())
    annotated = annotate_segment(segment, context)
    keys = tuple(dict.fromkeys(a for one in annotated.inputs if not _is_made_apart(one, context) for a in one.attributes))
    numbered = any(_is_made_apart(one, context) for one in annotated.inputs)
    carried = Carried(inputs=carried_inputs(annotated.inputs, context)) if numbered else None
    return _Body(plan=_with_keys(annotated.plan, keys, keyed), inputs=annotated.inputs, position=annotated.position, carried=carried)


def _is_made_apart(one: InputIdentity, context: Context) -> bool:
    """Whether it is the number of a group that is kept while the run is made alone."""
    return one.kind == "segment" and one.number not in context.materialized


def _groups(segment: Segment, context: Context, above: frozenset[int], leaves: Set[int] | None) -> Groups:
    made = collecting(segment, context, leaves)
    assert made.carried.sets is not None
    read = tuple(a for a in segment.plan.output if a.id in above)
    wanted = tuple(dict.fromkeys((*read, *group_keys(segment), made.carried.sets)))
    final = unique_names(o.Project(child=prune(made.plan, wanted), columns=wanted))
    return Groups(segment=segment.number, plan=final, carried=_named(made.carried, {a.id: a for a in final.output}))


def _named(carried: Carried, names: Mapping[int, Attribute]) -> Carried:
    """Under the names that the columns have; the fields of structs are known by their places."""
    if carried.sets is not None:
        return replace(carried, sets=names[carried.sets.id])
    return replace(carried, inputs=tuple(replace(one, attributes=tuple(names[a.id] for a in one.attributes)) for one in carried.inputs))


def _with_keys(plan: o.Plan, keys: tuple[Attribute, ...], keyed: Set[int]) -> o.Plan:
    def hand_over(node: o.Plan) -> o.Plan:
        return replace(node, keys=keys) if isinstance(node, o.FunctionOperator) and node.function in keyed else node

    return transform_up(plan, hand_over)


def _stored(segment: Segment, plan: SegmentedPlan, traced: frozenset[int]) -> tuple[Attribute, ...]:
    """The columns of a segment's output that are stored: what a derivation will read, no more."""
    keep = set(traced)
    if segment.number == 0:
        keep |= {a.id for a in plan.output}
    for function in segment.functions:
        made = (*function.arguments, function.value) + ((function.reason,) if function.reason is not None else ())
        keep |= {a.id for a in made}
    if segment.aggregations:
        keep |= {key.id for key in group_keys(segment)}
    return tuple(a for a in segment.plan.output if a.id in keep)


def _needed_for_tracing(context: Context) -> frozenset[int]:
    """The attributes that the tracing queries of links read, in any segment."""
    return frozenset[int]().union(*(read_by_links(segment, context) for segment in context.plan.segments))
