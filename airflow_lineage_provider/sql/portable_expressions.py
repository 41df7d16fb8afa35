"""Expressions of a plan for PostgreSQL and DuckDB: those alone that are proved to give the same values as in Spark.

Whatever is not written here raises `PortabilityProblem`. The tests evaluate everything that is, over awkward values, in all three engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.exact_sums import is_exact
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.constant_values import constant_value
from airflow_lineage_provider.sql.names import Dialect
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.portable_casts import cast_problem
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.spark_expressions import counts_rows
from airflow_lineage_provider.sql.types import FLOATS, INTEGER_DIGITS, portable

_ARITHMETIC: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_ORDERED = frozenset({"<", "<=", ">", ">="})
# There is no 8-bit integer in PostgreSQL to overflow as Spark's does, and one list is enough for both.
_ARITHMETIC_TYPES = frozenset({"smallint", "int", "bigint"})
_EXTREMES = frozenset({"min", "max"})
_EXTREME_TYPES = frozenset({*INTEGER_DIGITS, *FLOATS, "decimal", "string", "date", "timestamp", "timestamp_ntz"})
_QUANTIFIERS = {"bool_and": "BOOL_AND", "every": "BOOL_AND", "bool_or": "BOOL_OR", "some": "BOOL_OR", "any": "BOOL_OR"}


@dataclass(frozen=True)
class PortableWriter:
    """Writes expressions.

    :ivar ansi: the recorded ``spark.sql.ansi.enabled``: without it Spark does not fail where the others do.
    :ivar zone: the recorded ``spark.sql.session.timeZone``; empty: it is not known.
    """

    ansi: bool = True
    zone: str = ""

    name: ClassVar[Dialect]
    sums_as_bigint: ClassVar[bool]
    """The sum of whole numbers up to 32 bits is one of 64."""
    escapes_by_default: ClassVar[bool]
    """LIKE has the escape character \\ unless another is given."""
    integral_quotient: ClassVar[str]
    """The function that divides integers towards zero."""
    functions: ClassVar[Mapping[str, Callable[[Any, e.Call, Scope], exp.Expr]]] = MappingProxyType({})
    """Further ones that mean the same there."""

    def literal(self, literal: e.Literal, compared: bool = False) -> exp.Expr:
        """A constant; ``compared`` with a value of its type, a number may need no cast.

        :raises PortabilityProblem: the constant has no text that surely is the same value.
        """
        raise NotImplementedError

    def type_name(self, kind: str, what: str) -> str:
        """The name of a Spark type; ``what`` has it. Raises as `types.portable`."""
        raise NotImplementedError

    def by_bytes(self, node: exp.Expr) -> exp.Expr:
        """A string ordered by its bytes."""
        raise NotImplementedError

    def passed_on(self, expression: e.Expression, scope: Scope) -> exp.Expr:
        """An expression in a list of results: an attribute of any type may stand there as it is."""
        return scope[expression.id].copy() if isinstance(expression, e.Attribute) else self.write(expression, scope)

    def write(self, expression: e.Expression, scope: Scope, compared: bool = False) -> exp.Expr:
        """An expression whose value is read; ``compared``: with another of a type that settles the type of a constant.

        :raises PortabilityProblem: it has no text that surely means the same.
        """
        if isinstance(expression, e.Call | e.Cast) and (known := constant_value(expression)) is not None:
            return self.literal(known, compared)
        match expression:
            case e.Attribute():
                return self._attribute(expression, scope)
            case e.Literal():
                return self.literal(expression, compared)
            case e.Call():
                return self._call(expression, scope)
            case e.Cast():
                return self.cast(expression, scope)
            case e.AggregateCall():
                return self._aggregate(expression, scope)
        raise _problem(expression, "it is not on the list of what means the same there")

    def ordered_by(self, expression: e.Expression, scope: Scope) -> exp.Expr:
        """An expression whose order matters: strings are ordered by their bytes, as Spark does."""
        kind = portable(expression.type, expression_text(expression))
        node = self.write(expression, scope, compared=True)
        return self.by_bytes(node) if kind.name == "string" else node

    def _attribute(self, expression: e.Attribute, scope: Scope) -> exp.Expr:
        portable(expression.type, f"the column {expression.name}")
        node = scope[expression.id]
        if nodes.is_opaque(node):
            raise PortabilityProblem(f"the column {expression.name}", "it is stored in PostgreSQL in another form")
        return node.copy()

    def _call(self, call: e.Call, scope: Scope) -> exp.Expr:
        name = call.function.lower()
        if name in nodes.COMPARISONS and len(call.arguments) == 2:
            return self._comparison(name, call, scope)
        if name in ("and", "or"):
            kind = exp.And if name == "and" else exp.Or
            return nodes.connected(kind, [self._boolean(term, scope) for term in nodes.terms_of(call)])
        writer = self.functions.get(name) or _CALLS.get(name)
        if writer is None:
            raise _problem(call, f"{name} is not on the list of functions that mean the same there")
        return writer(self, call, scope)

    def _boolean(self, expression: e.Expression, scope: Scope) -> exp.Expr:
        if expression.type not in ("boolean", "void"):
            raise _problem(expression, f"it is of type {expression.type}, not boolean")
        return self.write(expression, scope)

    def _comparison(self, name: str, call: e.Call, scope: Scope) -> exp.Expr:
        left, right = call.arguments
        self._check_comparable(left, right)
        write = self.ordered_by if name in _ORDERED else self._compared
        return nodes.binary(nodes.COMPARISONS[name], write(left, scope), write(right, scope))

    def _compared(self, expression: e.Expression, scope: Scope) -> exp.Expr:
        return self.write(expression, scope, compared=True)

    def _check_comparable(self, left: e.Expression, right: e.Expression) -> None:
        kinds = [portable(side.type, expression_text(side)) for side in (left, right) if side.type != "void"]
        if len(kinds) == 2 and not _comparable(*kinds):
            raise _problem(left, f"it is of type {left.type} and compared with one of type {right.type}")

    def _not(self, call: e.Call, scope: Scope) -> exp.Expr:
        (argument,) = call.arguments
        return nodes.negated(self._boolean(argument, scope))

    def _null_test(self, call: e.Call, scope: Scope) -> exp.Expr:
        (argument,) = call.arguments
        return nodes.is_null(self.write(argument, scope), negative=call.function.lower() == "isnotnull")

    def _in(self, call: e.Call, scope: Scope) -> exp.Expr:
        value, *listed = call.arguments
        for item in listed:
            self._check_comparable(value, item)
        # DuckDB compares all of them as one type.
        if not _exact_together([portable(one.type, expression_text(one)) for one in call.arguments if one.type != "void"]):
            raise _problem(call, "its values have more digits together than one decimal")
        return exp.In(this=nodes.operand(self._compared(value, scope)), expressions=[self._compared(item, scope) for item in listed])

    def arithmetic(self, call: e.Call, scope: Scope) -> exp.Expr:
        """``+``, ``-`` or ``*`` of integers.

        :raises PortabilityProblem: of other numbers, or without ANSI.
        """
        if len(call.arguments) != 2:
            raise _problem(call, "only with two arguments does it mean the same there")
        self._check_integers(call)
        left, right = (self.write(argument, scope) for argument in call.arguments)
        return nodes.binary(_ARITHMETIC[call.function], left, right)

    def _integral_quotient(self, call: e.Call, scope: Scope) -> exp.Expr:
        """``a DIV 10``: towards zero, as all engines divide integers."""
        kinds = {argument.type for argument in call.arguments}
        if call.type != "bigint" or len(kinds) > 1 or not kinds <= _ARITHMETIC_TYPES:
            raise _problem(call, "an integral quotient means the same there for integers of one width alone")
        self._check_divisor(call)
        quotient = nodes.function(self.integral_quotient, [self.write(argument, scope) for argument in call.arguments])
        return nodes.cast(quotient, self.type_name("bigint", expression_text(call)))

    def _remainder(self, call: e.Call, scope: Scope) -> exp.Expr:
        if call.type not in _ARITHMETIC_TYPES or any(argument.type != call.type for argument in call.arguments):
            raise _problem(call, "a remainder means the same there for integers of one width alone")
        self._check_divisor(call)
        return nodes.function("MOD", [self.write(argument, scope) for argument in call.arguments])

    def _check_divisor(self, call: e.Call) -> None:
        """By zero Spark fails, or gives NULL; and by -1 an engine may fail for the least integer."""
        divisor = call.arguments[-1].child if isinstance(call.arguments[-1], e.Cast) else call.arguments[-1]
        if not isinstance(divisor, e.Literal) or divisor.type not in INTEGER_DIGITS or divisor.value is None or int(divisor.value) <= 0:
            raise _problem(call, "division means the same there by a positive constant alone")

    def negative(self, call: e.Call, scope: Scope) -> exp.Expr:
        """An integer's. Raises as `arithmetic`."""
        self._check_integers(call)
        return exp.Neg(this=exp.Paren(this=self.write(call.arguments[0], scope)))

    def _check_integers(self, call: e.Call) -> None:
        if not self.ansi:
            raise _problem(call, "without spark.sql.ansi.enabled Spark wraps around on overflow")
        if call.type not in _ARITHMETIC_TYPES or any(argument.type != call.type for argument in call.arguments):
            raise _problem(call, "arithmetic means the same there for integers of one width alone")

    def _like(self, call: e.Call, scope: Scope) -> exp.Expr:
        value, pattern, *rest = call.arguments
        escape = rest[0] if rest else e.Literal(value="\\", type="string")
        if not (_is_text(value) and isinstance(pattern, e.Literal) and isinstance(escape, e.Literal)):
            raise _problem(call, "LIKE means the same there for a constant pattern alone")
        if pattern.type != "string" or pattern.value is None or not _escapes_well(pattern.value, escape.value or ""):
            raise _problem(call, "the pattern escapes a character that needs no escape, which Spark refuses")
        like = nodes.binary(exp.Like, self.write(value, scope), self.write(pattern, scope))
        return exp.Escape(this=like, expression=self.write(escape, scope)) if rest or not self.escapes_by_default else like

    def _same_type(self, call: e.Call, values: tuple[e.Expression, ...], scope: Scope) -> list[exp.Expr]:
        kind = portable(call.type, expression_text(call))
        for value in values:
            if not (_is_null(value) or portable(value.type, expression_text(value)) == kind):
                raise _problem(call, f"{expression_text(value)} is of type {value.type}, the whole of {call.type}")
        typed = (e.Literal(value=None, type=call.type) if _is_null(value) else value for value in values)
        return [self.write(value, scope) for value in typed]

    def _coalesce(self, call: e.Call, scope: Scope) -> exp.Expr:
        return nodes.function("COALESCE", self._same_type(call, call.arguments, scope))

    def _case(self, call: e.Call, scope: Scope) -> exp.Expr:
        pairs = len(call.arguments) // 2
        conditions = [self._boolean(call.arguments[2 * n], scope) for n in range(pairs)]
        results = tuple(call.arguments[2 * n + 1] for n in range(pairs)) + (call.arguments[-1:] if len(call.arguments) % 2 else ())
        values = self._same_type(call, results, scope)
        merged = [node for pair in zip(conditions, values, strict=False) for node in pair]
        return nodes.case(merged + values[pairs:])

    def cast(self, expression: e.Cast, scope: Scope) -> exp.Expr:
        """A cast. Raises as `write`."""
        if _is_null(expression.child):
            return self.literal(e.Literal(value=None, type=expression.type))
        problem = cast_problem(expression, self.ansi)
        if problem:
            raise _problem(expression, problem)
        node = self.write(expression.child, scope)
        if expression.child.type == expression.type:
            return node
        return nodes.cast(node, self.type_name(expression.type, expression_text(expression)))

    def _aggregate(self, call: e.AggregateCall, scope: Scope) -> exp.Expr:
        condition = None if call.filter is None else self._boolean(call.filter, scope)
        if counts_rows(call):
            return nodes.filtered(nodes.function("COUNT", [exp.Star()]), condition, self.name)
        if len(call.arguments) != 1 or call.within_group:
            raise _problem(call, "aggregate functions of one argument alone mean the same there")
        return self._aggregate_of_one(call, call.arguments[0], scope, condition)

    def _aggregate_of_one(self, call: e.AggregateCall, argument: e.Expression, scope: Scope, condition: exp.Expr | None) -> exp.Expr:
        name, kind = call.function.lower(), portable(argument.type, expression_text(argument)).name

        def called(function: str, node: exp.Expr) -> exp.Expr:
            return nodes.filtered(nodes.function(function, [node], call.distinct), condition, self.name)

        if name == "count":
            return called("COUNT", self.write(argument, scope))
        if name in _EXTREMES and kind in _EXTREME_TYPES:
            return called(name.upper(), self.ordered_by(argument, scope))
        if name in _QUANTIFIERS and kind == "boolean":
            return called(_QUANTIFIERS[name], self.write(argument, scope))
        if name == "sum" and (kind in INTEGER_DIGITS or kind == "decimal") and self.ansi:
            total = called("SUM", self.write(argument, scope))
            narrow = kind in ("tinyint", "smallint", "int") and self.sums_as_bigint
            return total if narrow else nodes.cast(total, self.type_name(call.type, expression_text(call)))
        if is_exact(call) and call.type == "double" and (kind in INTEGER_DIGITS or kind in FLOATS):
            double = self.type_name("double", expression_text(call))
            total = called("SUM", nodes.cast(self.write(argument, scope), double))
            # Spark begins with 0.0, so that the sum of zeros is never -0.0.
            total = exp.Paren(this=exp.Add(this=total, expression=nodes.cast(exp.Literal.number(0), double)))
            if name in ("sum", "try_sum"):
                return total
            return exp.Div(this=total, expression=nodes.cast(called("COUNT", self.write(argument, scope)), double))
        raise _problem(call, f"{name} of {argument.type} is not on the list of functions that mean the same there")


