"""UDF calls in a join's condition: function operators below the side whose columns they take."""

from __future__ import annotations

from collections.abc import Sequence

from tests.oracle import query as q
from tests.oracle.row import Row, with_calls, with_values


def at_sides(
    left: list[Row], right: list[Row], inside: Sequence[q.Expr], widths: tuple[int, int]
) -> tuple[list[Row], list[Row], list[q.Udf]]:
    """Both sides after their function operators, and the calls that take columns of both."""
    outermost = [call for one in inside for call in _outermost_calls(one)]
    of_left = [call for call in outermost if all(at < widths[0] for at in _columns(call))]
    of_right = [call for call in outermost if call not in of_left and all(at >= widths[0] for at in _columns(call))]
    across = [call for call in outermost if call not in of_left and call not in of_right]
    # The condition's columns count on from the left side's.
    padding = (None,) * widths[0]
    judged = [with_calls(with_values(row, padding + row.values), of_right) for row in right]
    return [with_calls(row, of_left) for row in left], [with_values(row, row.values[widths[0] :]) for row in judged], across


def _outermost_calls(expression: q.Expr) -> list[q.Udf]:
    if isinstance(expression, q.Udf):
        return [expression]
    return [call for arg in expression.args for call in _outermost_calls(arg)] if isinstance(expression, q.Op) else []


def _columns(expression: q.Expr) -> list[int]:
    return [part.at for part in q.parts(expression) if isinstance(part, q.Col)]
