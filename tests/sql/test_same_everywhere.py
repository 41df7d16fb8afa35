"""All that is written for PostgreSQL and DuckDB gives there what Spark gives, over awkward values: what does not must leave the list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import psycopg2.errors
import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql import ColumnRef, Dialect, PortabilityProblem, lower_expression
from tests.in_turn import in_turn, sampled
from tests.sql.all_engines import INTEGERS, VALUES, Pairs
from tests.sql.build import aggregate, attribute, call, literal, named, text

if TYPE_CHECKING:
    from psycopg2.extensions import cursor
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ELSEWHERE: tuple[Dialect, ...] = ("postgres", "duckdb")


@pytest.mark.parametrize("kind", sampled(VALUES, 3))
def test_comparisons(pairs: Pairs, kind: str) -> None:
    pairs.evaluate(kind, lambda a, b: [call(operator, a, b) for operator in ("=", "<=>", "<", "<=", ">", ">=", "==", "!=")])


@pytest.mark.parametrize("kind", sampled(VALUES, 3))
def test_conditions_and_choices(pairs: Pairs, kind: str) -> None:
    def write(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
        less, same = call("<", a, b), call("=", a, b)
        return [
            call("isnull", a),
            call("isnotnull", a),
            call("not", less),
            call("and", less, call("isnull", b)),
            call("or", same, call("or", less, call("isnull", b))),
            call("and", call("or", same, less), call("not", call("and", same, less))),
            call("coalesce", a, b, kind=kind),
            call("when", less, a, same, b, kind=kind),
            call("when", less, a, b, kind=kind),
            call("if", less, literal(None, "void"), b, kind=kind),
            call("in", a, b, literal(None, kind)),
        ]

    pairs.evaluate(kind, write)


# One constant of each type in the text that plans carry.
CONSTANTS = {
    "string": ["a", "", "😀", "a\\b", "a ", "é"],
    "tinyint": ["1", "-128"],
    "smallint": ["1", "-32768"],
    "int": ["1", "-2147483648"],
    "bigint": ["1", "-9223372036854775808", "9007199254740993"],
    "float": ["0.1", "-0.0", "NaN", "Infinity", "1.4E-45"],
    "double": ["0.1", "-0.0", "NaN", "-Infinity", "0.30000000000000004", "9.007199254740993E15", "1.5"],
    "decimal(10,2)": ["0.01", "1.50"],
    "decimal(38,10)": ["1.5000000000"],
    "boolean": ["true", "false"],
    "date": ["1582-10-15", "2024-02-29"],
    "timestamp": ["2025-12-01 00:00:00Z", "2025-12-01 01:00:00.000001+01:00"],
    "timestamp_ntz": ["2025-12-01 00:00:00", "2025-12-01 00:00:00.000001"],
    "binary": ["00", "", "6162"],
}


@pytest.mark.parametrize("kind", sampled(VALUES, 3))
def test_constants(pairs: Pairs, kind: str) -> None:
    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        constants = [literal(value, kind) for value in CONSTANTS[kind]]
        compared = [call(operator, a, constant) for operator in ("=", "<=>", "<", ">=") for constant in constants]
        swapped = [call(operator, constant, a) for operator in ("=", ">") for constant in constants]
        listed = [call("in", a, *constants), call("not", call("in", a, *constants)), call("coalesce", a, constants[0], kind=kind)]
        return [*compared, *swapped, *listed, *constants]

    pairs.evaluate(kind, write)


def test_long_in_lists(pairs: Pairs) -> None:
    """Spark looks long lists up in a set."""
    for kind in ("int", "double", "string"):
        constants = [literal(f"{n}.0" if kind == "double" else n, kind) for n in range(-10, 12)]

        def write(a: e.Attribute, _b: e.Attribute, constants: Sequence[e.Expression] = constants) -> list[e.Expression]:
            return [call("in", a, *constants), call("not", call("in", a, *constants))]

        pairs.evaluate(kind, write)


PATTERNS = [
    ("%", None),
    ("_", None),
    ("", None),
    ("a%", None),
    ("%b", None),
    ("a_b", None),
    ("a\\_b", None),
    ("a\\%b", None),
    ("a\\\\b", None),
    ("\\\\", None),
    ("_%", None),
    ("__", None),
    ("a|%b", "|"),
    ("a|_b", "|"),
    ("\\", "|"),
    ("a\\b", "|"),
    ("%\n%", None),
    ("é", None),
    ("a%%b", "%"),
    ("a__b", "_"),
    (".", None),
    ("a.b", None),
    ("[a]", None),
]


def test_like(pairs: Pairs) -> None:
    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        return [call("like", a, text(pattern), *([] if escape is None else [text(escape)])) for pattern, escape in PATTERNS]

    pairs.evaluate("string", write)


@pytest.mark.parametrize("dialect", ELSEWHERE)
def test_patterns_that_spark_refuses_are_refused(dialect: Dialect) -> None:
    a = attribute(1, "a", "string")
    for pattern, escape in (("a\\", None), ("a\\b", None), ("a|b", "|"), ("a", ""), ("a", "||")):
        with pytest.raises(PortabilityProblem, match="escape"):
            lower_expression(
                call("like", a, text(pattern), *([] if escape is None else [text(escape)])), {1: ColumnRef("a")}, dialect=dialect
            )


@pytest.mark.parametrize("kind", ["smallint", "int", "bigint"])
def test_arithmetic(pairs: Pairs, kind: str, spark: SparkSession, postgres: cursor) -> None:
    a, b = pairs.leaves[kind].output[1:]
    size = {"smallint": 2**15, "int": 2**31, "bigint": 2**63}[kind]
    operations: dict[str, Callable[[int, int], int]] = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
    for operator, compute in operations.items():
        rows = list(itertools.product([*VALUES[kind], None], repeat=2))
        fits = [x is None or y is None or -size <= compute(x, y) < size for x, y in rows]
        good = call("in", pairs.leaves[kind].output[0], *(literal(n) for n, fit in enumerate(fits) if fit))

        def write(a: e.Attribute, b: e.Attribute, operator: str = operator) -> list[e.Expression]:
            return [call(operator, a, b, kind=kind)]

        pairs.evaluate(kind, write, good)
        bad = call("in", pairs.leaves[kind].output[0], *(literal(n) for n, fit in enumerate(fits) if not fit))
        _all_fail(pairs, kind, call(operator, a, b, kind=kind), bad)
    smallest = call("=", a, literal(-size, kind))
    pairs.evaluate(kind, lambda a, _b: [call("negative", a, kind=kind)], call("not", smallest))
    _all_fail(pairs, kind, call("negative", a, kind=kind), smallest)


@pytest.mark.parametrize("kind", ["smallint", "int", "bigint"])
def test_remainders(pairs: Pairs, kind: str) -> None:
    divisors: list[e.Expression] = [literal(n, kind) for n in (1, 2, 7, 2**15 - 1)]
    if kind != "smallint":
        divisors.append(e.Cast(child=literal(40, "smallint"), type=kind))
    pairs.evaluate(kind, lambda a, _b: [call(name, a, one, kind=kind) for name in ("%", "mod") for one in divisors])
    pairs.evaluate(kind, lambda a, _b: [call("div", a, one, kind="bigint") for one in divisors])


def _all_fail(pairs: Pairs, kind: str, expression: e.Expression, where: e.Expression) -> None:
    plan = o.Project(child=o.Filter(child=pairs.leaves[kind], condition=where), columns=(named(expression, 1000, "c"),))
    _overflows(pairs, plan)


def _overflows(pairs: Pairs, plan: o.Plan) -> None:
    from pyspark.errors import ArithmeticException

    with pytest.raises(ArithmeticException):
        pairs.execute(pairs.written(plan, "spark"), "spark")
    with pytest.raises(psycopg2.errors.NumericValueOutOfRange):
        pairs.execute(pairs.written(plan, "postgres"), "postgres")
    with pytest.raises(CannotReadHere, match=r"Overflow|out of range|Could not cast|doesn't fit"):
        pairs.execute(pairs.written(plan, "duckdb"), "duckdb")


CASTS = [
    *((a, b) for a, b in itertools.product(INTEGERS, INTEGERS) if INTEGERS.index(a) <= INTEGERS.index(b)),
    *((kind, target) for kind in INTEGERS for target in ("string", "double", "decimal(20,1)", "decimal(38,0)", "decimal(38,19)")),
    ("boolean", "string"),
    ("float", "double"),
    ("decimal(10,2)", "double"),
    ("decimal(38,10)", "double"),
    ("decimal(10,2)", "decimal(12,4)"),
    ("decimal(10,2)", "decimal(10,1)"),
    ("decimal(10,2)", "decimal(9,0)"),
    ("decimal(38,10)", "decimal(38,0)"),
    ("string", "string"),
]


@pytest.mark.parametrize(("kind", "target"), sampled(CASTS))
def test_casts(pairs: Pairs, kind: str, target: str) -> None:
    pairs.evaluate(kind, lambda a, _b: [e.Cast(child=a, type=target)])


@pytest.mark.parametrize(
    ("kind", "target", "value"),
    [
        ("int", "smallint", 2**31 - 1),
        ("bigint", "int", 2**63 - 1),
        ("bigint", "decimal(10,0)", 2**63 - 1),
        ("decimal(10,2)", "decimal(5,2)", "99999999.99"),
        ("decimal(10,2)", "decimal(9,1)", "99999999.99"),
    ],
)
def test_casts_that_overflow(pairs: Pairs, kind: str, target: str, value: object) -> None:
    a = pairs.leaves[kind].output[1]
    _all_fail(pairs, kind, e.Cast(child=a, type=target), call("=", a, literal(value, kind)))
    if kind in INTEGERS:
        small = call("and", call(">=", a, literal(-1, kind)), call("<=", a, literal(7, kind)))
        pairs.evaluate(kind, lambda a, _b: [e.Cast(child=a, type=target)], small)


@pytest.mark.parametrize("kind", sampled(VALUES, 3))
def test_grouping_and_distinct(pairs: Pairs, kind: str) -> None:
    leaf = pairs.leaves[kind]
    i, a, b = leaf.output
    count = named(aggregate("count", literal(1)), 900, "n")
    rows = pairs.check(o.Aggregate(child=leaf, keys=(a,), columns=(a, count)), kind)
    zeros = 1 if kind in ("float", "double") else 0
    assert len(rows) == len(VALUES[kind]) + 1 - zeros
    pairs.check(o.Distinct(child=o.Project(child=leaf, columns=(b, named(a, 901, "c")))), kind)
    pairs.check(o.Aggregate(child=leaf, keys=(b,), columns=(named(call("isnull", b), 902, "c"), count)), kind)
    nothing = o.Filter(child=leaf, condition=call("<", i, literal(0)))
    assert pairs.check(o.Aggregate(child=nothing, keys=(a,), columns=(a, count)), kind) == []
    assert pairs.check(o.Aggregate(child=nothing, keys=(), columns=(count,)), kind) == [(0,)]


@pytest.mark.parametrize("kind", sampled(VALUES, 3))
def test_aggregate_functions(pairs: Pairs, kind: str) -> None:
    leaf = pairs.leaves[kind]
    _, a, b = leaf.output
    where = call("isnotnull", b)
    made: list[e.AggregateCall] = [
        aggregate("count", literal(1)),
        aggregate("count", a),
        aggregate("count", a, distinct=True),
        aggregate("count", a, where=call("=", a, b)),
        aggregate("count", literal(1), where=where),
    ]
    if kind not in ("boolean", "binary"):
        made += [aggregate("min", a, kind=kind, where=where), aggregate("max", a, kind=kind), aggregate("max", a, kind=kind, distinct=True)]
    if kind == "boolean":
        made += [aggregate(name, a, kind="boolean") for name in ("bool_and", "bool_or", "every", "some", "any")]
    if kind in INTEGERS:
        some = call("and", call(">=", a, literal(-1, kind)), call("<", a, literal(8, kind)))
        made += [aggregate("sum", a, where=some), aggregate("sum", a, where=some, distinct=True)]
    if kind in ("tinyint", "smallint", "int"):
        made += [aggregate("sum", a), aggregate("sum", a, distinct=True)]
    if kind in ("tinyint", "smallint"):
        made += [aggregate("avg", a, kind="double"), aggregate("avg", a, kind="double", where=where, distinct=True)]
    flag = call("when", call("=", a, b), literal(1), literal(0), kind="int")
    made += [aggregate("avg", flag, kind="double"), aggregate("sum", e.Cast(child=flag, type="double"), kind="double", where=where)]
    if kind == "decimal(10,2)":
        made += [aggregate("sum", a, kind="decimal(20,2)"), aggregate("sum", a, kind="decimal(20,2)", distinct=True)]
    columns = tuple(named(one, 1000 + n, f"c{n}") for n, one in enumerate(made))
    # Which of 0.0 and -0.0 is the least is left open by Spark too: without them.
    child = o.Filter(child=leaf, condition=call("not", call("<=>", a, literal("0.0", kind)))) if kind in ("float", "double") else leaf
    pairs.check(o.Aggregate(child=child, keys=(), columns=columns), kind)
    pairs.check(o.Aggregate(child=child, keys=(b,), columns=columns), kind)
    none = o.Filter(child=leaf, condition=call("isnull", a))
    pairs.check(o.Aggregate(child=none, keys=(), columns=columns), kind)


def test_a_sum_that_overflows_fails_everywhere(pairs: Pairs) -> None:
    a = pairs.leaves["bigint"].output[1]
    child = o.Filter(child=pairs.leaves["bigint"], condition=call(">", a, literal(0, "bigint")))
    plan = o.Aggregate(child=child, keys=(), columns=(named(aggregate("sum", a), 900, "n"),))
    _overflows(pairs, plan)


@pytest.mark.parametrize(("kind", "way"), in_turn(sampled(VALUES, 2), [(True, False), (False, False), (False, True)]))
def test_order(pairs: Pairs, kind: str, way: tuple[bool, bool]) -> None:
    (ascending, nulls_first), leaf = way, pairs.leaves[kind]
    i, a, b = leaf.output
    keys = (
        e.SortKey(child=a, ascending=ascending, nulls_first=nulls_first),
        e.SortKey(child=b, ascending=not ascending, nulls_first=nulls_first),
    )
    plan = o.Limit(child=o.Sort(child=leaf, order=(*keys, e.SortKey(child=i))), count=40, offset=3)
    pairs.check(o.Project(child=plan, columns=(i,)), kind, ordered=True)
    pairs.check(o.Sort(child=o.Distinct(child=o.Project(child=leaf, columns=(a,))), order=keys[:1]), kind, ordered=True)


@pytest.mark.parametrize(
    ("join", "kind"), in_turn(["inner", "left", "right", "full", "left_semi", "left_anti"], ["string", "double", "decimal(38,10)"])
)
def test_joins_on_values(pairs: Pairs, kind: str, join: Any) -> None:
    leaf = pairs.leaves[kind]
    i, a, b = leaf.output
    first = o.Filter(child=leaf, condition=call("<", i, literal(40)))
    again = o.Project(child=leaf, columns=(named(i, 90800, "j"), named(a, 90801, "c"), named(b, 90802, "d")))
    second = o.Filter(child=again, condition=call("<", attribute(90800, "j"), literal(30)))
    condition = call("=", b, attribute(90802, "d", kind))
    pairs.check(o.Join(left=first, right=second, kind=join, condition=condition), kind)
    if join != "full":
        pairs.check(o.Join(left=first, right=second, kind=join, condition=call("<=>", b, attribute(90802, "d", kind))), kind)


def test_mixed_numbers(pairs: Pairs) -> None:
    """Whole numbers and decimals of different widths, as a target's constants may be."""
    others = [literal("1.5", "decimal(2,1)"), literal("7", "int"), literal("3000000000", "bigint"), literal("-0.01", "decimal(2,2)")]
    for kind in (*INTEGERS, "decimal(10,2)"):
        pairs.evaluate(kind, lambda a, _b: [call(operator, a, other) for operator in ("=", "<=>", "<", ">") for other in others])
        pairs.evaluate(kind, lambda a, _b: [call("in", a, *others)])


