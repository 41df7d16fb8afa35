"""Lineage forwards: plans that carry, through every operator, which of the asked source rows a row descends from.

A row descends from a source row when the source row is in its source lineage. So the rules are those of `tracing.annotate` and
`tracing.row_sets`, read the other way round (what is carried for the rows, and how it is combined, is an algebra's: `forward.algebra`):

=====================  ========================================================================================================
selection, projection,
sort, limit, generator  the rows that are left, or made, descend from what their input row does
join                   from what both partners do; an unmatched row of an outer join has no partner
union                  as in its branch
aggregation, distinct  a row in a group lives on as the group; a domain has no part in it
semi-join, existence   the left row, and every right row for which the condition is true with it; on request none, or all
difference             the left row; the right side has no descendants: it only says what to take away. On request, and of an existence
                       join whose flag is false: all rows of the right side
window                 the row itself, and the rows of its frames
function operator      as its input row
=====================  ========================================================================================================

A segment whose rows the run chose in a way that nobody could repeat (a limit), and the values of UDFs, are read from what the run
stored: rows are found there by the lineage keys that `Forward.inputs` carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from airflow_lineage_provider.errors import PlanCheckError, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expressions import (
    TRUE,
    WHOLE_PARTITION,
    AggregateCall,
    Alias,
    Attribute,
    Call,
    Cast,
    Expression,
    Literal,
    Named,
    disjunction,
)
from airflow_lineage_provider.plan.lineage_keys import InputIdentity, SourceIdentity
from airflow_lineage_provider.plan.numbering import NumberedOperator, OperatorNumber
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.annotate import domain_identity, group_keys
from airflow_lineage_provider.tracing.forward.algebra import Algebra
from airflow_lineage_provider.tracing.frames import frames
from airflow_lineage_provider.tracing.reserved import row_number
from airflow_lineage_provider.words import Difference, Subqueries


@dataclass(frozen=True, kw_only=True)
class Forward:
    """A plan whose rows hold, besides their own attributes, what they carry and the identities of their inputs.

    ``tags`` is the column of what they carry (None: nothing, whichever row it is).

    ``unique``: no two rows have the same identities. ``generated``: a generator below gives a row several times under one identity.
    """

    plan: o.Plan
    tags: Attribute | None
    inputs: tuple[InputIdentity, ...]
    unique: bool = True
    generated: bool = False

    @property
    def identity_attributes(self) -> tuple[Attribute, ...]:
        return tuple(dict.fromkeys(attribute for one in self.inputs for attribute in one.attributes))


@dataclass(frozen=True, kw_only=True)
class ForwardSegment:
    """A segment: ``body`` is what is computed, ``leaf`` its output as the segments above read it.

    ``chosen``: the top operator, which is not in the body, chose its rows in a way that cannot be repeated: the stored rows are those.
    """

    segment: Segment
    body: Forward
    leaf: Forward
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class ForwardPlan:
    """All segments, by number; ``made`` is what an operator of the recorded plan became, by the operator's number."""

    plan: SegmentedPlan
    segments: Mapping[int, ForwardSegment]
    made: Mapping[OperatorNumber, Forward] = field(repr=False)

    def became(self, at: NumberedOperator) -> Forward:
        """What an operator became.

        :raises PlanCheckError: it is an operator of another plan, or none that was followed.
        """
        self.plan.numbering.check(at)
        if isinstance(at.node, o.SegmentOutput):
            return self.segments[at.node.segment].leaf
        if at.number not in self.made:
            raise PlanCheckError(f"operator {at.number} ({operator_text(at.node)}) of segment {at.segment} was not followed")
        return self.made[at.number]


def forward(
    plan: SegmentedPlan,
    sources: Mapping[int, SourceIdentity],
    stored: AbstractSet[int],
    algebra: Algebra,
    subqueries: Subqueries = "partners",
    difference: Difference = "data",
) -> ForwardPlan:
    """The plan's segments with what the algebra carries. ``stored`` are the segments whose rows are (or can be made) known by number.

    :raises UnsupportedOperator: what an operator makes of a row cannot be followed.
    """
    rewriter = _Rewriter(plan, sources, stored, algebra, subqueries, difference)
    for segment in reversed(plan.segments):
        rewriter.segments[segment.number] = rewriter.segment(segment)
    return ForwardPlan(plan=plan, segments=rewriter.segments, made=rewriter.made)


