"""The oracle's queries as plans, as they would be captured: what the prover is asked about, and the oracle can evaluate.

Every access to a table is a leaf of its own (`apart`): a sketch is of one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.relation import Relation
from tests.oracle import query as q
from tests.oracle.schema import call_type, over_type, types

_TYPES: Mapping[q.Type, str] = {"int": "bigint", "string": "string", "bool": "boolean", "float": "double"}
_ONE = e.Literal(value="1", type="int")


class NoPlan(Exception):
    """The translation has no such operator."""


def apart(node: q.Node, tables: q.Tables) -> tuple[q.Node, dict[str, q.Data]]:
    """The query with a table of its own for each access, named by the number of its leaf."""
    found: dict[str, q.Data] = {}

    def named(one: Any) -> Any:
        if isinstance(one, q.Table):
            name = f"{one.name}@{len(found)}"
            found[name] = tables[one.name]
            return q.Table(name)
        sides = ("left", "right") if hasattr(one, "left") else ("child",)
        return replace(one, **{side: named(getattr(one, side)) for side in sides})

    return named(node), found


def planned(node: q.Node, tables: q.Tables) -> o.Plan:
    """The plan of a query whose tables are `apart`.

    :raises NoPlan: it has an operator that this does not translate.
    """
    return _Planner(tables).plan(node)


@dataclass
class _Planner:
    tables: q.Tables
    ids: itertools.count[int] = field(default_factory=itertools.count)

    def attribute(self, name: str, kind: q.Type) -> e.Attribute:
        return e.Attribute(id=next(self.ids), name=f"{name}", type=_TYPES[kind])

    def alias(self, expression: e.Expression, name: str = "x") -> e.Alias:
        return e.Alias(child=expression, attribute=e.Attribute(id=next(self.ids), name=name, type=expression.type))

    def plan(self, node: q.Node) -> o.Plan:
        given = [self.plan(child) for child in q.children(node)]
        kinds = types(node, self.tables)
        match node:
            case q.Table(name):
                data = self.tables[name]
                output = tuple(self.attribute(column, kind) for (column, _), kind in zip(data.columns, kinds, strict=True))
                names = tuple(column for column, _ in data.columns)
                return o.Source(relation=Relation(name=name, kind="local"), output=output, columns=names, leaf=int(name.split("@")[1]))
            case q.Filter(_, condition):
                return o.Filter(child=given[0], condition=self.expression(condition, given[0].output))
            case q.Project(_, items):
                columns = tuple(self.alias(self.expression(item, given[0].output)) for item in items)
                return o.Project(child=given[0], columns=columns)
            case q.Join(kind, _, _, on):
                both = given[0].output + given[1].output
                return o.Join(left=given[0], right=given[1], kind=kind, condition=None if on is None else self.expression(on, both))
            case q.Aggregate(_, keys, calls):
                return self.aggregate(given[0], keys, calls, kinds)
            case q.GroupingSets(_, keys, sets, calls):
                return self.sets(given[0], keys, sets, calls)
            case q.Distinct():
                return o.Distinct(child=given[0])
            case q.Union(_, _, every):
                union = o.Union(children=(given[0], given[1]), output=tuple(self.attribute("u", kind) for kind in kinds))
                return union if every else o.Distinct(child=union)
            case q.TopK():
                return self.top(given[0], node)
            case q.Semi(kind, _, _, condition):
                return self.semi(kind, given[0], given[1], self.expression(condition, given[0].output + given[1].output))
            case q.In(kind, _, _, items):
                return self.is_in(kind, given[0], given[1], items)
            case q.SetOp(kind, _, _, every) if not every:
                terms = tuple(_call("<=>", pair, "boolean") for pair in zip(given[0].output, given[1].output, strict=True))
                joins: dict[str, o.JoinKind] = {"intersect": "left_semi", "except": "left_anti"}
                return o.Distinct(child=o.Join(left=given[0], right=given[1], kind=joins[kind], condition=e.conjunction(terms)))
            case q.Scalar():
                value = e.ScalarSubquery(plan=given[1], type=given[1].output[0].type)
                return o.Project(child=given[0], columns=(*given[0].output, self.alias(value)))
            case q.Window():
                return self.window(given[0], node)
            case q.Explode() if not node.position and node.condition is None:
                made = tuple(self.expression(one, given[0].output) for one in node.items)
                array = _call("array", made, f"array<{made[0].type}>")
                return o.Generate(
                    child=given[0], generator=_call("explode", (array,), array.type), generated=(self.attribute("item", kinds[-1]),),
                    outer=node.outer,
                )  # fmt: skip
        raise NoPlan(type(node).__name__)

    def aggregate(self, child: o.Plan, keys: Sequence[q.Expr], calls: Sequence[q.Call], kinds: Sequence[q.Type]) -> o.Plan:
        grouped = tuple(self.expression(key, child.output) for key in keys)
        made = [self.alias(key, "g") for key in grouped] + [self.alias(self.call(one, child), one.function) for one in calls]
        return o.Aggregate(child=child, keys=grouped, columns=tuple(made))

    def sets(self, child: o.Plan, keys: Sequence[q.Expr], sets: Sequence[Sequence[int]], calls: Sequence[q.Call]) -> o.Plan:
        """As Spark has them: each row once for every set, with NULL for the keys that the set has not, and the set's number."""
        wanted = tuple(self.expression(key, child.output) for key in keys)
        structs = []
        for chosen in sets:
            number = sum(2 ** (len(keys) - 1 - at) for at in range(len(keys)) if at not in chosen)
            values = [key if at in chosen else e.Literal(value=None, type=key.type) for at, key in enumerate(wanted)]
            fields = [part for at, one in enumerate((*values, e.Literal(value=str(number), type="bigint"))) for part in (_name(at), one)]
            structs.append(_call("named_struct", fields, "struct"))
        generated = (*(e.Attribute(id=next(self.ids), name="k", type=key.type) for key in wanted), self.attribute("number", "int"))
        generator = _call("inline", (_call("array", structs, "array<struct>"),), "array<struct>")
        rows = o.Generate(child=child, generator=generator, generated=generated)
        made = [self.alias(key, "g") for key in generated] + [self.alias(self.call(one, child), one.function) for one in calls]
        return o.Aggregate(child=rows, keys=generated, columns=tuple(made))

    def call(self, call: q.Call, child: o.Plan) -> e.AggregateCall:
        inputs = types_of(child)
        given = tuple(self.expression(one, child.output) for one in (call.argument, *call.more) if one is not None)
        where = None if call.where is None else self.expression(call.where, child.output)
        kind = _TYPES[call_type(call, inputs)]
        return e.AggregateCall(function=call.function, arguments=given or (_ONE,), type=kind, distinct=call.distinct, filter=where)

    def top(self, child: o.Plan, node: q.TopK) -> o.Plan:
        order = tuple(
            e.SortKey(child=a, ascending=at not in node.descending, nulls_first=True) for at, a in enumerate(child.output[: node.by])
        )
        return o.Limit(child=o.Sort(child=child, order=order) if order else child, count=node.count, offset=node.skip)

    def semi(self, kind: str, left: o.Plan, right: o.Plan, condition: e.Expression) -> o.Plan:
        if kind == "flag":
            flag = self.attribute("found", "bool")
            return o.Join(left=left, right=right, kind="existence", condition=condition, exists=flag)
        joins: dict[str, o.JoinKind] = {"semi": "left_semi", "anti": "left_anti"}
        return o.Join(left=left, right=right, kind=joins[kind], condition=condition)

    def is_in(self, kind: str, left: o.Plan, right: o.Plan, items: Sequence[q.Expr]) -> o.Plan:
        pairs = zip((self.expression(item, left.output) for item in items), right.output, strict=False)
        condition = e.conjunction(tuple(_call("=", pair, "boolean") for pair in pairs))
        assert condition is not None
        if kind == "anti":
            condition = _call("or", (condition, _call("isnull", (condition,), "boolean")), "boolean")
        if kind == "not_flag":
            raise NoPlan(kind)
        return self.semi(kind, left, right, condition)

    def window(self, child: o.Plan, node: q.Window) -> o.Plan:
        inputs = types_of(child)
        functions = []
        for one in node.functions:
            if one.frame is not None or one.ignore_nulls or one.function in ("lag", "lead", "ntile", "nth_value"):
                raise NoPlan(one.function)
            given = () if one.argument is None else (self.expression(one.argument, child.output),)
            frame = e.WindowFrame(kind="range", lower="unbounded", upper="current_row") if node.order else e.WHOLE_PARTITION
            function = e.WindowFunction(function=one.function, arguments=given, type=_TYPES[over_type(one, inputs)], frame=frame)
            functions.append(self.alias(function, one.function))
        order = tuple(e.SortKey(child=child.output[at], ascending=not down, nulls_first=not down) for at, down in node.order)
        return o.Window(child=child, functions=tuple(functions), partition=tuple(child.output[at] for at in node.partition), order=order)

    # --- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, one: q.Expr, given: Sequence[e.Attribute]) -> e.Expression:
        match one:
            case q.Col(at):
                return given[at]
            case q.Lit(value, kind):
                return e.Literal(value=None if value is None else str(value).lower() if kind == "bool" else str(value), type=_TYPES[kind])
            case q.Udf(name, args):
                arguments = tuple(self.expression(arg, given) for arg in args)
                made = _TYPES[q.UDF_TYPES[name][1]]
                return e.UdfCall(udf=name, arguments=arguments, type=made, deterministic=True, call=next(self.ids), eval_type=200)
            case q.Op(name, args):
                return _operation(name, tuple(self.expression(arg, given) for arg in args))


def types_of(plan: o.Plan) -> list[q.Type]:
    """The oracle's types of a plan's columns."""
    back: dict[str, q.Type] = {spark: kind for kind, spark in _TYPES.items()}
    return [back[a.type] for a in plan.output]


def _call(function: str, arguments: Sequence[e.Expression], type_: str) -> e.Call:
    return e.Call(function=function, arguments=tuple(arguments), type=type_)


def _name(at: int) -> e.Literal:
    return e.Literal(value=f"c{at}", type="string")


def _operation(name: str, given: tuple[e.Expression, ...]) -> e.Expression:
    first = given[0].type
    match name:
        case "<>":
            return _call("not", (_call("=", given, "boolean"),), "boolean")
        case "is_null":
            return _call("isnull", given, "boolean")
        case "case":
            return _call("when", given, given[1].type)
        case "=" | "<" | "<=" | "<=>" | "and" | "or" | "not":
            return _call(name, given, "boolean")
        case "concat" | "upper":
            return _call(name, given, "string")
    return _call(name, given, first)
