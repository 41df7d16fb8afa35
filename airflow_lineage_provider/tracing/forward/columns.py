"""Which columns of each segment the forward plans read, and which of them are read from what the run stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_lineage_provider.catalyst.datatypes import is_orderable
from airflow_lineage_provider.errors import PlanCheckError, TracingError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import TRUE, AggregateCall, Alias, Attribute, Call, Literal, Part
from airflow_lineage_provider.plan.lineage_keys import MaterializedSegment
from airflow_lineage_provider.plan.numbering import NumberedOperator
from airflow_lineage_provider.plan.segments import Segment
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import made_by, operators, own_expressions
from airflow_lineage_provider.rewrite.determinism import is_deterministic, is_repeatable, is_repeatable_but_for_rounding
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.tracing.annotate import group_keys
from airflow_lineage_provider.tracing.forward.plans import Forward, ForwardPlan, ForwardSegment
from airflow_lineage_provider.tracing.prune import needed, prune
from airflow_lineage_provider.tracing.reserved import is_reserved, row_number


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is read of a segment.

    ``computed`` are the columns that its body gives, ``stored`` those that are taken from the stored rows, which are found by ``keys``,
    attributes of the body (`stored_keys`). ``joined``: whether the stored rows are needed at all. ``row``: the stored rows' number, where
    it is read. ``order`` puts rows that share their keys in the order of the stored ones. ``doubts``: operators that may have come out
    differently in the run, because they are computed again.
    """

    computed: tuple[Attribute, ...]
    stored: tuple[Attribute, ...] = ()
    keys: tuple[Attribute, ...] = ()
    joined: bool = False
    row: Attribute | None = None
    order: tuple[Attribute, ...] = ()
    doubts: tuple[NumberedOperator, ...] = ()


def readings(plan: ForwardPlan, materialized: Mapping[int, MaterializedSegment | None], numbered: int | None = None) -> dict[int, Reading]:
    """What is read of every segment. ``materialized`` has None for segments that were not stored and can be made again.

    Of segment ``numbered`` the numbers of its rows are read, whoever reads it besides.

    :raises TracingError: a value that only the run knew (a random number) decides, and the run did not store it.
    """
    wanted: dict[int, set[int]] = {number: {row_number(number).id} if number == numbered else set() for number in plan.segments}
    found: dict[int, Reading] = {}
    for number, one in sorted(plan.segments.items()):
        found[number] = _reading(plan, one, frozenset(wanted[number]), number in materialized, materialized.get(number))
        body = one.body.plan
        seeds = (*found[number].computed, *_evidence(plan, one.segment))
        ids = needed(body, seeds)
        for leaf in (node for node in operators(body) if isinstance(node, o.SegmentOutput) and not is_reserved(node.segment)):
            wanted[leaf.segment] |= {a.id for a in leaf.output if a.id in ids}
    return found


def pruned(plan: o.Plan, columns: tuple[Attribute, ...]) -> o.Plan:
    """A plan that gives these columns, with names that SQL can tell apart; a constant where nothing is read but the number of rows."""
    one = Alias(child=TRUE, attribute=FreshAttributes(plan).attribute("lineage_one", "boolean", nullable=False))
    return unique_names(o.Project(child=prune(plan, columns), columns=columns or (one,)))


def stored_keys(one: ForwardSegment, stored: MaterializedSegment) -> tuple[tuple[Attribute, str], ...]:
    """What a row of the segment's body is found by among the stored rows: its attributes, and the stored columns' names."""
    if one.segment.aggregations:
        return tuple((key, stored.column(key)) for key in group_keys(one.segment))
    known = {(identity.kind, identity.number): identity for identity in stored.inputs}
    pairs: list[tuple[Attribute, str]] = []
    for identity in one.body.inputs:
        names = known.get((identity.kind, identity.number))
        if names is None:
            raise PlanCheckError(f"segment {one.segment.number} was stored without the lineage key of {identity.kind} {identity.number}")
        pairs += zip(identity.attributes, (a.name for a in names.attributes), strict=True)
    return tuple(dict(pairs).items())


def _reading(plan: ForwardPlan, one: ForwardSegment, wanted: frozenset[int], known: bool, stored: MaterializedSegment | None) -> Reading:
    segment, body = one.segment, one.body
    row = row_number(segment.number)
    judged = {a.id for f in segment.functions for a in ((f.value,) if f.reason is None else (f.value, f.reason))}
    again = _made_again(plan, segment, wanted)
    in_store = judged | {number for number, _ in (stored.columns if stored is not None else ())}
    from_store = wanted & (judged | again.keys()) & in_store
    joined = known and (one.chosen or bool(from_store) or row.id in wanted)
    if not joined and (one.chosen or from_store or row.id in wanted):
        raise PlanCheckError(f"segment {segment.number} is read as the run stored it, and the run did not store it")
    _refuse_unknown(segment, wanted - from_store)
    keys = _key_attributes(one) if joined else ()
    output = {a.id: a for a in (*body.plan.output, *segment.plan.output)}
    own = tuple(a for a in body.plan.output if a.id in wanted and a.id not in from_store)
    tags = () if body.tags is None else (body.tags,)
    order = _order(one) if joined and body.generated else ()
    return Reading(
        computed=tuple(dict.fromkeys((*own, *tags, *keys, *order))),
        order=order,
        stored=tuple(a for number, a in output.items() if number in from_store and a not in keys),
        keys=keys,
        joined=joined,
        row=row if joined and row.id in wanted else None,
        doubts=_doubts(plan, segment, body, [at for number, at in again.items() if number not in from_store]),
    )


