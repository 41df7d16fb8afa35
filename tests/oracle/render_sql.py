"""Queries as Spark SQL, in three styles that Catalyst sees as different plans of the same query.

``nested``: a subquery for every operator. ``merged``: as few SELECTs as can be, the way people write SQL (WHERE, HAVING, expressions
over aggregates, joins of several tables, subqueries within conditions, window functions among columns). ``with``: a common table
expression for every operator, one that is used twice standing once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.oracle import query as q
from tests.oracle.render_select import JOINS, With, call, expression, nested, over, select, spelled, subquery

_CALLS = re.compile(rf"\b({'|'.join(q.UDF_TYPES)})\(| OVER \(|\(SELECT ")
"""What has lineage of its own in a column's text."""
_SUBQUERY = "(SELECT "
_WINDOW = " OVER ("
_WHOLE = q.Distinct | q.Union | q.TopK | q.GroupingSets | q.KeepOne | q.Using | q.Explode | q.SetOp


def to_sql(node: q.Node, tables: q.Tables, style: str) -> str:
    """The query as SQL over views that are named as the tables are."""
    if style == "with":
        return With(tables).text(node)
    if style == "merged":
        return _Merged(tables).block(node).text(spelled(node, tables))
    return nested(node, tables)


@dataclass(frozen=True)
class _Block:
    """A SELECT in the making: what each column is, in terms of what stands in FROM."""

    columns: tuple[str, ...]
    source: str
    where: tuple[str, ...] = ()
    group: tuple[str, ...] | None = None
    having: tuple[str, ...] = ()
    windows: bool = False
    """Whether its columns have window functions: only a projection may be merged into it."""
    subqueries: bool = False
    """Whether its columns have subqueries: so may a projection and a condition."""

    def text(self, names: Sequence[str]) -> str:
        clauses = [f"SELECT {', '.join(f'{text} AS {name}' for text, name in zip(self.columns, names, strict=True))} FROM {self.source}"]
        clauses += [f"WHERE {' AND '.join(self.where)}"] if self.where else []
        clauses += [f"GROUP BY {', '.join(self.group)}"] if self.group else []
        clauses += [f"HAVING {' AND '.join(self.having)}"] if self.having else []
        return " ".join(clauses)


class _Merged:
    def __init__(self, tables: q.Tables) -> None:
        self.tables = tables
        self.aliases: Iterator[str] = (f"z{number}" for number in itertools.count(1))

    def block(self, node: q.Node) -> _Block:
        match node:
            case q.Filter(child, condition):
                below = self.block(child)
                below = self._subquery(child) if below.windows else below
                term = expression(condition, below.columns)
                if below.group is None:
                    return replace(below, where=(*below.where, term))
                if _mentions(condition):
                    return replace(below, having=(*below.having, term))
                below = self._subquery(child)
                return replace(below, where=(expression(condition, below.columns),))
            case q.Project(child, items):
                below = self.block(child)
                if not _keeps(below, items) or (below.group == () and not any(map(_mentions, items))) or _sinks(below, items):
                    below = self._subquery(child)
                return replace(below, columns=tuple(expression(item, below.columns) for item in items))
            case q.Aggregate(child, keys, calls):
                return self._aggregate(child, keys, calls)
            case q.Join():
                return self._join(node)
            case q.Window(child, functions):
                below = self.block(child)
                if below.windows or below.subqueries or (below.group is not None and (not below.group or _calls(below))):
                    below = self._subquery(child)
                made = tuple(over(one, node, below.columns) for one in functions)
                return replace(below, columns=below.columns + made, windows=True)
            case q.Semi() | q.In() | q.Scalar() | q.Lookup():
                return self._with_subquery(node)
        return self._subquery(node)

    def _with_subquery(self, node: q.Semi | q.In | q.Scalar | q.Lookup) -> _Block:
        """A condition within WHERE, or a column, that has a subquery."""
        below = self.block(node.left)
        if below.group is not None or below.windows or any(_SUBQUERY in text for text in below.columns):
            below = self._subquery(node.left)
        names = spelled(node.right, self.tables)
        text = subquery(node, self._input(node.right), below.columns, names, next(self.aliases))
        if isinstance(node, q.Semi | q.In) and node.kind in ("semi", "anti"):
            return replace(below, where=(*below.where, text))
        # NOT (a IN …) would be another question than whether a IN … is not true.
        text = f"coalesce({text}, false)" if isinstance(node, q.In) else f"({text})"
        return replace(below, columns=(*below.columns, text), subqueries=True)

    def _aggregate(self, child: q.Node, keys: tuple[q.Expr, ...], calls: tuple[q.Call, ...]) -> _Block:
        below = self.block(child)
        group = tuple(expression(key, below.columns) for key in keys)
        used = (*keys, *(part for one in calls for part in one.inside))
        # GROUP BY 1 would mean the first column.
        by_number = any(re.fullmatch(r"-?\d+", key) for key in group)
        if below.group is not None or below.windows or below.subqueries or by_number or not _keeps(below, used):
            below = self._subquery(child)
            group = tuple(expression(key, below.columns) for key in keys)
        return replace(below, columns=group + tuple(call(one, below.columns) for one in calls), group=group)

    def _join(self, node: q.Join) -> _Block:
        left = self._side(node.left)
        right = self._subquery(node.right)
        columns = left.columns + right.columns
        on = "" if node.condition is None else f" ON {expression(node.condition, columns)}"
        return _Block(columns=columns, source=f"{left.source} {JOINS[node.kind]} {right.source}{on}")

    def _side(self, node: q.Node) -> _Block:
        """A join stands as it is on the left of another one."""
        return self._join(node) if isinstance(node, q.Join) else self._subquery(node)

    def _subquery(self, node: q.Node) -> _Block:
        alias = next(self.aliases)
        names = spelled(node, self.tables)
        columns = tuple(f"{alias}.{name}" for name in names)
        if isinstance(node, q.Table):
            return _Block(columns=columns, source=f"{node.name} AS {alias}")
        return _Block(columns=columns, source=f"({self._text(node, names)}) AS {alias}")

    def _text(self, node: q.Node, names: Sequence[str]) -> str:
        if isinstance(node, _WHOLE):
            inputs = [self._input(child) for child in q.children(node)]
            return select(node, inputs, self.tables)
        return self.block(node).text(names)

    def _input(self, node: q.Node) -> str:
        return node.name if isinstance(node, q.Table) else f"({self._text(node, spelled(node, self.tables))})"


def _mentions(one: q.Expr) -> bool:
    return any(isinstance(part, q.Col) for part in q.parts(one))


def _calls(below: _Block) -> bool:
    return any(map(_CALLS.search, below.columns))


def _sinks(below: _Block, items: Sequence[q.Expr]) -> bool:
    """Whether a call that reads no window function would be made below those of its SELECT, for every row of their frames."""
    texts = (expression(item, below.columns) for item in items)
    return below.windows and any(_CALLS.search(text) and _WINDOW not in text for text in texts)


def _keeps(below: _Block, items: Sequence[q.Expr]) -> bool:
    """Whether all of the block that has lineage of its own still stands there when only these expressions of its columns do."""
    used = {part.at for item in items for part in q.parts(item) if isinstance(part, q.Col)}
    conditions = [*below.where, *below.having]
    dropped = [text for at, text in enumerate(below.columns) if at not in used]
    return all(not _CALLS.search(text) or any(text in condition for condition in conditions) for text in dropped)
