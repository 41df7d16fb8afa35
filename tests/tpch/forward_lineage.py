"""Queries over TPC-H of the paper on forward lineage by roBDDs: those of its table 7, which aggregate, and those that only join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from tests.tpch.workloads import sql


@dataclass(frozen=True)
class Sizes:
    """A query of the benchmark, with the constants of its validation in place of those that small tables need (``constants``).

    ``by_hand`` is DuckDB's query of how many rows stand behind each row of the result; ``rows`` and ``mean`` are what is printed of scale
    factor 1: the rows, and the rows behind each, in the mean. ``alike``: all rows have the same behind them, and some are asked about.
    """

    query: str
    by_hand: str
    rows: int
    mean: float
    constants: Mapping[str, str]
    alike: bool = False

    @property
    def text(self) -> str:
        """Without ORDER BY and LIMIT at the end, which the paper leaves off."""
        text = sql("tpch", self.query).rsplit("ORDER BY", 1)[0]
        for small, own in self.constants.items():
            assert small in text
            text = text.replace(small, own)
        return text


def behind(*tables: str) -> str:
    """The different rows of these tables."""
    return " + ".join(f"count(DISTINCT {table}.rowid)" for table in tables)


_GERMAN = "FROM partsupp p, supplier s, nation n WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'"
_QUARTER = "l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'"
_REVENUE = f"SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS total FROM lineitem WHERE {_QUARTER} GROUP BY l_suppkey"
TABLE_7 = (
    Sizes(
        "q03",
        f"""SELECT {behind("c", "o", "l")} FROM customer c, orders o, lineitem l WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey
            AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' GROUP BY l_orderkey""",
        11_620, 4.63, {},
    ),
    Sizes(
        "q05",
        f"""SELECT {behind("c", "o", "l", "s", "n", "r")} FROM customer c, orders o, lineitem l, supplier s, nation n, region r
            WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
            AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND year(o_orderdate) = 1994 GROUP BY n_name""",
        5, 4_285.8, {"AMERICA": "ASIA"},
    ),
    Sizes(
        "q06",
        f"""SELECT {behind("l")} FROM lineitem l WHERE year(l_shipdate) = 1994 AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
        1, 114_160, {},
    ),
    Sizes(
        "q07",
        f"""SELECT {behind("s", "l", "o", "c", "n1")} + count(DISTINCT n2.rowid)
            FROM supplier s, lineitem l, orders o, customer c, nation n1, nation n2
            WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey
            AND c_nationkey = n2.n_nationkey AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
            AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
            GROUP BY n1.n_name, n2.n_name, year(l_shipdate)""",
        4, 4_397.0, {"PERU": "FRANCE", "UNITED KINGDOM": "GERMANY"},
    ),
    Sizes(
        "q09",
        f"""SELECT {behind("p", "s", "l", "ps", "o", "n")} FROM part p, supplier s, lineitem l, partsupp ps, orders o, nation n
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
            AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%' GROUP BY n_name, year(o_orderdate)""",
        175, 6_199.95, {},
    ),
    Sizes(
        "q10",
        f"""SELECT {behind("c", "o", "l", "n")} FROM customer c, orders o, lineitem l, nation n WHERE c_custkey = o_custkey
            AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'
            AND c_nationkey = n_nationkey GROUP BY c_custkey""",
        37_967, 6.31, {},
    ),
    Sizes(
        "q11",  # the subquery's rows, which are those of all groups, stand behind each row
        f"""SELECT (SELECT {behind("p", "s", "n")} {_GERMAN}) {_GERMAN} GROUP BY ps_partkey
            HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * 0.0001 {_GERMAN})""",
        1_048, 32_077, {"PERU": "GERMANY", "* 0.01": "* 0.0001"}, alike=True,
    ),
    Sizes(
        "q15",
        f"""SELECT 1 + (SELECT count(*) FROM lineitem WHERE {_QUARTER}) FROM ({_REVENUE})
            WHERE total = (SELECT max(total) FROM ({_REVENUE}))""",
        1, 225_955, {}, alike=True,
    ),
    Sizes(
        "q16",
        f"""SELECT {behind("ps", "p")} FROM partsupp ps, part p WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45'
            AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
            AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
            GROUP BY p_brand, p_type, p_size""",
        18_314, 8.07, {"%regular%requests%": "%Customer%Complaints%"},
    ),
)  # fmt: skip


class _Joined(NamedTuple):
    """One more table of a query: what it gives to the columns, and how its rows are found."""

    table: str
    columns: str
    conditions: str


_JOINED = (
    _Joined("lineitem, orders", "o_orderdate, o_totalprice, l_quantity, l_shipdate", "o_orderkey = l_orderkey"),
    _Joined("customer", "c_name", "c_custkey = o_custkey"),
    _Joined("supplier", "s_name", "s_suppkey = l_suppkey"),
    _Joined("part", "p_name, p_brand, p_type", "p_partkey = l_partkey"),
    _Joined("partsupp", "ps_supplycost", "ps_partkey = l_partkey AND ps_suppkey = l_suppkey"),
    _Joined("nation n1", "n1.n_name AS supp_nation", "n1.n_nationkey = s_nationkey"),
    _Joined("nation n2", "n2.n_name AS cust_nation", "n2.n_nationkey = c_nationkey"),
    _Joined("region", "r_name", "r_regionkey = n1.n_regionkey"),
)
_DAYS = "o_orderdate >= DATE '1994-01-01' AND o_orderdate <= DATE '1994-01-01' + INTERVAL '3' DAY"


def _and(before: _Joined, one: _Joined) -> _Joined:
    return _Joined(*(f"{old}{sign}{new}" for old, sign, new in zip(before, (", ", ", ", " AND "), one, strict=True)))


SPJ: Mapping[str, str] = {
    f"s{number}": f"SELECT {one.columns} FROM {one.table} WHERE {one.conditions} AND {_DAYS}"
    for number, one in enumerate(accumulate(_JOINED, _and), 1)
}
"""Its appendix' queries: of the orders of four days the lines, and each query joins one table more than the one before it, up to nine.
(S2 to S4 are not legible there: which table comes first is ours.)"""