A = {
    kind: attribute(n, f"a{n}", kind)
    for n, kind in enumerate([*VALUES, "array<int>", "struct<x:int>", "string collate UTF8_LCASE", "interval day to second", "varchar(3)"])
}
NOT_THE_SAME: list[e.Expression] = [
    call("+", A["tinyint"], A["tinyint"], kind="tinyint"),
    call("+", A["float"], A["float"], kind="float"),
    call("*", A["decimal(10,2)"], A["decimal(10,2)"], kind="decimal(21,4)"),
    call("/", A["int"], A["int"], kind="double"),
    call("+", A["int"], A["bigint"], kind="bigint"),
    call("-", A["date"], A["date"], kind="interval day"),
    call("%", A["int"], A["int"], kind="int"),
    *(call("div", A["int"], one, kind="bigint") for one in (A["int"], literal(0, "int"), literal(-1, "int"), literal(2, "bigint"))),
    call("%", A["int"], literal(0, "int"), kind="int"),
    call("%", A["int"], literal(-1, "int"), kind="int"),
    call("%", A["double"], literal("2.0", "double"), kind="double"),
    call("%", A["tinyint"], literal(2, "tinyint"), kind="tinyint"),
    call("%", A["bigint"], e.Cast(child=literal(None, "int"), type="bigint"), kind="bigint"),
    call("=", A["int"], A["double"]),
    call("=", A["string"], A["int"]),
    call("=", A["timestamp"], A["timestamp_ntz"]),
    call("=", A["decimal(38,10)"], literal("1.5", "decimal(38,37)")),
    call("in", A["bigint"], literal("1.5", "decimal(20,19)"), literal("1", "decimal(38,0)")),
    call("=", A["array<int>"], A["array<int>"]),
    call("<", A["struct<x:int>"], A["struct<x:int>"]),
    call("=", A["string collate UTF8_LCASE"], text("x")),
    call("=", A["varchar(3)"], text("x")),
    call("+", A["interval day to second"], A["interval day to second"], kind="interval day to second"),
    call("negative", A["interval day to second"], kind="interval day to second"),
    call("=", A["interval day to second"], A["bigint"]),
    e.Cast(child=A["interval day to second"], type="interval hour"),
    e.Cast(child=A["interval day to second"], type="bigint"),
    e.Cast(child=A["interval day to second"], type="string"),
    call("like", A["string"], A["string"]),
    call("like", A["string"], literal(None, "string")),
    call("ilike", A["string"], text("a")),
    call("initcap", A["string"], kind="string"),
    call("and", A["int"], A["boolean"]),
    call("not", A["int"]),
    call("coalesce", A["int"], A["bigint"], kind="bigint"),
    call("when", A["boolean"], A["int"], literal("1", "bigint"), kind="bigint"),
    call("=", A["timestamp"], literal("2025-12-01 00:00:00", "timestamp")),
    e.Cast(child=A["string"], type="int"),
    e.Cast(child=A["double"], type="string"),
    e.Cast(child=A["int"], type="tinyint"),
    e.Cast(child=A["date"], type="timestamp"),
    e.Cast(child=A["string"], type="int", safe=True),
    e.Cast(child=A["int"], type="bigint", safe=True),
    e.GetField(child=A["struct<x:int>"], field="x", type="int"),
    e.GetItem(child=A["array<int>"], key=literal(0), type="int"),
    aggregate("min", A["boolean"], kind="boolean"),
    aggregate("sum", A["double"], kind="double"),
    aggregate("avg", A["int"], kind="double"),
    aggregate("first", A["int"], kind="int"),
    aggregate("count", A["int"], A["string"]),
    aggregate("count", A["array<int>"]),
]


