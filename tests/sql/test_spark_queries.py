"""Queries that only Spark can run: UDFs, calls of functions by name, lambda functions, nested data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider.errors import PlanCheckError, UdfUnavailable, UnsupportedOperator
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import ColumnRef, LeafKey, PortabilityProblem, TableRef, lower, lower_expression, quote
from tests.sql.build import aggregate, attribute, call, literal, named, source, table, text
from tests.sql.golden_plans import EXAM, PLANS, TABLES, UDFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUE, REASON = attribute(100, "judge", "string"), attribute(101, "why", "string")
PEOPLE = source(0, "people", attribute(1, "id"), attribute(2, "income"))
TABLE: dict[LeafKey, TableRef] = {("source", 0): table(PEOPLE)}


@pytest.fixture(scope="module")
def counted(spark: SparkSession) -> SparkSession:
    """A session with a table and two UDFs."""
    spark.createDataFrame([(1, 100), (2, 200), (3, None)], "id int, income int").coalesce(1).createOrReplaceTempView("people")
    spark.udf.register("examine", lambda income: "none" if income is None else f"v{income}", "string")
    kind = "struct<value:string,reason:string>"
    spark.udf.register("examine with reason", lambda income: (f"v{income}", f"because of {income}"), kind)
    return spark


def operator(reason: bool, function: int = 0, child: o.Plan = PEOPLE) -> o.FunctionOperator:
    argument = child.output[1]
    return o.FunctionOperator(
        child=child, function=function, udf="examine", arguments=(argument,), value=VALUE, reason=REASON if reason else None
    )


def evaluations(spark: SparkSession, sql: str, name: str) -> int:
    """How often the physical plan calls the UDF for a row."""
    plan = spark.sql(sql)._jdf.queryExecution().executedPlan().toString()
    return sum(line.count(f"{name}(") for line in plan.splitlines() if "EvalPython" in line)


def eval_nodes(spark: SparkSession, sql: str) -> int:
    """How often rows go through Python."""
    plan = spark.sql(sql)._jdf.queryExecution().executedPlan().toString()
    return sum("EvalPython" in line for line in plan.splitlines())


@pytest.mark.spark
def test_a_udf_is_called_once_a_row(counted: SparkSession) -> None:
    plain = lower(operator(reason=False), TABLE, dialect="spark", udfs={0: "examine"})
    assert [tuple(row) for row in counted.sql(plain).collect()] == [(1, 100, "v100"), (2, 200, "v200"), (3, None, "none")]
    assert evaluations(counted, plain, "examine") == 1
    reasoned = lower(operator(reason=True), TABLE, dialect="spark", udfs={0: "examine with reason"})
    assert [tuple(row) for row in counted.sql(reasoned).collect()][:2] == [
        (1, 100, "v100", "because of 100"),
        (2, 200, "v200", "because of 200"),
    ]
    assert evaluations(counted, reasoned, "examine with reason") == 1


@pytest.mark.spark
def test_what_stands_above_a_udf_reads_its_column(counted: SparkSession) -> None:
    judged = operator(reason=True)
    both = o.Project(child=judged, columns=(named(VALUE, 110, "a"), named(call("upper", VALUE, kind="string"), 111, "b"), REASON))
    count = o.Aggregate(child=both, keys=(both.output[0],), columns=(both.output[0], named(aggregate("count", literal(1)), 112, "n")))
    sql = lower(count, TABLE, dialect="spark", udfs={0: "examine with reason"})
    assert evaluations(counted, sql, "examine with reason") == 1
    assert sorted(tuple(row) for row in counted.sql(sql).collect()) == [("v100", 1), ("v200", 1), ("vNone", 1)]


@pytest.mark.spark
@pytest.mark.parametrize("reason", [True, False])
def test_a_filter_above_a_udf_does_not_call_it_again(counted: SparkSession, reason: bool) -> None:
    """Spark pushes a condition on a deterministic UDF's value below the projection, and calls it twice; not so for others."""
    from pyspark.sql.functions import udf

    kind = "struct<value:string,reason:string>" if reason else "string"
    counted.udf.register("once", udf(lambda income: (f"v{income}", "r") if reason else f"v{income}", kind).asNondeterministic())
    plan = o.Filter(child=operator(reason=reason), condition=call("=", VALUE, text("v100")))
    sql = lower(plan, TABLE, dialect="spark", udfs={0: "once"})
    assert evaluations(counted, sql, "once") == 1
    assert [row.id for row in counted.sql(sql).collect()] == [1]


