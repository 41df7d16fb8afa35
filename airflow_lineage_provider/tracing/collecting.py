"""Lineage that is captured while a run is made (*inject*: Smoke, Sec. 3.2): rows are collected with the values of their groups.

The body below an aggregation is annotated as for its tracing query (`tracing.row_sets`), and one more function collects what each of a
group's rows is known by. What the tracing query would find by the groups' keys stands beside them then, and the body is not run again.
The groups are made apart from what stands above them, numbered and kept while the run is made: rows above carry the group's number,
never its rows, so that a join makes no copies of them.

>>> lines = join(table("part", "id, brand"), table("lineitem", "part, price"), "id = part")
>>> plan = group(lines, by="brand", give="brand, sum(price) AS total")
>>> from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
>>> from airflow_lineage_provider.rewrite.segment import segment
>>> key = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="lineage_key", type="int"),))
>>> segments = segment(plan, plan.output, ("brand", "total"))
>>> context = Context(plan=segments, materialized=frozenset({0}), sources={0: key, 1: key})
>>> made = collecting(segments.root, context)
>>> show(made.plan)
α brand; sum(price) AS total, collect_list(named_struct('f0', lineage_0_key, 'f1', lineage_1_key)) AS lineage_sets
  ⋈ (id = part)
    part [id, brand, lineage_0_key]
    lineitem [part, price, lineage_1_key]
>>> [(one.kind, one.number) for one in made.carried.inputs], made.carried.columns
([('source', 0), ('source', 1)], ('lineage_sets',))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Attribute, Call, Expression, Literal
from airflow_lineage_provider.plan.lineage_keys import InputIdentity
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.determinism import is_repeatable
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.annotate import Context, annotate, annotate_segment


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What rows that a run keeps say of the rows behind them: the identities of ``inputs``, each in a column of its own; or, of a group,
    ``sets``, a list of structs of them, in lists of lists where aggregations are stacked (``depth``).

    ``left_out`` are the source leaves that nobody wants to be captured.
    """

    inputs: tuple[InputIdentity, ...]
    sets: Attribute | None = None
    depth: int = 0
    left_out: tuple[int, ...] = ()

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Those of all identities, each once: the columns, or the fields of the structs."""
        return tuple(dict.fromkeys(attribute for one in self.inputs for attribute in one.attributes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that they stand in."""
        return tuple(a.name for a in self.attributes) if self.sets is None else (self.sets.name,)


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """An aggregated segment that also gives the rows behind its groups."""

    plan: o.Plan
    carried: Carried


@dataclass(frozen=True, kw_only=True)
class Sets:
    """Sets of rows that stand behind rows of a ``stored`` segment, and whether they can be collected: ``problem`` says why not.

    ``thinned``: some groups may be dropped above, and what was collected of them with them. ``through``: the groups, by segment, whose rows
    have the numbers of these; None among them: the stored segment's own have.
    """

    stored: int
    problem: str = ""
    thinned: bool = False
    through: frozenset[int | None] = frozenset({None})


_LOOKED_FOR = {
    "window": "rows of its frames are looked for by their positions",
    "semi_join": "rows that let others pass are looked for by the condition",
    "existence": "rows that let others pass are looked for by the condition",
    "python": "what a Python function has read is looked for by its groups",
}


def sets_behind(context: Context, wanted: Set[int] | None = None) -> Mapping[int, Sets]:
    """By segment the sets of rows that rows of stored segments go back to. ``wanted`` are the source leaves to capture; None: all.

    The right sides of differences are controls, and no sets: nobody looks for their rows unasked.
    """
    found: dict[int, Sets] = {}
    behind = partial(_behind, context=context, wanted=wanted, found=found, ordered=_ordered_above(context.plan))
    for number in sorted(context.materialized & context.plan.traceable):
        segment = context.plan.segments[number]
        if segment.aggregations:
            behind(number, Sets(stored=number))
        else:
            own = Sets(stored=number, thinned=_drops(segment.plan))
            for one in _links(annotate_segment(segment, context).inputs, context):
                behind(one, own)
    return found


def _links(inputs: Iterable[InputIdentity], context: Context) -> Iterator[int]:
    return (one.number for one in inputs if one.kind == "link" and context.plan.segments[one.number].kind != "d")


def _behind(
    number: int, above: Sets, context: Context, wanted: Set[int] | None, found: dict[int, Sets], ordered: Mapping[int, str]
) -> None:
    if number in found and found[number].problem:
        return
    behind = partial(_behind, context=context, wanted=wanted, found=found, ordered=ordered)
    segment = context.plan.segments[number]
    if not segment.aggregations:
        problem = above.problem or _LOOKED_FOR[segment.kind]
        found[number] = replace(above, problem=problem)
        # What is found by way of such rows has no number that came with the result's rows.
        below = replace(above, problem=f"its rows are found by way of segment {number}: {problem}")
        for body in _looked_through(segment.plan):
            for one in _links(annotate(body, context).inputs, context):
                behind(one, below)
        return
    body = segment.aggregations[-1].child
    inputs = annotate(body, context).inputs
    problem = above.problem or _problem(segment) or ordered.get(number, "") or _unwanted(inputs, wanted)
    known = found[number].through if number in found else frozenset[int | None]()
    found[number] = replace(above, problem=problem, through=above.through | known)
    for one in _links(inputs, context):
        behind(one, replace(above, thinned=above.thinned or _drops(body), through=frozenset({number})))


