"""What becomes of rows of t and u, operator by operator, worked out by hand."""

from __future__ import annotations

T = [(1, "a", 10), (2, "a", 20), (3, "b", 30), (4, None, 40), (5, "b", 30), (6, None, None)]


U = [(11, "a", 1), (12, "a", 2), (13, "c", 3), (14, None, 4)]


SCHEMAS = {"t": "rid int, g string, x int", "u": "rid int, g string, y int"}


NUMBERED = "SELECT rid, g, row_number() OVER (PARTITION BY g ORDER BY x, rid) AS n FROM t"


# Pipeline; table; for every row of the table the rows of the result that descend from it, or what dropped it: reason, and part of the text.
Told = int | tuple[str, str]


CASES: dict[str, tuple[str, str, dict[int, Told]]] = {
    "selection": (
        "SELECT rid FROM t WHERE x > 15 AND g = 'a'",
        "t",
        {
            1: ("selection", "(x > 15) is false (x = 10, g = a)"),
            2: 1,
            3: ("selection", "(g = 'a') is false"),
            4: ("selection", "(g = 'a') is NULL"),
            5: ("selection", "(g = 'a') is false"),
            6: ("selection", "(x > 15) is NULL, (g = 'a') is NULL (x = NULL, g = NULL)"),
        },
    ),
    "inner join": (
        "SELECT t.rid AS r FROM t JOIN u ON t.g = u.g",
        "t",
        {1: 2, 2: 2, 3: ("join", "is true for none (g = b)"), 4: ("join", "(g = NULL)"), 5: ("join", "(g = b)"), 6: ("join", "(g = NULL)")},
    ),
    "inner join, the other side": (
        "SELECT t.rid AS r FROM t JOIN u ON t.g = u.g AND t.x > 10 * u.y",
        "u",
        {11: 1, 12: ("join", "its terms are true for some, but not together"), 13: ("join", "= c"), 14: ("join", "NULL")},
    ),
    "left join, and then a selection": (
        "SELECT t.rid AS r FROM t LEFT JOIN u ON t.g = u.g WHERE y > 1",
        "t",
        {
            1: 1,
            2: 1,
            3: ("selection", "(y > 1) is NULL (y = NULL)"),
            4: ("selection", "(y > 1) is NULL"),
            5: ("selection", "(y > 1) is NULL"),
            6: ("selection", "(y > 1) is NULL"),
        },
    ),
    "left join, the right side": (
        "SELECT t.rid AS r FROM t LEFT JOIN u ON t.g = u.g",
        "u",
        {11: 2, 12: 2, 13: ("join", ""), 14: ("join", "")},
    ),
    "full join": ("SELECT t.rid AS r, y FROM t FULL JOIN u ON t.g = u.g", "u", {11: 2, 12: 2, 13: 1, 14: 1}),
    "semi-join": (
        "SELECT rid FROM t WHERE g IN (SELECT g FROM u)",
        "t",
        {1: 1, 2: 1, **dict.fromkeys((3, 4, 5, 6), ("semi_join", "no row of u goes with it"))},
    ),
    "semi-join, the right side": (
        "SELECT rid FROM t LEFT SEMI JOIN u ON t.g = u.g",
        "u",
        {11: 2, 12: 2, 13: ("semi_join", "= c"), 14: ("semi_join", "NULL")},
    ),
    "difference": (
        "SELECT rid FROM t WHERE g NOT IN (SELECT g FROM u WHERE g IS NOT NULL)",
        "t",
        {
            1: ("difference", "(g = a)"),
            2: ("difference", "(g = a)"),
            3: 1,
            4: ("difference", "(g = NULL)"),
            5: 1,
            6: ("difference", "NULL"),
        },
    ),
    "difference, the right side": (
        "SELECT rid FROM t WHERE g NOT IN (SELECT g FROM u WHERE g IS NOT NULL)",
        "u",
        {
            11: ("difference_side", "only says what to take away"),
            12: ("difference_side", ""),
            13: ("difference_side", ""),
            14: ("selection", "isnotnull"),
        },
    ),
    "NULL in NOT IN": ("SELECT rid FROM t WHERE g NOT IN (SELECT g FROM u)", "t", dict.fromkeys(range(1, 7), ("difference", ""))),
    "anti-join": (
        "SELECT rid FROM t LEFT ANTI JOIN u ON t.g = u.g",
        "t",
        {1: ("difference", ""), 2: ("difference", ""), 3: 1, 4: 1, 5: 1, 6: 1},
    ),
    "existence flag": (
        "SELECT rid, g IN (SELECT g FROM u WHERE g = 'a') AS f FROM t WHERE g IS NOT NULL",
        "u",
        {11: 2, 12: 2, 13: ("selection", "= 'a'"), 14: ("selection", "NULL")},
    ),
    "HAVING": (
        "SELECT g FROM t GROUP BY g HAVING sum(x) > 50",
        "t",
        {
            1: ("selection", "the group does not meet the condition (HAVING)"),
            2: ("selection", "(sum(x) = 30)"),
            3: 1,
            4: ("selection", "= 40"),
            5: 1,
            6: ("selection", "= 40"),
        },
    ),
    "distinct": ("SELECT DISTINCT g FROM t", "t", dict.fromkeys(range(1, 7), 1)),
    "global aggregation": ("SELECT count(*) AS c FROM t", "t", dict.fromkeys(range(1, 7), 1)),
    "limit": (
        "SELECT rid AS r FROM t ORDER BY x DESC NULLS LAST, rid LIMIT 2",
        "t",
        {
            1: ("limit", "not among the first 2 rows in the order of x DESC, rid ASC (x = 10, rid = 1)"),
            2: ("limit", ""),
            3: 1,
            4: 1,
            5: ("limit", "(x = 30, rid = 5)"),
            6: ("limit", "x = NULL"),
        },
    ),
    "limit below an aggregation": (
        "SELECT count(*) AS c FROM (SELECT * FROM t ORDER BY rid LIMIT 3)",
        "t",
        {1: 1, 2: 1, 3: 1, **dict.fromkeys((4, 5, 6), ("limit", "first 3 rows"))},
    ),
    "what is read above a limit": (
        "SELECT rid AS r FROM (SELECT * FROM t ORDER BY rid LIMIT 3) WHERE x < 15",
        "t",
        {1: 1, 2: ("selection", "x = 20"), 3: ("selection", "x = 30"), **dict.fromkeys((4, 5, 6), ("limit", ""))},
    ),
    "union": (
        "SELECT g FROM t WHERE x > 35 UNION ALL SELECT g FROM u WHERE y > 3",
        "u",
        {11: ("selection", "y = 1"), 12: ("selection", ""), 13: ("selection", ""), 14: 1},
    ),
    "UDF in a selection": (
        "SELECT rid FROM t WHERE how_big(x) = 'big' AND rid > 3",
        "t",
        {
            **{rid: ("selection", f"(rid > 3) is false (rid = {rid})") for rid in (1, 2, 3)},
            4: 1,
            5: 1,
            6: ("selection", "= 'big') is false (how_big = none)"),
        },
    ),
    "UDF of a group": (
        "SELECT g FROM (SELECT g, how_big(CAST(sum(x) AS int)) AS s FROM t GROUP BY g) WHERE s = 'small'",
        "t",
        dict.fromkeys(range(1, 7), ("selection", "(s = big)")),
    ),
    "UDF over an exploded array": (
        "SELECT rid, c FROM (SELECT rid, c, how_big(c) AS s FROM t LATERAL VIEW explode(array(x, x + 15)) v AS c) WHERE s = 'big'",
        "t",
        {1: ("selection", "s = "), 2: 1, 3: 2, 4: 2, 5: 2, 6: ("selection", "s = none")},
    ),
    "window": (f"SELECT rid FROM ({NUMBERED}) WHERE n = 2", "t", {1: 1, 2: 1, 3: 1, 5: 1, 4: 1, 6: 1}),
    "row that only a later frame sees": (
        f"SELECT rid FROM ({NUMBERED}) WHERE n = 1",
        "t",
        {1: 1, 2: ("selection", "(n = 2)"), 3: 1, 5: ("selection", "(n = 2)"), 6: 1, 4: ("selection", "(n = 2)")},
    ),
    "generator": (
        "SELECT rid, c FROM t LATERAL VIEW explode(CASE WHEN x > 15 THEN array(1, 2) END) v AS c",
        "t",
        {1: ("generator", "(x = 10)"), 2: 2, 3: 2, 4: 2, 5: 2, 6: ("generator", "(x = NULL)")},
    ),
    "grouping sets": ("SELECT g, count(*) AS c FROM t GROUP BY GROUPING SETS ((g), ())", "t", dict.fromkeys(range(1, 7), 2)),
    "a condition on one side alone": (
        "SELECT t.rid AS r FROM t LEFT SEMI JOIN (SELECT * FROM u WHERE y > 9) v ON t.x > 5",
        "t",
        dict.fromkeys(range(1, 7), ("semi_join", "the other side has no rows")),
    ),
    "except": (
        "SELECT g FROM t EXCEPT SELECT g FROM u",
        "t",
        {1: ("difference", ""), 2: ("difference", ""), 3: 1, 5: 1, 4: ("difference", ""), 6: ("difference", "")},
    ),
    "except all": ("SELECT g FROM t EXCEPT ALL SELECT g FROM u", "t", {1: ("selection", ""), 2: ("selection", ""), 3: 2, 5: 2, 4: 1, 6: 1}),
    "intersect": ("SELECT g FROM t INTERSECT SELECT g FROM u", "u", {11: 1, 12: 1, 13: ("semi_join", ""), 14: 1}),
    "scalar subquery": (
        "SELECT rid FROM t WHERE x > (SELECT max(y) * 10 FROM u WHERE g IS NOT NULL)",
        "u",
        {11: 1, 12: 1, 13: 1, 14: ("selection", "g")},
    ),
    # Spark reads the subquery once for both conditions, and so do we: a row of u has one way to the result.
    "a scalar subquery that is written twice": (
        "SELECT rid FROM t WHERE x > (SELECT max(y) FROM u WHERE y < 3) * 10 OR x = (SELECT max(y) FROM u WHERE y < 3) * 5",
        "u",
        {11: 4, 12: 4, 13: ("selection", "y"), 14: ("selection", "y")},
    ),
}
