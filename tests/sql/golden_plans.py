"""The plans of the golden files, by name: client, debt and loan as in the augmented-lineage paper's figure 1."""

from __future__ import annotations

from dataclasses import replace

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import ColumnRef, LeafKey, TableRef
from tests.sql.build import aggregate, attribute, call, literal, named, source, table, text

CLIENT = source(
    0,
    "client",
    attribute(1, "client_id", "string"),
    attribute(2, "name", "string"),
    attribute(3, "country", "string"),
    attribute(4, "income"),
)
DEBT = source(1, "debt", attribute(5, "client_id_2", "string"), attribute(6, "debt"), attribute(7, "date", "date"))
LOAN = source(2, "loan", attribute(8, "client_id_3", "string"), attribute(9, "loan_amount"), attribute(10, "date_2", "date"))
JUDGED = o.SegmentOutput(
    segment=1, output=(*CLIENT.output[:1], attribute(20, "judge", "string"), attribute(21, "reason", "struct<kind:string,payload:string>"))
)
TABLES: dict[LeafKey, TableRef] = {
    ("source", 0): table(CLIENT, "client"),
    ("source", 1): TableRef(("main", "debt"), {5: ColumnRef("client_id"), 6: ColumnRef("debt"), 7: ColumnRef("date")}),
    ("source", 2): TableRef(("main", "Loan Table"), {8: ColumnRef("client_id"), 9: ColumnRef("loanAmount"), 10: ColumnRef("date")}),
    ("segment", 1): TableRef(
        ("lineage_data", "m_17"), {1: ColumnRef("c0"), 20: ColumnRef("c1", opaque=False), 21: ColumnRef("c2", opaque=True)}
    ),
}
UDFS = {0: "credit_exam", 1: "other exam"}

CLIENT_ID, NAME, COUNTRY, INCOME = CLIENT.output
DEBT_ID, DEBT_SUM, DEBT_DATE = DEBT.output
LOAN_ID, LOAN_SUM, LOAN_DATE = LOAN.output
JUDGE, REASON = attribute(30, "judgement", "string"), attribute(31, "why", "string")
US = call("=", COUNTRY, text("US"))
BY_CLIENT = call("=", CLIENT_ID, DEBT_ID)
WITH_DEBT = o.Join(left=CLIENT, right=DEBT, kind="inner", condition=BY_CLIENT)
JOINED = o.Join(left=WITH_DEBT, right=LOAN, kind="inner", condition=call("=", CLIENT_ID, LOAN_ID))
DECEMBER = call("and", call(">=", LOAN_DATE, literal("2025-12-01", "date")), call("<", LOAN_DATE, literal("2026-01-01", "date")))
NET = named(call("-", INCOME, DEBT_SUM, kind="int"), 40, "net")
INPUTS = o.Project(child=o.Filter(child=JOINED, condition=DECEMBER), columns=(CLIENT_ID, INCOME, DEBT_SUM, LOAN_SUM))
EXAM = o.FunctionOperator(child=INPUTS, function=0, udf="credit_exam", arguments=(INCOME, DEBT_SUM, LOAN_SUM), value=JUDGE)
COUNT = named(aggregate("count", literal(1)), 41, "n")
RANDOM = named(call("rand", literal(7), kind="double"), 42, "r")
BIG = call(">", INCOME, literal(2000))
POOR = o.Filter(child=DEBT, condition=call(">", DEBT_SUM, literal(100)))


def _join(kind: o.JoinKind, left: o.Plan = CLIENT, right: o.Plan = DEBT) -> o.Join:
    return o.Join(left=left, right=right, kind=kind, condition=BY_CLIENT)


HAS_DEBT = attribute(50, "has_debt", "boolean")
COPIES = attribute(51, "copies", "bigint")
UNTIL_NOW = e.WindowFrame(kind="range", lower="unbounded", upper="current_row")
AROUND = e.WindowFrame(kind="rows", lower=literal(-1), upper=literal(1))


def _over(function: str, frame: e.WindowFrame, number: int, *arguments: e.Expression, ignore_nulls: bool = False) -> e.Alias:
    made = e.WindowFunction(function=function, arguments=arguments, type="int", frame=frame, ignore_nulls=ignore_nulls)
    return named(made, number, function)


