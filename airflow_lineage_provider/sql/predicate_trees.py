"""One small function for each kind of sqlglot tree that may stand in a target; every other kind is refused.

A tree is also refused when it has an argument that its function here does not know: sqlglot says ``NOT LIKE`` by one, for example.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from airflow_lineage_provider.plan.expressions import Call, Cast, Expression, Literal
from airflow_lineage_provider.sql.functions import NOT_SCALAR, SCALAR
from airflow_lineage_provider.sql.literal_typing import adopted, adopted_all, compared, has_zone, number
from airflow_lineage_provider.sql.literal_typing import cast as constant_cast
from airflow_lineage_provider.sql.nodes import COMPARISONS
from airflow_lineage_provider.sql.predicate_intervals import check_intervals, interval

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.predicate import Reader

UNKNOWN = "unknown"
Converter = Callable[[Any, "Reader"], Expression]

_OPERATORS: dict[type[exp.Expr], str] = {kind: name for name, kind in COMPARISONS.items() if name not in ("==", "<>")}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
_PREDICATES = (exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Between, exp.In, exp.Is, exp.Not)
_LOOSE: frozenset[type[exp.Expr]] = frozenset({exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor})
_MATCHES: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
_CLOCK: dict[type[exp.Expr], str] = {exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp"}
_TYPES = {
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.TEXT: "string",
    exp.DType.BINARY: "binary",
    exp.DType.VARBINARY: "binary",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp_ntz",
}
_PLAIN_TIMESTAMP = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)
_REFUSED: dict[type[exp.Expr], str] = {
    exp.Query: "is a subquery, which a target cannot have; write the values themselves",
    exp.Subquery: "is a subquery, which a target cannot have; write the values themselves",
    exp.Exists: "is a subquery, which a target cannot have; write the values themselves",
    exp.Window: "is a window function, which a target cannot have: it is about one row",
    exp.Star: "is not a column; name the columns",
    exp.Alias: "has a word after the condition's end; join conditions with AND or OR",
    exp.Placeholder: "is a parameter; write the value itself",
    exp.Parameter: "is a variable; write the value itself",
    exp.Lambda: "is a lambda function, which a target cannot have",
    exp.Tuple: "is a list of values; compare the columns one by one, with AND",
    exp.Command: "is a statement; write a condition over the result's columns",
    exp.DDL: "is a statement; write a condition over the result's columns",
    exp.DML: "is a statement; write a condition over the result's columns",
}


def converter_of(tree: exp.Expr, reader: Reader) -> Converter:
    """What reads a tree of this kind.

    :raises InvalidTarget: such a tree may not stand in a target.
    """
    converter, allowed = _CONVERTERS.get(type(tree), (None, ()))
    if converter is None:
        why = next((reason for kind, reason in _REFUSED.items() if isinstance(tree, kind)), None)
        raise reader.refused(tree, why or f"({tree.key}) may not stand in a target; use comparisons, AND/OR/NOT, IN, LIKE, CASE, functions")
    unknown = [name for name, value in tree.args.items() if value and name not in allowed]
    if unknown:
        raise reader.refused(tree, f"is a subquery or a form of {tree.key.upper()} that a target cannot have ({', '.join(unknown)})")
    return converter


def _paren(tree: exp.Paren, reader: Reader) -> Expression:
    return reader.read(tree.this)


def _connector(tree: exp.Connector, reader: Reader) -> Expression:
    name, kind = ("and", exp.And) if isinstance(tree, exp.And) else ("or", exp.Or)
    trees: list[exp.Expr] = []
    waiting: list[exp.Expr] = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            waiting.extend((part.expression, part.this))
        else:
            trees.append(part)
    return _balanced(name, [reader.condition(reader.read(part), part) for part in trees])


def _balanced(name: str, terms: list[Expression]) -> Expression:
    """A chain as a tree of little depth: a target may list thousands of rows."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return Call(function=name, arguments=(_balanced(name, terms[:half]), _balanced(name, terms[half:])), type="boolean")


def _not(tree: exp.Not, reader: Reader) -> Expression:
    return _negated(reader.condition(reader.read(tree.this), tree.this))


def _negated(expression: Expression) -> Expression:
    if isinstance(expression, Call) and expression.function == "isnull":
        return Call(function="isnotnull", arguments=expression.arguments, type="boolean")
    return Call(function="not", arguments=(expression,), type="boolean")


