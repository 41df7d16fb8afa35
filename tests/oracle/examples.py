"""One query for every operator and its variants: what a random sample may miss, and what a reader may want to see."""

from __future__ import annotations

from tests.oracle.query import (
    Aggregate,
    Call,
    Col,
    Data,
    Explode,
    Expr,
    Filter,
    Frame,
    GroupingSets,
    In,
    Join,
    KeepOne,
    Lit,
    Lookup,
    Node,
    Op,
    Over,
    Project,
    Scalar,
    Semi,
    SetOp,
    Table,
    TopK,
    Udf,
    Union,
    Using,
    Window,
)  # fmt: skip

COLUMNS = (("rid", "int"), ("k", "int"), ("s", "string"))
TABLES = {
    "t0": Data(COLUMNS, ((100, 1, "a"), (101, 2, None), (102, 1, "a"), (103, None, "b"), (104, 3, "b"), (105, 3, "B"))),
    "t1": Data(COLUMNS, ((200, 1, "a"), (201, 1, "b"), (202, 3, "b"), (203, None, None))),
}
L, R = Table("t0"), Table("t1")
KEYS, OTHER_KEYS = Project(L, (Col(1),)), Project(R, (Col(1),))
THERE = Filter(OTHER_KEYS, Op("not", (Op("is_null", (Col(0),)),)))
NOTHING = Filter(R, Lit(False, "bool"))
SAME_K: Expr = Op("=", (Col(1), Col(4)))
SAME_LEVEL: Expr = Op("=", (Udf("level", (Col(1),)), Udf("tag", (Col(5),))))
BY_RID, BY_K = ((0, False),), ((1, False),)
TOTAL = Aggregate(R, (), (Call("max", Col(1)),))
COUNTED = Lookup(L, R, ((Col(1), Col(1)),), (Call("count"),))
COUNT_AND_SUM = (Call("count"), Call("sum", Col(0)))


def over(*functions: Over, order: tuple[tuple[int, bool], ...] = BY_RID, partition: tuple[int, ...] = ()) -> Node:
    return Window(L, functions, partition, order)


