"""What a user who may only read can do, and how much one answer may hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import AnswerTooLarge, StoreNotPermitted
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.store import Store
from tests.answers import sources_of
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark


@reasoned_udf("string")
def judged(x: int) -> str:
    return "odd" if x % 2 else "even"


@judged.with_reason
def _(x: int) -> tuple[str, payload.Json]:
    return judged(x), payload.Json({"rest": x % 2})


def test_a_reader_explains_and_nothing_is_written(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b")], "rid int, g string")
    judged.register(spark)
    run = lineage.run("SELECT rid, judged(rid) AS j FROM w", name="least privilege")
    reader = lineage.store.materializations(run.id)["result"].urls.reader
    with Store.open(reader) as store:
        asked = Lineage(store=store).get_run(run.id)
        explanation = asked.explain("j = 'odd'", save=False)
        assert explanation.reasons["judged"].column("reason").null_count == 0
        assert explanation.sources["w"].to_pylist() == [{"rid": 1, "g": "a"}]
        with pytest.raises(StoreNotPermitted, match="save=False"):
            asked.explain("j = 'odd'")
        with pytest.raises(StoreNotPermitted, match="save=True"):
            asked.why_not("rid = 1", table="w", save=True)
        with pytest.raises(StoreNotPermitted, match="save=True"):
            asked.forward("rid = 1", table="w", save=True)
    written = (
        "SELECT (SELECT count(*) FROM lineage.reasons WHERE run_id = '{0}')"
        " + (SELECT count(*) FROM lineage.derivations WHERE run_id = '{0}')"
    )
    assert lineage.store.query(f"{written.format(run.id)} AS n").column("n").to_pylist() == [0]
    run.explain("j = 'odd'")
    assert lineage.store.query(f"{written.format(run.id)} AS n").column("n").to_pylist() == [2]


def test_an_answer_of_too_many_source_rows_is_refused(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "a"), (3, "b")], "rid int, g string")
    run = lineage.run("SELECT g, count(*) AS n FROM w GROUP BY g")
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "1")
    with pytest.raises(AnswerTooLarge, match=r"2 source rows.*2 of w.*AIRFLOW_LINEAGE_SOURCE_LIMIT"):
        run.explain("g = 'a'")
    assert sources_of(run.explain("g = 'b'"))["w"].num_rows == 1
