"""Letters of a real run: the same from the answer, from the answer as it was stored, and asked again after the sources changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Feature, Lineage, payload, reasoned_udf
from airflow_lineage_provider.cli import main

pytestmark = pytest.mark.spark

SAID = {"income": Feature(against="Your income is low."), "debt": Feature(against="Your debts are high.")}


@reasoned_udf("string", name="granted_by_letters", features=SAID, outcome=Feature(favourable=("yes",)))
def granted(income: float, debt: float) -> str:
    return "yes" if income - 2 * debt > 0 else "no"


@granted.with_reason
def _(income: float, debt: float) -> tuple[str, payload.Attributions]:
    features = (payload.Attribution("income", income, income - 30), payload.Attribution("debt", debt, -2 * debt))
    return granted(income, debt), payload.Attributions(features, base_value=30.0, output=income - 2 * debt, label="yes")


def test_the_same_letter_whenever_it_is_asked_for(
    spark: SparkSession, lineage_home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "clients")
    rows = [(1, 50.0, 10.0), (2, 20.0, 15.0), (3, 40.0, 30.0)]
    spark.createDataFrame(rows, "client int, income double, debt double").coalesce(1).write.parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("clients")
    granted.register(spark)
    with Lineage(spark) as lineage:
        run = lineage.run("SELECT client, granted_by_letters(income, debt) AS granted FROM clients", name="letters")
        answer = run.explain("true")
        letters = answer.letters()
        assert (len(letters), letters.favourable) == (2, 1)
        by_client = {letter.sources["clients"][0]["client"]: letter for letter in letters}
        assert {client: [one.text for one in letter.reasons] for client, letter in by_client.items()} == {
            2: ["Your debts are high.", "Your income is low."], 3: ["Your debts are high."],
        }  # fmt: skip
        assert {letter.version for letter in letters} == {granted.version}
        stored = lineage.derivation(answer.id).letters()
        assert [one.digest for one in stored] == [one.digest for one in letters]
        spark.createDataFrame(rows[:1], "client int, income double, debt double").write.mode("overwrite").parquet(folder)
        later = run.explain("granted = 'no'", save=False).letters()
        assert sorted(one.digest for one in later) == sorted(one.digest for one in letters)
        assert all(one.stale for one in later)
    assert main(["letters", answer.id, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [one["digest"] for one in found["letters"]] == [one.digest for one in letters]
    (own,) = (one for one in letters if one.value == "no" and one.sources["clients"][0]["client"] == 3)
    assert main(["explain", run.id, "client = 3", "--no-save", "--letters", "--udf", "granted_by_letters", "--json"]) == 0
    (told,) = json.loads(capfd.readouterr().out)["letters"]
    assert (told["digest"], told["reasons"][0]["text"]) == (own.digest, "Your debts are high.")
    page = tmp_path / "letters.html"
    assert main(["letters", answer.id, "--favourable", "no", "--text", "income=Too much.", "--html", str(page)]) == 0
    assert "decision 1: yes" in capfd.readouterr().out
    assert page.exists()
    assert main(["letters", answer.id, "--html", str(tmp_path / "no" / "x.html")]) != 0
    assert "cannot be written" in capfd.readouterr().err
