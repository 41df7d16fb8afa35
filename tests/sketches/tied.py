"""Rows that tie at a limit whose order has not all columns: that the prover sees them, and that counting tells whether a sketch serves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.sketches.columns import SafeColumn, canonical
from airflow_lineage_provider.sketches.ties import limit_to_count
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.values import same
from tests.sketches.planned import planned

if TYPE_CHECKING:
    from tests.oracle.row import Row

Leaves = dict[str, q.Data]


@contextmanager
def any_that_tie() -> Iterator[None]:
    """The oracle takes the first of rows that tie, as Spark takes any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "cuts_between_equals", lambda *_: False)
        yield


def in_other_order(random: Random, leaves: Leaves) -> Leaves:
    """The same tables, so that another of rows that tie comes first."""
    return {name: replace(data, rows=tuple(random.sample(data.rows, len(data.rows)))) for name, data in leaves.items()}


def limits_above(node: q.Node, leaf: int) -> list[q.TopK]:
    """The limits that a leaf is under."""
    return [one for one in q.nodes(node) if isinstance(one, q.TopK) and any(_is_leaf(each, leaf) for each in q.nodes(one))]


def _is_leaf(node: q.Node, leaf: int) -> bool:
    return isinstance(node, q.Table) and node.name.endswith(f"@{leaf}")


def lowest(node: q.Node, leaf: int) -> q.TopK:
    """The limit next above a leaf."""
    above = limits_above(node, leaf)
    return next(one for one in above if not any(other is not one and other in q.nodes(one) for other in above))


def in_places(limit: q.TopK, leaves: Leaves) -> tuple[list[Row], bool]:
    """The rows in a limit's places, with all that tie with the last of them, and whether others do."""
    found, places = evaluate.ordered(evaluate.rows(limit.child, leaves), limit.descending, limit.by), limit.skip + limit.count
    there = [*found[:places], *(row for row in found[places:] if _place(row, limit) == _place(found[places - 1], limit))]
    return there, len(there) > places


def behind(node: q.Node, leaves: Leaves, safe: SafeColumn, rows: list[Row]) -> list[Row]:
    """The rows that a sketch is taken of, where these are the result's."""
    return in_places(lowest(node, safe.leaf), leaves)[0] if safe.at_limit else rows


def missed(node: q.Node, leaves: Leaves, verdicts: list[SafeColumn]) -> Iterator[str]:
    """The columns of which the prover says that no rows tie above them, where rows do that are not the same."""
    for one in verdicts:
        if not one.safe or one.ties or one.needs_fewer is not None:
            continue
        for limit in [lowest(node, one.leaf)] if one.at_limit else limits_above(node, one.leaf):
            found = evaluate.ordered(evaluate.rows(limit.child, leaves), limit.descending, limit.by)
            for last in {limit.skip, limit.skip + limit.count} - {0}:
                pair = found[last - 1 : last + 1]
                if len(pair) == 2 and _place(pair[0], limit) == _place(pair[1], limit) and len(_alike(found, pair[0], limit)) > 1:
                    yield f"a tie is missed: {one}\n{node}\n{leaves}\n{pair}"


def _place(row: Row, limit: q.TopK) -> tuple[object, ...]:
    return tuple(map(same, row.values[: limit.by]))


def _alike(found: list[Row], row: Row, limit: q.TopK) -> set[tuple[object, ...]]:
    return {tuple(map(same, one.values)) for one in found if _place(one, limit) == _place(row, limit)}


def in_place(node: q.Node, leaf: int, leaves: Leaves) -> bool | None:
    """Whether no others tie with the last rows of the one limit above a leaf; None where counting does not tell (`ties.limit_to_count`)."""
    counted = limit_to_count(canonical(planned(node, leaves)), leaf)
    if counted is None:
        return None
    (limit,) = limits_above(node, leaf)
    found = evaluate.ordered(evaluate.rows(limit.child, leaves), limit.descending, limit.by)
    return len(found) <= limit.count or _place(found[limit.count - 1], limit) != _place(found[limit.count], limit)