def _comparison(tree: exp.Binary, reader: Reader) -> Expression:
    if any(isinstance(side, _PREDICATES) for side in (tree.this, tree.expression)):
        # sqlglot and Spark read a = b LIKE c differently.
        raise reader.refused(tree, "compares a test; put parentheses around the inner one")
    sides = _sides(reader.read(tree.this), reader.read(tree.expression), tree, reader)
    if isinstance(tree, exp.NEQ):
        return _negated(Call(function="=", arguments=sides, type="boolean"))
    return Call(function=_OPERATORS[type(tree)], arguments=sides, type="boolean")


def _sides(left: Expression, right: Expression, tree: exp.Expr, reader: Reader) -> tuple[Expression, Expression]:
    check_intervals(left, right, tree, reader)
    return compared(left, right)


def _between(tree: exp.Between, reader: Reader) -> Expression:
    value = reader.read(tree.this)
    bounds = ((">=", reader.read(tree.args["low"])), ("<=", reader.read(tree.args["high"])))
    low, high = (Call(function=name, arguments=_sides(value, bound, tree, reader), type="boolean") for name, bound in bounds)
    return Call(function="and", arguments=(low, high), type="boolean")


def _in(tree: exp.In, reader: Reader) -> Expression:
    value, items = reader.read(tree.this), [reader.read(item) for item in tree.expressions]
    if not items:
        raise reader.refused(tree, "is IN with an empty list")
    for item in items:
        check_intervals(value, item, tree, reader)
    return Call(function="in", arguments=(value, *adopted_all(items, value.type)), type="boolean")


def _is(tree: exp.Is, reader: Reader) -> Expression:
    value, other = reader.read(tree.this), tree.expression
    if isinstance(other, exp.Null):
        return Call(function="isnull", arguments=(value,), type="boolean")
    if isinstance(other, exp.Boolean):
        return Call(function="<=>", arguments=(reader.condition(value, tree.this), reader.read(other)), type="boolean")
    raise reader.refused(tree, "is an IS test that a target cannot have; use IS [NOT] NULL, TRUE, FALSE or DISTINCT FROM")


def _distinct_from(tree: exp.NullSafeNEQ, reader: Reader) -> Expression:
    sides = _sides(reader.read(tree.this), reader.read(tree.expression), tree, reader)
    return _negated(Call(function="<=>", arguments=sides, type="boolean"))


def _match(tree: exp.Binary, reader: Reader, *escape: Expression) -> Expression:
    arguments = (reader.read(tree.this), reader.read(tree.expression), *escape)
    call = Call(function=_MATCHES[type(tree)], arguments=arguments, type="boolean")
    return _negated(call) if tree.args.get("negate") else call


def _escape(tree: exp.Escape, reader: Reader) -> Expression:
    converter_of(tree.this, reader)
    if type(tree.this) not in (exp.Like, exp.ILike):
        raise reader.refused(tree, "has ESCAPE without LIKE")
    return _match(tree.this, reader, reader.read(tree.expression))


def _arithmetic(tree: exp.Binary, reader: Reader) -> Expression:
    for side in (tree.this, tree.expression):
        if type(side) in _ARITHMETIC and type(side) is not type(tree) and not _LOOSE.isdisjoint((type(side), type(tree))):
            # sqlglot and Spark read a & b || c differently.
            raise reader.refused(tree, "mixes operators; put parentheses around the inner one")
    name, left, right = _ARITHMETIC[type(tree)], reader.read(tree.this), reader.read(tree.expression)
    kind = next((side.type for side in (left, right) if not isinstance(side, Literal)), left.type)
    if name in ("+", "-", "*") and kind in ("int", "bigint"):
        left, right = (adopted(side, kind) if isinstance(side, Literal) else side for side in (left, right))
    same = left.type == right.type and left.type in ("int", "bigint") and name in ("+", "-", "*")
    return Call(function=name, arguments=(left, right), type=left.type if same else UNKNOWN)


def _minus(tree: exp.Neg, reader: Reader) -> Expression:
    if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return _number(f"-{tree.this.name}", tree, reader)
    value = reader.read(tree.this)
    return Call(function="negative", arguments=(value,), type=value.type)


