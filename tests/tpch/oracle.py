"""A second opinion: queries in SQL, evaluated in plain Python over annotated rows. Shares no code with the package.

Only sqlglot's parser is used. Sources are filtered and joined (`joining`), terms with subqueries judged (`subqueries`), rows grouped,
projected, made distinct, sorted and cut. Each step adds to the rows' lineage what the paper's definitions 5 to 8 say, and for what
is beyond the paper (semi-joins, scalar subqueries) what the package's operators promise. A table's columns come with its rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from tests.tpch import values as v
from tests.tpch.annotated import Call, Rid, Row, merged
from tests.tpch.conditions import conjuncts, terms
from tests.tpch.expressions import Function, compiled
from tests.tpch.joining import Joining, Source
from tests.tpch.scope import Frame, Scope
from tests.tpch.subqueries import judged


@dataclass(frozen=True)
class Table:
    """A source table: its columns and its rows, each with the row's own id as lineage."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Udf:
    """A UDF in both modes: a value, and a reason as it is stored."""

    value: Callable[..., Any]
    reason: Callable[..., str | None]


def table(name: str, rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> Table:
    """A table of rows as dictionaries."""
    columns = tuple(rows[0])
    return Table(columns, tuple(Row(tuple(row.values()), frozenset({(name, tuple(row[one] for one in key))})) for row in rows))


def evaluate(sql: str, tables: Mapping[str, Table], udfs: Mapping[str, Udf]) -> tuple[tuple[str, ...], list[Row]]:
    """The names of the result's columns, and its rows with their lineage.

    :raises NotImplementedError: the query has what none of TPC-H has.
    """
    query = _Query(sqlglot.parse_one(sql, dialect="spark"), None, {name: _Base(name, one) for name, one in tables.items()}, udfs)
    return query.columns, query.rows(None)


class _Base:
    """A source table as a query."""

    def __init__(self, name: str, source: Table) -> None:
        self.columns, self.tables = source.columns, frozenset({name})
        self._rows = list(source.rows)

    def rows(self, _outer: Frame | None) -> list[Row]:
        return self._rows


class _Query:
    """One SELECT. Its rows for given values of the outer query's columns are made once."""

    columns: tuple[str, ...]
    tables: frozenset[str]

    def __init__(self, select: exp.Expr, outer: Scope | None, known: Mapping[str, _Base | _Query], udfs: Mapping[str, Udf]) -> None:
        if not isinstance(select, exp.Select):
            raise NotImplementedError(type(select).__name__)
        self._select, self._udfs, self._known = select, udfs, dict(known)
        for cte in select.args["with_"].expressions if select.args.get("with_") else ():
            self._known[cte.alias] = _Query(cte.this, None, self._known, udfs)
        joins = [("inner", select.args["from_"].this, None)]
        joins += [(_kind(join), join.this, join.args.get("on")) for join in select.args.get("joins") or ()]
        below = [self._below(node) for _, node, _ in joins]
        self._scope = Scope([(node.alias_or_name, query.columns) for (_, node, _), query in zip(joins, below, strict=True)], outer)
        sources = [
            Source(functools.partial(query.rows, None), len(query.columns), kind, query.tables, terms(on, self._scope))
            for (kind, _, on), query in zip(joins, below, strict=True)
        ]
        where = terms(select.args["where"].this if select.args.get("where") else None, self._scope)
        self._joining = Joining(sources, self._scope, [one for one in where if not one.has_subquery], self._function, self._call)
        self._judges = [judged(one.node, self._scope, self._values, self._subquery) for one in where if one.has_subquery]
        self._outputs = self._expanded(select.expressions)
        self.columns = tuple(one.alias_or_name for one in self._outputs)
        self._grouping = _Grouping.of(self) if _is_grouped(select) else None
        self.tables = _tables(select, self._known)
        self._free = self._outer_columns()
        self._memo: dict[tuple[Any, ...], list[Row]] = {}

    def rows(self, outer: Frame | None) -> list[Row]:
        """The rows for a row of the outer query."""
        key = tuple(one(Frame((), outer)) for one in self._free)
        if key not in self._memo:
            self._memo[key] = self._evaluated(outer)
        return self._memo[key]

    # --- evaluation ----------------------------------------------------------------------------------------------------

    def _evaluated(self, outer: Frame | None) -> list[Row]:
        frames = _passing(self._joining.frames(outer), self._judges)
        if self._grouping is None:
            functions = [self._function(one) for one in self._outputs]
            rows = [merged(tuple(function(frame) for function in functions), _rows_of(frame)) for frame in frames]
        else:
            rows = self._grouping.rows(frames, outer)
        if self._select.args.get("distinct"):
            rows = _distinct(rows)
        return self._cut(self._sorted(rows))

    def _sorted(self, rows: list[Row]) -> list[Row]:
        for ordered in reversed(self._order()):
            at, largest_first = self.columns.index(ordered.this.name), bool(ordered.args.get("desc"))
            rows = sorted(rows, key=lambda row, at=at: _sort_key(row.values[at]), reverse=largest_first)  # type: ignore[misc]
        return rows

    def _cut(self, rows: list[Row]) -> list[Row]:
        limit = self._select.args.get("limit")
        count = len(rows) if limit is None else int(limit.expression.name)
        if count < len(rows) and self._order_values(rows[count - 1]) == self._order_values(rows[count]):
            raise ValueError("the limit cuts between equal rows: the result is not determined")
        return rows[:count]

    def _order(self) -> list[exp.Ordered]:
        return list(self._select.args["order"].expressions) if self._select.args.get("order") else []

    def _order_values(self, row: Row) -> list[Any]:
        return [row.values[self.columns.index(one.this.name)] for one in self._order()]

    # --- parts ---------------------------------------------------------------------------------------------------------

    def _below(self, node: exp.Expression) -> _Base | _Query:
        if isinstance(node, exp.Subquery):
            return _Query(node.this, None, self._known, self._udfs)
        return self._known[node.name]

    def _subquery(self, node: exp.Expression, scope: Scope) -> _Query:
        return _Query(node, scope, self._known, self._udfs)

    @property
    def _values(self) -> Mapping[str, Callable[..., Any]]:
        return {name: udf.value for name, udf in self._udfs.items()}

    def _function(self, node: exp.Expression) -> Function:
        return compiled(node, self._scope, self._values)

    def _call(self, name: str, arguments: tuple[Any, ...], behind: frozenset[Rid]) -> Call:
        udf = self._udfs[name]
        return Call(name, arguments, udf.value(*arguments), udf.reason(*arguments), behind)

    def _expanded(self, outputs: Sequence[exp.Expression]) -> list[exp.Expression]:
        if not any(isinstance(one, exp.Star) for one in outputs):
            return list(outputs)
        return [exp.column(name, table=alias) for alias, columns in self._scope.sources for name in columns]

    def _outer_columns(self) -> list[Function]:
        """The columns of the outer queries that the rows depend on, subqueries' included."""
        if self._scope.outer is None:
            return []
        found = {one.sql(): one for one in self._select.find_all(exp.Column) if _is_free(one, self._select, self._scope, self._known)}
        # As seen from a query without sources.
        seen_from_here = Scope((), self._scope.outer)
        return [compiled(one, seen_from_here, {}) for one in found.values()]


class _Grouping:
    """GROUP BY, the aggregate functions, HAVING and the projection above them."""

    def __init__(self, query: _Query, keys: list[exp.Expression], calls: list[exp.Expression], having: exp.Expression | None) -> None:
        self._global = not keys
        self._keys = [query._function(one) for one in keys]
        self._calls = [(one, query._function(_argument(one))) for one in calls]
        computed = {one.sql(): at for at, one in enumerate((*keys, *calls))}
        names = tuple(one.name if isinstance(one, exp.Column) else "" for one in keys) + ("",) * len(calls)
        scope = Scope([("", names)], query._scope.outer, computed)
        self._outputs = [compiled(one, scope, query._values) for one in query._outputs]
        found = [] if having is None else list(conjuncts(having))
        self._tests = [compiled(one, scope, query._values) for one in found if one.find(exp.Select) is None]
        self._judges = [judged(one, scope, query._values, query._subquery) for one in found if one.find(exp.Select) is not None]

    @classmethod
    def of(cls, query: _Query) -> _Grouping:
        """The grouping of a query that has one."""
        having = query._select.args["having"].this if query._select.args.get("having") else None
        group = query._select.args.get("group")
        calls = {one.sql(): one for part in (*query._outputs, having) if part is not None for one in _aggregates(part)}
        return cls(query, list(group.expressions) if group else [], list(calls.values()), having)

    def rows(self, frames: list[Frame], outer: Frame | None) -> list[Row]:
        groups: dict[tuple[Any, ...], list[Frame]] = {(): []} if self._global else {}
        for frame in frames:
            groups.setdefault(tuple(key(frame) for key in self._keys), []).append(frame)
        made = [Frame((self._row(key, members),), outer) for key, members in groups.items()]
        made = _passing([frame for frame in made if all(test(frame) is True for test in self._tests)], self._judges)
        return [merged(tuple(one(frame) for one in self._outputs), _rows_of(frame)) for frame in made]

    def _row(self, key: tuple[Any, ...], members: list[Frame]) -> Row:
        values = (
            v.aggregate(type(call).__name__, [argument(frame) for frame in members], distinct=isinstance(call.this, exp.Distinct))
            for call, argument in self._calls
        )
        return merged((*key, *values), (row for frame in members for row in _rows_of(frame)))


def _passing(frames: list[Frame], judges: Sequence[Callable[[Frame], tuple[bool | None, Row]]]) -> list[Frame]:
    """The rows that all terms let pass, with the subqueries' annotations as rows beside them."""
    for judge in judges:
        verdicts = [(frame, *judge(frame)) for frame in frames]
        frames = [frame._replace(rows=(*frame.rows, added)) for frame, truth, added in verdicts if truth is True]
    return frames


def _rows_of(frame: Frame) -> list[Row]:
    return [row for row in frame.rows if row is not None]


def _distinct(rows: list[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(row.values, []).append(row)
    return [merged(values, members) for values, members in groups.items()]


def _sort_key(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _kind(join: exp.Join) -> str:
    kinds = {("", ""): "inner", ("", "CROSS"): "inner", ("", "INNER"): "inner", ("LEFT", ""): "left", ("LEFT", "OUTER"): "left"}
    return (kinds | {("LEFT", "ANTI"): "anti"})[(join.side, join.kind)]


def _is_grouped(select: exp.Select) -> bool:
    return select.args.get("group") is not None or any(_aggregates(one) for one in select.expressions)


def _aggregates(node: exp.Expression) -> list[exp.Expression]:
    """Aggregate functions of this query, not of its subqueries."""
    if isinstance(node, exp.Window):
        raise NotImplementedError("a window function")
    if isinstance(node, exp.AggFunc):
        return [node]
    return [] if isinstance(node, exp.Select) else [one for child in node.iter_expressions() for one in _aggregates(child)]


def _argument(call: exp.Expression) -> exp.Expression:
    if isinstance(call.this, exp.Star):
        return exp.Literal.number(1)
    if isinstance(call.this, exp.Distinct):
        (only,) = call.this.expressions
        return only  # type: ignore[no-any-return]
    return call.this  # type: ignore[no-any-return]


def _tables(select: exp.Select, known: Mapping[str, _Base | _Query]) -> frozenset[str]:
    """The source tables that a query reads."""
    return frozenset().union(*(known[one.name].tables for one in select.find_all(exp.Table) if one.name in known))


def _is_free(column: exp.Column, select: exp.Select, scope: Scope, known: Mapping[str, _Base | _Query]) -> bool:
    """Whether a column inside a query is the outer query's: neither the query's own, nor of a query between."""
    holder: exp.Expression | None = column.parent_select
    while holder is not None and holder is not select:
        if _has(holder, column, known):
            return False
        holder = holder.parent_select
    return not _has(select, column, known)


def _has(select: exp.Expression, column: exp.Column, known: Mapping[str, _Base | _Query]) -> bool:
    nodes = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    wanted = [node for node in nodes if column.table in ("", node.alias_or_name)]
    return any(column.name in _columns_of(node, known) for node in wanted)


def _columns_of(node: exp.Expression, known: Mapping[str, _Base | _Query]) -> Sequence[str]:
    if isinstance(node, exp.Subquery):
        return [one.alias_or_name for one in node.this.expressions]
    return known[node.name].columns
