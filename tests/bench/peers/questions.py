"""The questions that all are asked: a query, which rows stand behind its rows by a query written by hand, and one row of it.

The first column of each result is its key (in a union two rows may have one). ``behind`` has for each source table the query of (key,
source row's number).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LARGE = 900
JOIN = f"orders o JOIN customers c ON o.customer = c.id WHERE o.amount >= {LARGE}"
WITHOUT = "NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)"


@dataclass(frozen=True)
class Question:
    """``key``: the name of the result's first column; ``one``: its value in the row that is asked about; ``pandas``: the same query."""

    name: str
    sql: str
    key: str
    one: int
    behind: Mapping[str, str]
    pandas: str

    def by_hand(self, one: bool) -> str:
        """All of them as one query."""
        parts = (f"SELECT '{table}' AS of, key, id FROM ({query}) AS {table}_behind" for table, query in self.behind.items())
        whole = " UNION ALL ".join(parts)
        return f"SELECT * FROM ({whole}) AS behind WHERE key = {self.one}" if one else whole


def questions(customers: int, orders: int) -> tuple[Question, ...]:
    """Over so many customers, of whom the last ten have no order."""
    much = 490 * (orders // customers)
    many = f"SELECT customer FROM orders GROUP BY customer HAVING sum(amount) >= {much}"
    grouped = "made = orders.groupby('customer').agg(total=('amount', 'sum'))"
    large = f"orders[orders['amount'] >= {LARGE}]"
    return (
        Question(
            "selection",
            f"SELECT id, amount FROM orders WHERE amount >= {LARGE}",
            "id",
            25,
            {"orders": f"SELECT id AS key, id FROM orders WHERE amount >= {LARGE}"},
            f"made = {large}\nmade = made[['order', 'amount']]",
        ),
        Question(
            "join",
            f"SELECT o.id, c.region FROM {JOIN}",
            "id",
            25,
            {"orders": f"SELECT o.id AS key, o.id FROM {JOIN}", "customers": f"SELECT o.id AS key, c.id FROM {JOIN}"},
            f"made = {large}\nmade = made.merge(customers, on='customer')",
        ),
        Question(
            "group by",
            "SELECT customer, sum(amount) AS total FROM orders GROUP BY customer",
            "customer",
            25,
            {"orders": "SELECT customer AS key, id FROM orders"},
            grouped,
        ),
        Question(
            "HAVING",
            f"SELECT customer, sum(amount) AS total FROM orders GROUP BY customer HAVING sum(amount) >= {much}",
            "customer",
            25,
            {"orders": f"SELECT customer AS key, id FROM orders WHERE customer IN ({many})"},
            f"{grouped}\nmade = made[made['total'] >= {much}]",
        ),
        Question(
            "left join",
            "SELECT c.id, o.id AS placed FROM customers c LEFT JOIN orders o ON o.customer = c.id",
            "id",
            25,
            {
                "customers": "SELECT id AS key, id FROM customers",
                "orders": "SELECT c.id AS key, o.id FROM customers c JOIN orders o ON o.customer = c.id",
            },
            "made = customers.merge(orders, on='customer', how='left')",
        ),
        Question(
            "NOT EXISTS",
            f"SELECT id, region FROM customers c WHERE {WITHOUT}",
            "id",
            customers - 5,
            {"customers": f"SELECT id AS key, id FROM customers c WHERE {WITHOUT}"},
            "inside = customers['customer'].isin(orders['customer'])\nmade = customers[inside != True]",  # (mlinspect knows no ~)
        ),
        Question(
            "union",
            f"SELECT id, region AS what FROM customers UNION ALL SELECT id, 'order' FROM orders WHERE amount >= {LARGE}",
            "id",
            25,
            {
                "customers": "SELECT id AS key, id FROM customers",
                "orders": f"SELECT id AS key, id FROM orders WHERE amount >= {LARGE}",
            },
            f"made = {large}\nmade = pd.concat([customers, made])",
        ),
        Question(
            "explode",
            "SELECT id, explode(tags) AS tag FROM baskets",
            "id",
            25,
            {"baskets": "SELECT id AS key, id FROM baskets"},
            "baskets['tags'] = baskets['tags'].str.split(' ')\nmade = baskets.explode('tags')",
        ),
    )
