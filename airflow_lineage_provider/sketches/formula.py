"""Expressions as formulas: every attribute is a value and an is-null bit, and conditions have three values.

An attribute has up to three values: in a row of the plain run, in the row that goes with it over the sketch, and in a second row of the
same run. An attribute that a sketch cannot change has one value in the first two. Arithmetic of integers and decimals is exact where the
type has room for it, and dates that are computed of constants are these dates; every other function is *uninterpreted*: all that is known
of it is that it gives the same for the same. Where not even that is sure (the functions tell -0.0 from 0.0, which are equal; they are
random) nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, TypeAlias
from typing import Literal as OneOf

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.sketches.kinds import Kind, digits, has_room, keeps_value, kind_of, place
from airflow_lineage_provider.sketches.solver import terms
from airflow_lineage_provider.sql.constant_values import constant_value

Row: TypeAlias = OneOf["plain", "sketched", "second"]
"""Of which row a value is. ``second``: another row of the run that ``plain`` is of."""

_COMPARED = {"=", "==", "<=>", "<", "<=", ">", ">="}
_ARITHMETIC = {"+", "-", "*"}


@dataclass(frozen=True)
class Value:
    """A value in a formula; where ``null`` is true, ``value`` says nothing."""

    null: Any
    value: Any


class Formulas:
    """Makes formulas; ``texts`` are the string literals of the plan, ``exact`` whether an overflow is an error (ANSI).

    :raises EnvironmentProblem: z3 is not installed.
    """

    def __init__(self, texts: Iterable[str] = (), exact: bool = True) -> None:
        self.z3 = terms()
        self.exact = exact
        self.changed: set[int] = set()
        """The attributes that may have another value over the sketch. One is told before it is first read."""
        self.unsettled: set[int] = set()
        """Those of them that may have another value in each run over the same rows: rounded sums, any of some rows, and what reads one."""
        self._ranks = {text: at for at, text in enumerate(sorted(set(texts), key=lambda text: text.encode()))}
        self._known: dict[tuple[e.Expression, Row], Value] = {}
        self._facts: dict[tuple[object, ...], Any] = {}
        self._numbers: dict[object, int] = {}
        self._read: dict[e.Part, frozenset[int]] = {}
        self._fresh = count()

    def again(self) -> Formulas:
        """For another proof about the same plan: nothing is changed yet, and what is known of plain rows stays."""
        other = copy(self)
        other.changed, other.unsettled = set(), set()
        other._known = {key: value for key, value in self._known.items() if key[1] != "sketched"}
        other._facts = {key: fact for key, fact in self._facts.items() if key[-1] != "sketched"}
        return other

    # --- what is true --------------------------------------------------------------------------------------------------

    def true(self, condition: e.Expression, row: Row) -> Any:
        """That a condition is true of a row."""
        return self.fact(("true", condition, self.row(condition, row)), lambda: self._true(self.value(condition, row)))

    def _true(self, found: Value) -> Any:
        return self.z3.And(self.z3.Not(found.null), found.value)

    def defined(self, made: e.Attribute, expression: e.Expression, row: Row) -> Any:
        """That an attribute is an expression's value."""
        there = "plain" if row == "sketched" and made.id not in self.changed and not self.reads_changed(expression) else row
        return self.fact(("is", made, expression, there), lambda: self.alike(self.value(made, row), self.value(expression, row)))

    def fact(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """The same object for what is said of the same."""
        if key not in self._facts:
            self._facts[key] = make()
        return self._facts[key]

    def row(self, expression: e.Part, row: Row) -> Row:
        """The plain row has the sketched one's value of what a sketch cannot change."""
        return "plain" if row == "sketched" and not self.reads_changed(expression) else row

    def same_in_two(self, attribute: e.Attribute) -> Any:
        """That two rows of a run have one value of an attribute."""
        key = ("twins", attribute, "second")
        return self.fact(key, lambda: self.alike(self.value(attribute, "plain"), self.value(attribute, "second")))

    def alike(self, one: Value, other: Value) -> Any:
        """That two values of a type are one, or both NULL."""
        z3 = self.z3
        return z3.And(one.null == other.null, z3.Or(one.null, one.value == other.value))

    def at_most(self, one: Value, other: Value, kind: Kind = "number") -> Any:
        """That the one is NULL, or both are there and ``one <= other``."""
        z3 = self.z3
        return z3.Or(one.null, z3.And(z3.Not(other.null), self.ordered(one, kind) <= self.ordered(other, kind)))

    def at_least(self, one: Value, other: Value, kind: Kind = "number") -> Any:
        """That the one is NULL, or both are there and ``one >= other``."""
        z3 = self.z3
        return z3.Or(one.null, z3.And(z3.Not(other.null), self.ordered(one, kind) >= self.ordered(other, kind)))

    # --- values --------------------------------------------------------------------------------------------------------

    def value(self, expression: e.Expression, row: Row) -> Value:
        """An expression's value in a row."""
        row = self.row(expression, row)
        known = self._known.get((expression, row))
        if known is None:
            known = self._known[expression, row] = self._value(expression, row)
        return known

    def _value(self, expression: e.Expression, row: Row) -> Value:
        match expression:
            case e.Attribute():
                return self._attribute(expression, row)
            case e.Literal():
                return self._literal(expression)
            case e.Cast() | e.Call() if (constant := constant_value(expression)) is not None:
                return self._literal(constant)
            case e.Cast() if keeps_value(expression.child.type, expression.type) or _number(expression) is not None:
                return self.value(expression.child, row)
            case e.Call():
                found = self._call(expression, row)
                return self.unknown(expression, row) if found is None else found
        return self.unknown(expression, row)

    def reads_changed(self, expression: e.Part) -> bool:
        """Whether an expression reads what a sketch may change."""
        return not self.changed.isdisjoint(self._reads(expression))

    def reads_unsettled(self, expression: e.Part) -> bool:
        """Whether an expression reads what may be another value in each run."""
        return not self.unsettled.isdisjoint(self._reads(expression))

    def not_settled(self, attributes: Iterable[e.Attribute]) -> None:
        """Note that these may have another value in each run."""
        ids = {attribute.id for attribute in attributes}
        self.unsettled |= ids
        self.changed |= ids

    def _reads(self, expression: e.Part) -> frozenset[int]:
        if expression not in self._read:
            self._read[expression] = frozenset(attribute.id for attribute in references(expression))
        return self._read[expression]

    def _attribute(self, attribute: e.Attribute, row: Row) -> Value:
        return self._named(f"{attribute.id} {row}", attribute.type)

    def _named(self, name: str, type_: str) -> Value:
        return Value(self.z3.Bool(f"null {name}"), self.z3.Const(name, self.sort(kind_of(type_))))

    def sort(self, kind: Kind) -> Any:
        """The sort of values of a kind."""
        if kind == "boolean":
            return self.z3.BoolSort()
        return self.z3.DeclareSort("Opaque") if kind == "opaque" else self.z3.RealSort()

    def _literal(self, literal: e.Literal) -> Value:
        z3, kind = self.z3, kind_of(literal.type)
        if literal.value is None:
            return Value(z3.BoolVal(True), z3.Const(f"nothing {kind}", self.sort(kind)))
        if kind == "boolean":
            return Value(z3.BoolVal(False), z3.BoolVal(literal.value.lower() == "true"))
        at = self._ranks.get(literal.value) if kind == "text" else place(literal.value, kind)
        made = z3.Const(f"literal {literal.type} {literal.value}", self.sort(kind)) if at is None else z3.RealVal(str(at))
        return Value(z3.BoolVal(False), made)

    # --- functions -----------------------------------------------------------------------------------------------------

    def _call(self, call: e.Call, row: Row) -> Value | None:
        """What is known of a function; None: nothing but that it is one."""
        given = call.arguments
        if call.function in _COMPARED and _comparable(given):
            return self._comparison(call.function, self.value(given[0], row), self.value(given[1], row), kind_of(given[0].type))
        if call.function in _ARITHMETIC and len(given) == 2 and self._is_exact(call):
            return self._sum(call.function, self.value(given[0], row), self.value(given[1], row))
        match call.function, [self.value(one, row) for one in given]:
            case (("and" | "or"), values):
                return self._connected(call.function, values)
            case "not", [one]:
                return Value(one.null, self.z3.Not(one.value))
            case "isnull", [one]:
                return Value(self.z3.BoolVal(False), one.null)
            case "isnotnull", [one]:
                return Value(self.z3.BoolVal(False), self.z3.Not(one.null))
            case "in", [one, *others] if others and all(_comparable((given[0], other)) for other in given[1:]):
                tests = [self._comparison("=", one, other, kind_of(given[0].type)) for other in others]
                return self._connected("or", tests)
            case (("coalesce" | "when" | "if"), values) if _one_kind(call):
                return self._chosen(call, values)
        return None

    def _comparison(self, name: str, one: Value, other: Value, kind: Kind) -> Value:
        z3 = self.z3
        if name == "<=>":
            return Value(z3.BoolVal(False), self.alike(one, other))
        left, right = self.ordered(one, kind), self.ordered(other, kind)
        holds = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}.get(name, left == right)
        return Value(z3.Or(one.null, other.null), holds)

    def ordered(self, one: Value, kind: Kind) -> Any:
        """Where a value stands in its order: false is before true."""
        return self.z3.If(one.value, self.z3.RealVal(1), self.z3.RealVal(0)) if kind == "boolean" else one.value

    def _connected(self, name: str, values: list[Value]) -> Value:
        z3, stop = self.z3, name == "or"
        decided = z3.Or([z3.And(z3.Not(v.null), v.value if stop else z3.Not(v.value)) for v in values])
        return Value(z3.And(z3.Not(decided), z3.Or([v.null for v in values])), decided if stop else z3.Not(decided))

    def _sum(self, name: str, one: Value, other: Value) -> Value:
        made = {"+": one.value + other.value, "-": one.value - other.value, "*": one.value * other.value}[name]
        return Value(self.z3.Or(one.null, other.null), made)

    def _is_exact(self, call: e.Call) -> bool:
        """Whether the type has room for all digits after the point; before it an overflow is an error where it is not a wrong number."""
        given, made = [digits(one.type) for one in call.arguments], digits(call.type)
        if made is None or None in given or not self.exact:
            return False
        after = [one[1] for one in given if one is not None]
        return made[1] >= (sum(after) if call.function == "*" else max(after))

    def _chosen(self, call: e.Call, values: list[Value]) -> Value:
        """The first that is there (coalesce), or whose condition is true."""
        z3 = self.z3
        if call.function == "coalesce":
            found = values[-1]
            for one in reversed(values[:-1]):
                found = self._either(z3.Not(one.null), one, found)
            return found
        pairs = list(zip(values[: len(values) - len(values) % 2 : 2], values[1::2], strict=False))
        found = values[-1] if len(values) % 2 else Value(z3.BoolVal(True), pairs[0][1].value)
        for condition, one in reversed(pairs):
            found = self._either(z3.And(z3.Not(condition.null), condition.value), one, found)
        return found

    def _either(self, condition: Any, one: Value, other: Value) -> Value:
        return Value(self.z3.If(condition, one.null, other.null), self.z3.If(condition, one.value, other.value))

    def unknown(self, expression: e.Expression, row: Row) -> Value:
        """A function of what the expression reads, of which nothing else is known; or nothing at all."""
        read = references(expression)
        # -0.0 equals 0.0, and values of a kind without order may be equal and not the same: then only one value is one value.
        is_function = all(kind_of(one.type) not in ("float", "opaque") for one in read)
        if not is_deterministic(expression):
            return self._named(f"random {next(self._fresh)}", expression.type)
        number = self._numbers.setdefault(expression, len(self._numbers))
        if not read:
            return self._named(f"constant {number}", expression.type)
        if not is_function:
            copies = [row if row == "second" or one.id in self.changed else "plain" for one in read]
            return self._named(f"of {number} {' '.join(copies)}", expression.type)
        return self._applied(number, [self.value(one, row) for one in read], kind_of(expression.type))

    def _applied(self, number: int, given: list[Value], kind: Kind) -> Value:
        parts = [part for one in given for part in (one.null, one.value)]
        sorts = [part.sort() for part in parts]
        is_null = self.z3.Function(f"null of {number}", *sorts, self.z3.BoolSort())
        return Value(is_null(*parts), self.z3.Function(f"of {number}", *sorts, self.sort(kind))(*parts))


def _number(constant: e.Expression) -> Fraction | None:
    """The exact number that a constant is, which every cast on the way has room for; None for all else."""
    match constant:
        case e.Literal(value=str(text), type=kind) if digits(kind) is not None:
            return place(text, "number")
        case e.Cast(child=child, type=kind):
            found = _number(child)
            return found if found is not None and has_room(kind, found) else None
    return None


def _comparable(given: tuple[e.Expression, ...]) -> bool:
    kinds = {kind_of(one.type) for one in given}
    return len(given) == 2 and len(kinds) == 1 and "opaque" not in kinds


def _one_kind(call: e.Call) -> bool:
    """Whether all that it may give is of the kind that it gives."""
    results = call.arguments
    if call.function != "coalesce":
        results = (*call.arguments[1::2], *(call.arguments[-1:] if len(call.arguments) % 2 else ()))
    return len({kind_of(one.type) for one in (call, *results)}) == 1
