"""The oracle's lineage on tables small enough to see it: every expectation is worked out by hand."""

from __future__ import annotations

import pytest

from tests.tpch.annotated import Row
from tests.tpch.oracle import Table, Udf, evaluate, table

T = [(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, None, 40), (5, "c", 50)]
U = [(1, "a", 1), (2, "a", 20), (3, "b", 3), (4, None, 4)]
TABLES = {
    "t": table("t", [dict(zip(("id", "g", "x"), row, strict=True)) for row in T], ["id"]),
    "u": table("u", [dict(zip(("k", "h", "y"), row, strict=True)) for row in U], ["k"]),
}
UDFS = {"big": Udf(lambda x: x >= 30, lambda x: f"because of {x}")}

# query: for each row of the result its first value, and its lineage as t's ids, u's ids and control
CASES: dict[str, list[tuple[object, str, str, str]]] = {
    "SELECT id FROM t WHERE x > 30": [(4, "4", "", ""), (5, "5", "", "")],
    "SELECT id FROM t, u WHERE g = h AND y < 3": [(1, "1", "1", ""), (2, "2", "1", "")],
    "SELECT id FROM t JOIN u ON g = h AND y < x WHERE id = 2": [(2, "2", "1", "")],
    "SELECT id FROM t, u WHERE (g = h AND y = 3) OR (g = h AND x = 10 AND y = 1)": [(1, "1", "1", ""), (3, "3", "3", "")],
    "SELECT id, k FROM t LEFT OUTER JOIN u ON g = h AND y < 3": [
        (1, "1", "1", ""), (2, "2", "1", ""), (3, "3", "", ""), (4, "4", "", ""), (5, "5", "", ""),
    ],
    "SELECT id FROM t LEFT ANTI JOIN u ON g = h": [
        (4, "4", "", "u"), (5, "5", "", "u"),
    ],
    "SELECT g, sum(x) AS s FROM t GROUP BY g HAVING sum(x) > 30 OR count(*) = 2": [
        ("a", "12", "", ""), (None, "4", "", ""), ("c", "5", "", ""),
    ],
    "SELECT sum(y) AS s FROM t, u WHERE g = h": [(45, "123", "123", "")],
    "SELECT count(*) AS n FROM t WHERE x > 100": [(0, "", "", "")],
    "SELECT count(DISTINCT h) AS n FROM u": [(2, "", "1234", "")],
    "SELECT DISTINCT h FROM u WHERE y < 20": [("a", "", "1", ""), ("b", "", "3", ""), (None, "", "4", "")],
    # semi-joins: every partner
    "SELECT id FROM t WHERE g IN (SELECT h FROM u)": [(1, "1", "12", ""), (2, "2", "12", ""), (3, "3", "3", "")],
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE h = g AND y < x)": [(1, "1", "1", ""), (2, "2", "1", ""), (3, "3", "3", "")],
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE h = g AND y <> x)": [(1, "1", "12", ""), (2, "2", "1", ""), (3, "3", "3", "")],
    "SELECT id FROM t WHERE g IN (SELECT h FROM u GROUP BY h HAVING count(*) > 1)": [(1, "1", "12", ""), (2, "2", "12", "")],
    # differences: the whole right side is control; a NULL there empties NOT IN
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE h = g)": [(4, "4", "", "u"), (5, "5", "", "u")],
    "SELECT id FROM t WHERE g NOT IN (SELECT h FROM u)": [],
    "SELECT id FROM t WHERE g NOT IN (SELECT h FROM u WHERE y < 4)": [(5, "5", "", "u")],
    "SELECT id FROM t WHERE g NOT IN (SELECT h FROM u WHERE y > 100)": [(number, str(number), "", "u") for number in (1, 2, 3, 4, 5)],
    # scalar subqueries: the whole lineage, or the group's
    "SELECT id FROM t WHERE x > (SELECT max(y) FROM u)": [(number, str(number), "1234", "") for number in (3, 4, 5)],
    "SELECT id FROM t WHERE x > (SELECT sum(y) FROM u WHERE h = g)": [(3, "3", "3", "")],
    "SELECT id FROM t WHERE 20 < (SELECT sum(y) FROM u WHERE h = g)": [(1, "1", "12", ""), (2, "2", "12", "")],
    "SELECT g, sum(x) AS s FROM t GROUP BY g HAVING sum(x) > (SELECT 2 * sum(y) FROM u WHERE y < 20) ORDER BY s LIMIT 2": [
        ("a", "12", "134", ""), ("b", "3", "134", ""),
    ],
    # a subquery in a subquery
    "SELECT id FROM t WHERE g IN (SELECT h FROM u WHERE y > (SELECT min(x) FROM t) AND h = g)": [
        (1, "12345", "2", ""), (2, "12345", "2", ""),
    ],
    # derived tables and common table expressions, used twice
    "SELECT n FROM (SELECT g, count(*) AS n FROM t GROUP BY g) c, u WHERE g = h AND y = 3": [(1, "3", "3", "")],
    "WITH c AS (SELECT g, sum(x) AS s FROM t GROUP BY g) SELECT g FROM c WHERE s = (SELECT max(s) FROM c)": [("c", "12345", "", "")],
    "SELECT id FROM t ORDER BY id DESC LIMIT 2": [(5, "5", "", ""), (4, "4", "", "")],
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_lineage(sql: str) -> None:
    found = evaluate(sql, TABLES, {})[1]
    assert [(row.values[0], _ids(row, "t"), _ids(row, "u"), "".join(sorted(row.control))) for row in found] == CASES[sql]


def _ids(row: Row, name: str) -> str:
    return "".join(sorted(str(key[0]) for source, key in row.lineage if source == name))


def test_calls_are_those_behind_the_row() -> None:
    sql = "SELECT g, count(*) AS n FROM (SELECT * FROM t WHERE big(x) AND x < 50) b JOIN u ON y < 4 AND k > 1 GROUP BY g"
    rows = evaluate(sql, TABLES, UDFS)[1]
    assert {row.values: {(one.arguments, one.value, one.reason, one.behind) for one in row.calls} for row in rows} == {
        ("b", 1): {((30,), True, "because of 30", frozenset({("t", (3,))}))},
        (None, 1): {((40,), True, "because of 40", frozenset({("t", (4,))}))},
    }


def test_a_limit_that_cuts_between_equal_rows_is_refused() -> None:
    equal = Table(("a",), (Row((1,)), Row((1,))))
    with pytest.raises(ValueError, match="not determined"):
        evaluate("SELECT a FROM e ORDER BY a LIMIT 1", {"e": equal}, {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM t WHERE x > 1 OR EXISTS (SELECT * FROM u)",
        "SELECT id FROM t, u WHERE big(x + y)",
        "SELECT id FROM t UNION ALL SELECT k FROM u",
        "SELECT rank() OVER (ORDER BY x) AS r FROM t",
        "SELECT id FROM t FULL OUTER JOIN u ON g = h",
    ],
)
def test_what_it_does_not_know_it_refuses(sql: str) -> None:
    with pytest.raises((NotImplementedError, KeyError)):
        evaluate(sql, TABLES, UDFS)
