"""Runs through provenance sketches beside runs that read everything: HAVING and top-10 over TPC-H's lineitem.

The table is clustered by the order's key, of which the sketch is, in pages of a thousand rows; or in random order, where every page is read
and what follows the scan is saved; or clustered, and one per cent of new orders came in a file of its own since the sketch was captured.
Semi-joins with few and with many orders, each in a fragment of its own, show what the selection of scattered fragments costs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from airflow_lineage_provider import SketchOn
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.tpch.data import write_tpch

SCALES = {"small": ("0.01",), "full": ("1",)}
SCATTERED: Mapping[str, Mapping[str, Sequence[int]]] = {
    "small": {"random order": (10, 400)},
    "full": dict.fromkeys(("random order", "clustered"), (10, 100, 400, 1_000)),
}
"""So many scattered orders, by layout."""
PAGES = {"parquet.block.size": str(16 << 20), "parquet.page.row.count.limit": "1000"}
QUERIES: Mapping[str, str] = {
    "HAVING": "SELECT l_orderkey, sum(l_quantity) AS total FROM {table} GROUP BY l_orderkey HAVING sum(l_quantity) > 300",
    "top 10": """
        SELECT l_orderkey, sum(l_extendedprice) AS total FROM {table} WHERE l_extendedprice > 0
        GROUP BY l_orderkey ORDER BY total DESC, l_orderkey LIMIT 10""",
}
APPENDED = {
    **QUERIES,
    "semi-join": """
        SELECT l_orderkey, l_linenumber, l_comment FROM {table}
        WHERE l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_totalprice > 520000 OR o_orderkey < 100)""",
}

SEMI_JOIN = (
    "SELECT l_orderkey, sum(l_quantity) AS total FROM {table} WHERE l_orderkey IN (SELECT o_orderkey FROM {chosen}) GROUP BY l_orderkey"
)


def run(ground: Ground) -> Iterator[Comparison]:
    """By layout; plain Spark stands beside the runs."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        tables = write_tpch(ground.folder / f"sf{scale}", scale)
        lineitem = ground.spark.read.parquet(str(tables["lineitem"]))
        ground.spark.read.parquet(str(tables["orders"])).createOrReplaceTempView("orders")
        for layout in ("random order", "clustered"):
            table = _written(ground, lineitem, layout.replace(" ", "_") + "_" + scale.replace(".", "_"), layout == "clustered")
            for name, query in QUERIES.items():
                if ground.wants(title := f"{name}, {layout}, scale factor {scale}"):
                    yield _of(ground, title, query.format(table=table), table, lambda: None)
            for count in SCATTERED[ground.size].get(layout, ()):
                if ground.wants(title := f"{count:,} scattered fragments, {layout}, scale factor {scale}"):
                    yield _of(ground, title, SEMI_JOIN.format(table=table, chosen=_chosen(ground, count, scale)), table, lambda: None)
        for name, query in APPENDED.items() if ground.wants("1 % appended") else ():
            copy = re.sub("[^a-z0-9]", "_", f"appended_{name}_{scale}")
            table = _copied(ground, f"clustered_{scale.replace('.', '_')}", copy)
            title = f"{name}, clustered, 1 % appended, scale factor {scale}"
            yield _of(ground, title, query.format(table=table), table, partial(_append, ground, table))


def _written(ground: Ground, lineitem: Any, table: str, clustered: bool) -> str:
    from pyspark.sql import functions as F

    key = F.col("l_orderkey") if clustered else F.xxhash64("l_orderkey", "l_linenumber")
    rows = lineitem.repartitionByRange(8, key).sortWithinPartitions(key)
    rows.write.options(**PAGES).parquet(_place(ground, table))
    _view(ground, table)
    return table


def _chosen(ground: Ground, count: int, scale: str) -> str:
    """A table with this many orders, as far from each other as any."""
    table = f"chosen_{count}_{scale.replace('.', '_')}"
    orders = ground.spark.table("orders").selectExpr("o_orderkey", "row_number() OVER (ORDER BY o_orderkey) AS place")
    (rows,) = ground.spark.table("orders").selectExpr("count(*)").first() or (0,)
    every = rows // count
    chosen = orders.where(f"place % {every} = {every // 2} AND place <= {every * count}").coalesce(1)
    chosen.write.mode("overwrite").parquet(_place(ground, table))
    _view(ground, table)
    return table


def _copied(ground: Ground, table: str, copy: str) -> str:
    shutil.copytree(_place(ground, table), _place(ground, copy))
    _view(ground, copy)
    return copy


def _place(ground: Ground, table: str) -> str:
    return str(ground.folder / table)


def _view(ground: Ground, table: str) -> None:
    ground.spark.read.parquet(_place(ground, table)).createOrReplaceTempView(table)


def _append(ground: Ground, table: str) -> None:
    """New orders: copies of one in a hundred, with keys of their own."""
    rows = ground.spark.table(table)
    (last,) = rows.selectExpr("max(l_orderkey)").first() or (0,)
    new = rows.where("pmod(xxhash64(l_orderkey), 100) = 0").withColumn("l_orderkey", rows["l_orderkey"] + last)
    new.coalesce(1).sortWithinPartitions("l_orderkey").write.options(**PAGES).mode("append").parquet(_place(ground, table))
    _view(ground, table)


def _of(ground: Ground, title: str, sql: str, table: str, after: Callable[[], None]) -> Comparison:
    """A sketch is captured, something happens to the table, and the query is run with it and without."""
    on = {table: SketchOn(column="l_orderkey")}
    captured = ground.lineage.run(sql, name=title, sketches="capture", sketch_on=on)
    sketch = _of_table(captured, table)
    if sketch.state != "captured":
        raise AssertionError(f"{title}: {sketch.because}")
    captured.close()
    after()
    read: dict[str, float] = {}

    def through() -> Any:
        made = ground.lineage.run(sql, name=title, sketches="use", sketch_on=on)
        use = _of_table(made, table)
        if use.state != "used" or not use.rows or not use.total:
            raise AssertionError(f"{title}: {use.because}")
        read.update({"rows read ÷": use.rows / use.total, "fragments": use.fragments, "new files": use.new_files})
        return _collected(made)

    arms = {
        "plain": Arm(lambda: _collected(ground.lineage.run(sql, name=title)), sorted_rows),
        "through a sketch": Arm(through, sorted_rows),
        "plain Spark": Arm(lambda: ground.spark.sql(sql).collect(), sorted_rows),
    }
    found = compared(title, arms, ground.meter, ground.repeats)
    found.facts = {"through a sketch": read}
    return found


def _of_table(made: Any, table: str) -> Any:
    (found,) = [one for one in made.sketches if one.table == table]
    return found


def _collected(made: Any) -> Any:
    rows = made.result.collect()
    made.close()
    return rows