RANKED = o.Window(
    child=o.Filter(child=CLIENT, condition=US),
    functions=(_over("rank", UNTIL_NOW, 52), _over("sum", UNTIL_NOW, 53, INCOME), _over("first", AROUND, 54, INCOME, ignore_nulls=True)),
    partition=(COUNTRY,),
    order=(e.SortKey(child=INCOME, ascending=False, nulls_first=False),),
)
OWING = o.Join(left=CLIENT, right=POOR, kind="existence", condition=BY_CLIENT, exists=HAS_DEBT)
REPEATED = o.Generate(
    child=DEBT,
    generator=call("explode", call("sequence", literal(1), DEBT_SUM, kind="array<int>"), kind="int"),
    generated=(COPIES,),
    outer=True,
)

PLANS: dict[str, o.Plan] = {
    "window": o.Filter(child=RANKED, condition=call("=", RANKED.functions[0].attribute, literal(1))),
    "existence_join": o.Filter(child=OWING, condition=call("or", HAS_DEBT, US)),
    "generator": o.Filter(child=REPEATED, condition=call(">", COPIES, literal(2))),
    "generator_then_join": o.Join(left=CLIENT, right=REPEATED, kind="left", condition=BY_CLIENT),
    "except_all": o.Join(left=CLIENT, right=DEBT, kind="left", condition=BY_CLIENT, difference=True),
    "table": CLIENT,
    "select_project_join": INPUTS,
    "function_operator": EXAM,
    "function_operators_beside_each_other": o.FunctionOperator(
        child=EXAM, function=1, udf="other exam", arguments=(DEBT_SUM,), value=attribute(32, "other", "string")
    ),
    "function_operators_with_reasons_beside_each_other": o.FunctionOperator(
        child=replace(EXAM, reason=REASON),
        function=1,
        udf="other exam",
        arguments=(DEBT_SUM,),
        value=attribute(32, "other", "string"),
        reason=attribute(33, "other_why", "string"),
    ),
    "function_operator_of_the_value_of_another": o.FunctionOperator(
        child=EXAM, function=1, udf="other exam", arguments=(JUDGE,), value=attribute(32, "other", "string")
    ),
    "function_operator_with_reason": o.FunctionOperator(
        child=INPUTS, function=1, udf="credit_exam", arguments=(INCOME, DEBT_SUM), value=JUDGE, reason=REASON
    ),
    "count_judgements": o.Aggregate(child=EXAM, keys=(JUDGE,), columns=(JUDGE, COUNT)),
    "tracing_query_with_a_semi_join": _join("left_semi", o.Project(child=WITH_DEBT.left, columns=(CLIENT_ID, NAME)), POOR),
    "materialized_segment": o.Project(
        child=o.Filter(child=JUDGED, condition=call("=", JUDGED.output[1], text("Reject"))), columns=JUDGED.output
    ),
    "left_join": _join("left", o.Filter(child=CLIENT, condition=US), DEBT),
    "left_join_of_a_filtered_side": _join("left", CLIENT, POOR),
    "right_join": _join("right", o.Filter(child=CLIENT, condition=US), POOR),
    "full_join": _join("full"),
    "cross_join": o.Join(left=CLIENT, right=LOAN, kind="cross"),
    "anti_join": _join("left_anti", o.Filter(child=CLIENT, condition=US), POOR),
    "not_in": o.Join(left=CLIENT, right=DEBT, kind="left_anti", condition=call("or", BY_CLIENT, call("isnull", BY_CLIENT))),
    "self_join": o.Join(
        left=CLIENT,
        right=o.Project(
            child=source(0, "client", attribute(51, "id_b", "string"), attribute(54, "income_b")),
            columns=(attribute(51, "id_b", "string"),),
        ),
        kind="inner",
        condition=call("=", CLIENT_ID, attribute(51, "id_b", "string")),
    ),
    "group_and_sum": o.Aggregate(
        child=WITH_DEBT,
        keys=(COUNTRY,),
        columns=(
            COUNTRY,
            named(aggregate("sum", DEBT_SUM), 43, "total"),
            named(aggregate("count", CLIENT_ID, distinct=True, where=BIG), 44, "rich"),
        ),
    ),
    "aggregate_of_a_computed_column": o.Aggregate(
        child=o.Project(child=WITH_DEBT, columns=(COUNTRY, NET)),
        keys=(COUNTRY,),
        columns=(COUNTRY, named(aggregate("max", NET.attribute, kind="int"), 45, "best")),
    ),
    "having": o.Filter(
        child=o.Aggregate(child=CLIENT, keys=(COUNTRY,), columns=(COUNTRY, COUNT)),
        condition=call(">", COUNT.attribute, literal(1, "bigint")),
    ),
    "global_aggregate": o.Aggregate(child=o.Filter(child=CLIENT, condition=US), keys=(), columns=(COUNT,)),
    "no_keys_no_functions": o.Aggregate(child=CLIENT, keys=(), columns=(named(literal(1), 46, "one"),)),
    "constant_key": o.Aggregate(child=CLIENT, keys=(literal(1),), columns=(named(literal(1), 46, "one"), COUNT)),
    "computed_key": o.Aggregate(child=o.Project(child=WITH_DEBT, columns=(NET,)), keys=(NET.attribute,), columns=(NET.attribute, COUNT)),
    "filter_on_a_computed_column": o.Filter(
        child=o.Project(child=WITH_DEBT, columns=(NAME, NET)), condition=call("<", NET.attribute, literal(0))
    ),
    "distinct": o.Distinct(child=o.Project(child=CLIENT, columns=(COUNTRY,))),
    "count_distinct_rows": o.Aggregate(child=o.Distinct(child=o.Project(child=CLIENT, columns=(COUNTRY,))), keys=(), columns=(COUNT,)),
    "union": o.Union(
        children=(
            o.Project(child=o.Filter(child=CLIENT, condition=US), columns=(CLIENT_ID, INCOME)),
            o.Project(child=DEBT, columns=(DEBT_ID, DEBT_SUM)),
        ),
        output=(attribute(60, "id", "string"), attribute(61, "amount")),
    ),
    "top_k": o.Limit(
        child=o.Sort(child=CLIENT, order=(e.SortKey(child=INCOME, ascending=False, nulls_first=False), e.SortKey(child=NAME))),
        count=3,
        offset=1,
    ),
    "filter_after_limit": o.Filter(child=o.Limit(child=CLIENT, count=10), condition=US),
    "sort_by_an_aggregate": o.Sort(
        child=o.Aggregate(child=CLIENT, keys=(COUNTRY,), columns=(COUNTRY, COUNT)),
        order=(e.SortKey(child=COUNT.attribute, ascending=False),),
    ),
    "random_numbers_stay_in_place": o.Filter(child=o.Project(child=CLIENT, columns=(CLIENT_ID, COUNTRY, RANDOM)), condition=US),
    "conditions_of_all_kinds": o.Project(
        child=o.Filter(
            child=CLIENT,
            condition=call(
                "or",
                call("and", US, call("not", BIG)),
                call("or", call("in", COUNTRY, text("JP"), text("it's")), call("like", NAME, text("J%\\_"))),
            ),
        ),
        columns=(
            NAME,
            named(call("when", BIG, text("high"), call("isnull", INCOME), text("unknown"), text("low"), kind="string"), 47, "Band: €"),
        ),
    ),
    "higher_order_function": o.Project(
        child=source(3, "texts", attribute(70, "words", "array<string>"), attribute(71, "client", "struct<`full name`:string>")),
        columns=(
            named(
                e.Call(
                    function="transform",
                    arguments=(
                        attribute(70, "words", "array<string>"),
                        e.Lambda(
                            parameters=(e.LambdaVariable(name="texts", type="string"),),
                            body=call("upper", e.LambdaVariable(name="texts", type="string"), kind="string"),
                            type="string",
                        ),
                    ),
                    type="array<string>",
                ),
                72,
                "upper_words",
            ),
            named(
                e.GetField(child=attribute(71, "client", "struct<`full name`:string>"), field="full name", type="string"), 73, "full_name"
            ),
            named(e.GetItem(child=attribute(70, "words", "array<string>"), key=literal(0), type="string"), 74, "first_word"),
        ),
    ),
    "computed_columns_of_a_materialization": o.Filter(
        child=o.SegmentOutput(segment=2, output=(attribute(80, "score", "double"), attribute(81, "label", "string"))),
        condition=call(">", attribute(80, "score", "double"), literal("0.5", "double")),
    ),
}

TABLES |= {
    ("source", 3): TableRef(("texts",), {70: ColumnRef("words"), 71: ColumnRef("client")}),
    ("segment", 2): TableRef(("m_18",), {80: ColumnRef("(numbers)[3]", is_expression=True), 81: ColumnRef("c1")}),
}
TABLES["source", 0] = TableRef(("client",), {**TABLES["source", 0].columns, 51: ColumnRef("client_id"), 54: ColumnRef("income")})
