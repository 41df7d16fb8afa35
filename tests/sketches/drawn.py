"""Random queries and tables, of the shapes that a sketch can go wrong with: what is compared is often what a part of a group changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.oracle import query as q
from tests.oracle.maker import shifted
from tests.oracle.schema import types

COLUMNS = (("rid", "int"), ("k", "int"), ("v", "int"), ("s", "string"))
INT, TEXT = "int", "string"


def tables(random: Random, names: Sequence[str], least: int, *, unique: bool = False, full: bool = False) -> dict[str, q.Data]:
    """Few rows of few values; no number is below ``least``. ``unique``: k is a key; ``full``: no value is NULL."""
    found = {}
    for at, name in enumerate(names):
        rows = []
        for number in range(random.choice((0, 2, 4, 6, 8, 8))):
            nothing = random.random() < 0.5 and not full
            k = number if unique else random.choice((0, 1, 1, 2, None if nothing else 2))
            v = random.choice((least, 0, 1, 2, 3, 5, None if nothing else 4))
            rows.append((100 * (at + 1) + number, k, v, random.choice(("a", "b", "c", None if nothing else "d"))))
        found[name] = q.Data(COLUMNS, tuple(rows))
    return found


@dataclass
class Drawer:
    """Draws a query over the tables ``t0``, ``t1``."""

    random: Random

    def query(self, depth: int) -> q.Node:
        return self.node(depth)

    def types(self, node: q.Node) -> list[q.Type]:
        return types(node, {name: q.Data(COLUMNS) for name in ("t0", "t1")})

    def node(self, depth: int) -> q.Node:
        if depth <= 0:
            return q.Table(self.random.choice(("t0", "t1")))
        kinds: tuple[Callable[[int], q.Node], ...] = (
            self.filter, self.filter, self.grouped, self.grouped, self.having, self.having, self.top, self.top, self.join, self.semi,
            self.project, self.union, self.distinct, self.set_operation, self.scalar, self.windowed, self.exploded, self.outer,
        )  # fmt: skip
        return self.random.choice(kinds)(depth)

    def column(self, node: q.Node, kind: q.Type) -> q.Expr:
        found = [at for at, one in enumerate(self.types(node)) if one == kind]
        return q.Col(self.random.choice(found)) if found else q.Lit(1 if kind == "int" else "b", kind)

    # --- operators -----------------------------------------------------------------------------------------------------

    def filter(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        return q.Filter(child, self.condition(child))

    def project(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        kept = [q.Col(at) for at in range(len(self.types(child)))]
        return q.Project(child, (*self.random.sample(kept, min(len(kept), 3)), self.number(child)))

    def grouped(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        count = self.random.choice((1, 1, 1, 2, 0))
        keys = tuple(q.Col(at) for at in self.random.sample(columns, min(count, len(columns))))
        return q.Aggregate(child, keys, tuple(self.call(child) for _ in range(self.random.choice((1, 1, 2)))))

    def call(self, child: q.Node) -> q.Call:
        function = self.random.choice(("count", "sum", "sum", "max", "min"))
        where = self.condition(child) if self.random.random() < 0.15 else None
        if function == "count" and self.random.random() < 0.5:
            return q.Call("count", where=where)
        distinct = self.random.random() < 0.15 and function != "min"
        argument = self.number(child) if self.random.random() < 0.2 else self.column(child, "int")
        return q.Call(function, argument, distinct=distinct, where=where)  # type: ignore[arg-type]

    def having(self, depth: int) -> q.Node:
        """A selection on what an aggregation computed, often of rows that a selection has the sign of."""
        child = self.node(depth - 2)
        if self.random.random() < 0.5:
            bound = q.Lit(self.random.choice((0, 0, 1, -1)), "int")
            sides = (bound, self.column(child, "int"))
            child = q.Filter(child, q.Op(self.random.choice(("<=", "<")), sides if self.random.random() < 0.8 else sides[::-1]))
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        keys = tuple(q.Col(at) for at in self.random.sample(columns, self.random.choice((1, 1, 0))))
        grouped = q.Aggregate(child, keys, (self.call(child),))
        return q.Filter(grouped, self.comparison(q.Col(len(keys)), grouped))

    def top(self, depth: int) -> q.Node:
        child = self.grouped(depth - 1) if self.random.random() < 0.6 else self.node(depth - 1)
        width = len(self.types(child))
        turned = q.Project(child, tuple(q.Col(at) for at in reversed(range(width))))
        descending = frozenset(at for at in range(width) if self.random.random() < 0.5)
        by = None if self.random.random() < 0.6 else self.random.randint(0, width)
        return q.TopK(turned, self.random.choice((1, 1, 2, 3)), self.random.choice((0, 0, 0, 0, 1)), descending, by)

    def first_of_pairs(self, depth: int) -> q.Node:
        """A limit over one column of a join, of whose rows many are alike."""
        if self.random.random() < 0.5:
            left, right = q.Table("t0"), q.Table("t1")
            joined: q.Node = q.Join("inner", left, right, q.Op("=", (q.Col(1), q.Col(5))))
            return q.TopK(q.Project(joined, (q.Col(self.random.choice((2, 3, 6, 7))),)), self.random.choice((1, 2)))
        joined = self.join(depth - 1) if self.random.random() < 0.7 else self.semi(depth - 1)
        return q.TopK(q.Project(joined, (self.column(joined, "int"),)), self.random.choice((1, 1, 2, 3)))

    def first_by_key(self, depth: int) -> q.Node:
        """A limit by one column of the left side of a join, often its key, of whose rows several may have partners."""
        left, right = self.node(depth - 2), self.node(0)
        joined = q.Join("inner", left, right, self.across_one(left, right) if self.random.random() < 0.5 else self.across(left, right))
        rest = self.random.sample(range(len(self.types(joined))), 2)
        at = 1 if self.types(left)[:2] == ["int", "int"] else 0
        return q.TopK(q.Project(joined, (q.Col(at), *map(q.Col, rest))), self.random.choice((1, 1, 2, 3)), by=1)

    def by_steps(self, depth: int) -> q.Node:
        """A selection of groups by a function that goes up in steps, sometimes of a value that a selection or a join has renamed."""
        child = self.node(self.random.choice((0, 0, max(0, depth - 2))))
        key = q.Op("div", (self.column(child, "int"), q.Lit(self.random.choice((2, 2, 3)), "int")))
        grouped = q.Aggregate(child, (key,), (self.call(child),))
        return q.Filter(grouped, self.comparison(q.Col(1), grouped))

    def by_sets(self, depth: int) -> q.Node:
        """A selection of groups of grouping sets, of all of which a key often is."""
        child = self.node(self.random.choice((0, 0, max(0, depth - 2))))
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        keys = tuple(q.Col(at) for at in self.random.sample(columns, min(2, len(columns))))
        several: tuple[tuple[int, ...], ...] = self.random.choice((((0, 1), (0,)), ((0, 1), (0,), ()), ((0,), (1,)), ((0, 1), (1,))))
        sets = several if len(keys) == 2 else ((0,), ())
        grouped = q.GroupingSets(child, keys, sets, (self.call(child),))
        return q.Filter(grouped, self.comparison(q.Col(len(keys) + 1), grouped))

    def groups_of_first(self, depth: int) -> q.Node:
        """A selection of groups above a limit."""
        below = self.node(depth - 2)
        child = q.TopK(below, self.random.choice((2, 3, 4, 5)), by=self.random.choice((1, None)))
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        grouped = q.Aggregate(child, (q.Col(self.random.choice(columns)),) if columns else (), (self.call(child),))
        return q.Filter(grouped, self.comparison(q.Col(len(grouped.keys)), grouped))

    def some_of_first(self, depth: int) -> q.Node:
        """What drops rows of a limit, or its groups."""
        first = self.first_of_pairs(depth) if self.random.random() < 0.2 else self.top(max(1, depth - 1))
        match self.random.choice(("selection", "groups", "partners")):
            case "selection":
                return q.Filter(first, self.condition(first))
            case "partners":
                right = self.node(0)
                return q.Join("inner", first, right, self.across(first, right))
        columns = [at for at, one in enumerate(self.types(first)) if one in ("int", "string")]
        grouped = q.Aggregate(first, tuple(map(q.Col, self.random.sample(columns, min(1, len(columns))))), (self.call(first),))
        return q.Filter(grouped, self.comparison(q.Col(len(grouped.keys)), grouped))

    def join(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(self.random.choice((0, 0, 1)))
        return q.Join("inner", left, right, self.across(left, right))

    def outer(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(self.random.choice((0, 0, 1)))
        return q.Join(self.random.choice(("left", "right", "full")), left, right, self.across(left, right))

    def semi(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(self.random.choice((0, 1, 2)))
        kind: Any = self.random.choice(("semi", "semi", "anti", "flag"))
        if self.random.random() < 0.3:
            item = self.column(left, "int")
            return q.In(self.random.choice(("semi", "anti")), left, q.Project(right, (self.column(right, "int"),)), (item,))
        return q.Semi(kind, left, right, self.across(left, right))

    def across(self, left: q.Node, right: q.Node) -> q.Expr:
        """Mostly an equality; and often an inequality of numbers."""
        shift = len(self.types(left))
        equal = q.Op(
            self.random.choice(("=", "=", "=", "<=>", "<", "<=")), (self.column(left, "int"), shifted(self.column(right, "int"), shift))
        )
        further = self.random.random()
        if further < 0.1:
            return self.across_one(left, right)
        if further < 0.3:
            more = q.Op("<", (shifted(self.column(right, "int"), shift), self.column(left, "int")))
            return q.Op("and", (equal, more))
        return equal

    def across_one(self, left: q.Node, right: q.Node) -> q.Expr:
        """An equality of the right side alone, and an inequality."""
        shift = len(self.types(left))
        one, other, more = (shifted(self.column(right, "int"), shift) for _ in range(3))
        return q.Op("and", (q.Op("=", (one, other)), q.Op("<", (self.column(left, "int"), more))))

    def union(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(depth - 2)
        kinds = self.types(left)
        known = self.types(right)
        fits = all(kind in known or kind in ("int", "string") for kind in kinds)
        if not fits:
            return left
        return q.Union(left, q.Project(right, tuple(self.column(right, kind) for kind in kinds)), self.random.random() < 0.7)

    def distinct(self, depth: int) -> q.Node:
        return q.Distinct(self.project(depth))

    def set_operation(self, depth: int) -> q.Node:
        left, right = self.project(depth - 1), self.node(depth - 2)
        kinds = self.types(left)
        if any(kind not in ("int", "string") for kind in kinds):
            return left
        return q.SetOp(self.random.choice(("intersect", "except")), left, q.Project(right, tuple(self.column(right, k) for k in kinds)))

    def scalar(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(self.random.choice((0, 1)))
        made = q.Scalar(left, q.Aggregate(right, (), (self.call(right),)))
        width = len(self.types(left))
        if "int" not in self.types(left) or self.random.random() < 0.2:
            return made
        operation = self.random.choice(("=", "<", "<="))
        return q.Filter(made, q.Op(operation, (self.column(left, "int"), q.Col(width))))

    def windowed(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        columns = [at for at, one in enumerate(self.types(child)) if one in ("int", "string")]
        if not columns:
            return child
        partition = tuple(self.random.sample(columns, self.random.choice((0, 1, 1))))
        order = tuple((at, self.random.random() < 0.5) for at in self.random.sample(columns, 1))
        function = self.random.choice(("rank", "row_number", "dense_rank", "sum", "count"))
        argument = self.column(child, "int") if function in ("sum",) else None
        made = q.Window(child, (q.Over(function, argument),), partition, order)
        return q.Filter(made, self.comparison(q.Col(len(self.types(child))), made)) if self.random.random() < 0.7 else made

    def exploded(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        return q.Explode(child, (self.column(child, "int"), self.number(child)), outer=self.random.random() < 0.3)

    # --- expressions ---------------------------------------------------------------------------------------------------

    def number(self, node: q.Node) -> q.Expr:
        one = self.column(node, "int")
        name = self.random.choice(("+", "-", "*", "%", "case", "coalesce", "same"))
        match name:
            case "same":
                return one
            case "*" | "%":
                return q.Op(name, (one, q.Lit(2, "int") if name == "%" or self.random.random() < 0.5 else self.column(node, "int")))
            case "case":
                return q.Op("case", (self.comparison(one, node), q.Lit(1, "int"), self.column(node, "int")))
            case "coalesce":
                return q.Op("coalesce", (one, q.Lit(0, "int")))
        return q.Op(name, (one, self.random.choice((q.Lit(1, "int"), self.column(node, "int")))))

    def condition(self, node: q.Node) -> q.Expr:
        made = self.comparison(self.column(node, "int"), node)
        other = self.random.random()
        if other < 0.15 and "string" in self.types(node):
            return q.Op("=", (self.column(node, "string"), q.Lit(self.random.choice("abc"), "string")))
        if other < 0.25:
            return q.Op("or", (made, self.comparison(self.column(node, "int"), node)))
        if other < 0.35:
            return q.Op("and", (made, self.comparison(self.column(node, "int"), node)))
        return q.Op("not", (made,)) if other < 0.45 else made

    def comparison(self, one: q.Expr, node: q.Node) -> q.Expr:
        name = self.random.choice(("<", "<=", "<", "<=", "=", "<=>", "is_null", "not_null"))
        if name == "is_null":
            return q.Op(name, (one,))
        if name == "not_null":
            return q.Op("not", (q.Op("is_null", (one,)),))
        other: Any = q.Lit(self.random.choice((0, 1, 2, 3, 5, 8, -1)), "int")
        if self.random.random() < 0.2:
            other = self.column(node, "int")
        return q.Op(name, (other, one) if self.random.random() < 0.65 else (one, other))
