"""Relational operators: the operator tree of a pipeline (section 3.2 of the augmented-lineage paper, Catalyst's names).

Every operator says what the lineage of a row of its output is: by definition 5 of the paper for its seven operators, and beyond
them by a rule of ours that the docstring states. How the rules are carried out is in `tracing.annotate` (rows that go
back to single rows) and `tracing.row_sets` (rows that go back to sets).

Every operator is a frozen dataclass that declares what it makes and its rule of lineage (`plan.base`); ``output``, the attributes that it
gives, is derived from its fields. References are checked when an operator is made: an expression may only use what the children give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import get_args

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.base import LineageRule, Operator, unknown
from airflow_lineage_provider.plan.expression_walk import check_references
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Call, Expression, Named, SortKey, attribute_of, expression_of
from airflow_lineage_provider.plan.relation import Relation

JoinKind = OneOf["inner", "cross", "left", "right", "full", "left_semi", "left_anti", "existence"]


@dataclass(frozen=True, kw_only=True)
class Source(Operator, makes=("output",), lineage=LineageRule.SOURCE):
    """A source table: a leaf. ``leaf`` is its position among the leaves of the captured plan, left to right from 0.

    Lineage: the row itself (definition 6, 1).

    ``columns`` are the column names in the table itself, one for each output attribute (an attribute may be renamed).
    """

    relation: Relation
    output: tuple[Attribute, ...]
    columns: tuple[str, ...]
    leaf: int

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.output):
            raise PlanCheckError(f"source {self.relation.name}: {len(self.columns)} column names for {len(self.output)} attributes")


@dataclass(frozen=True, kw_only=True)
class SegmentOutput(Operator, makes=("output",), lineage=LineageRule.SEGMENT):
    """A leaf that stands for the output of another segment (made by `rewrite.segment`)."""

    segment: int
    output: tuple[Attribute, ...]


@dataclass(frozen=True, kw_only=True)
class Project(Operator, makes=(), computes=("columns",), lineage=LineageRule.ONE_ROW):
    """Projection with duplicates kept: each column is an attribute of the child or an alias of an expression.

    Lineage: the one row that it was made from (definition 5, for bags as in definition 1 of the forward-lineage paper).
    """

    child: Plan
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        check_references("Project", (expression_of(column) for column in self.columns), self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return tuple(attribute_of(column) for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class Filter(Operator, makes=(), lineage=LineageRule.ONE_ROW):
    """Selection: the rows for which the condition is true. Lineage: the row (definition 5). A sample is a selection on a random number."""

    child: Plan
    condition: Expression

    def __post_init__(self) -> None:
        check_references("Filter", (self.condition,), self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, kw_only=True)
class Join(Operator, makes=("exists",), lineage=None):
    """Join of two inputs. No condition is a cross product (or, for an outer join, ``true``).

    ``existence`` gives every left row with one more column, ``exists``: whether it has a partner (EXISTS or IN inside another
    condition). ``difference`` marks a left join whose right side only says what to take away (EXCEPT ALL).

    Lineage of inner and cross joins: both partners (definition 5); of outer joins: both, or the row alone where it has no partner;
    of semi-joins (IN, EXISTS, INTERSECT): the left row and every right row for which the condition is true with it; of
    differences (NOT IN, NOT EXISTS, EXCEPT): the left row, the right side being a control as a whole (D-segment, section 5.3);
    of existence joins: the left row and its partners, or, where it has none, the right side as a control.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    condition: Expression | None = None
    exists: Attribute | None = None
    difference: bool = False

    def __post_init__(self) -> None:
        if (self.kind == "existence") != (self.exists is not None):
            raise PlanCheckError("an existence join, and no other, has the column `exists`")
        if self.condition is not None:
            check_references("Join", (self.condition,), self.left.output + self.right.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        if self.exists is not None:
            return (*self.left.output, self.exists)
        return self.left.output if self.kind in ("left_semi", "left_anti") else self.left.output + self.right.output

    @property
    def is_difference(self) -> bool:
        """Whether the right side says which left rows go, and gives no row of its own."""
        return self.kind == "left_anti" or self.difference

    @property
    def lineage(self) -> LineageRule:
        if self.is_difference:
            return LineageRule.WHOLE_SIDE
        return LineageRule.PARTNERS if self.kind in ("left_semi", "existence") else LineageRule.BOTH_PARTNERS


@dataclass(frozen=True, kw_only=True)
class Aggregate(Operator, makes=(), computes=("columns",), lineage=None):
    """Grouping and aggregation.

    As captured, ``keys`` are any expressions and ``columns`` mix keys and aggregate functions, as in Catalyst. After
    `rewrite.canonical_aggregates` the keys are attributes of the child, and ``columns`` are exactly the keys (first,
    in order) and then aliases of single `AggregateCall`\\ s: then a row's group can be read from the row.
    No keys and no rows still make one row (a *global* aggregation) unless ``columns`` has no aggregate function.
    Lineage: all rows of the group, whatever the functions make of them (definition 5). HAVING is a selection above it; grouping sets
    are a `Generate` below it; dropDuplicates over some columns takes the first row of a group.

    ``domain`` marks the values of an outer query's columns for which a correlated subquery is computed (the domain of Neumann and
    Kemper, "Unnesting arbitrary queries", 2015), of a copy of the outer query. Lineage of a domain: none. The outer row that a value
    is for stands beside the subquery's answer in the join above; the others that have the same value have no part in that.
    """

    child: Plan
    keys: tuple[Expression, ...]
    columns: tuple[Named, ...]
    domain: bool = False

    def __post_init__(self) -> None:
        expressions = (*self.keys, *(expression_of(column) for column in self.columns))
        check_references("Aggregate", expressions, self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return tuple(attribute_of(column) for column in self.columns)

    @property
    def lineage(self) -> LineageRule:
        return LineageRule.NOTHING if self.domain else LineageRule.GROUP


@dataclass(frozen=True, kw_only=True)
class Distinct(Operator, makes=(), lineage=LineageRule.GROUP):
    """Duplicates removed: an aggregation without functions (`rewrite.canonical_aggregates`). Lineage: all equal rows (definition 5)."""

    child: Plan

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, kw_only=True)
class Union(Operator, makes=("output",), lineage=LineageRule.ONE_BRANCH):
    """UNION ALL by position. ``output`` are attributes of its own; every child has as many.

    Lineage: the row of the branch that it comes from (definition 5, for bags). UNION is a `Distinct` over it.
    """

    children: tuple[Plan, ...]
    output: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        for child in self.children:
            if len(child.output) != len(self.output):
                raise PlanCheckError(f"Union: a child has {len(child.output)} columns, the union {len(self.output)}")


@dataclass(frozen=True, kw_only=True)
class Sort(Operator, makes=(), lineage=LineageRule.ONE_ROW):
    """ORDER BY (``is_global``) or SORT BY. Lineage: the row."""

    child: Plan
    order: tuple[SortKey, ...]
    is_global: bool = True

    def __post_init__(self) -> None:
        check_references("Sort", (key.child for key in self.order), self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, kw_only=True)
class Limit(Operator, makes=(), lineage=LineageRule.ONE_ROW):
    """The first ``count`` rows after ``offset`` rows; None is no limit (OFFSET alone). Lineage: the row, not those that it outdid."""

    child: Plan
    count: int | None
    offset: int = 0

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


Spread = OneOf["repartition", "repartition_by_range", "coalesce", "rebalance"]


@dataclass(frozen=True, kw_only=True)
class Repartition(Operator, makes=(), lineage=LineageRule.ONE_ROW):
    """The same rows in other partitions, as the user would have them: ``repartition``, ``coalesce``, DISTRIBUTE BY, hints.

    It says how many files an output has, and which rows a function of batches, or a script, sees together. Lineage: the row.
    """

    child: Plan
    spread: Spread
    count: int | None = None
    keys: tuple[Attribute, ...] = ()

    def __post_init__(self) -> None:
        check_references("Repartition", self.keys, self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output


@dataclass(frozen=True, kw_only=True)
class FunctionOperator(Operator, makes=("value", "reason"), lineage=LineageRule.ONE_ROW):
    """The function operator φ (definition 4): the child's rows with the UDF's value and, in reasoning mode, its reason.

    Arguments are attributes of the child (`rewrite.pull_out_udfs` computes expressions in a projection below).
    ``function`` numbers the function operators of a plan from 0; it names the reasons of this operator. ``keys`` are handed
    to the UDF after its arguments, for its error messages: the lineage keys of the row that it fails on.

    Lineage: the row (definition 5); it is what reasoning lineage is made of (definition 8).
    """

    child: Plan
    function: int
    udf: str
    arguments: tuple[Attribute, ...]
    value: Attribute
    reason: Attribute | None = None
    deterministic: bool = True
    eval_type: int = 0
    call: int = -1
    keys: tuple[Attribute, ...] = ()

    def __post_init__(self) -> None:
        check_references(f"FunctionOperator {self.udf}", (*self.arguments, *self.keys), self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        made = (self.value,) if self.reason is None else (self.value, self.reason)
        return self.child.output + made


@dataclass(frozen=True, kw_only=True)
class Window(Operator, makes=(), computes=("functions",), lineage=None):
    """The child's rows with the values of window functions, all over one partitioning and order (each with a frame of its own).

    ``functions`` are aliases of window functions. After `rewrite.canonical_windows` partition and sort keys are attributes.
    Lineage: the row itself and the rows of the functions' frames, as `tracing.frames.lineage_frame` says for each function.

    ``limits`` marks the LIMIT of a correlated subquery: ``row_number()`` for every row of the outer query, by which a selection above
    chooses. Lineage: the row, as of a `Limit`.
    """

    child: Plan
    functions: tuple[Alias, ...]
    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...] = ()
    limits: bool = False

    def __post_init__(self) -> None:
        expressions = (*(f.child for f in self.functions), *self.partition, *(key.child for key in self.order))
        check_references("Window", expressions, self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output + tuple(function.attribute for function in self.functions)

    @property
    def lineage(self) -> LineageRule:
        return LineageRule.ONE_ROW if self.limits else LineageRule.FRAME


@dataclass(frozen=True, kw_only=True)
class Generate(Operator, makes=("generated",), lineage=LineageRule.ONE_ROW):
    """Each row of the child once for every row that the generator makes of it (explode, inline, grouping sets …).

    ``outer``: a row of which it makes none stays, with NULLs. ``call`` is the number of the analyzed plan's own operator,
    where only Spark can run it (a table function in Python, BIN BY): the generator then names it. Lineage: the row.
    """

    child: Plan
    generator: Call
    generated: tuple[Attribute, ...]
    outer: bool = False
    call: int | None = None

    def __post_init__(self) -> None:
        check_references("Generate", (self.generator,), self.child.output)

    @property
    def output(self) -> tuple[Attribute, ...]:
        return self.child.output + self.generated


@dataclass(frozen=True, kw_only=True)
class PythonMap(Operator, makes=("output", "passed_as"), lineage=LineageRule.PYTHON):
    """Rows that a Python function makes of batches (``map``), of groups, or of pairs of groups of rows (``cogrouped``).

    mapInPandas, mapInArrow, applyInPandas, applyInArrow; the one row a group that aggregate functions in Python make (``aggregated``); and
    what a table function, or a script, makes of the rows of a table or of its partitions (``table``).
    Each child gives its grouping keys and then the columns that the function is
    called with, whose names there are ``columns`` (all children's). ``keys`` are the grouping keys: those of the first
    child, then as many of the second. ``call`` is Catalyst's result id, as in `UdfCall`, or as in `Generate`. ``passed``
    are columns of the only child that the user says pass through the function of batches unchanged, as the outputs ``passed_as``: they tell
    which rows made a row.
    An aggregation may call several functions, ``calls``, of which each takes the next so many columns, ``widths``; its output starts
    with the keys.

    Lineage: the whole group, or both groups, marked a superset; of a function of batches the rows with the same passed columns,
    else unavailable.
    """

    children: tuple[Plan, ...]
    kind: OneOf["map", "grouped", "cogrouped", "aggregated", "table"]
    udf: str
    call: int
    eval_type: int
    output: tuple[Attribute, ...]
    keys: tuple[Attribute, ...] = ()
    columns: tuple[str, ...] = ()
    passed: tuple[Attribute, ...] = ()
    passed_as: tuple[Attribute, ...] = ()
    calls: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        given = tuple(a for child in self.children for a in child.output)
        check_references(f"PythonMap {self.udf}", (*self.keys, *self.passed), given)

    @property
    def group_width(self) -> int:
        """The number of grouping keys of each child."""
        return len(self.keys) // len(self.children)


Plan = (
    Source
    | SegmentOutput
    | Project
    | Filter
    | Join
    | Aggregate
    | Distinct
    | Union
    | Sort
    | Limit
    | Repartition
    | FunctionOperator
    | Window
    | Generate
    | PythonMap
)

OPERATOR_CLASSES: tuple[type[Operator], ...] = get_args(Plan)


def check_known(node: object, function: str) -> None:
    """For functions that follow what the classes declare, and so have no cases.

    :raises UnsupportedOperator: no plan has operators of this class; ``function`` says in words what has no rule for it.
    """
    if not isinstance(node, OPERATOR_CLASSES):
        raise unknown(node, function)
