"""Rows that a run stored on the way to its result, as ends of lineage: behind rows of it, and from source rows on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, LineageRows, Run, payload, reasoned_udf
from airflow_lineage_provider.errors import EmptyTarget, InvalidOption, InvalidTarget, NotCaptured, TargetTooLarge
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark


@reasoned_udf("string")
def rated(amount: int) -> str:
    return "high" if amount > 30 else "low"


@rated.with_reason
def _(amount: int) -> tuple[str, payload.Json]:
    return "high" if amount > 30 else "low", payload.Json({"over": amount - 30})


TOTALS = """SELECT country, rating, count(*) AS n FROM (SELECT person, rated(amount) AS rating FROM end_credits)
            JOIN end_people ON person = pid GROUP BY country, rating"""
CREDITS = [(10, 1, 20), (11, 1, 30), (12, 2, 40), (13, 3, 50), (14, 3, 5), (15, 9, 60)]
PEOPLE = [(1, "NL"), (2, "NL"), (3, "DE"), (4, "FR")]
BEHIND = {("NL", "low"): {10, 11}, ("NL", "high"): {12}, ("DE", "high"): {13}, ("DE", "low"): {14}}
"""The credits behind each group, worked out by hand."""


@pytest.fixture(scope="module")
def run(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    rated.register(spark)
    folder = tmp_path_factory.mktemp("ends")
    for name, schema, data in (("credits", "cid int, person int, amount int", CREDITS), ("people", "pid int, country string", PEOPLE)):
        spark.createDataFrame(data, schema).coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(f"end_{name}")
    made = Lineage(spark, store=store).run(TOTALS, name="ends")
    made.close()
    yield made
    for name in ("credits", "people"):
        spark.catalog.dropTempView(f"end_{name}")


def asked_both_ways(run: Run, store: Store) -> Iterator[Run]:
    """The run, of which nothing is captured, and of which all is."""
    for captured in (False, True):
        run.forget_captured()
        if captured:
            run.capture()
        yield Lineage(run._lineage.spark, store=store).get_run(run.id)


def pairs(found: LineageRows) -> list[tuple[int, int]]:
    return list(zip(*(one.to_pylist() for one in found.links.columns), strict=True))


def decisions(run: Run) -> str:
    """The stored segment with the function's outputs."""
    (name,) = (one.name for one in run.stored if one.name.startswith("segment_"))
    return name


def test_decisions_behind_rows_and_after_them(run: Run, store: Store) -> None:
    for asked in asked_both_ways(run, store):
        check_what_stands_behind(asked, decisions(asked))
        check_what_descends(asked, decisions(asked))


def check_what_stands_behind(asked: Run, segment: str) -> None:
    groups = [tuple(row.values())[:2] for row in asked.result_table().to_pylist()]
    found = asked.backward("true", segment)
    assert (found.table, found.guarantee.level) == (segment, "exact")
    credits = asked.backward("true", "end_credits", of=segment)
    # Through the decisions to the credits, link by link: those of each group.
    cids, behind = credits.rows.column("cid").to_pylist(), dict[int, set[int]]()
    for decision, row in pairs(credits):
        behind.setdefault(decision, set()).add(cids[row])
    rids = found.rids.tolist()
    given: dict[Any, set[int]] = {}
    for group, row in pairs(found):
        given.setdefault(groups[group], set()).update(behind[rids[row]])
    assert given == BEHIND
    assert found.count == 5 < credits.asked_rows == 6  # a credit of nobody is in no group
    assert [one.to_pylist() for one in (found.per_target, asked.backward(at=[0, 1, 2, 3], table=segment).per_target)] == [
        found.per_target.to_pylist()
    ] * 2
    assert list(asked.backward("rating = 'high'", of=segment)) == ["end_credits"]
    assert asked.backward("true", segment.removeprefix("segment_"), of="0").rows == found.rows
    assert sorted(asked.backward([{"rating": "high"}], of=segment)["end_credits"].rows.column("cid").to_pylist()) == [12, 13, 15]


def check_what_descends(asked: Run, segment: str) -> None:
    touched = asked.forward("cid IN (12, 15)", "end_credits", to=segment)
    assert (touched.table, touched.asked_table, len(touched)) == (segment, "end_credits", 2)
    assert set(touched.rows.column("rating").to_pylist()) == {"high"}
    all_of_them = asked.backward("true", segment)
    reached = asked.forward("true", segment)
    assert (reached.table, reached.asked_table) == ("result", segment)
    positions = all_of_them.rids.tolist()
    backward = {(result, positions[row]) for result, row in pairs(all_of_them)}
    results = reached.rids.tolist()
    assert {(results[row], decision) for decision, row in pairs(reached)} == backward
    (high,) = asked.forward("rating = 'high' AND person = 2", segment).rows.to_pylist()
    assert (high["country"], high["n"]) == ("NL", 1)


def test_who_answered(run: Run, store: Store) -> None:
    segment = decisions(run)
    run.forget_captured()
    without_spark = Lineage(store=store).get_run(run.id)
    assert without_spark.forward("rating = 'low'", segment).engine.startswith("lazy: ")
    for ask in (without_spark.backward, without_spark.forward):
        with pytest.raises(NotCaptured, match=r"was not captured: Run.capture\(\)"):
            ask("true", segment, lazy=False)
    run.capture()
    found = Lineage(store=store).get_run(run.id)
    assert found.backward("true", segment, lazy=False).engine.startswith("index: ")
    assert found.forward("true", segment, lazy=False).engine.startswith("index: ")
    assert found.forward("cid = 12", "end_credits", to=segment, lazy=False).engine.startswith("index: ")


def test_what_cannot_be_meant_or_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = decisions(run)
    refused: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (InvalidTarget, "stored no segment 'segment_9'; it stored " + segment, lambda: run.backward("true", of="segment_9")),
        (InvalidTarget, "no source table 'segment_9'", lambda: run.backward("true", "segment_9")),
        (InvalidTarget, f"{segment}, which is made of end_credits (cid", lambda: run.backward("true", "end_people", of=segment)),
        (InvalidTarget, f"no row of {segment} stands behind rows of {segment}", lambda: run.backward("true", segment, of=segment)),
        (InvalidTarget, "no row of end_people stands behind", lambda: run.forward("true", "end_people", to=segment)),
        (InvalidTarget, f"country is not a column of {segment}", lambda: run.backward("country = 'NL'", of=segment)),
        (EmptyTarget, f"{segment} has 6 rows with columns", lambda: run.backward("rating = 'none'", of=segment)),
        (TargetTooLarge, f"of {segment}'s 6 rows", lambda: run.backward("true", of=segment, max_rows=2)),
        (InvalidTarget, f"position 6 of {segment} does not exist: it has 6 rows", lambda: run.backward(at=6, of=segment)),
        (InvalidOption, "leave to=… of a segment out", lambda: run.forward("true", "end_credits", to=segment, across=True)),
        (InvalidOption, "leave table=… of a segment out", lambda: run.forward("true", segment, save=True)),
        (InvalidOption, "is no source table", lambda: run.backward("true", segment, by_leaf=True)),
    ]  # fmt: skip
    for error, text, ask in refused:
        with pytest.raises(error) as told:
            ask()
        assert text in str(told.value)
    # What is withheld of a source is withheld of decisions that have its values.
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "end_credits.person")
    told = run.backward("country = 'DE'", segment).to_dict()["answers"][0]["rows"]
    person = [one["name"] for one in told["columns"]].index("person")
    assert {row[person] for row in told["rows"]} == {"•••"}
    assert "2" not in run.forward("rating = 'high' AND person = 2", segment).to_dict()["asked"]
