"""Runs as views of a crossfilter: the bars are their results' rows, against pandas over the same files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable
from airflow_lineage_provider.store import Store
from tests.crossfilter.flights import flights
from tests.crossfilter.test_page import data_of
from tests.crossfilter.test_served import ask

pytestmark = pytest.mark.spark

QUERIES = {
    "carriers": "SELECT carrier, count(*) AS n FROM view_flights GROUP BY carrier",
    "known": "SELECT day, count(*) AS n FROM view_flights WHERE carrier IS NOT NULL GROUP BY day",
    "places": "SELECT lat, lon, max(delay) AS worst FROM view_flights GROUP BY lat, lon HAVING count(*) > 2",
    "twice": "SELECT 1 AS one FROM view_flights UNION ALL SELECT 2 FROM view_flights",
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("views") / "with a space"
    made.mkdir()
    for at in range(3):
        pq.write_table(flights(70, seed=at), made / f"part {2 - at}.parquet")
    spark.read.parquet(str(made)).createOrReplaceTempView("view_flights")
    yield made
    spark.catalog.dropTempView("view_flights")


@pytest.fixture(scope="module")
def runs(spark: SparkSession, store: Store, folder: Path) -> dict[str, Run]:
    lineage = Lineage(spark, store=store)
    return {name: lineage.run(sql, name=f"view {name}") for name, sql in QUERIES.items()}


@pytest.mark.parametrize("captured", [False, True])
def test_bars_of_runs(runs: dict[str, Run], store: Store, folder: Path, captured: bool) -> None:
    for name in ("carriers", "known", "places"):
        runs[name].forget_captured()
        if captured:
            runs[name].capture()
    # Without Spark: what was captured is looked up, and what was not is traced in the files.
    lineage = Lineage(store=store)
    asked = {name: lineage.get_run(runs[name].id) for name in ("carriers", "known", "places")}
    view = lineage.crossfilter("view_flights", {**asked, "late": "delay > 30"})
    table = pq.read_table(folder).to_pandas()
    table["late"] = table.delay > 30
    table["carriers"] = [
        f"{'NULL' if one is None else one}, {n}"
        for one, n in zip(table.carrier, table.groupby("carrier", dropna=False).delay.transform("count"), strict=True)
    ]
    table["known"] = table.day.where(table.carrier.notna(), None)
    size = table.groupby(["lat", "lon"]).delay.transform("count")
    worst = table.groupby(["lat", "lon"]).delay.transform("max")
    places = [f"{lat}, {lon}, {most}" for lat, lon, most in zip(table.lat, table.lon, worst, strict=True)]
    table["places"] = pd.Series(places, dtype=object).where(size > 2, None)
    names, chance = ["carriers", "known", "places", "late"], random.Random(8)
    for _ in range(30):
        brushes = {name: chance.sample(view.views[name].values.to_pylist(), 2) for name in chance.sample(names, chance.randint(0, 3))}
        found = view.brush(brushes)
        held = {
            name: table[name].isin([one for one in own if one is not None]) | (table[name].isna() & (None in own))
            for name, own in brushes.items()
        }
        for name in names:
            left = pd.Series(True, index=table.index)
            for other, own in held.items():
                left &= own if other != name else True
            counts = table[left][name].value_counts(dropna=False)
            wanted = {None if pd.isna(value) else value: int(n) for value, n in counts.items()}
            assert {value: n for value, n in found.counts[name].items() if n} == wanted
    assert None in view.views["known"].values.to_pylist()
    assert view.views["carriers"].expression == f"rows of run {runs['carriers'].id} of view carriers"
    assert "rows of run" in view.to_html()


def test_a_bar_of_a_run_is_explained(runs: dict[str, Run], store: Store, folder: Path) -> None:
    """Its source rows are those that the bar has in the table; the bar of rows that are in no bar is no row of a result."""
    asked = {name: Lineage(store=store).get_run(runs[name].id) for name in ("carriers", "known")}
    view = Lineage(store=store).crossfilter(folder, {**asked, "late": "delay > 30"})
    before = len(store.derivations(runs["carriers"].id))
    for value, total in view.brush().counts["carriers"].items():
        found = view.explain("carriers", value)
        (row,) = found.target.to_pylist()
        assert value == f"{'NULL' if row['carrier'] is None else row['carrier']}, {row['n']}"
        assert found.sources["view_flights"].rows.num_rows == total if "view_flights" in found.sources else total == 0
    assert len(store.derivations(runs["carriers"].id)) == before
    for name, value in (("known", None), ("late", True), ("carriers", "C0"), ("nothing", 1)):
        with pytest.raises(InvalidOption):
            view.explain(name, value)
    with view.serve() as served:
        values = view.views["carriers"].values.to_pylist()
        links = {one["name"]: one["explained"] for one in data_of(ask(served)[1].decode())["views"]}
        assert links == {"carriers": len(values), "known": len(view.views["known"].values) - 1, "late": 0}
        status, page, _ = ask(served, "explain/0/1")
        assert (status, values[1].partition(",")[0] in page.decode(), "view carriers" in page.decode()) == (200, True, True)
        for path in ("explain/2/0", f"explain/1/{links['known']}", "explain/9/0", "explain/0/-1", "explain/0/x", "explain/0"):
            assert ask(served, path)[0] == 404, path


def test_runs_that_are_no_views(runs: dict[str, Run], spark: SparkSession, store: Store, folder: Path, tmp_path: Path) -> None:
    lineage = Lineage(spark, store=store)
    with pytest.raises(InvalidOption, match=r"view twice: rows of .* stand behind several rows of run"):
        lineage.crossfilter(folder, {"twice": runs["twice"]})
    with pytest.raises(InvalidOption, match="view a is a run: its bars are of the files that it read"):
        lineage.crossfilter(flights(3), {"a": runs["carriers"]})
    with pytest.raises(InvalidOption, match=r"view a: the run has not read these files as they are, row by row; it read others .*part 2"):
        lineage.crossfilter(folder / "part 0.parquet", {"a": runs["carriers"]})
    with pytest.raises(SourceUnavailable, match="view_other"):
        lineage.crossfilter("view_other", {"a": runs["carriers"]})
    pq.write_table(flights(3), tmp_path / "other.parquet")
    with pytest.raises(InvalidOption, match=r"view a: the run has not read these files as they are, row by row$"):
        lineage.crossfilter(tmp_path, {"a": runs["carriers"]})
