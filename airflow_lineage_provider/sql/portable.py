"""What PostgreSQL's and DuckDB's dialects share: what is proved to mean what it means in Spark, and a refusal of everything else."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression, conjuncts
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql.portable_expressions import PortableWriter
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.types import FLOATS, portable, scalar


class PortableDialect(PortableWriter):
    """The expressions are written by `PortableWriter`; all ``check_…`` methods raise `PortabilityProblem`."""

    has_semi_joins: ClassVar[bool] = False
    # PostgreSQL knows output columns there as bare names only, without a collation.
    orders_by_expressions: ClassVar[bool] = False

    def without_negative_zero(self, node: exp.Expr, kind: ScalarType) -> exp.Expr:
        """A floating-point key as Spark gives it back from a grouping: -0.0 is 0.0, and all else is as it was."""
        raise NotImplementedError

    def grouped(self, key: Expression, node: exp.Expr) -> exp.Expr:
        kind = portable(key.type, expression_text(key))
        if kind.name not in FLOATS:
            return node
        if not isinstance(key, Attribute):
            raise PortabilityProblem(expression_text(key), f"it is a computed grouping key of type {key.type}")
        return self.without_negative_zero(node, kind)

    def check_window(self) -> None:
        raise PortabilityProblem("a window function", "its frames are not proved to mean the same outside Spark")

    def check_generator(self, plan: o.Generate) -> None:
        raise PortabilityProblem(f"the generator {plan.generator.function}", "it is not proved to give the same rows outside Spark")

    def check_function(self, plan: o.FunctionOperator) -> None:
        raise PortabilityProblem(f"the UDF {plan.udf}", "it runs in Spark's Python workers")

    def check_sort(self, plan: o.Sort) -> None:
        if not plan.is_global:
            raise PortabilityProblem("SORT BY", "there are no partitions to sort within outside Spark")

    def check_full_join(self, plan: o.Join) -> None:
        """PostgreSQL plans a full join by merging or hashing alone: every term must be ``left column = right column``."""
        sides = ({a.id for a in plan.left.output}, {a.id for a in plan.right.output})
        terms = () if plan.condition is None else conjuncts(plan.condition)
        if not terms or not all(_is_equality(term, sides) for term in terms):
            raise PortabilityProblem("a full outer join", "its condition is not made of equalities between the two sides")

    def check_union(self, own: Attribute, common: Attribute) -> None:
        if own.type != common.type and (scalar(own.type) is None or scalar(own.type) != scalar(common.type)):
            raise PortabilityProblem(f"the union's column {common.name}", f"it is of type {common.type}, in one input of {own.type}")


def _is_equality(term: Expression, sides: tuple[set[int], set[int]]) -> bool:
    if not isinstance(term, Call) or term.function not in ("=", "=="):
        return False
    found = [{attribute.id for attribute in references(argument)} for argument in term.arguments]
    plain = all(isinstance(argument, Attribute) for argument in term.arguments)
    return plain and any(found[0] <= one and found[1] <= other for one, other in (sides, sides[::-1]))
