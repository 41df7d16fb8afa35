"""Runs that read what other runs wrote, over a few orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_lineage_provider import Lineage, reasoned_udf
from tests.answers import guarantees_of, links_of

ORDERS = [(1, "ann", 10), (2, "ann", 20), (3, "bob", 30), (4, "bob", 5), (5, "cy", 7), (6, None, 7)]


CLIENTS = [("ann", "UK"), ("bob", "US"), ("cy", "UK")]


@reasoned_udf("string", features={"x": "pounds"})
def extent(x: int) -> str:
    return "big" if x >= 20 else "small"


@extent.with_reason
def _(x: int) -> tuple[str, Any]:
    return extent.main(x), {"x": x}


def sql(text: str, **paths: str) -> str:
    """A query over Parquet files, each under the name that it is given."""
    return text.format(**{name: f"parquet.`{path}` AS {name}" for name, path in paths.items()})


def sources(found: Any, column: str = "rid") -> dict[str, list[Any]]:
    return {
        name: sorted(table.column(column).to_pylist(), key=repr) for name, table in found.sources.items() if column in table.column_names
    }


def behind(found: Any, row: int, column: str = "rid", links: str = "target") -> dict[str, list[Any]]:
    """What stands behind one row, by source."""
    names: dict[str, list[Any]] = {}
    for link in links_of(found)[links].to_pylist():
        if link["row"] == row:
            names.setdefault(link["source"], []).append(found.sources[link["source"]].column(column)[link["source_row"]].as_py())
    return {name: sorted(values, key=repr) for name, values in names.items()}


def exact(found: Any) -> bool:
    return {one.level for one in guarantees_of(found).values()} <= {"exact"}


def totals(lineage: Lineage, tables: Path, name: str = "totals", **options: Any) -> Any:
    """Run A: one row for each client, out of two partitions."""
    text = "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client"
    return lineage.run(sql(text, orders=str(tables / "orders")), name="a", output=f"{tables / name}+overwrite", **options)