@pytest.mark.spark
def test_two_function_operators_in_a_row(counted: SparkSession) -> None:
    first = operator(reason=True)
    value, reason = attribute(120, "second", "string"), attribute(121, "second_why", "string")
    second = o.FunctionOperator(child=first, function=1, udf="examine", arguments=(VALUE,), value=value, reason=reason)
    sql = lower(second, TABLE, dialect="spark", udfs={0: "examine with reason", 1: "examine with reason"})
    assert tuple(counted.sql(sql).collect()[0]) == (1, 100, "v100", "because of 100", "vv100", "because of v100")


@pytest.mark.spark
def test_calls_beside_each_other_are_made_in_one_pass(counted: SparkSession) -> None:
    """Rows go through Python once for all of them; one that takes another's value, or stands above a filter by one, has its own."""
    from pyspark.sql.functions import udf

    counted.udf.register("beside", udf(lambda one: f"v{one}", "string").asNondeterministic())
    first = operator(reason=False)
    second, third = (
        o.FunctionOperator(child=child, function=1, udf="examine", arguments=(argument,), value=attribute(120, "second", "string"))
        for child, argument in ((first, PEOPLE.output[0]), (first, VALUE))
    )
    above = o.Filter(child=first, condition=call("=", VALUE, text("v100")))
    filtered = replace(second, child=above)
    for plan, passes, row in ((second, 1, ("v100", "v1")), (third, 2, ("v100", "vv100")), (filtered, 2, ("v100", "v1"))):
        sql = lower(plan, TABLE, dialect="spark", udfs={0: "beside", 1: "beside"})
        assert (eval_nodes(counted, sql), evaluations(counted, sql, "beside")) == (passes, 2)
        assert tuple(counted.sql(sql).collect()[0])[2:] == row
    counted.udf.register(
        "why", udf(lambda one: (f"v{one}", f"because of {one}"), "struct<value:string,reason:string>").asNondeterministic()
    )
    reasoned = replace(second, child=operator(reason=True), reason=attribute(121, "second_why", "string"))
    of_value = replace(reasoned, arguments=(VALUE,))
    one_of_two = replace(second, child=operator(reason=True))
    for plan, passes, of_second, values in (
        (reasoned, 1, "why", ["v100", "because of 100", "v1", "because of 1"]),
        (of_value, 2, "why", ["v100", "because of 100", "vv100", "because of v100"]),
        (one_of_two, 1, "beside", ["v100", "because of 100", "v1"]),
    ):
        sql = lower(plan, TABLE, dialect="spark", udfs={0: "why", 1: of_second})
        assert eval_nodes(counted, sql) == passes
        assert list(counted.sql(sql).collect()[0])[2:] == values


def test_the_helper_column_steps_aside() -> None:
    people = source(0, "people", attribute(1, "judge_with_reason"), attribute(2, "income"))
    sql = lower(operator(reason=True, child=people), {("source", 0): table(people)}, dialect="spark", udfs={0: "f"})
    assert "judge_with_reason_2.value AS judge" in sql


def test_a_udf_without_a_name_and_one_left_in_an_expression() -> None:
    with pytest.raises(UdfUnavailable, match="credit_exam"):
        lower(EXAM, TABLES, dialect="spark")
    with pytest.raises(PortabilityProblem, match="credit_exam"):
        lower(EXAM, TABLES, dialect="postgres", udfs=UDFS)
    left = e.UdfCall(udf="f", arguments=(), type="int", deterministic=True, call=1, eval_type=100)
    with pytest.raises(PlanCheckError, match="pull_out_udfs"):
        lower(o.Project(child=PEOPLE, columns=(named(left, 9, "x"),)), TABLE, dialect="spark")


