"""What the statistics of a version say of each row of a source (the paper's pred of a table, Sec. 6.2): no value is less than the least,
none is more than the most, and where there are no NULLs none is NULL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sketches.formula import Formulas, Row
from airflow_lineage_provider.sketches.kinds import is_whole, kind_of
from airflow_lineage_provider.sketches.matched import Single


class ColumnBounds(NamedTuple):
    """The bounds of a column's values as texts, where they are known, and whether some may be NULL. They may be wider than the values."""

    least: str | None = None
    most: str | None = None
    has_null: bool = True


Bounds = Mapping[tuple[int, str], ColumnBounds]
"""By leaf and column, of the version of the source that is read."""


def texts_of(bounds: Bounds) -> list[str]:
    """The texts in bounds, among which strings have places in the order of those of the plan."""
    return [text for one in bounds.values() for text in (one.least, one.most) if text is not None]


def source_facts(node: o.Source, bounds: Bounds, formulas: Formulas) -> tuple[Single, ...]:
    """What holds of every row of a source."""
    return tuple(_facts(node, bounds, formulas))


def _facts(node: o.Source, bounds: Bounds, formulas: Formulas) -> Iterator[Single]:
    for column, attribute in zip(node.columns, node.output, strict=True):
        known = bounds.get((node.leaf, column), ColumnBounds())
        if not attribute.nullable or not known.has_null:
            yield partial(not_null, formulas, attribute)
        if known.least is not None or known.most is not None:
            yield partial(_within, formulas, attribute, known)


def largest(node: o.Source, bounds: Bounds) -> dict[int, int]:
    """Of the attributes of whole numbers what none is larger than, its sign aside, where bounds say it."""
    named = ((bounds.get((node.leaf, column)), attribute) for column, attribute in zip(node.columns, node.output, strict=True))
    return {
        attribute.id: max(abs(int(known.least)), abs(int(known.most)))
        for known, attribute in named
        if is_whole(attribute.type) and known is not None and known.least is not None and known.most is not None
    }


def not_null(f: Formulas, attribute: e.Attribute, row: Row) -> Any:
    """That a value is there."""
    return f.fact(("there", attribute, f.row(attribute, row)), lambda: f.z3.Not(f.value(attribute, row).null))


def _within(f: Formulas, attribute: e.Attribute, known: ColumnBounds, row: Row) -> Any:
    kind = kind_of(attribute.type)

    def made() -> Any:
        ends = [None if one is None else f.value(e.Literal(value=one, type=attribute.type), row) for one in (known.least, known.most)]
        tests = zip((f.at_least, f.at_most), ends, strict=True)
        return f.z3.And([test(f.value(attribute, row), end, kind) for test, end in tests if end is not None])

    return f.fact(("within", attribute, f.row(attribute, row)), made)
