"""Cases that once failed, shrunk by Hypothesis and trimmed by hand; what each is about is its name.

A failure of `make fuzz` prints a case that can be pasted here.
"""

from __future__ import annotations

import math

from tests.oracle.query import (
    Aggregate,
    Call,
    Col,
    Data,
    Distinct,
    Filter,
    In,
    Join,
    Lit,
    Lookup,
    Op,
    Over,
    Project,
    Scalar,
    Semi,
    Table,
    TopK,
    Udf,
    Union,
    Window,
)
from tests.oracle.strategies import Case

T0 = Data((("rid", "int"), ("k", "int"), ("s", "string")), ((100, 1, "a"), (101, 2, None), (102, 1, "a"), (103, None, "b")))
T1 = Data((("rid", "int"), ("k", "int"), ("s", "string")), ((200, 7, "b"), (201, 1, "a")))
TABLES = {"t0": T0, "t1": T1}
NANS = Data((("rid", "int"), ("d", "double")), ((100, math.nan), (101, -0.0), (102, math.nan), (103, None)))
FIRST = TopK(Project(Table("t1"), (Col(0),)), 1)

REGRESSIONS: dict[str, Case] = {
    # No left row has a partner, so no target row reaches the UDF's segment: its table of reasons is empty, not an error.
    "a UDF that no target row goes back to": Case(
        tables=TABLES,
        query=Join(
            "right",
            Project(Table("t1"), (Col(0), Udf("tag", (Col(2),)))),
            Project(Table("t0"), (Col(1),)),
            Op("=", (Col(0), Col(2))),
        ),
    ),
    # The function operator's materialization holds only what the result needs: the columns that the filter passes on are not all there.
    "a filter by a UDF under a projection of other columns": Case(
        tables=TABLES,
        query=Filter(Project(Table("t0"), (Col(1),)), Udf("likes", (Lit("a", "string"),))),
        style="merged",
        storage="parquet",
    ),
    # Spark leaves the condition out where it takes the subquery apart: the call is never made, and has no reason.
    "a call beside a constant in the condition of a correlated subquery": Case(
        tables=TABLES,
        query=Semi(
            "flag",
            Project(Table("t0"), (Col(0), Col(2))),
            Project(Table("t1"), (Col(2),)),
            Op("and", (Op("<=", (Col(1), Col(2))), Op("or", (Lit(True, "bool"), Udf("likes", (Col(2),)))))),
        ),
        style="with",
    ),
    # Of the union below the UDF's group, only some columns are stored.
    "a union of which a group above reads one column": Case(
        tables=TABLES,
        query=Aggregate(
            Union(
                Project(Table("t0"), (Udf("level", (Col(1),)), Col(2))),
                Project(Table("t1"), (Udf("tag", (Col(2),)), Col(2))),
            ),
            (Col(1),),
            (Call("count"),),
        ),
        style="with",
        reasons="eager",
    ),
    "distinct over a UDF of a UDF": Case(
        tables=TABLES,
        query=Distinct(Project(Table("t0"), (Lit(True, "bool"), Udf("blend", (Udf("blend", (Col(1), Col(2))), Col(2)))))),
        style="frame",
        storage="orc",
        target=1,
    ),
    # Nothing reads a column of the subquery's segment, but its one row has to be there.
    "a scalar subquery that nobody reads, stored": Case(
        tables=TABLES,
        query=Project(Scalar(Table("t0"), Aggregate(Table("t1"), (), (Call("max", Col(1)),))), (Col(0),)),
        strategy="full_materialization",
    ),
    "a scalar subquery that is written twice, stored": Case(
        tables=TABLES,
        query=Filter(
            Scalar(Table("t0"), Aggregate(Table("t1"), (), (Call("max", Col(1)),))),
            Op("or", (Op("<=", (Col(3), Col(1))), Op("=", (Col(3), Lit(7, "int"))))),
        ),
        style="merged",
        strategy="full_materialization",
    ),
    # Merged into one SELECT, the inner subquery stands in the columns and in the outer one's condition.
    "a subquery correlated by the value of another": Case(
        tables=TABLES,
        query=Lookup(Scalar(Table("t0"), FIRST), Scalar(Table("t0"), FIRST), ((Col(3), Col(3)),), (Call("count"),)),
        style="merged",
        target=1,
    ),
    # NaN = NaN, in what is asked for as in what is looked up.
    "a target that is not a number, made again": Case(
        tables={"t0": NANS}, query=Project(Table("t0"), (Col(1), Col(0))), strategy="rerun", target=2, storage="parquet"
    ),
    # A file with -0.0 alone: 0.0 is in it, and not in its dictionary.
    "zeros with a sign in files": Case(
        tables={"t0": T0, "t1": Data((("rid", "int"), ("d", "double")), ((200, 0.0), (201, 1.5), (202, -0.0), (203, -0.0)))},
        query=In("semi", Table("t0"), Project(Table("t1"), (Col(1),)), (Lit(0.0, "float"),)),
        storage="parquet",
    ),
    # In one SELECT a call that reads no window is made below them, for every row of a frame: it stands in a SELECT of its own.
    "a call above a window that does not read it": Case(
        tables=TABLES,
        query=Project(Window(Table("t0"), (Over("rank"),), (), ((1, False),)), (Udf("blend", (Col(1), Lit("", "string"))), Col(3))),
        style="merged",
        target=2,
    ),
}