X = attribute(1, "x", "array<int>")
S = attribute(2, "s", "struct<`a b`:int,c:array<struct<d:int>>>")
M = attribute(3, "m", "map<string,int>")
N = attribute(4, "n")
T = attribute(5, "t", "string")
VARIABLE, OTHER = e.LambdaVariable(name="e", type="int"), e.LambdaVariable(name="the acc", type="int")
EXPRESSIONS: list[tuple[e.Expression, str, object]] = [
    (e.GetItem(child=X, key=literal(1), type="int"), "x[1]", 2),
    (e.GetField(child=S, field="a b", type="int"), "s.`a b`", 5),
    (e.GetField(child=e.GetField(child=S, field="c", type="array<struct<d:int>>"), field="d", type="array<int>"), "s.c.d", [6, 7]),
    (e.GetItem(child=M, key=text("k"), type="int"), "m['k']", 8),
    (e.GetField(child=call("named_struct", text("q"), N, kind="struct<q:int>"), field="q", type="int"), "NAMED_STRUCT('q', n).q", 3),
    (
        call("transform", X, e.Lambda(parameters=(VARIABLE,), body=call("*", VARIABLE, N, kind="int"), type="int"), kind="array<int>"),
        "TRANSFORM(x, e -> e * n)",
        [3, 6],
    ),
    (
        call(
            "aggregate",
            X,
            literal(0),
            e.Lambda(parameters=(OTHER, VARIABLE), body=call("+", OTHER, VARIABLE, kind="int"), type="int"),
            kind="int",
        ),
        "AGGREGATE(x, 0, (`the acc`, e) -> `the acc` + e)",
        3,
    ),
    (
        call("exists", X, e.Lambda(parameters=(VARIABLE,), body=call(">", VARIABLE, literal(1)), type="boolean")),
        "EXISTS(x, e -> e > 1)",
        True,
    ),
    (call("-", call("-", N, literal(1), kind="int"), call("-", N, literal(2), kind="int"), kind="int"), "(n - 1) - (n - 2)", 1),
    (call("*", call("+", N, literal(1), kind="int"), literal(-2), kind="int"), "(n + 1) * -2", -8),
    (call("-", N, literal(-1), kind="int"), "n - -1", 4),
    (call("negative", literal(-7), kind="int"), "-(-7)", 7),
    (call("~", call("+", N, literal(1), kind="int"), kind="int"), "~(n + 1)", -5),
    (call("div", N, literal(2), kind="bigint"), "n DIV 2", 1),
    (call("%", N, literal(2), kind="int"), "n % 2", 1),
    (call("/", N, literal(2), kind="double"), "n / 2", 1.5),
    (call("|", call("&", N, literal(1), kind="int"), literal(4), kind="int"), "(n & 1) | 4", 5),
    (call("<<", N, literal(2), kind="int"), "SHIFTLEFT(n, 2)", 12),
    (call("||", T, text("!"), kind="string"), "t || '!'", "it's!"),
    (call("not", call("like", T, text("it|_%"), text("|"))), "NOT (t LIKE 'it|_%' ESCAPE '|')", True),
    (call("rlike", T, text("^it\\S+$")), "t RLIKE '^it\\\\S+$'", True),
    (call("in", N, literal(1), literal(None, "int"), literal(3)), "n IN (1, CAST(NULL AS INT), 3)", True),
    (call("between", N, literal(1), literal(3)), "n BETWEEN 1 AND 3", True),
    (call("=", call("=", N, literal(3)), call("isnull", T)), "(n = 3) = (t IS NULL)", False),
    (call("when", call("isnull", N), literal(0), kind="int"), "CASE WHEN n IS NULL THEN 0 END", None),
    (call("if", call("<=>", N, literal(3)), text("a"), text("b"), kind="string"), "IF(n IS NOT DISTINCT FROM 3, 'a', 'b')", "a"),
    (
        call("date_trunc", text("MONTH"), literal("2025-12-17 10:00:00", "timestamp_ntz"), kind="timestamp"),
        "DATE_TRUNC('MONTH', TIMESTAMP_NTZ '2025-12-17 10:00:00')",
        None,
    ),
    (e.Cast(child=T, type="int", safe=True), "TRY_CAST(t AS INT)", None),
    (e.Cast(child=call("+", N, literal(1), kind="int"), type="decimal(10,2)"), "CAST(n + 1 AS DECIMAL(10, 2))", None),
    (
        call(
            "size",
            e.Cast(
                child=call("array", S, kind="array<struct<`a b`:int,c:array<struct<d:int>>>>"),
                type="array<struct<`x y`:int,z:array<struct<d:string>>>>",
            ),
            kind="int",
        ),
        "SIZE(CAST(ARRAY(s) AS ARRAY<STRUCT<`x y`: INT, z: ARRAY<STRUCT<d: STRING>>>>))",
        1,
    ),
    (e.Literal(value="1 02:03:04", type="interval day to second"), "CAST('1 02:03:04' AS interval day to second)", None),
]


