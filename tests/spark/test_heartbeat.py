"""A stage that takes long says how far it has come."""

from __future__ import annotations

import re
import time

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.progress import SoFar
from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.spark.executing import heartbeat as module
from airflow_lineage_provider.spark.executing.heartbeat import heartbeat
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.store import Store


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 0.05)


@pytest.mark.long
def test_lines_come_in_between_and_end_with_the_work() -> None:
    told: list[str] = []
    with heartbeat(lambda: None, told.append) as progress:
        progress("tracing")
        time.sleep(0.4)
        progress("verifying")
    number = len(told)
    assert told[0] == "tracing"
    assert all(isinstance(one, SoFar) and re.fullmatch(r"tracing: .+ so far", one) for one in told[1 : told.index("verifying")])
    assert told.index("verifying") > 1
    time.sleep(0.2)
    assert len(told) == number


def test_nobody_is_told_where_nobody_watches() -> None:
    with watched(False, "run") as silent, heartbeat(lambda: None, silent) as told:
        assert told is silent


@pytest.mark.spark
def test_they_tell_sparks_stage_tasks_and_rows(spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(x: int) -> int:
        time.sleep(0.02)
        return x

    told: list[str] = []
    ReasonedUdf(slow, "bigint", name="slow_to_judge").register(spark)
    Lineage(spark, store=store).run("SELECT slow_to_judge(id) AS x FROM range(0, 120, 1, 4)", progress=told.append).close()
    between = [one for one in told if isinstance(one, SoFar)]
    assert any(re.match(r"storing result: Spark's stage \d+, \d of 4 tasks done", one) for one in between), told
    assert not any("stage" in one for one in told if not isinstance(one, SoFar))


@pytest.mark.spark
def test_a_setting_that_is_in_force_is_not_set_again(spark: SparkSession) -> None:
    """Spark warns of deprecated settings whenever somebody sets one, and the logs of all tasks would be full of it."""
    name = "spark.sql.parser.escapedStringLiterals"
    with apply_conf(spark, {name: "false", "spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.nobody.knows": "x"}):
        assert spark.conf.get(name, "<undefined>") == "<undefined>"
        assert spark.conf.get("spark.sql.ansi.doubleQuotedIdentifiers") == "true"
    assert spark.conf.get("spark.sql.ansi.doubleQuotedIdentifiers", "<undefined>") == "<undefined>"
