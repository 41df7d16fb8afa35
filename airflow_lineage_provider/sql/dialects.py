"""What the dialects of SQL differ in: one object each. The lowering asks the object, and knows no dialect by name."""

from __future__ import annotations

from typing import ClassVar, Protocol

from sqlglot import exp

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.sql.names import Dialect
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.spark_expressions import spark_expression
from airflow_lineage_provider.sql.types import spark_type


class SqlDialect(Protocol):
    """A dialect that queries are written in.

    ``has_semi_joins``: LEFT SEMI JOIN and LEFT ANTI JOIN; else EXISTS says the same. ``orders_by_expressions``: ORDER BY may compute with
    the names of output columns, not read them alone. The ``check_…`` methods refuse what is not proved to mean what it means in Spark.
    """

    name: ClassVar[Dialect]
    has_semi_joins: ClassVar[bool]
    orders_by_expressions: ClassVar[bool]

    def write(self, expression: Expression, scope: Scope) -> exp.Expr:
        """An expression whose value is read."""

    def passed_on(self, expression: Expression, scope: Scope) -> exp.Expr:
        """An expression in a list of results."""

    def ordered_by(self, expression: Expression, scope: Scope) -> exp.Expr:
        """An expression whose order matters."""

    def type_name(self, kind: str, what: str) -> str:
        """The name of a Spark type; ``what`` has it."""

    def grouped(self, key: Expression, node: exp.Expr) -> exp.Expr:
        """A grouping key, or a column of DISTINCT, as Spark's grouping gives its value back; ``node`` is what it was written as."""

    def check_window(self) -> None: ...

    def check_generator(self, plan: o.Generate) -> None: ...

    def check_function(self, plan: o.FunctionOperator) -> None: ...

    def check_sort(self, plan: o.Sort) -> None: ...

    def check_full_join(self, plan: o.Join) -> None: ...

    def check_union(self, own: Attribute, common: Attribute) -> None:
        """A column of one input of a union, and the union's."""


class SparkDialect:
    """Spark's own SQL: everything that a plan can say."""

    name: ClassVar[Dialect] = "spark"
    has_semi_joins: ClassVar[bool] = True
    orders_by_expressions: ClassVar[bool] = True

    def write(self, expression: Expression, scope: Scope) -> exp.Expr:
        return spark_expression(expression, scope)

    passed_on = ordered_by = write

    def type_name(self, kind: str, what: str) -> str:
        return spark_type(kind)

    def grouped(self, key: Expression, node: exp.Expr) -> exp.Expr:
        return node

    def _any(self, *_: object) -> None:
        """Spark can say all of it."""

    check_window = check_generator = check_function = check_sort = check_full_join = check_union = _any
