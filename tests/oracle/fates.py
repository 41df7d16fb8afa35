"""What became of source rows, by the oracle: each place where a query reads a table is a table of its own, each subtree is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tests.oracle import evaluate
from tests.oracle import query as q


@dataclass(frozen=True)
class Fate:
    """``descendants``: rows of the result. ``dropped_by``: the first operator on the way up without a descendant."""

    descendants: int
    dropped_by: q.Node | None


def leaves(node: Any) -> list[str]:
    """The tables that a query reads, left to right, as often as it reads them."""
    return [one.name for one in q.nodes(node) if isinstance(one, q.Table)]


def fates(node: q.Node, tables: q.Tables) -> list[dict[int, Fate]]:
    """For every place where the query reads a table (as in `leaves`) what became of each row, by rid."""
    apart, copies = _apart(node, tables)
    cache: evaluate.Cache = {}
    found = []
    for place, name in enumerate(leaves(node)):
        own = f"{name}@{place}"
        way = [one for one in reversed(q.nodes(apart)) if own in leaves(one)]
        alive = [{rid for row in evaluate.rows(one, copies, cache) for table, rid in row.lineage if table == own} for one in way]
        root = evaluate.rows(apart, copies, cache)
        at = tables[name].rid
        found.append({row[at]: _fate(own, row[at], way, alive, root) for row in tables[name].rows})
    return found


def _fate(table: str, rid: int, way: list[q.Node], alive: list[set[int]], root: list[Any]) -> Fate:
    dropped = next((one for one, some in zip(way, alive, strict=True) if rid not in some), None)
    return Fate(sum((table, rid) in row.lineage for row in root), dropped)


def _apart(node: q.Node, tables: q.Tables) -> tuple[q.Node, q.Tables]:
    copies: dict[str, q.Data] = {}

    def rebuilt(value: Any) -> Any:
        if isinstance(value, q.Table):
            name = f"{value.name}@{len(copies)}"
            copies[name] = tables[value.name]
            return q.Table(name)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: rebuilt(getattr(value, f.name)) for f in fields(value)})
        return tuple(map(rebuilt, value)) if isinstance(value, tuple) else value

    return rebuilt(node), copies
