"""Tables that are read through sketches, and runs that capture them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.store.schema import sketches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store

CUSTOMERS, ORDERS = 60, 600
ON_KEY = {"lineitem": "l_orderkey"}
BIG_ORDERS = "SELECT l_orderkey, sum(l_quantity) AS total FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 210"
TOP = "SELECT l_orderkey, sum(l_quantity) AS total FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > :least"


@contextmanager
def tables_of_orders(spark: SparkSession, folder: Path) -> Iterator[Path]:
    """TPC-H's shapes: customers, and orders and items that are clustered by the order's key, in small row groups."""
    random = Random(7)
    customers = [(key, f"name {key}", random.choice(("AUTO", "BUILDING", None))) for key in range(CUSTOMERS)]
    orders = [
        (key, random.choice((None, *range(CUSTOMERS))), Decimal(random.randint(1, 50_000)).scaleb(-2), random.choice("OFP"))
        for key in range(ORDERS)
    ]
    items = [
        (key, line, random.randint(1, 50), Decimal(random.randint(100, 90_000)).scaleb(-2), random.choice(("AIR", "RAIL", None)))
        for key in range(ORDERS)
        for line in range(random.randint(0, 6))
    ]
    schemas = {
        "customer": ("c_custkey int, c_name string, c_segment string", customers),
        "orders": ("o_orderkey int, o_custkey int, o_price decimal(12,2), o_status string", orders),
        "lineitem": ("l_orderkey int, l_line int, l_quantity int, l_price decimal(12,2), l_mode string", items),
    }
    options = {"parquet.block.size": "2048", "parquet.page.size": "512", "parquet.page.row.count.limit": "20"}
    for name, (schema, rows) in schemas.items():
        place = str(folder / name)
        spark.createDataFrame(rows, schema).coalesce(1).write.options(**options).parquet(place)
        spark.read.parquet(place).createOrReplaceTempView(name)
    yield folder
    for name in schemas:
        spark.catalog.dropTempView(name)


def bag(frame: Any) -> Counter[Any]:
    return Counter(tuple(row) for row in frame.collect())


def states(run: Run) -> dict[str, str]:
    return {f"{one.table}.{one.column}": one.state for one in run.sketches}


def captured(lineage: Lineage, name: str, **options: Any) -> Run:
    run = lineage.run(TOP, name=name, sketches="capture", **{"sketch_on": ON_KEY} | options)
    assert "captured" in states(run).values(), run.sketches
    return run


def stored(store: Store, run: Run) -> Any:
    with store._transaction("a test") as connection:
        return connection.execute(sketches.select().where(sketches.c.run_id == run.id)).mappings().all()
