"""Generators whose rows are written out (grouping sets, unpivot, ``stack``): which argument goes into which column."""

from __future__ import annotations

from airflow_lineage_provider.plan.expressions import Call, Expression, Literal

Parts = tuple[tuple[Expression, ...], ...]

_OF_ARRAYS = ("explode", "posexplode", "inline", "explode_outer", "posexplode_outer", "inline_outer")


def has_fixed_rows(generator: Call) -> bool:
    """Whether every row becomes the same number of rows, whatever its values."""
    return generator.function == "stack" or _listed(generator) is not None


def parts_by_column(generator: Call, width: int) -> Parts | None:
    """For each generated column the expressions that it takes its values from; None where they cannot be told apart."""
    if generator.function == "stack":
        values = generator.arguments[1:]
        return tuple(values[at::width] for at in range(width)) if isinstance(generator.arguments[0], Literal) else None
    listed = _listed(generator)
    if listed is None or not listed:
        return None
    if generator.function.startswith("explode") and width == 1:
        return (listed,)
    rows = [_fields(one) for one in listed] if generator.function.startswith("inline") else []
    if not rows or any(row is None or len(row) != width for row in rows):
        return None
    return tuple(tuple(row[at] for row in rows if row is not None) for at in range(width))


def _listed(generator: Call) -> tuple[Expression, ...] | None:
    """The items of an array that is written out in the call."""
    first = generator.arguments[0] if generator.arguments else None
    written = generator.function in _OF_ARRAYS and isinstance(first, Call) and first.function == "array"
    return first.arguments if written and isinstance(first, Call) else None


def _fields(item: Expression) -> tuple[Expression, ...] | None:
    match item:
        case Call(function="struct"):
            return item.arguments
        case Call(function="named_struct"):
            return item.arguments[1::2]
    return None
