"""A restriction to the rows that are asked about goes as deep into a plan as is sound.

Semi-join push-down (section 6.1 of the augmented-lineage paper), with the target's values as conditions: ``σ judge = 'Reject'`` or
``client IN (7, 9)``. Rows that do not meet the condition cannot have made the target's rows, so whoever runs a part of the plan
again (a rerun, a tracing query in Spark) need not make them.

================  =============================================================================================================
projection        through, where the column is passed on, or is a function that cannot fail
selection, sort   through; a limit as well: a segment with a limit is stored, and never run again
join              to the side whose columns it reads; where an equality says the same of the other side's column, there too
outer join        to the side that is kept, and by equality to the other; a full outer join keeps it above
semi-join         to the left, and by equality to the right
difference        to the left: ``(T₁ − T₂) ⋉ Ō → (T₁ ⋉ Ō) − T₂``
aggregation       through, on grouping keys; window: on partition keys; generator, function operator: on what they pass on
union             to every branch, by position
================  =============================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import no_rule
from airflow_lineage_provider.plan.expression_walk import expressions_in, references, replace_attributes
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Call, Cast, Expression, Literal, conjunction, conjuncts
from airflow_lineage_provider.plan.segments import SegmentedPlan

if TYPE_CHECKING:
    import pyarrow as pa

Terms = tuple[Expression, ...]
_Through = o.Project | o.Aggregate | o.Window | o.Generate | o.FunctionOperator

# Functions that give a value for every argument: evaluated on rows that the plan would have dropped before, they still do not fail.
_TOTAL = frozenset({
    "=", "<=>", "<", "<=", ">", ">=", "and", "or", "not", "!", "in", "isnull", "isnotnull", "isnan", "coalesce", "year", "month", "day",
    "dayofmonth", "quarter", "upper", "lower", "trim", "length", "concat", "substring",
})  # fmt: skip
# Types whose equal values are the same value to every function. (0.0 = -0.0, and collations call different strings equal.)
_IDENTICAL = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string", "binary")


# Dates are not among them (`_reads_days`).
_PLAINLY_SAID = frozenset({"tinyint", "smallint", "int", "bigint", "string"})
MOST_VALUES = 200
"""More values than this are not written into a tracing query: the join with the targets does it alone."""


@dataclass
class _Leaves:
    """What reaches the outputs of other segments."""

    terms: dict[int, Terms] = field(default_factory=dict)


def restricted(plan: SegmentedPlan, condition: Expression) -> SegmentedPlan:
    """The plan whose segments make (at least) the rows that the root's rows with ``condition`` are made from.

    Segments keep their numbers. A segment with an operator that is not repeated (`Segment.pinned`) is taken to be stored.
    """
    sources = [leaf for segment in plan.segments for leaf in segment.inputs if isinstance(leaf, o.Source)]
    days = not any(source.relation.format == "json" for source in sources)
    safe = tuple(term for term in conjuncts(condition) if _is_safe(term) and (days or not _reads_days(term)))
    terms: dict[int, Terms] = {0: safe}
    segments = []
    for segment in plan.segments:
        leaves = _Leaves()
        own = terms.get(segment.number, ())
        body = _push(segment.plan, own, leaves, keep=segment.kind == "non_d") if own else segment.plan
        terms |= leaves.terms
        segments.append(replace(segment, plan=body))
    return replace(plan, segments=tuple(segments))


def push_down(plan: o.Plan, terms: Terms) -> o.Plan:
    """A plan that gives (at least) its rows that meet all terms; outputs of other segments are filtered where they are read.

    >>> rows = join(table("client", "id, income"), table("loan", "client, amount"), "id = client")
    >>> show(push_down(rows, (where(rows, "id = 7").condition,)))
    ⋈ (id = client)
      σ (id = 7)
        client [id, income]
      σ (client = 7)
        loan [client, amount]
    """
    safe = tuple(term for term in terms if _is_safe(term))
    return _push(plan, safe, None, keep=True) if safe else plan


def narrowed(plan: o.Plan, target: pa.Table) -> o.Plan:
    """A tracing query whose body makes few rows beyond those that meet its targets' values.

    Before: ``body ⋈ target on client = target_client``. After: ``(σ client IN (7, 9)) body ⋈ …``, and the selection pushed down.
    The join itself stays: the values of several columns belong together.
    """
    if isinstance(plan, o.Distinct):
        return replace(plan, child=narrowed(plan.child, target))
    if not isinstance(plan, o.Project) or not isinstance(plan.child, o.Join) or not isinstance(plan.child.right, o.SegmentOutput):
        return plan
    join = plan.child
    positions = {a.id: i for i, a in enumerate(join.right.output)}
    terms = [_values_of(term, positions, target) for term in (() if join.condition is None else conjuncts(join.condition))]
    chosen = tuple(term for term in terms if term is not None)
    return replace(plan, child=replace(join, left=push_down(join.left, chosen))) if chosen else plan


def _values_of(term: Expression, positions: Mapping[int, int], target: pa.Table) -> Expression | None:
    """``column IN (the target's values)`` for an equality with a target column, where these are few and simply said."""
    if not isinstance(term, Call) or term.function not in ("=", "==", "<=>") or not all(isinstance(a, Attribute) for a in term.arguments):
        return None
    one, other = (a for a in term.arguments if isinstance(a, Attribute))
    column, copy = (one, other) if other.id in positions else (other, one)
    if copy.id not in positions or column.id in positions or column.type != copy.type or column.type not in _PLAINLY_SAID:
        return None
    different = target.column(positions[copy.id]).unique()
    if len(different) > MOST_VALUES:
        return None
    values = different.to_pylist()
    literals = tuple(
        Cast(child=Literal(value=str(value).lower() if value in (True, False) and column.type == "boolean" else str(value), type="string"),
             type=column.type)
        for value in values if value is not None
    )  # fmt: skip
    with_null = term.function == "<=>" and None in values
    return is_one_of(column, literals, with_null) if literals or with_null else None


def is_one_of(attribute: Attribute, values: tuple[Expression, ...], with_null: bool) -> Expression:
    """``attribute IN (…)``, which NULL meets when it is among the values."""
    found: Expression = Call(function="in", arguments=(attribute, *values), type="boolean")
    if not with_null:
        return found
    null = Call(function="isnull", arguments=(attribute,), type="boolean")
    return Call(function="or", arguments=(found, null), type="boolean") if values else null


def _is_safe(term: Expression) -> bool:
    """Whether a term may be evaluated anywhere below, and by whoever reads files.

    Not over floating-point columns: Parquet's statistics and dictionaries know no NaN, and tell 0.0 from -0.0.
    """
    return all(_is_total(part) for part in expressions_in(term)) and not any(a.type in ("float", "double") for a in references(term))


def _reads_days(term: Expression) -> bool:
    """Spark's JSON reader does not find days before 1582 by a pushed-down filter."""
    return any(attribute.type in ("date", "timestamp", "timestamp_ntz") for attribute in references(term))


def _is_total(part: Expression) -> bool:
    if isinstance(part, Call):
        return part.function in _TOTAL
    # A cast of a constant has been made already where the target was read.
    return isinstance(part, Attribute | Literal) or (isinstance(part, Cast) and isinstance(part.child, Literal))


def _push(node: o.Plan, terms: Terms, leaves: _Leaves | None, *, keep: bool) -> o.Plan:
    """The plan with the terms as deep as they go. ``keep``: what does not go deeper is a selection right here."""
    if not terms:
        return node
    match node:
        case o.SegmentOutput() if leaves is not None:
            leaves.terms[node.segment] = terms
            return node
        case o.Source() | o.SegmentOutput() | o.PythonMap():
            return _filtered(node, terms, keep)
        case o.Filter() | o.Sort() | o.Limit() | o.Repartition() | o.Distinct():
            return replace(node, child=_push(node.child, terms, leaves, keep=True))
        case o.Union():
            return _push_union(node, terms, leaves)
        case o.Join():
            return _push_join(node, terms, leaves, keep)
        case o.Project() | o.Aggregate() | o.Window() | o.Generate() | o.FunctionOperator():
            return _push_through(node, terms, leaves, keep)
    raise no_rule(node, "pushing conditions down")


def _push_through(node: _Through, terms: Terms, leaves: _Leaves | None, keep: bool) -> o.Plan:
    given = _passed_on(node)
    through = tuple(term for term in terms if all(a.id in given for a in references(term)))
    below = tuple(term for term in (replace_attributes(t, given) for t in through) if _is_safe(term))
    rest = tuple(term for term in terms if term not in through)
    child = _push(node.child, below, leaves, keep=True)
    return _filtered(replace(node, child=child), rest, keep)


def _passed_on(node: _Through) -> Mapping[int, Expression]:
    """What the attributes that a term may go through with are below the operator."""
    match node:
        case o.Project():
            return {c.attribute.id: c.child for c in node.columns if isinstance(c, Alias)} | {
                c.id: c for c in node.columns if isinstance(c, Attribute)
            }
        case o.Aggregate():
            return {key.id: key for key in node.keys if isinstance(key, Attribute)}
        case o.Window():
            return {key.id: key for key in node.partition if isinstance(key, Attribute)}
        case o.Generate() | o.FunctionOperator():
            return {attribute.id: attribute for attribute in node.child.output}


def _filtered(node: o.Plan, terms: Terms, keep: bool) -> o.Plan:
    condition = conjunction(terms)
    return o.Filter(child=node, condition=condition) if condition is not None and keep else node


def _push_union(node: o.Union, terms: Terms, leaves: _Leaves | None) -> o.Union:
    branches = []
    for child in node.children:
        own = {a.id: b for a, b in zip(node.output, child.output, strict=True)}
        branches.append(_push(child, tuple(replace_attributes(term, own) for term in terms), leaves, keep=True))
    return replace(node, children=tuple(branches))


def _push_join(node: o.Join, terms: Terms, leaves: _Leaves | None, keep: bool) -> o.Plan:
    sides = tuple({a.id for a in side.output} for side in (node.left, node.right))
    of_left, of_right = (tuple(t for t in terms if {a.id for a in references(t)} <= side) for side in sides)
    equal = _equalities(node, sides)
    left: Terms = of_left if node.kind not in ("right", "full") else ()
    right: Terms = of_right if node.kind in ("inner", "cross", "right") else ()
    more_right = _mapped(of_left, equal) if left and node.kind in ("inner", "left", "left_semi") and not node.is_difference else ()
    more_left = _mapped(of_right, {b: a for a, b in equal.items()}) if right and node.kind in ("inner", "right") else ()
    rest = tuple(term for term in terms if term not in left and term not in right)
    joined = replace(
        node,
        left=_push(node.left, tuple(dict.fromkeys((*left, *more_left))), leaves, keep=True),
        right=_push(node.right, tuple(dict.fromkeys((*right, *more_right))), leaves, keep=True),
    )
    return _filtered(joined, rest, keep)


def _equalities(node: o.Join, sides: tuple[set[int], ...]) -> dict[Attribute, Attribute]:
    """Left to right columns that an equality of the condition makes the same value."""
    found: dict[Attribute, Attribute] = {}
    for term in () if node.condition is None else conjuncts(node.condition):
        if isinstance(term, Call) and term.function in ("=", "=="):
            one, other = term.arguments
            if isinstance(one, Attribute) and isinstance(other, Attribute) and one.type == other.type and _is_identical(one.type):
                if one.id in sides[0] and other.id in sides[1]:
                    found.setdefault(one, other)
                elif one.id in sides[1] and other.id in sides[0]:
                    found.setdefault(other, one)
    return found


def _is_identical(type_text: str) -> bool:
    return type_text in _IDENTICAL or type_text.startswith("decimal")


def _mapped(terms: Terms, equal: Mapping[Attribute, Attribute]) -> Terms:
    """The terms that read such columns alone, of the other side's columns."""
    new = {a.id: b for a, b in equal.items()}
    return tuple(replace_attributes(term, new) for term in terms if all(a.id in new for a in references(term)))
