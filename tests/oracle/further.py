"""Draws queries of all operators: subqueries, set operations, windows, generators, grouping sets beside the paper's own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from tests.oracle import query as q
from tests.oracle.maker import MOST_ROWS, Maker

_RANKS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
_FRAMES = ((None, 0), (-1, 0), (0, None), (-1, 1), (None, None), (0, 1), (-2, -1))


class FurtherMaker(Maker):
    kinds: ClassVar[tuple[str, ...]] = (
        *Maker.kinds,
        "semi", "is_in", "anti", "flag", "scalar", "lookup", "set_operation", "window", "explode", "grouping_sets", "keep_one", "using",
        "window", "lookup", "flag",
    )  # fmt: skip

    # --- subqueries ----------------------------------------------------------------------------------------------------

    def sides(self, depth: int) -> tuple[q.Node, q.Node]:
        return self.node(depth - 1), self.node(min(depth - 1, self.pick((0, 0, 1, 2))))

    def semi(self, depth: int) -> q.Node:
        """One that leaves rows, mostly."""
        left, right = self.sides(depth)
        condition = self.condition("left", self.types(left), self.types(right))
        made = q.Semi("semi", left, right, condition)
        return made if self.rows(made) or self.chance((True, False)) else replace(made, kind="anti")

    def anti(self, depth: int) -> q.Node:
        made = self.is_in(depth) if self.pick((True, False)) else self.semi(depth)
        turned = replace(made, kind="anti") if isinstance(made, q.Semi | q.In) else made
        return turned if self.rows(turned) else made

    def is_in(self, depth: int) -> q.Node:
        """NULLs on either side come by themselves; NOT IN over them is empty."""
        left, right = self.sides(depth)
        theirs = self.types(right)
        chosen = [self.draw_at(theirs) for _ in self.some(2, 1)]
        items = tuple(self.expression(self.types(left), theirs[at], self.pick((0, 0, 1))) for at in chosen)
        return q.In("semi", left, q.Project(right, tuple(map(q.Col, chosen))), items)

    def flag(self, depth: int) -> q.Node:
        """A column, or beside another condition within OR."""
        made = self.is_in(depth) if self.pick((False, False, True)) else self.semi(depth)
        if not isinstance(made, q.Semi | q.In):
            return made
        kind = self.pick(("flag", "not_flag")) if isinstance(made, q.In) else "flag"
        flagged = replace(made, kind=kind)  # type: ignore[arg-type]
        return self.tested(flagged, q.Col(len(self.types(made)))) if self.is_fine(flagged) else made

    def scalar(self, depth: int) -> q.Node:
        left, right = self.sides(depth)
        at = self.draw_at(self.types(right))
        one = q.TopK(q.Project(right, (q.Col(at),)), 1)
        if not self.is_fine(one) or self.pick((True, False)):
            one = q.Aggregate(right, (), (self.call(self.types(right)),))  # type: ignore[assignment]
        return self.compared(q.Scalar(left, one))

    def lookup(self, depth: int) -> q.Node:
        left, right = self.sides(depth)
        ours, theirs = self.types(left), self.types(right)
        shared = [(i, j) for i, x in enumerate(ours) for j, y in enumerate(theirs) if x == y]
        pairs: list[tuple[q.Expr, q.Expr]] = []
        for _ in self.some(2, 1):
            if shared and self.chance((True, True, False)):
                i, j = self.pick(shared)
                pairs.append((q.Col(i), q.Col(j)))
            else:
                at = self.draw_at(theirs)
                pairs.append((self.expression(ours, theirs[at], 1), q.Col(at)))
        call = self.call(theirs)
        kind = q.type_of(call.argument, theirs) if call.function in ("min", "max") and call.argument is not None else "int"
        value: q.Expr = q.Col(0) if kind != "int" or self.chance((True, False)) else q.Op("coalesce", (q.Col(0), q.Lit(7, "int")))
        copied = self.pick((True, False)) and _can_be_copied(left) and not any(_calls_udf(ours) for ours, _ in pairs)
        return self.compared(q.Lookup(left, right, tuple(pairs), (call,), value, "<=" if copied else "="))

    def compared(self, made: q.Scalar | q.Lookup) -> q.Node:
        """The subquery's value as a column, or within a condition: greater than something."""
        inputs = self.types(made)
        if inputs[-1] != "int" or self.pick((True, False)):
            return made
        return self.tested(made, q.Op("<=", (self.expression(inputs[:-1], "int", 0), q.Col(len(inputs) - 1))))

    def tested(self, made: q.Node, condition: q.Expr) -> q.Node:
        if self.pick((True, False)):
            return made
        return q.Filter(made, q.Op("or", (condition, self.expression(self.types(made), "bool", 1))))

    def draw_at(self, inputs: Sequence[q.Type]) -> int:
        return self.pick(range(len(inputs)))

    # --- set operations and joins --------------------------------------------------------------------------------------

    def set_operation(self, depth: int) -> q.Node:
        made = self.union(depth)
        assert isinstance(made, q.Union)
        kinds = [q.SetOp(kind, made.left, made.right, self.pick((False, True))) for kind in ("intersect", "except")]
        first = self.pick((0, 1))
        return kinds[first] if self.rows(kinds[first]) else kinds[1 - first]

    def using(self, depth: int) -> q.Node:
        left, right = self.sides(depth)
        if len(self.rows(left)) * len(self.rows(right)) > MOST_ROWS:
            right = q.Aggregate(right, (), (q.Call("count"), q.Call("max", q.Col(0))))
        shared = [(i, j) for i, x in enumerate(self.types(left)) for j, y in enumerate(self.types(right)) if x == y]
        if not shared:
            return q.Join("left", left, right, self.condition("left", self.types(left), self.types(right)))
        pairs = [self.pick(shared)]
        more = [(i, j) for i, j in shared if i != pairs[0][0] and j != pairs[0][1]]
        pairs += [self.pick(more)] if more and self.chance((False, False, True)) else []
        return q.Using(self.pick(("inner", "left", "right", "full")), left, right, tuple(pairs), self.pick((False, True)))

    # --- groups --------------------------------------------------------------------------------------------------------

    def call(self, inputs: Sequence[q.Type]) -> q.Call:
        made = super().call(inputs)
        if made.distinct and made.function == "count" and self.pick((True, False)):
            made = replace(made, more=(self.expression(inputs, self.kind(inputs), self.pick((0, 1))),))
        return replace(made, where=self.expression(inputs, "bool", 1)) if self.pick((False, False, False, True)) else made

    def grouping_sets(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        inputs = self.types(child)
        keys = tuple(dict.fromkeys(self.key(inputs) for _ in self.some(3, 1)))
        every = [some for count in range(len(keys), -1, -1) for some in itertools.combinations(range(len(keys)), count)]
        written = self.pick(("sets", "rollup", "cube"))
        sets = {
            "rollup": [tuple(range(count)) for count in range(len(keys), -1, -1)],
            "cube": every,
            "sets": list(dict.fromkeys(self.pick(every) for _ in self.some(3, 1))),
        }[written]
        calls = tuple(self.call(inputs) for _ in self.some(2, 1))
        return q.GroupingSets(child, keys, tuple(sets), calls, written)  # type: ignore[arg-type]

    def keep_one(self, depth: int) -> q.Node:
        """Over the keys and what follows from them, mostly, so that it does not matter which row stays."""
        child = self.node(depth - 1)
        inputs = self.types(child)
        key = self.draw_at(inputs)
        made = q.KeepOne(child, (key,))
        if self.is_fine(made):
            return made
        return q.KeepOne(q.Project(child, (q.Col(key), q.Op("is_null", (q.Col(key),)))), (0,))

    # --- windows and generators ----------------------------------------------------------------------------------------

    def window(self, depth: int) -> q.Node:
        """Where the order leaves ties that matter, by all columns; where rows are alike still, functions that ties do not matter to."""
        child = self.node(depth - 1)
        inputs = self.types(child)
        partition = tuple(dict.fromkeys(self.draw_at(inputs) for _ in self.some(1)))
        order = tuple({self.draw_at(inputs): self.pick((False, False, True)) for _ in self.some(2)}.items())
        functions = tuple(self.function(inputs, order) for _ in self.some(2, 1))
        made = q.Window(child, functions, partition, order)
        ordered = made if order else replace(made, order=((0, False),))
        ranged = any(one.frame is not None and one.frame.unit == "range" for one in functions)
        rest = tuple((at, False) for at in range(len(inputs)) if at not in dict(order))
        fallback = replace(ordered, functions=(q.Over("rank"), q.Over("count")))
        choices = [made, *([] if ranged else [replace(made, order=order + rest)]), fallback]
        return next(filter(self.is_fine, choices), child)

    def function(self, inputs: Sequence[q.Type], order: Sequence[Any]) -> q.Over:
        match self.pick(("aggregate", "rank", "neighbour", "picked", "aggregate") if order else ("aggregate", "picked")):
            case "rank":
                name = self.pick(_RANKS)
                return q.Over(name, number=self.pick((2, 1, 3)) if name == "ntile" else 1)
            case "neighbour":
                # The API's IGNORE NULLS is written over a column.
                ignore = self.pick((False, False, True))
                argument = self.expression(inputs, self.kind(inputs), 0 if ignore else self.pick((0, 0, 1)))
                return q.Over(self.pick(("lag", "lead")), argument, self.pick((1, 2)), ignore_nulls=ignore)
            case "picked":
                name = self.pick(("first_value", "last_value", "nth_value") if order else ("first_value", "last_value"))
                argument = self.expression(inputs, self.kind(inputs), self.pick((0, 0, 1)))
                number = self.pick((1, 2)) if name == "nth_value" else 1
                return q.Over(name, argument, number, self.frame(inputs, order), ignore_nulls=self.pick((False, True)))
        name = self.pick(("count", "sum", "min", "max"))
        if name == "count" and self.pick((True, False)):
            return q.Over("count", frame=self.frame(inputs, order))
        kind: q.Type = "int" if name == "sum" else self.kind(inputs)
        return q.Over(name, self.expression(inputs, kind, self.pick((0, 1, 2))), frame=self.frame(inputs, order))

    def frame(self, inputs: Sequence[q.Type], order: Sequence[Any]) -> q.Frame | None:
        if not order or self.pick((False, True)):
            return None
        start, end = self.pick(_FRAMES)
        # Values in reach are counted over one number.
        if (len(order) == 1 and inputs[order[0][0]] == "int") or {start, end} <= {None, 0}:
            return q.Frame(self.pick(("rows", "range")), start, end)
        return q.Frame("rows", start, end)

    def explode(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        inputs = self.types(child)
        kind = self.kind(inputs)
        items = tuple(self.expression(inputs, kind, self.pick((0, 0, 1))) for _ in self.some(3, 1))
        condition = self.expression(inputs, "bool", 1) if self.pick((False, False, True)) else None
        return q.Explode(child, items, self.pick((False, True)), self.pick((False, True)), condition, self.pick((False, True)))


def _can_be_copied(left: q.Node) -> bool:
    """Whether Spark may compute the left side a second time, to find out for which values a subquery is computed."""
    return not any(isinstance(one, q.TopK | q.KeepOne | q.Window) for one in q.nodes(left))


def _calls_udf(expression: q.Expr) -> bool:
    return any(isinstance(part, q.Udf) for part in q.parts(expression))