def _complement(tree: exp.BitwiseNot, reader: Reader) -> Expression:
    value = reader.read(tree.this)
    return Call(function="~", arguments=(value,), type=value.type)


def _literal(tree: exp.Literal, reader: Reader) -> Expression:
    return Literal(value=tree.name, type="string") if tree.is_string else _number(tree.name, tree, reader)


def _number(text: str, tree: exp.Expr, reader: Reader) -> Literal:
    found = number(text)
    if found is None:
        raise reader.refused(tree, f"{text} has more than the 38 digits that Spark's numbers have")
    return found


def _raw(tree: exp.RawString, _reader: Reader) -> Expression:
    return Literal(value=tree.name, type="string")


def _hexadecimal(tree: exp.HexString, reader: Reader) -> Expression:
    digits = str(tree.this)
    padded = digits if len(digits) % 2 == 0 else f"0{digits}"
    try:
        return Literal(value=bytes.fromhex(padded).hex(), type="binary")
    except ValueError:
        raise reader.refused(tree, f"X'{digits}' is not hexadecimal") from None


def _boolean(tree: exp.Boolean, _reader: Reader) -> Expression:
    return Literal(value="true" if tree.this else "false", type="boolean")


def _null(_tree: exp.Null, _reader: Reader) -> Expression:
    return Literal(value=None, type="void")


def _column(tree: exp.Column, reader: Reader) -> Expression:
    if isinstance(tree.this, exp.Star):
        raise reader.refused(tree, _REFUSED[exp.Star])
    return reader.column(tree.parts)


def _dot(tree: exp.Dot, reader: Reader) -> Expression:
    if not isinstance(tree.expression, exp.Identifier):
        raise reader.refused(tree, "is a call with a qualified name; a target may call built-in functions alone")
    return reader.field(reader.read(tree.this), tree.expression)


def _bracket(tree: exp.Bracket, reader: Reader) -> Expression:
    if len(tree.expressions) != 1:
        raise reader.refused(tree, "takes several items at once; take one")
    return reader.item(reader.read(tree.this), reader.read(tree.expressions[0]), tree)


def _cast(tree: exp.Cast, reader: Reader) -> Expression:
    kind = _type(tree.to, reader)
    child = reader.read(tree.this)
    if type(tree) is exp.Cast and isinstance(child, Literal) and tree.to.this == exp.DType.TIMESTAMPTZ and has_zone(child.value or ""):
        kind = "timestamp"  # TIMESTAMP '… Z', whatever TIMESTAMP means without a zone
    # DATE '2025-12-01' and 7L stand here as casts.
    typed = constant_cast(child, kind) if isinstance(child, Literal) and child.value is not None else None
    if typed is not None:
        return typed
    return Cast(child=child, type=kind, safe=bool(tree.args.get("safe")))


def _type(tree: exp.DataType, reader: Reader) -> str:
    if tree.this == exp.DType.DECIMAL:
        precision, scale = ([parameter.name for parameter in tree.expressions] + ["10", "0"][len(tree.expressions) :])[:2]
        return f"decimal({precision},{scale})"
    kind = reader.timestamp_type if tree.this in _PLAIN_TIMESTAMP else _TYPES.get(tree.this)
    if kind is None or tree.expressions:
        raise reader.refused(
            tree, f"casts to {tree.sql(dialect='spark')}; a target may cast to scalar types alone: {', '.join(_TYPES.values())}"
        )
    return kind


def _case(tree: exp.Case, reader: Reader) -> Expression:
    conditions: list[Expression] = []
    for branch in tree.args["ifs"]:
        condition = reader.read(branch.this)
        if tree.this is not None:
            condition = Call(function="=", arguments=_sides(reader.read(tree.this), condition, branch, reader), type="boolean")
        conditions.append(reader.condition(condition, branch))
    results = [reader.read(branch.args["true"]) for branch in tree.args["ifs"]]
    default = tree.args.get("default")
    typed = _same_type([*results, *([] if default is None else [reader.read(default)])])
    pairs = [part for pair in zip(conditions, typed, strict=False) for part in pair]
    return Call(function="when", arguments=(*pairs, *typed[len(conditions) :]), type=_common(typed))


