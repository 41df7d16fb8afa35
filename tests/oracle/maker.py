"""Draws queries of the operators that the paper has: the simplest first, so that failures shrink to something readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, cast

from hypothesis import strategies as st

from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row
from tests.oracle.schema import names, types

T = TypeVar("T")

_LITERALS: dict[q.Type, tuple[Any, ...]] = {
    "int": (1, 0, 2, None),
    "string": ("a", "b", "", None),
    "bool": (True, False, None),
    "float": (0.0, 1.5, float("nan"), None),
}
MOST_ROWS = 150


@dataclass
class Maker:
    """Draws a query; what it has made so far may be used a second time."""

    draw: st.DrawFn
    tables: dict[str, q.Data]
    made: list[q.Node] = field(default_factory=list)
    cache: evaluate.Cache = field(default_factory=dict)
    kinds: ClassVar[tuple[str, ...]] = (
        "filter", "project", "aggregate", "join", "project", "union", "join", "aggregate", "distinct", "top",
    )  # fmt: skip

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def chance(self, options: Sequence[bool]) -> bool:
        """`pick`, of booleans; failures shrink to the first."""
        return self.pick(options)

    def some(self, maximum: int, minimum: int = 0) -> range:
        return range(self.draw(st.integers(minimum, maximum)))

    def types(self, node: q.Node) -> list[q.Type]:
        return types(node, self.tables)

    def rows(self, node: q.Node) -> list[Row]:
        return evaluate.rows(node, self.tables, self.cache)

    # --- operators -----------------------------------------------------------------------------------------------------

    def query(self, depth: int) -> q.Node:
        node = self.node(depth)
        kept = [at for at, name in enumerate(names(node, self.tables)) if not name.startswith("rid")]
        hidden = q.Project(node, tuple(q.Col(at) for at in kept[:6]))
        return hidden if kept and (len(kept) > 6 or len(kept) < len(self.types(node))) else node

    def node(self, depth: int) -> q.Node:
        if depth <= 0:
            return self.leaf()
        made = cast("q.Node", getattr(self, self.pick(self.kinds))(depth))
        if not self.is_fine(made):
            made = q.children(made)[0]
        self.made.append(made)
        return made

    def is_fine(self, node: q.Node) -> bool:
        """Whether the query says what is behind each row, and the rows are not too many."""
        try:
            return len(self.rows(node)) <= MOST_ROWS
        except Ambiguous:
            return False

    def leaf(self) -> q.Node:
        """A table, mostly without its rid; or what is there already, a second time."""
        if self.made and self.chance((False, False, True)):
            return self.draw(st.sampled_from(self.made))
        table = q.Table(self.pick(sorted(self.tables)))
        if self.pick((True, True, True, False)):
            at = self.tables[table.name].rid
            return q.Project(table, tuple(q.Col(i) for i in range(len(self.types(table))) if i != at))
        return table

    def filter(self, depth: int) -> q.Node:
        """One that leaves rows, mostly: a condition, its negation or its being NULL."""
        child = self.node(depth - 1)
        condition = self.expression(self.types(child), "bool", 2)
        made = [q.Filter(child, one) for one in (condition, q.Op("not", (condition,)), q.Op("is_null", (condition,)))]
        return made[0] if self.pick((False,) * 5 + (True,)) else next(filter(self.rows, made), made[0])

    def project(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        inputs = self.types(child)
        return q.Project(child, tuple(self.expression(inputs, self.kind(inputs), 2) for _ in self.some(4, 1)))

    def aggregate(self, depth: int) -> q.Node:
        """Now and then straight over another one: whether they make one segment depends on their keys."""
        stacked = depth > 1 and self.pick((False, False, True))
        child = self.aggregate(depth - 1) if stacked else self.node(depth - 1)
        inputs = self.types(child)
        keys = tuple(q.Col(len(inputs) - 1) if stacked and self.pick((True, False)) else self.key(inputs) for _ in self.some(2))
        calls = tuple(self.call(inputs) for _ in self.some(2, 0 if keys else 1))
        return q.Aggregate(child, keys, calls)

    def key(self, inputs: Sequence[q.Type]) -> q.Expr:
        made = self.expression(inputs, self.kind(inputs), self.pick((0, 0, 1, 2)))
        # A literal would be a column's number in SQL.
        return made if any(isinstance(part, q.Col) for part in q.parts(made)) else q.Col(self.draw(st.integers(0, len(inputs) - 1)))

    def call(self, inputs: Sequence[q.Type]) -> q.Call:
        function = self.pick(("count", "sum", "min", "max", "count"))
        if function == "count" and self.pick((True, False)):
            return q.Call("count")
        kind = "int" if function == "sum" else self.kind(inputs)
        distinct = function in ("count", "sum") and self.pick((False, False, True))
        return q.Call(function, self.expression(inputs, kind, self.pick((0, 1, 2))), distinct)  # type: ignore[arg-type]

    def join(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(min(depth - 1, self.pick((0, 0, 1, 2))))
        if self.pick((False, False, False, True)):
            left, right = right, left
        if len(self.rows(left)) * len(self.rows(right)) > MOST_ROWS:
            right = q.Aggregate(right, (), (q.Call("count"),))
        kind = self.pick(("inner", "left", "inner", "full", "right", "cross"))
        condition = None if kind == "cross" else self.condition(kind, self.types(left), self.types(right))
        made = q.Join(kind, left, right, condition)  # type: ignore[arg-type]
        if self.rows(made) or self.chance((True, False)):
            return made
        return q.Join("left", left, right, self.condition("left", self.types(left), self.types(right)))

    def condition(self, kind: str, left: list[q.Type], right: list[q.Type]) -> q.Expr:
        """Mostly an equality across, and sometimes any condition; outer joins have no UDF over both sides."""
        pairs = [(i, len(left) + j) for i, x in enumerate(left) for j, y in enumerate(right) if x == y]
        both = left + right
        equal = q.Op(self.pick(("=", "=", "<=>", "<=")), tuple(map(q.Col, self.pick(pairs)))) if pairs else None
        if equal is not None and self.pick((True, True, False)):
            return equal
        if self.pick((True, False)):
            return self.equal_values(left, right)
        more = self.expression(both, "bool", 2)
        if kind != "inner" and any(isinstance(part, q.Udf) for part in q.parts(more)):
            side = self.pick((0, 1))
            more = self.expression(left if side == 0 else right, "bool", 2)
            more = more if side == 0 else shifted(more, len(left))
        return more if equal is None else q.Op("and", (equal, more))

    def equal_values(self, left: list[q.Type], right: list[q.Type]) -> q.Expr:
        """A UDF over one side equals something of the other."""
        kind = self.pick(("string", "int", "bool"))
        ours, theirs = self.udf(left, kind, 1), self.expression(right, kind, 1)  # type: ignore[arg-type]
        return q.Op("=", (ours, shifted(theirs, len(left))))

    def union(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.node(min(depth - 1, self.pick((0, 0, 1, 2))))
        kinds = self.types(right)
        items = tuple(self.expression(kinds, kind, 0) for kind in self.types(left))
        if kinds != self.types(left) or self.chance((False, False, True)):
            right = q.Project(right, items)
        return q.Union(left, right, self.pick((True, True, False)))

    def distinct(self, depth: int) -> q.Node:
        return q.Distinct(self.node(depth - 1))

    def top(self, depth: int) -> q.Node:
        """The limit moves on until it does not cut between rows that only their lineage tells apart."""
        child = self.node(depth - 1)
        descending = frozenset(at for at in range(len(self.types(child))) if self.pick((False, False, True)))
        given = evaluate.ordered(self.rows(child), descending)
        skip = self.pick((0, 0, 0, 1, 2)) if len(given) > 2 else 0
        while evaluate.cuts_between_equals(given, skip):
            skip += 1
        count = self.pick((1, 2, 3, 5, 10))
        while evaluate.cuts_between_equals(given, skip + count):
            count += 1
        return q.TopK(child, count, skip, descending)

    # --- expressions ---------------------------------------------------------------------------------------------------

    def kind(self, inputs: Sequence[q.Type]) -> q.Type:
        return self.pick((*inputs, "int", "string", "bool"))

    def expression(self, inputs: Sequence[q.Type], kind: q.Type, depth: int) -> q.Expr:
        """An expression of a type, at most ``depth`` operations deep."""
        columns = [at for at, one in enumerate(inputs) if one == kind]
        simple = "column" if columns else "literal"
        makers = [simple, simple] if depth <= 0 else [simple, "udf", "operation", "operation"]
        match self.pick(makers):
            case "column":
                return q.Col(self.pick(columns))
            case "udf" if kind != "float":
                return self.udf(inputs, kind, depth)
            case "operation":
                return self.operation(inputs, kind, depth)
        return q.Lit(self.pick(_LITERALS[kind]), kind)

    def udf(self, inputs: Sequence[q.Type], kind: q.Type, depth: int) -> q.Expr:
        name = self.pick([name for name, (_, value) in q.UDF_TYPES.items() if value == kind])
        return q.Udf(name, tuple(self.expression(inputs, one, depth - 1) for one in q.UDF_TYPES[name][0]))

    def operation(self, inputs: Sequence[q.Type], kind: q.Type, depth: int) -> q.Expr:
        def of(one: q.Type) -> q.Expr:
            return self.expression(inputs, one, depth - 1)

        match self.pick(("own", "own", "coalesce", "case")):
            case "coalesce":
                return q.Op("coalesce", (of(kind), of(kind)))
            case "case":
                return q.Op("case", (of("bool"), of(kind), of(kind)))
        if kind == "int":
            right: q.Expr = q.Lit(2, "int") if (name := self.pick(("+", "-", "%", "*"))) in "%*" else of("int")
            return q.Op(name, (of("int"), right))
        if kind == "string":
            return q.Op("upper", (of("string"),)) if self.pick((True, False)) else q.Op("concat", (of("string"), of("string")))
        return of("float") if kind == "float" else self.test(inputs, depth)

    def test(self, inputs: Sequence[q.Type], depth: int) -> q.Expr:
        name = self.pick(("=", "is_null", "<", "<>", "<=", "<=>", "not", "and", "or"))
        kind: q.Type = "bool" if name in ("not", "and", "or") else self.kind(inputs)
        count = 1 if name in ("is_null", "not") else 2
        return q.Op(name, tuple(self.expression(inputs, kind, depth - 1) for _ in range(count)))


def shifted(one: q.Expr, by: int) -> q.Expr:
    """The expression over columns that stand further right."""
    match one:
        case q.Col(at):
            return q.Col(at + by)
        case q.Op(name, args):
            return q.Op(name, tuple(shifted(arg, by) for arg in args))
        case q.Udf(name, args):
            return q.Udf(name, tuple(shifted(arg, by) for arg in args))
    return one