@pytest.mark.spark
def test_expressions_of_all_kinds(spark: SparkSession) -> None:
    struct = "named_struct('a b', 5, 'c', array(named_struct('d', 6), named_struct('d', 7)))"
    row = f"array(1, 2) AS x, {struct} AS s, map('k', 8) AS m, 3 AS n, \"it's\" AS t"
    spark.sql(f"SELECT {row}").createOrReplaceTempView("one")
    leaf = source(0, "one", X, S, M, N, T)
    columns = {a.id: ColumnRef(a.name) for a in leaf.output}
    for expression, written, _ in EXPRESSIONS:
        assert lower_expression(expression, columns, dialect="spark") == written
    plan = o.Project(child=leaf, columns=tuple(named(expression, 100 + n, f"c{n}") for n, (expression, *_) in enumerate(EXPRESSIONS)))
    found = spark.sql(lower(plan, {("source", 0): table(leaf)}, dialect="spark")).collect()[0]
    for (_, written, value), got in zip(EXPRESSIONS, found, strict=True):
        assert value is None or got == value, written


def test_a_try_cast_is_no_constant() -> None:
    tried = named(e.Cast(child=attribute(1, "id"), type="bigint", safe=True), 9, "big")
    plan = o.Sort(child=o.Project(child=PEOPLE, columns=(tried,)), order=(e.SortKey(child=tried.attribute),))
    assert lower(plan, TABLE, dialect="spark").endswith("ORDER BY\n  big ASC NULLS FIRST")


