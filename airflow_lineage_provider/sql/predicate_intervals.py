"""Intervals in targets: ``gap > INTERVAL '1' HOUR``, ``dur = INTERVAL '1-2' YEAR TO MONTH``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan.expressions import Expression, Literal
from airflow_lineage_provider.plan.intervals import amount, is_year_month, text_of, type_of, units_of

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.predicate import Reader

_UNITS = {name: name for name in ("year", "month", "day", "hour", "minute", "second")}
_UNITS |= {f"{name}s": name for name in _UNITS}
# Spark's other units, as so many of those that its types have.
_OTHERS = {"week": ("day", 7), "millisecond": ("second", 1_000), "microsecond": ("second", 1_000_000)}
_OTHERS |= {f"{name}s": meaning for name, meaning in _OTHERS.items()}
_EXAMPLES = "write INTERVAL '1' HOUR, INTERVAL '1 02:03:04' DAY TO SECOND or INTERVAL '1-2' YEAR TO MONTH"


def interval(tree: exp.Interval, reader: Reader) -> Expression:
    """An interval as a constant of Spark's type for its units.

    :raises InvalidTarget: its units are none of one interval, or the text between its quotes has others.
    """
    body = tree.this.name if isinstance(tree.this, exp.Literal) else None
    named = _units(tree.args.get("unit"))
    if body is None or named is None:
        raise reader.refused(tree, f"is an interval that a target cannot have; {_EXAMPLES}")
    start, end = named
    if start == end and start in _OTHERS:
        unit, _ = _OTHERS[start]
        size = _of_other_unit(body, start)
        start = end = unit
    elif start in _UNITS and end in _UNITS:
        start, end = (_UNITS[start], _UNITS[end])
        size = amount(body, start, end)
    else:
        size = None
    if size is None:
        raise reader.refused(tree, f"is no interval: {body!r} does not say {' to '.join(dict.fromkeys(named))}; {_EXAMPLES}")
    return Literal(value=text_of(size, start, end), type=type_of(start, end))


def _units(unit: exp.Expr | None) -> tuple[str, str] | None:
    if isinstance(unit, exp.IntervalSpan):
        return unit.this.name.lower(), unit.expression.name.lower()
    return None if unit is None else (unit.name.lower(), unit.name.lower())


def _of_other_unit(body: str, name: str) -> int | None:
    unit, number = _OTHERS[name]
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", body):
        return None
    count = int(body)
    micros = count * number * 86_400_000_000 if unit == "day" else count * (1_000_000 // number)
    return micros if -(1 << 63) <= micros < 1 << 63 else None


def check_intervals(left: Expression, right: Expression, tree: exp.Expr, reader: Reader) -> None:
    """An interval is compared with one of its kind alone: with a number or a text it is refused, as Spark would when it is run.

    :raises InvalidTarget: it is compared with something else.
    """
    kinds = [units_of(side.type) for side in (left, right)]
    if kinds == [None, None] or any(side.type in ("unknown", "void") for side in (left, right)):
        return
    families = [None if kind is None else is_year_month(kind[0]) for kind in kinds]
    if families[0] != families[1]:
        raise reader.refused(tree, f"compares {left.type} with {right.type}; {_EXAMPLES}")
