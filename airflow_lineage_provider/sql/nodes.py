"""Small builders of sqlglot nodes that both dialects share.

sqlglot writes operators without asking about precedence, so every operand that is itself an operator gets its parentheses here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import ErrorLevel, exp

from airflow_lineage_provider.plan.expressions import Call, Expression
from airflow_lineage_provider.sql.literals import composed
from airflow_lineage_provider.sql.names import Dialect, identifier
from airflow_lineage_provider.sql.tables import ColumnRef

Scope = Mapping[int, exp.Expr]

_OPERATORS = (exp.Binary, exp.Not, exp.Neg, exp.BitwiseNot, exp.In, exp.Between, exp.Filter, exp.Lambda, exp.Query)
_OPAQUE = "opaque"

COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "==": exp.EQ,
    "!=": exp.NEQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
}


_COMPARED = frozenset(COMPARISONS.values())


def column(table: exp.Identifier | None, name: exp.Identifier, opaque: bool = False) -> exp.Column:
    """A column reference; ``opaque``: it may be passed on only, not read (its stored form is not its value)."""
    node = exp.Column(this=name.copy(), table=None if table is None else table.copy())
    if opaque:
        node.meta[_OPAQUE] = True
    return node


def spelled(reference: ColumnRef, dialect: Dialect) -> exp.Expr:
    """A column of a physical table, without a qualifier."""
    if not reference.is_expression:
        return column(None, identifier(reference.text, dialect), reference.opaque)
    node = composed(f"({reference.text})")
    node.meta[_OPAQUE] = reference.opaque
    return node


def is_opaque(node: exp.Expr) -> bool:
    """Whether the node is a column that may only be passed on."""
    return bool(node.meta.get(_OPAQUE))


def operand(node: exp.Expr) -> exp.Expr:
    """The node, in parentheses where an operator stands around it."""
    dotted = isinstance(node, exp.Dot | exp.Bracket)
    return exp.Paren(this=node) if isinstance(node, _OPERATORS) and not dotted else node


def binary(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left OP right``."""
    # Arithmetic binds tighter than comparison in both dialects.
    bare = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod) if kind in _COMPARED else ()
    sides = (side if isinstance(side, bare) else operand(side) for side in (left, right))
    return kind(**dict(zip(("this", "expression"), sides, strict=True)))


def connected(kind: type[exp.Connector], terms: Iterable[exp.Expr]) -> exp.Expr:
    """``a AND b AND …`` (or OR); needs at least one term."""
    first, *others = terms
    if not others:
        return first
    result = first if isinstance(first, kind) else _grouped(first)
    for term in others:
        result = kind(this=result, expression=_grouped(term))
    return result


def _grouped(term: exp.Expr) -> exp.Expr:
    return exp.Paren(this=term) if isinstance(term, exp.Connector) else term


def terms_of(call: Call) -> tuple[Expression, ...]:
    """The terms of a chain of ANDs (or ORs), left to right; without recursion, for chains of thousands."""
    found: list[Expression] = []
    waiting: list[Expression] = [call]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == call.function:
            waiting.extend(reversed(part.arguments))
        else:
            found.append(part)
    return tuple(found)


def negated(node: exp.Expr) -> exp.Expr:
    """``NOT node``."""
    return exp.Not(this=operand(node))


def is_null(node: exp.Expr, negative: bool = False) -> exp.Expr:
    """``node IS NULL`` or ``node IS NOT NULL``."""
    return exp.Is(this=operand(node), expression=exp.Not(this=exp.Null()) if negative else exp.Null())


def case(arguments: list[exp.Expr]) -> exp.Expr:
    """CASE WHEN from condition, value, condition, value, …, and the ELSE value last where there is one."""
    pairs = zip(arguments[0::2], arguments[1::2], strict=False)
    default = arguments[-1] if len(arguments) % 2 else None
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in pairs], default=default)


def function(name: str | exp.Identifier, arguments: Iterable[exp.Expr], distinct: bool = False) -> exp.Expr:
    """``name(arguments)``, which sqlglot leaves as it is."""
    listed = list(arguments)
    return exp.Anonymous(this=name, expressions=[exp.Distinct(expressions=listed)] if distinct else listed)


def filtered(call: exp.Expr, condition: exp.Expr | None, dialect: Dialect) -> exp.Expr:
    """``call FILTER (WHERE condition)``."""
    if condition is None:
        return call
    return composed(f"{to_text(call, dialect, pretty=False)} FILTER (WHERE {to_text(condition, dialect, pretty=False)})")


def within_group(call: exp.Expr, keys: Iterable[exp.Expr], dialect: Dialect) -> exp.Expr:
    """``call WITHIN GROUP (ORDER BY keys)``; sqlglot would make another function of some."""
    written = ", ".join(to_text(key, dialect, pretty=False) for key in keys)
    return composed(f"{to_text(call, dialect, pretty=False)} WITHIN GROUP (ORDER BY {written})") if written else call


def cast(node: exp.Expr, type_text: str, safe: bool = False) -> exp.Expr:
    """``CAST(node AS type)``, the type's text as it stands."""
    kind = exp.DataType(this=exp.DType.USERDEFINED, kind=type_text)
    return exp.TryCast(this=node, to=kind) if safe else exp.Cast(this=node, to=kind)


def ordered(key: exp.Expr, ascending: bool, nulls_first: bool, dialect: Dialect) -> exp.Expr:
    """A sort key with the place of NULLs written out, which sqlglot leaves away where it is the dialect's default."""
    text = to_text(operand(key), dialect, pretty=False)
    return composed(f"{text} {'ASC' if ascending else 'DESC'} NULLS {'FIRST' if nulls_first else 'LAST'}")


def to_text(node: exp.Expr, dialect: Dialect, pretty: bool = True) -> str:
    """The node as SQL text; what the dialect cannot say is refused rather than left out."""
    options: dict[str, Any] = {"normalize_functions": False, "copy": False, "comments": False, "unsupported_level": ErrorLevel.RAISE}
    flat = node.sql(dialect=dialect, pretty=False, **options)
    # Indenting would change a name or string that has a line break in it.
    return flat if not pretty or "\n" in flat else node.sql(dialect=dialect, pretty=True, max_text_width=110, **options)
