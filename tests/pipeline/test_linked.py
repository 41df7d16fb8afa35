"""Linked brushes: rows of two runs that were made of the same source rows, against what both runs' explanations say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.errors import AnswerTooLarge, EmptyTarget, InvalidTarget, NotCaptured
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark

QUERIES = {
    "carriers": "SELECT carrier, count(*) AS n FROM link_flights GROUP BY carrier",
    "late": "SELECT id, delay FROM link_flights WHERE delay > 60",
    "days": "SELECT day, max(delay) AS worst FROM link_flights GROUP BY day HAVING count(*) > 3",
    "pairs": "SELECT a.id AS one, b.id AS other FROM link_flights a JOIN link_flights b ON a.day = b.day AND a.delay < b.delay - 100",
    "none": "SELECT count(*) AS n FROM link_flights WHERE delay > 100000",
    "names": "SELECT n.name, count(*) AS n FROM link_flights f JOIN link_names n ON f.carrier = n.carrier GROUP BY n.name",
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    chance, made = random.Random(5), tmp_path_factory.mktemp("linked")
    rows = [(at, chance.choice(["AA", "UA", "DL", None]), chance.randint(1, 10), chance.randint(-20, 140)) for at in range(40)]
    frame = spark.createDataFrame(rows, "id int, carrier string, day int, delay int")
    frame.repartition(3).write.parquet(str(made / "flights"))
    spark.read.parquet(str(made / "flights")).createOrReplaceTempView("link_flights")
    names = spark.createDataFrame([("AA", "American"), ("UA", "United"), ("DL", "Delta")], "carrier string, name string")
    names.write.parquet(str(made / "names"))
    spark.read.parquet(str(made / "names")).createOrReplaceTempView("link_names")
    yield made
    for name in ("link_flights", "link_names"):
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def runs(spark: SparkSession, store: Store, folder: Path) -> dict[str, Run]:
    lineage = Lineage(spark, store=store)
    return {name: lineage.run(sql, name=f"linked {name}") for name, sql in QUERIES.items()}


def behind(run: Run) -> list[tuple[str, set[int]]]:
    """Each row of a result, with the flights that are its source rows by its explanation."""
    found = []
    for at, row in enumerate(run.explain("true", save=False).target.to_pylist()):
        sources = run.explain(None, at=at, save=False).sources["link_flights"].rows.to_pylist()
        found.append((repr(row), {one["id"] for one in sources}))
    return found


@pytest.fixture(scope="module")
def brute_force(runs: dict[str, Run]) -> dict[str, list[tuple[str, set[int]]]]:
    return {name: behind(runs[name]) for name in ("carriers", "late", "days", "none")}


@pytest.mark.parametrize("captured", [False, True])
def test_rows_that_have_source_rows_in_common(runs: dict[str, Run], brute_force: dict[str, Any], captured: bool) -> None:
    for name in brute_force:
        runs[name].forget_captured()
        if captured:
            runs[name].capture()
    for one in ("carriers", "late", "days", "none"):
        for other in ("days", "carriers", "late"):
            wanted = [(at, row) for at, (_, own) in enumerate(brute_force[one]) for row, others in brute_force[other] if own & others]
            found = runs[one].linked("true", runs[other])
            rows = [repr(row) for row in found.rows.to_pylist()]
            got = [(asked, rows[row]) for asked, row in zip(*(column.to_pylist() for column in found.links.columns), strict=True)]
            assert sorted(got) == sorted(wanted)
            assert (found.table, found.guarantee.level, found.run.id) == ("result", "exact", runs[other].id)
            assert found.asked_rows == len(brute_force[one])
            assert found.engine.startswith("index: ") == captured
            if captured:
                assert runs[one].linked(None, runs[other], at=0, lazy=False).links.num_rows == sum(asked == 0 for asked, _ in wanted)


def test_rows_of_a_table_that_is_read_twice(runs: dict[str, Run], brute_force: dict[str, Any]) -> None:
    found = runs["pairs"].linked("one = other OR one <> other", runs["late"])
    pairs = [(row["one"], row["other"]) for row in runs["pairs"].result_table().to_pylist()]
    late = {int(one.split("'id': ")[1].split(",")[0]) for one, _ in brute_force["late"]}
    assert {row["id"] for row in found.rows.to_pylist()} == {one for pair in pairs for one in pair} & late
    assert len(pairs) > 3


def test_what_cannot_be_linked(
    runs: dict[str, Run], spark: SparkSession, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = Lineage(spark, store=store)
    names = lineage.run("SELECT upper(name) AS name FROM link_names", name="linked upper")
    assert [row["name"] for row in runs["names"].linked("name = 'Delta'", names).rows.to_pylist()] == ["DELTA"]
    assert runs["names"].linked("name = 'Delta'", runs["names"], "LINK_NAMES").rows.num_rows == 1
    with pytest.raises(InvalidTarget, match=r"the runs both read link_flights, link_names: say through which the rows are linked, table="):
        runs["names"].linked("true", runs["names"])
    with pytest.raises(InvalidTarget, match=r"in common \(link_flights: the other run does not read it\)"):
        runs["late"].linked("true", names)
    with pytest.raises(InvalidTarget, match="has no source table 'loans'"):
        runs["late"].linked("true", runs["days"], "loans")
    with pytest.raises(EmptyTarget):
        runs["late"].linked("delay < 0", runs["days"])
    for name in ("late", "days"):
        runs[name].forget_captured()
    with pytest.raises(NotCaptured):
        runs["late"].linked("true", runs["days"], lazy=False)
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "2")
    with pytest.raises(AnswerTooLarge):
        runs["late"].linked("true", runs["days"])


def test_other_files_are_named(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    lineage, sql = Lineage(spark, store=store), "SELECT id % 2 AS odd, count(*) AS n FROM link_other GROUP BY 1"
    made = []
    for mode in ("overwrite", "append"):
        spark.range(10).coalesce(1).write.mode(mode).parquet(str(tmp_path / "t"))
        spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("link_other")
        made.append(lineage.run(sql, name="linked other"))
    with pytest.raises(InvalidTarget, match=r"of one version in common \(.*: file:.*\.parquet was read by the other alone\)"):
        made[0].linked("true", made[1])
    spark.range(4).createOrReplaceTempView("link_other")
    ranges = [lineage.run(sql, name="linked range") for _ in range(2)]
    with pytest.raises(InvalidTarget, match=r"is not known to be the same|the other run does not read it"):
        ranges[0].linked("true", ranges[1])
    spark.catalog.dropTempView("link_other")