def _ordered_above(plan: SegmentedPlan) -> Mapping[int, str]:
    """Segments whose rows are read, at whatever distance, by an operator that hangs on their order, if it only rounds by it, chooses some
    of them, or numbers them: each with why it is not collected, which would change that order."""
    found: dict[int, str] = {}
    waiting = [segment.number for segment in plan.segments if not all(map(is_repeatable, operators(segment.plan)))]
    while waiting:
        reader = waiting.pop()
        for node in operators(plan.segments[reader].plan):
            if isinstance(node, o.SegmentOutput) and node.segment not in found:
                found[node.segment] = f"segment {reader}, which reads them, hangs on the order of its rows: collecting could change that"
                waiting.append(node.segment)
    return found


def _looked_through(plan: o.Plan) -> tuple[o.Plan, ...]:
    """What the tracing query of a set that is no group reads."""
    match plan:
        case o.Window():
            return (plan.child,)
        case o.Join():
            return (plan.right,)
        case o.PythonMap():
            return plan.children
    return ()


def _problem(segment: Segment) -> str:
    """Why a segment's groups cannot be collected without a change of what the run gives; empty where they can."""
    if not all(map(is_repeatable, segment.aggregations)):
        return "its functions hang on the order of a group's rows, or round by it, and collecting rows could change that order"
    if any(not one.keys and not one.columns for one in segment.aggregations):
        return "it has neither keys nor functions: with a function it would have a row where it has none"
    if any("collate" in a.type.lower() for one in segment.aggregations for a in one.output):
        return "of texts that are equal by a collation, one stands for a group: collecting rows could make it another"
    return ""


def _unwanted(inputs: Iterable[InputIdentity], wanted: Set[int] | None) -> str:
    leads = any(one.kind != "domain" and (one.kind != "source" or wanted is None or one.number in wanted) for one in inputs)
    return "" if leads else "no table that is captured stands behind it"


def _drops(plan: o.Plan) -> bool:
    """Whether rows of a leaf may be in no row of the plan."""
    return any(isinstance(node, o.Filter | o.Limit | o.Join | o.Generate) for node in operators(plan))


def collecting(segment: Segment, context: Context, wanted: Set[int] | None = None) -> Collecting:
    """The segment's plan, with a list of what the rows of each group are known by; of sources only the ``wanted`` leaves (None: all).

    The segment is one of those that `sets_behind` has no problem with.
    """
    fresh = context.fresh()
    body = annotate(segment.aggregations[-1].child, context, fresh)
    inputs = carried_inputs(body.inputs, context)
    kept = tuple(one for one in inputs if one.kind != "source" or wanted is None or one.number in wanted)
    left_out = tuple(dict.fromkeys(one.number for one in inputs if one not in kept))
    plan, sets = _collected(segment.plan, body.plan, _struct(kept), fresh)
    carried = Carried(inputs=kept, sets=sets, depth=len(segment.aggregations), left_out=left_out)
    return Collecting(plan=plan, carried=carried)


def carried_inputs(inputs: Iterable[InputIdentity], context: Context) -> tuple[InputIdentity, ...]:
    """The identities that lead on: of groups that are collected their numbers, in place of their keys."""
    return tuple(one for one in inputs if one.kind != "domain" and not (one.kind == "link" and one.number in context.collected))


def _struct(inputs: Iterable[InputIdentity]) -> Call:
    attributes = Carried(inputs=tuple(inputs)).attributes
    arguments: list[Expression] = []
    for at, attribute in enumerate(attributes):
        arguments += [Literal(value=f"f{at}", type="string"), attribute]
    fields = ",".join(f"f{at}:{attribute.type}" for at, attribute in enumerate(attributes))
    return Call(function="named_struct", arguments=tuple(arguments), type=f"struct<{fields}>")


def _collected(node: o.Plan, body: o.Plan, struct: Call, fresh: FreshAttributes) -> tuple[o.Plan, Attribute]:
    """Function operators over stacked aggregations over the annotated ``body``, each aggregation with the lists of the one below it."""
    if isinstance(node, o.FunctionOperator):
        child, sets = _collected(node.child, body, struct, fresh)
        return replace(node, child=child), sets
    if not isinstance(node, o.Aggregate):
        raise TypeError(f"{type(node).__name__} stands above an aggregation in its segment, which no pattern has")
    gathered: Expression = struct
    child = body
    if isinstance(node.child, o.Aggregate) and not node.child.domain:
        child, gathered = _collected(node.child, body, struct, fresh)
    sets = fresh.attribute("lineage_sets", f"array<{gathered.type}>", nullable=False)
    call = AggregateCall(function="collect_list", arguments=(gathered,), type=sets.type)
    return replace(node, child=child, columns=(*node.columns, Alias(child=call, attribute=sets))), sets