@pytest.mark.spark
def test_every_name_of_the_registry_can_be_called(spark: SparkSession) -> None:
    """The parser takes NAME(…) for every built-in function that is not an operator."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    names = spark._jsparkSession.sessionState().functionRegistry().listFunction().iterator()
    columns = {N.id: ColumnRef("n")}
    while names.hasNext():
        name = names.next().funcName()
        try:
            written = lower_expression(call(name, N, N), columns, dialect="spark")
        except UnsupportedOperator:
            assert name in ("percentile_cont", "percentile_disc", "!", "~", "in", "when") or not name.isidentifier()
            continue
        parser.parseExpression(written)


@pytest.mark.spark
def test_the_golden_queries_are_valid(spark: SparkSession) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    for plan in PLANS.values():
        parser.parsePlan(lower(plan, TABLES, dialect="spark", udfs=UDFS))


@pytest.mark.spark
def test_names_of_every_kind(spark: SparkSession) -> None:
    names = ["a b", "a`b", 'a"b', "a.b", "select", "Größe", "日本", "😀", "a;--", "MiXed", "1a", "new\nline", " lead"]
    spark.createDataFrame([tuple(range(len(names)))], names).createOrReplaceTempView(quote("odd `names", "spark"))
    leaf = source(0, "odd `names", *(attribute(n, name) for n, name in enumerate(names)))
    again = source(1, "odd `names", *(attribute(100 + n, f"{name} 2") for n, name in enumerate(names)))
    again = replace(again, columns=tuple(names))
    plan = o.Filter(
        child=o.Distinct(child=o.Join(left=leaf, right=again, kind="inner", condition=call("=", *leaf.output[:1], again.output[0]))),
        condition=call("=", leaf.output[3], literal(3)),
    )
    frame = spark.sql(lower(plan, {("source", 0): table(leaf), ("source", 1): table(again)}, dialect="spark"))
    assert frame.columns == [*names, *(f"{name} 2" for name in names)]
    assert frame.count() == 1


def test_many_columns_and_long_conditions() -> None:
    columns = tuple(attribute(n, f"column_{n}") for n in range(1000))
    leaf = source(0, "wide", *columns)
    condition = columns[0]
    terms: e.Expression = call("=", condition, literal(0))
    for n in range(1, 300):
        terms = call("or", terms, call("=", condition, literal(n)))
    sql = lower(o.Filter(child=leaf, condition=terms), {("source", 0): table(leaf)}, dialect="postgres")
    assert sql.count("wide.column_0 = ") == 300
    assert sql.count("wide.column_999") == 1


def test_bad_plans() -> None:
    with pytest.raises(PlanCheckError, match=r"no table is given for the leaf \('source', 0\)"):
        lower(PEOPLE, {}, dialect="spark")
    with pytest.raises(PlanCheckError, match="no column for income#2"):
        lower(PEOPLE, {("source", 0): TableRef(("people",), {1: ColumnRef("id")})}, dialect="spark")
    with pytest.raises(UnsupportedOperator, match="no columns"):
        lower(o.Project(child=PEOPLE, columns=()), TABLE, dialect="spark")
    with pytest.raises(PlanCheckError, match="both sides of a join"):
        lower(o.Join(left=PEOPLE, right=PEOPLE, kind="cross"), TABLE, dialect="spark")
    twice = o.Distinct(child=o.Project(child=PEOPLE, columns=(named(PEOPLE.output[0], 8, "x"), named(PEOPLE.output[1], 9, "X"))))
    with pytest.raises(PlanCheckError, match="several columns named x"):
        lower(o.Filter(child=twice, condition=call("isnull", twice.output[0])), TABLE, dialect="spark")
    with pytest.raises(UnsupportedOperator, match="percentile_cont"):
        lower_expression(aggregate("percentile_cont", N, literal("0.5", "double"), kind="double"), {4: ColumnRef("n")}, dialect="spark")


def test_no_columns_are_fine_inside() -> None:
    nothing = o.Project(child=o.Limit(child=PEOPLE, count=2), columns=())
    count = o.Aggregate(child=nothing, keys=(), columns=(named(aggregate("count", literal(1)), 9, "n"),))
    assert (
        " ".join(lower(count, TABLE, dialect="spark").split()) == "SELECT COUNT(*) AS n FROM ( SELECT 1 AS one FROM people LIMIT 2 ) AS q"
    )


def test_opaque_columns_are_passed_on_only() -> None:
    tables: dict[LeafKey, TableRef] = {("source", 0): TableRef(("people",), {1: ColumnRef("id", opaque=True), 2: ColumnRef("income")})}
    secret, income = PEOPLE.output
    assert "people.id" in lower(o.Filter(child=PEOPLE, condition=call("isnull", income)), tables, dialect="postgres")
    nested = o.Filter(child=o.Limit(child=PEOPLE, count=1), condition=call("isnull", secret))
    grouped = o.Aggregate(child=PEOPLE, keys=(secret,), columns=(secret,))
    for plan in (o.Filter(child=PEOPLE, condition=call("isnull", secret)), nested, grouped, o.Distinct(child=PEOPLE)):
        with pytest.raises(PortabilityProblem, match="another form"):
            lower(plan, tables, dialect="postgres")
    assert lower_expression(call("isnull", secret), {1: ColumnRef("a + b", is_expression=True)}, dialect="postgres") == "(a + b) IS NULL"