@dataclass(frozen=True, kw_only=True)
class Place:
    """An operator on the way from a source leaf to the result; ``side`` is the child that the way comes from."""

    at: NumberedOperator
    side: int = 0

    @property
    def segment(self) -> int:
        return self.at.segment

    @property
    def node(self) -> o.Plan:
        return self.at.node


def way(plan: SegmentedPlan, leaf: int) -> tuple[Place, ...]:
    """The operators from a source leaf to the root."""
    return tuple(_way(plan, plan.numbering.top(0), leaf))


def _way(plan: SegmentedPlan, at: NumberedOperator, leaf: int) -> Iterator[Place]:
    if isinstance(at.node, o.SegmentOutput):
        if at.node.segment in plan.traceable:
            yield from _way(plan, plan.numbering.top(at.node.segment), leaf)
    elif isinstance(at.node, o.Source):
        if at.node.leaf == leaf:
            yield Place(at=at)
    else:
        for side, below in enumerate(plan.numbering.inputs(at)):
            found = tuple(_way(plan, below, leaf))
            if found:
                yield from found
                yield Place(at=at, side=side)


class _Rewriter:
    def __init__(
        self,
        plan: SegmentedPlan,
        sources: Mapping[int, SourceIdentity],
        stored: AbstractSet[int],
        algebra: Algebra,
        subqueries: Subqueries,
        difference: Difference,
    ) -> None:
        self.subqueries = subqueries
        self.goes_into_sides = difference == "rows"
        self.sources = sources
        self.stored = stored
        self.algebra = algebra
        self.fresh = FreshAttributes(*(segment.plan for segment in plan.segments))
        self.numbering = plan.numbering
        self.traceable = plan.traceable
        self.segments: dict[int, ForwardSegment] = {}
        self.made: dict[OperatorNumber, Forward] = {}
        self.following = True
        """Whether rows of the segment at hand can have descendants in the result."""

    # --- segments ------------------------------------------------------------------------------------------------------

    def segment(self, segment: Segment) -> ForwardSegment:
        self.following = segment.number in self.traceable
        at = self.numbering.top(segment.number)
        top = at.node
        chosen = isinstance(top, o.Limit) or (isinstance(top, o.Filter) and not is_deterministic(top.condition))
        body = self.node(self.numbering.inputs(at)[0] if chosen else at)
        if segment.number not in self.stored and segment.aggregations:
            body = self._grouped(segment, body)
        inputs = self._identity(segment, body)
        tags = () if body.tags is None else (body.tags,)
        keys = tuple(a for one in inputs for a in one.attributes)
        output = tuple(dict.fromkeys((*segment.plan.output, *tags, *keys)))
        unique = segment.number in self.stored or bool(segment.aggregations) or body.unique
        generated = body.generated and not unique
        plan = o.SegmentOutput(segment=segment.number, output=output)
        leaf = Forward(plan=plan, tags=body.tags, inputs=inputs, unique=unique, generated=generated)
        if chosen:
            self.made[at.number] = leaf
        return ForwardSegment(segment=segment, body=body, leaf=leaf, chosen=chosen)

    def _grouped(self, segment: Segment, body: Forward) -> Forward:
        """Groups that are not stored are known by their keys, as `annotate` has it: a link."""
        present = self.fresh.attribute(f"lineage_segment_{segment.number}_present", "boolean", nullable=False)
        plan = o.Project(child=body.plan, columns=(*body.plan.output, Alias(child=TRUE, attribute=present)))
        link = InputIdentity(kind="link", number=segment.number, attributes=(present, *group_keys(segment)))
        return replace(body, plan=plan, inputs=(link,), unique=True, generated=False)

    def _identity(self, segment: Segment, body: Forward) -> tuple[InputIdentity, ...]:
        if segment.number in self.stored:
            return (InputIdentity(kind="segment", number=segment.number, attributes=(row_number(segment.number),)),)
        return body.inputs

    # --- operators -----------------------------------------------------------------------------------------------------

    def node(self, at: NumberedOperator) -> Forward:
        """The operator over what its inputs became."""
        node = at.node
        if isinstance(node, o.SegmentOutput):
            return self.segments[node.segment].leaf
        made = self._source(node) if isinstance(node, o.Source) else self._operator(node, self.numbering.inputs(at))
        self.made[at.number] = made
        return made

    def _operator(self, node: o.Plan, below: tuple[NumberedOperator, ...]) -> Forward:
        inner = [self.node(one) for one in below]
        match node:
            case o.Project():
                return self._project(node, inner[0])
            case o.Filter():
                return replace(inner[0], plan=o.Filter(child=inner[0].plan, condition=node.condition))
            case o.Generate(call=None):
                return replace(inner[0], plan=replace(node, child=inner[0].plan), unique=False, generated=True)
            case o.Sort() | o.Repartition() | o.FunctionOperator():
                # An order is nobody's ancestor. Values of UDFs are read from the store.
                return inner[0]
            case o.Join():
                return self._join(node, inner[0], inner[1])
            case o.Aggregate(domain=True):
                return Forward(plan=replace(node, child=inner[0].plan), tags=None, inputs=(domain_identity(node),))
            case o.Aggregate():
                return self._aggregate(node, inner[0])
            case o.Distinct():
                return self._aggregate(o.Aggregate(child=node.child, keys=node.output, columns=node.output), inner[0])
            case o.Union():
                return self._union(node, inner)
            case o.Window(limits=True):
                return replace(inner[0], plan=replace(node, child=inner[0].plan))
            case o.Window():
                return self._window(node, inner[0])
            case o.PythonMap() | o.Generate() | o.Limit():
                # A limit at the top of its segment is read from the store; there is none elsewhere.
                why = "only its code knows which rows it makes of which"
                raise UnsupportedOperator(f"what became of a row cannot be followed through {operator_text(node)}: {why}")
            case o.Source() | o.SegmentOutput():
                raise TypeError(f"{type(node).__name__} has no inputs to follow rows from")
        raise no_rule(node, "following rows forwards")

    def _source(self, node: o.Source) -> Forward:
        identity = self.sources[node.leaf]
        keys = tuple(self.fresh.attribute(f"lineage_{node.leaf}_{key.name.removeprefix('lineage_')}", key.type) for key in identity.columns)
        source = replace(node, output=node.output + keys, columns=node.columns + tuple(key.name for key in identity.columns))
        inputs = (InputIdentity(kind="source", number=node.leaf, attributes=keys),)
        plan, tags = (self.algebra.of_source(source, keys, self.fresh) if self.following else None) or (source, None)
        # A key that the user names is believed as far as it goes; identical rows share a digest.
        return Forward(plan=plan, tags=tags, inputs=inputs, unique=identity.kind in ("file_position", "snapshot"))

    def _project(self, node: o.Project, child: Forward) -> Forward:
        kept = {attribute.id for attribute in node.output}
        passed = tuple(a for a in self._carried(child) if a.id not in kept)
        return replace(child, plan=o.Project(child=child.plan, columns=(*node.columns, *passed)))

    def _carried(self, one: Forward) -> tuple[Attribute, ...]:
        return (() if one.tags is None else (one.tags,)) + one.identity_attributes

    def _with_tags(self, one: Forward, output: tuple[Attribute, ...], tags: Expression) -> Forward:
        """Other tags than before, in a projection."""
        made = self.algebra.column(self.fresh)
        keys = tuple(a for a in one.identity_attributes if a not in output)
        return replace(one, plan=o.Project(child=one.plan, columns=(*output, *keys, Alias(child=tags, attribute=made))), tags=made)

    def _join(self, node: o.Join, left: Forward, right: Forward) -> Forward:
        joined = replace(node, left=left.plan, right=right.plan)
        if node.is_difference:
            made = replace(left, plan=joined)
            return self._with_partners(node, made, right, None) if self.goes_into_sides else made
        if node.kind in ("left_semi", "existence"):
            return self._semi_join(node, left, right)
        made = Forward(
            plan=joined,
            tags=left.tags or right.tags,
            inputs=left.inputs + right.inputs,
            unique=left.unique and right.unique,
            generated=left.generated or right.generated,
        )
        if left.tags is None or right.tags is None:
            return made
        return self._with_tags(made, node.output, self.algebra.both(left.tags, right.tags))

    def _semi_join(self, node: o.Join, left: Forward, right: Forward) -> Forward:
        made = replace(left, plan=replace(node, left=left.plan, right=right.plan))
        if node.exists is None or not self.goes_into_sides:
            if self.subqueries == "data":
                return made
            # Of all rows of a subquery a row descends that it let pass, or whose flag it set.
            return self._with_partners(node, made, right, node.condition if self.subqueries == "partners" else node.exists)
        # And of all a row whose flag is false.
        absent = Call(function="not", arguments=(node.exists,), type="boolean")
        if self.subqueries == "rows" or (self.subqueries == "partners" and node.condition is None):
            return self._with_partners(node, made, right, None)
        partner = () if self.subqueries == "data" or node.condition is None else (node.condition,)
        return self._with_partners(node, made, right, disjunction((absent, *partner)))

    def _with_partners(self, node: o.Join, made: Forward, right: Forward, condition: Expression | None) -> Forward:
        """Rows of a left side that descend, too, from the right rows that make a condition true."""
        if right.tags is None:
            return made
        found = self.algebra.of_partners(right.plan, right.tags, condition, self.fresh)
        made = replace(made, plan=o.Join(left=made.plan, right=found.plan, kind="cross"))
        return self._with_tags(made, node.output, found.value if made.tags is None else self.algebra.both(made.tags, found.value))

    def _aggregate(self, node: o.Aggregate, child: Forward) -> Forward:
        made = Forward(plan=replace(node, child=child.plan), tags=None, inputs=())
        if child.tags is None:
            return made
        collected = self.algebra.collected(child.tags, None, self.fresh)
        columns: tuple[Named, ...] = (*node.columns, collected)
        tags = self.algebra.united((collected.attribute,))
        if node.keys or any(isinstance(c, Alias) and isinstance(c.child, AggregateCall) for c in node.columns):
            return self._with_tags(replace(made, plan=replace(node, child=child.plan, columns=columns)), node.output, tags)
        # Without keys and functions there is no row where there is none below; with the tags collected there would be.
        rows = self.fresh.attribute("lineage_rows", "bigint", nullable=False)
        one = AggregateCall(function="count", arguments=(Literal(value="1", type="int"),), type="bigint")
        counted = replace(node, child=child.plan, columns=(*columns, Alias(child=one, attribute=rows)))
        some = Call(function=">", arguments=(rows, Literal(value="0", type="bigint")), type="boolean")
        return self._with_tags(replace(made, plan=o.Filter(child=counted, condition=some)), node.output, tags)

    def _window(self, node: o.Window, child: Forward) -> Forward:
        """Each row's tags, and those of the rows of its frames: collected by the window itself."""
        if child.tags is None:
            return replace(child, plan=replace(node, child=child.plan))
        collected = tuple(self.algebra.collected(child.tags, frame, self.fresh) for frame in frames(node) or (WHOLE_PARTITION,))
        plan = replace(node, child=child.plan, functions=(*node.functions, *collected))
        tags = self.algebra.both(child.tags, self.algebra.united(tuple(one.attribute for one in collected)))
        return self._with_tags(replace(child, plan=plan), node.output, tags)

    def _union(self, node: o.Union, inner: list[Forward]) -> Forward:
        """Each branch gives its own tags and identities, and NULL for those of the others."""
        tags = self.algebra.column(self.fresh) if any(one.tags is not None for one in inner) else None
        inputs = tuple(replace(one, attributes=tuple(map(self.fresh.like, one.attributes))) for child in inner for one in child.inputs)
        branches = []
        for child, original in zip(inner, node.children, strict=True):
            columns: list[Named] = list(original.output)
            if tags is not None:
                columns.append(Alias(child=_null(self.algebra.type) if child.tags is None else child.tags, attribute=self.fresh.like(tags)))
            for other in inner:
                for a in (a for one in other.inputs for a in one.attributes):
                    columns.append(Alias(child=a if other is child else _null(a.type), attribute=self.fresh.like(a)))
            branches.append(o.Project(child=child.plan, columns=tuple(columns)))
        extra = (() if tags is None else (tags,)) + tuple(a for one in inputs for a in one.attributes)
        return Forward(
            plan=o.Union(children=tuple(branches), output=node.output + extra),
            tags=tags,
            inputs=inputs,
            unique=all(one.unique for one in inner),
            generated=any(one.generated for one in inner),
        )


def _null(type_text: str) -> Expression:
    return Cast(child=Literal(value=None, type="void"), type=type_text)
