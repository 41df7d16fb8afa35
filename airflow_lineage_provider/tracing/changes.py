"""What a plan's rows become when rows of a source are others: those that are gone, and those that are there instead.

The plan is a run's, whose subqueries are joins (`rewrite.pipeline`), with all its segments in place (`annotate.inline`).

Incremental maintenance of the whole plan, operator by operator: of rows that go back to one row each, only these are computed; of a group
or a partition of a window that has such a row, the whole; of what cannot be told so (a limit, both sides of a join) all rows. As bags,

    new rows = old rows − gone + instead

always holds, and a row may be among both. Three leaves stand for each source that changes: `reserved.revised_table`.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expressions import Attribute, Call, conjunction
from airflow_lineage_provider.plan.walk import children, operators, transform_up, with_children
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.tracing.reserved import Part, revised_table


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Rows of a plan that are gone, and rows that are there instead: two plans with the attributes of the plan."""

    gone: o.Plan
    instead: o.Plan


def changes(plan: o.Plan, leaves: AbstractSet[int]) -> Changes | None:
    """What becomes of the rows of a plan when those of these leaves are others; None where it reads none of them."""
    return _Differences(leaves, FreshAttributes(plan)).of(plan)


@dataclass
class _Differences:
    leaves: AbstractSet[int]
    fresh: FreshAttributes

    def of(self, node: o.Plan) -> Changes | None:
        if not self._reads_changed(node):
            return None
        match node:
            case o.Source():
                return Changes(gone=_leaf(node, "gone"), instead=_leaf(node, "instead"))
            case o.Project() | o.Filter() | o.FunctionOperator() | o.Generate():
                return self._through(node, 0)
            case o.Sort() | o.Repartition():
                return self.of(node.child)
            case o.Union():
                return self._union(node)
            case o.Join():
                side = self._side(node)
                return self._whole(node) if side is None else self._through(node, side)
            case o.Aggregate() | o.Distinct() | o.Window():
                return self._of_groups(node)
            case o.Limit() | o.PythonMap() | o.SegmentOutput():
                return self._whole(node)
        raise no_rule(node, "what becomes of rows whose source changes")

    def _reads_changed(self, node: o.Plan) -> bool:
        return any(isinstance(one, o.Source) and one.leaf in self.leaves for one in operators(node))

    def _whole(self, node: o.Plan) -> Changes:
        return Changes(gone=node, instead=self._new(node))

    def _new(self, node: o.Plan) -> o.Plan:
        """The same over the sources as they are then."""
        return transform_up(node, lambda one: _leaf(one, "revised") if isinstance(one, o.Source) and one.leaf in self.leaves else one)

    def _through(self, node: o.Plan, side: int) -> Changes:
        """Each row of one input by itself: the operator over the rows that change."""
        made = self.of(children(node)[side])
        assert made is not None

        def over(child: o.Plan) -> o.Plan:
            return with_children(node, tuple(child if at == side else one for at, one in enumerate(children(node))))

        return Changes(gone=over(made.gone), instead=over(made.instead))

    def _side(self, node: o.Join) -> int | None:
        """The only side that changes, where each of its rows is joined by itself."""
        left, right = (self._reads_changed(one) for one in (node.left, node.right))
        if left and right:
            return None
        if left:
            return 0 if node.kind not in ("right", "full") else None
        return 1 if node.kind in ("inner", "cross", "right") else None

    def _union(self, node: o.Union) -> Changes:
        made = [one for child in node.children if (one := self.of(child)) is not None]
        gone, instead = (tuple(getattr(one, side) for one in made) for side in ("gone", "instead"))
        return Changes(gone=o.Union(children=gone, output=node.output), instead=o.Union(children=instead, output=node.output))

    def _of_groups(self, node: o.Aggregate | o.Distinct | o.Window) -> Changes:
        """The groups, or partitions, that have a row that changes."""
        keys = _keys(node)
        made = self.of(node.child)
        assert made is not None
        if not keys:
            return self._whole(node)
        copies = tuple(map(self.fresh.like, keys))
        sides = tuple(o.Project(child=one, columns=keys) for one in (made.gone, made.instead))
        changed = o.Aggregate(child=o.Union(children=sides, output=copies), keys=copies, columns=copies)
        old = replace(node, child=_where_in(node.child, keys, changed))
        return Changes(gone=old, instead=replace(node, child=_where_in(self._new(node.child), keys, changed)))


def _keys(node: o.Aggregate | o.Distinct | o.Window) -> tuple[Attribute, ...]:
    """What tells its groups apart, where each is an attribute; nothing where it does not, or where there is one group."""
    found = node.child.output if isinstance(node, o.Distinct) else node.partition if isinstance(node, o.Window) else node.keys
    attributes = tuple(dict.fromkeys(one for one in found if isinstance(one, Attribute)))
    return attributes if len(attributes) == len(set(found)) else ()


def _where_in(child: o.Plan, keys: tuple[Attribute, ...], groups: o.Plan) -> o.Plan:
    """The rows of these groups: chosen as far down as the keys are known, so that no model is called for others."""
    known = {key.id for key in keys}
    if isinstance(child, o.Project | o.Filter | o.FunctionOperator | o.Sort | o.Repartition) and known <= _ids(child.child):
        return with_children(child, (_where_in(child.child, keys, groups),))
    if isinstance(child, o.Join) and child.kind not in ("right", "full") and known <= _ids(child.left):
        return replace(child, left=_where_in(child.left, keys, groups))
    terms = tuple(Call(function="<=>", arguments=pair, type="boolean") for pair in zip(keys, groups.output, strict=True))
    return o.Join(left=child, right=groups, kind="left_semi", condition=conjunction(terms))


def _ids(plan: o.Plan) -> frozenset[int]:
    return frozenset(a.id for a in plan.output)


def _leaf(node: o.Source, part: Part) -> o.SegmentOutput:
    return o.SegmentOutput(segment=revised_table(node.leaf, part), output=node.output)