EXAMPLES: dict[str, Node] = {
    "EXISTS": Semi("semi", L, R, SAME_K),
    "EXISTS with UDFs over both sides": Semi("semi", L, R, Op("or", (SAME_K, Op("not", (SAME_LEVEL,))))),
    "NOT EXISTS": Semi("anti", L, R, SAME_K),
    "NOT EXISTS over nothing": Semi("anti", L, NOTHING, SAME_K),
    "EXISTS within OR": Filter(Semi("flag", L, R, SAME_K), Op("or", (Col(3), Op("=", (Col(2), Lit("B", "string")))))),
    "EXISTS as a column": Project(Semi("flag", L, R, SAME_K), (Col(2), Op("not", (Col(3),)))),
    "IN": In("semi", L, OTHER_KEYS, (Col(1),)),
    "IN over two columns": In("semi", L, Project(R, (Col(1), Col(2))), (Col(1), Col(2))),
    "NOT IN over NULL": In("anti", L, OTHER_KEYS, (Col(1),)),
    "NOT IN": In("anti", L, THERE, (Col(1),)),
    "NOT IN of a UDF": In("anti", L, Project(R, (Udf("tag", (Col(2),)),)), (Udf("tag", (Col(2),)),)),
    "NOT IN over two columns": In("anti", L, Project(R, (Col(1), Col(2))), (Col(1), Col(2))),
    "IN within OR": Filter(
        In("flag", Filter(L, Op("<", (Col(1), Lit(9, "int")))), THERE, (Col(1),)), Op("or", (Col(3), Op("<", (Col(0), Lit(102, "int")))))
    ),
    "NOT IN as a column": In("not_flag", Filter(L, Op("<", (Col(1), Lit(9, "int")))), THERE, (Col(1),)),
    "a difference below a difference": Semi("anti", L, Semi("anti", R, Project(L, (Col(1),)), Op("=", (Col(0), Col(3)))), SAME_K),
    "a difference under an aggregation": Aggregate(Semi("anti", L, THERE, Op("=", (Col(1), Col(3)))), (Col(2),), (Call("count"),)),
    "a difference on the right of a left join": Join("left", L, Semi("anti", R, KEYS, Op("=", (Col(0), Col(3)))), SAME_K),
    "a scalar subquery": Scalar(L, TOTAL),
    "a scalar subquery in a condition": Filter(Scalar(L, TOTAL), Op("<=", (Col(3), Col(1)))),
    "a scalar subquery of one plain row": Scalar(L, Project(Filter(R, Op("=", (Col(0), Lit(202, "int")))), (Udf("level", (Col(1),)),))),
    "a scalar subquery of nothing": Scalar(L, Project(NOTHING, (Col(2),))),
    "a correlated count is 0 over nothing": COUNTED,
    "a correlated sum is NULL over nothing": Lookup(L, R, ((Col(1), Col(1)),), (Call("sum", Col(0)),)),
    "a correlated sum and a default": Lookup(
        L, R, ((Col(1), Col(1)),), COUNT_AND_SUM, Op("+", (Col(0), Op("coalesce", (Col(1), Lit(7, "int")))))
    ),
    "a correlated subquery with UDFs": Lookup(
        L, R, ((Col(1), Col(1)), (Udf("tag", (Col(2),)), Udf("tag", (Col(2),)))), (Call("max", Udf("level", (Col(0),))),)
    ),
    "a subquery correlated by more than equality": Lookup(L, R, ((Col(1), Col(1)),), (Call("count"),), comparison="<="),
    "a subquery correlated by more than equality, of UDFs": Filter(
        Lookup(
            Project(L, (Col(0), Udf("level", (Col(1),)), Col(2))),
            Project(R, (Col(0), Udf("level", (Col(0),)))),
            ((Col(1), Col(1)), (Col(2), Col(1))),
            (Call("sum", Col(0)), Call("max", Udf("tag", (Col(1),)))),
            Op("coalesce", (Col(1), Lit("none", "string"))),
            "<=",
        ),
        Op("not", (Op("=", (Col(3), Lit("x", "string"))),)),
    ),
    "a subquery correlated by more than equality, over a difference": Lookup(
        Semi("anti", L, THERE, Op("=", (Col(1), Col(3)))), COUNTED, ((Col(1), Col(3)),), (Call("sum", Col(3)),), comparison="<="
    ),
    "a scalar subquery within another": Lookup(R, COUNTED, ((Col(1), Col(1)),), (Call("max", Col(3)),)),
    "INTERSECT": SetOp("intersect", KEYS, OTHER_KEYS),
    "INTERSECT ALL": SetOp("intersect", KEYS, OTHER_KEYS, all=True),
    "EXCEPT": SetOp("except", KEYS, OTHER_KEYS),
    "EXCEPT ALL": SetOp("except", KEYS, THERE, all=True),
    "EXCEPT of UDFs": SetOp("except", Project(L, (Udf("level", (Col(1),)),)), Project(R, (Udf("tag", (Col(2),)),))),
    "row_number and ntile": over(Over("row_number"), Over("ntile", number=4)),
    "rank and dense_rank": over(Over("rank"), Over("dense_rank"), order=((1, True),)),
    "percent_rank and cume_dist": over(Over("percent_rank"), Over("cume_dist"), order=BY_K),
    "a rank in every partition": over(Over("rank"), partition=(2,)),
    "the first row of every partition": Filter(over(Over("row_number"), partition=(1,)), Op("=", (Col(3), Lit(1, "int")))),
    "lag and lead": over(Over("lag", Col(1)), Over("lead", Udf("tag", (Col(2),)), 2), partition=(1,)),
    "lag and lead IGNORE NULLS": over(Over("lag", Col(1), ignore_nulls=True), Over("lead", Col(2), ignore_nulls=True)),
    "first_value and last_value": over(Over("first_value", Col(2)), Over("last_value", Col(1)), order=BY_K),
    "first_value IGNORE NULLS": over(Over("first_value", Col(2), frame=Frame("rows", 1, None), ignore_nulls=True)),
    "nth_value": over(Over("nth_value", Col(2), 2), Over("nth_value", Col(1), 2, Frame("rows", None, None), True)),
    "ROWS frames": over(Over("sum", Col(1), frame=Frame("rows", -1, 1)), Over("min", Col(2), frame=Frame("rows", -2, -1))),
    "RANGE frames": over(Over("sum", Col(0), frame=Frame("range", -1, 0)), Over("count", frame=Frame("range", None, 1)), order=BY_K),
    "RANGE frames, descending": over(Over("max", Col(0), frame=Frame("range", 1, 2)), order=((1, True),)),
    "a share of the whole": over(Over("max", Udf("blend", (Col(1), Col(2)))), Over("count"), order=(), partition=(1,)),
    "a running count": over(Over("count"), order=BY_K),
    "explode": Explode(L, (Col(1), Lit(7, "int"))),
    "posexplode of UDFs": Explode(L, (Udf("level", (Col(1),)), Col(2)), position=True),
    "explode of NULL": Explode(L, (Col(1), Col(0)), condition=Op("<", (Col(1), Lit(3, "int"))), lateral=True),
    "posexplode_outer": Explode(L, (Col(1),), position=True, outer=True, condition=Udf("likes", (Col(2),)), lateral=True),
    "grouping sets": GroupingSets(L, (Col(1), Col(2)), ((0,), (1,), ()), (Call("count"), Call("sum", Col(1)))),
    "rollup over a UDF": GroupingSets(L, (Udf("level", (Col(1),)), Col(2)), ((0, 1), (0,), ()), (Call("count"),), "rollup"),
    "cube": GroupingSets(L, (Col(1), Col(2)), ((0, 1), (0,), (1,), ()), (Call("count"),), "cube"),
    "grouping sets over nothing": GroupingSets(NOTHING, (Col(1),), ((0,), ()), (Call("count"),)),
    "dropDuplicates": KeepOne(Project(L, (Col(1), Op("is_null", (Col(1),)))), (0,)),
    "USING": Using("full", L, R, ((1, 1),)),
    "NATURAL": Using("left", L, R, ((1, 1), (2, 2)), natural=True),
    "right join USING": Using("right", L, R, ((2, 2),)),
    "aggregates over nothing": Aggregate(NOTHING, (), (Call("count"), Call("max", Udf("level", (Col(1),))))),
    "HAVING": Filter(Aggregate(L, (Col(1),), (Call("count"),)), Op("<", (Lit(1, "int"), Col(1)))),
    "FILTER": Aggregate(L, (Col(1),), (Call("count", where=Udf("likes", (Col(2),))), Call("sum", Col(0), where=Op("is_null", (Col(2),))))),
    "count(DISTINCT) of several columns": Aggregate(
        L, (), (Call("count", Col(1), True, (Col(2),)), Call("count", Col(2), True), Call("sum", Col(1), True))
    ),
    "a common table expression twice": Join("inner", COUNTED, COUNTED, Op("=", (Col(3), Col(7)))),
    "the same table twice": Semi("anti", L, L, Op("and", (Op("=", (Col(1), Col(4))), Op("<", (Col(0), Col(3)))))),
    "the second branch of a union": Union(KEYS, SetOp("except", OTHER_KEYS, KEYS)),
    "a limit over a window": TopK(over(Over("row_number")), 2, 1),
}
