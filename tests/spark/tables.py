"""The tables of the capture tests: files of every format, a partitioned catalog table, views, odd names, every type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLIENTS = [
    ("0001", "Havey", "UK", 3400),
    ("0002", "alice", "US", 2100),
    ("0003", "Bob", "UK", None),
    ("0004", "xcarolx", "FR", 900),
    ("0004", "xcarolx", "FR", 900),
]
EVERYTHING = """
    SELECT id, CAST(id AS tinyint) AS ti, CAST(id AS smallint) AS si, CAST(id AS int) AS i, id / 3 AS dbl, CAST(id AS float) AS f,
      CAST(id AS decimal(38, 10)) AS dec, concat('s', id) AS s1, encode(CAST(id AS string), 'utf-8') AS bin, id % 2 = 0 AS bo,
      date_add(DATE '2020-01-31', CAST(id AS int)) AS d, timestamp_seconds(1577836800 + id * 86400) AS t,
      CAST('2020-01-01 00:00:00' AS timestamp_ntz) AS ntz, array(1, CAST(id AS int), 3) AS arr, map('k', id) AS m,
      named_struct('a', id, 'inner', named_struct('b', 'x')) AS s, array(named_struct('a', id)) AS array_of,
      INTERVAL '1' DAY AS di, INTERVAL '3' MONTH AS mi, CAST(NULL AS string) AS nothing
    FROM range(0, 4)
"""


def make_tables(spark: SparkSession, folder: Path) -> None:
    """Writes the tables under a folder and registers them."""
    spark.createDataFrame(CLIENTS, "id string, name string, country string, income int").write.parquet(f"{folder}/client")
    debts = [("0001", 10.5), ("0001", 2.0), ("0004", 7.25), ("0009", 1.0)]
    spark.createDataFrame(debts, "id string, sum double").write.option("header", True).csv(f"{folder}/debt")
    spark.sql(EVERYTHING).write.parquet(f"{folder}/everything")
    spark.sql(
        "SELECT 1 AS `a.b`, 'q' AS `say \"x\"`, true AS `back``tick`, named_struct('in ner', 2) AS `with space`, 3 AS `select`"
    ).write.parquet(f"{folder}/odd table")
    spark.read.parquet(f"{folder}/client").createOrReplaceTempView("client")
    spark.read.schema("id string, sum double").option("header", True).csv(f"{folder}/debt").createOrReplaceTempView("debt")
    spark.read.parquet(f"{folder}/everything").createOrReplaceTempView("everything")
    spark.read.parquet(f"{folder}/odd table").createOrReplaceTempView("odd")
    spark.sql("DROP TABLE IF EXISTS loan")
    spark.sql("CREATE TABLE loan (id string, amount decimal(10, 2), year int) USING parquet PARTITIONED BY (year)")
    spark.sql("INSERT INTO loan VALUES ('0001', 100.00, 2021), ('0004', 50.50, 2021), ('0008', 5.00, 2022)")
    spark.sql("CREATE OR REPLACE TEMP VIEW rich AS SELECT id, name FROM client WHERE income > 1000")
    spark.sql("CREATE OR REPLACE TEMP VIEW rich_names AS SELECT lower(name) AS name FROM rich")