DUCKDBS = (
    call("initcap", A["string"], kind="string"),
    e.Cast(child=A["string"], type="int"),
    e.Cast(child=A["string"], type="int", safe=True),
    e.Cast(child=A["int"], type="bigint", safe=True),
)
"""Of these what DuckDB can be told all the same (`sql.duckdb_functions`)."""


@pytest.mark.parametrize(
    ("expression", "dialect"), [(one, to) for one in NOT_THE_SAME for to in ELSEWHERE if to != "duckdb" or one not in DUCKDBS], ids=repr
)
def test_what_is_not_the_same_is_not_written(expression: e.Expression, dialect: Dialect) -> None:
    columns = {a.id: ColumnRef(a.name) for a in A.values()}
    with pytest.raises(PortabilityProblem):
        lower_expression(expression, columns, dialect=dialect)


@pytest.mark.parametrize("dialect", ELSEWHERE)
def test_without_ansi_nothing_that_overflows_is_written(dialect: Dialect) -> None:
    columns = {a.id: ColumnRef(a.name) for a in A.values()}
    overflowing: list[e.Expression] = [
        call("+", A["int"], A["int"], kind="int"),
        call("negative", A["int"], kind="int"),
        e.Cast(child=A["bigint"], type="int"),
        aggregate("sum", A["int"]),
        aggregate("sum", A["decimal(10,2)"], kind="decimal(20,2)"),
    ]
    for expression in overflowing:
        lower_expression(expression, columns, dialect=dialect)
        with pytest.raises(PortabilityProblem, match=r"ansi|not on the list"):
            lower_expression(expression, columns, dialect=dialect, ansi=False)
    assert lower_expression(e.Cast(child=A["int"], type="bigint"), columns, dialect=dialect, ansi=False) == "CAST(a3 AS BIGINT)"