def _if(tree: exp.If, reader: Reader) -> Expression:
    condition = reader.condition(reader.read(tree.this), tree.this)
    branches = [reader.read(part) for part in (tree.args["true"], tree.args.get("false")) if part is not None]
    typed = _same_type(branches)
    return Call(function="when", arguments=(condition, *typed), type=_common(typed))


def _same_type(values: list[Expression]) -> list[Expression]:
    """Constants typed as the first value that is no constant, where all then agree."""
    kind = next((value.type for value in values if not isinstance(value, Literal)), None)
    if kind in ("int", "bigint", "double", "date", "string", "boolean"):
        typed = [adopted(value, kind) if isinstance(value, Literal) else value for value in values]
        return list(typed) if all(value.type == kind for value in typed) else values
    return values


def _common(values: list[Expression]) -> str:
    kinds = {value.type for value in values} - {"void"}
    return kinds.pop() if len(kinds) == 1 else UNKNOWN


def _extract(tree: exp.Extract, reader: Reader) -> Expression:
    unit = Literal(value=tree.this.name, type="string")
    return Call(function="date_part", arguments=(unit, reader.read(tree.expression)), type=UNKNOWN)


def _clock(tree: exp.Expr, _reader: Reader) -> Expression:
    return Call(function=_CLOCK[type(tree)], arguments=(), type=UNKNOWN)


def _call(tree: exp.Anonymous, reader: Reader) -> Expression:
    name = tree.name.lower()
    if name in NOT_SCALAR:
        raise reader.refused(tree, f"calls {name}, which is about many rows; a target is about one (use a column of the result)")
    if name not in SCALAR or isinstance(tree.this, exp.Identifier):
        close = get_close_matches(name[:100], SCALAR, 3, 0.7)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise reader.refused(tree, f"calls {name}, which is not a scalar function of Spark's that a target may call{hint}")
    arguments = [reader.read(argument) for argument in tree.expressions]
    typed = _same_type(arguments) if name == "coalesce" else arguments
    kind = {"coalesce": _common(typed), "isnull": "boolean", "isnotnull": "boolean"}.get(name, UNKNOWN)
    return Call(function=name, arguments=tuple(typed), type=kind)


_BINARY_ARGUMENTS = ("this", "expression")
_CONVERTERS: dict[type[exp.Expr], tuple[Converter, tuple[str, ...]]] = {
    exp.Paren: (_paren, ("this",)),
    exp.And: (_connector, _BINARY_ARGUMENTS),
    exp.Or: (_connector, _BINARY_ARGUMENTS),
    exp.Not: (_not, ("this",)),
    **dict.fromkeys(_OPERATORS, (_comparison, _BINARY_ARGUMENTS)),
    exp.NullSafeNEQ: (_distinct_from, _BINARY_ARGUMENTS),
    exp.Between: (_between, ("this", "low", "high")),
    exp.In: (_in, ("this", "expressions")),
    exp.Is: (_is, _BINARY_ARGUMENTS),
    **dict.fromkeys(_MATCHES, (_match, (*_BINARY_ARGUMENTS, "negate"))),
    exp.Escape: (_escape, _BINARY_ARGUMENTS),
    **dict.fromkeys(_ARITHMETIC, (_arithmetic, (*_BINARY_ARGUMENTS, "safe", "typed"))),
    exp.Neg: (_minus, ("this",)),
    exp.BitwiseNot: (_complement, ("this",)),
    exp.Literal: (_literal, ("this", "is_string")),
    exp.RawString: (_raw, ("this",)),
    exp.HexString: (_hexadecimal, ("this",)),
    exp.Boolean: (_boolean, ("this",)),
    exp.Null: (_null, ()),
    exp.Column: (_column, ("this", "table", "db", "catalog")),
    exp.Dot: (_dot, _BINARY_ARGUMENTS),
    exp.Bracket: (_bracket, ("this", "expressions")),
    exp.Interval: (interval, ("this", "unit")),
    exp.Cast: (_cast, ("this", "to")),
    exp.TryCast: (_cast, ("this", "to", "safe")),
    exp.Case: (_case, ("this", "ifs", "default")),
    exp.If: (_if, ("this", "true", "false")),
    exp.Extract: (_extract, _BINARY_ARGUMENTS),
    **dict.fromkeys(_CLOCK, (_clock, ())),
    exp.Anonymous: (_call, ("this", "expressions")),
}