def _key_attributes(one: ForwardSegment) -> tuple[Attribute, ...]:
    return group_keys(one.segment) if one.segment.aggregations else one.body.identity_attributes


def _evidence(plan: ForwardPlan, segment: Segment) -> tuple[Attribute, ...]:
    """Columns that no row's fate depends on, but what is said about it: sort keys, and the rows of a difference's right side."""
    found: list[Attribute] = []
    for at in plan.plan.numbering.operators(segment.number):
        node = at.node
        if isinstance(node, o.Sort):
            found.extend(a for key in node.order for a in references(key))
        if isinstance(node, o.Join) and node.kind == "left_anti":
            keys = (a for one in child_of(plan, at, 1).inputs if one.kind == "source" for a in one.attributes)
            found.extend((*node.right.output, *keys))
    return tuple(found)


def _order(one: ForwardSegment) -> tuple[Attribute, ...]:
    """The arguments of UDFs, which are stored and computed: generated rows of one row differ in them, or not at all to the UDF."""
    given = {a.id for a in one.body.plan.output}
    found = (a for function in one.segment.functions for a in function.arguments if a.id in given)
    return tuple(dict.fromkeys(a for a in found if is_orderable(a.type)))


def _made_again(plan: ForwardPlan, segment: Segment, wanted: frozenset[int]) -> dict[int, NumberedOperator]:
    """The wanted attributes that another evaluation need not give again, and the operator that is to blame."""
    found: dict[int, NumberedOperator] = {}
    for at in plan.plan.numbering.operators(segment.number):
        if isinstance(at.node, o.Aggregate | o.Window | o.Project) and not is_repeatable(at.node):
            made = {a.id for a in made_by(at.node)}
            found |= {a.id: at for a in segment.plan.output if a.id in wanted and made & needed(segment.plan, (a,))}
    return found


def _doubts(plan: ForwardPlan, segment: Segment, body: Forward, again: Sequence[NumberedOperator]) -> tuple[NumberedOperator, ...]:
    """A window decides by its order, too, which rows a row descends from."""
    of_frames = isinstance(segment.plan, o.Window) and not segment.plan.limits and segment.pinned and body.tags is not None
    found = (*again, *((plan.plan.numbering.top(segment.number),) if of_frames else ()))
    return tuple({at.number: at for at in found}.values())


def doubt_text(node: o.Plan) -> str:
    """What may be different in the run."""
    why = "the last digits of floating-point sums" if is_repeatable_but_for_rounding(node) else "which of equal rows comes first"
    return f"{operator_text(node)} was computed again, and {why} may differ from the run's"


def ties(plan: ForwardPlan, at: NumberedOperator) -> o.Plan | None:
    """A row where a window's order leaves open which of several rows comes first, and no row where there is no such place; None for
    an operator that is no window."""
    if not isinstance(at.node, o.Window):
        return None
    child = child_of(plan, at, 0)
    keys = tuple(dict.fromkeys(a for own in (*at.node.partition, *at.node.order) for a in references(own)))
    fresh = FreshAttributes(child.plan)
    rows = fresh.attribute("lineage_rows", "bigint", nullable=False)
    one = AggregateCall(function="count", arguments=(Literal(value="1", type="int"),), type="bigint")
    counted = o.Aggregate(child=prune(child.plan, keys), keys=keys, columns=(*keys, Alias(child=one, attribute=rows)))
    several = Call(function=">", arguments=(rows, Literal(value="1", type="bigint")), type="boolean")
    found = o.Project(child=o.Filter(child=counted, condition=several), columns=(rows,))
    return unique_names(o.Limit(child=found, count=1))


def _refuse_unknown(segment: Segment, wanted: frozenset[int]) -> None:
    for node in operators(segment.plan):
        unknown = [own for own in own_expressions(node) if not is_deterministic(own)]
        chosen = isinstance(node, o.Filter) and node is segment.plan
        if not unknown or chosen or isinstance(node, o.FunctionOperator):
            continue
        if isinstance(node, o.Project | o.Aggregate | o.Window) and not wanted & {a.id for a in _made(unknown)}:
            continue
        raise TracingError(
            f"what became of a row cannot be found out: {operator_text(node)} in segment {segment.number} decided by a value that "
            "only the run knew, and the run did not store it. Run the pipeline with strategy full_materialization"
        )


def _made(columns: Sequence[Part]) -> list[Attribute]:
    return [column.attribute for column in columns if isinstance(column, Alias)]


def counted(plan: ForwardPlan, at: NumberedOperator) -> Forward | None:
    """The operator's forward plan, where its rows have to be counted: None where it has as many descendants as its input."""
    passing = (o.Project, o.Sort, o.Repartition, o.FunctionOperator, o.Union)
    return None if isinstance(at.node, passing) else plan.became(at)


def child_of(plan: ForwardPlan, at: NumberedOperator, side: int) -> Forward:
    """What an operator's input became."""
    return plan.became(plan.plan.numbering.inputs(at)[side])