_CALLS: dict[str, Callable[[PortableWriter, e.Call, Scope], exp.Expr]] = {
    "not": PortableWriter._not,
    "!": PortableWriter._not,
    "isnull": PortableWriter._null_test,
    "isnotnull": PortableWriter._null_test,
    "in": PortableWriter._in,
    "like": PortableWriter._like,
    "coalesce": PortableWriter._coalesce,
    "when": PortableWriter._case,
    "if": PortableWriter._case,
    "negative": PortableWriter.negative,
    **dict.fromkeys(_ARITHMETIC, PortableWriter.arithmetic),
    **dict.fromkeys(("%", "mod"), PortableWriter._remainder),
    "div": PortableWriter._integral_quotient,
}


def _comparable(left: ScalarType, right: ScalarType) -> bool:
    if left == right:
        return True
    # Within 38 digits the comparison is exact in every engine.
    return all(side.name in INTEGER_DIGITS or side.name == "decimal" for side in (left, right)) and _exact_together([left, right])


def _exact_together(kinds: Sequence[ScalarType]) -> bool:
    """Whether one decimal has room for all of the numbers: Spark widens them to one, which has 38 digits at most."""
    digits = [(19, 0) if one.name in INTEGER_DIGITS else one.parameters for one in kinds if one.name in {*INTEGER_DIGITS, "decimal"}]
    return len(set(digits)) < 2 or max(p - s for p, s in digits) + max(s for _, s in digits) <= 38


def _escapes_well(pattern: str, escape: str) -> bool:
    if len(escape) != 1:
        return False
    mark = re.escape(escape)
    return re.fullmatch(f"(?:[^{mark}]|{mark}[%_{mark}])*", pattern, re.DOTALL) is not None


def _is_text(expression: e.Expression) -> bool:
    return expression.type == "string"


def _is_null(expression: e.Expression) -> bool:
    return isinstance(expression, e.Literal) and expression.value is None


def _problem(expression: e.Expression, why: str) -> PortabilityProblem:
    return PortabilityProblem(expression_text(expression), why)
