"""Queries of every folder of Spark's own SQL tests, in our own words: accepted, with Spark's rows and types."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.in_turn import sampled
from tests.spark.acceptance import ask_folder, settings, statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).parent / "queries"


def test_a_file_is_read_as_spark_reads_its_own() -> None:
    text = "--SET a.b=1,c=2\n-- a comment;\nSELECT 1; -- no end\nSELECT 2;\n--QUERY-DELIMITER-START\nBEGIN\n SELECT 3;\nEND;"
    assert settings(text) == {"a.b": "1", "c": "2"}
    assert list(statements(text + "\n--QUERY-DELIMITER-END\nSELECT\n4")) == [
        "SELECT 1; -- no end\nSELECT 2", "BEGIN\n SELECT 3;\nEND", "SELECT\n4",
    ]  # fmt: skip


@pytest.mark.spark
def test_every_query_is_accepted(spark: SparkSession) -> None:
    files = sampled(sorted(QUERIES.rglob("*.sql")), one_in=7)
    if spark.version < "4.1":  # which compares no texts of all these collations
        files = [one for one in files if one.name != "collations.sql"]
    every = list(ask_folder(spark, QUERIES, files))
    not_accepted = [(one.file, one.query, one.why) for one in every if one.verdict != "accepted"]
    assert not_accepted == []
    ran = {one.query for one in every}
    assert [one for one in queries(files) if one not in ran] == [], "Spark does not run these"


def queries(files: Iterable[Path]) -> list[str]:
    commands = ("CREATE", "INSERT", "DECLARE", "SET")
    texts = [file.read_text() for file in files]
    return [one for text in texts for one in statements(text) if one and not one.startswith(commands)]
