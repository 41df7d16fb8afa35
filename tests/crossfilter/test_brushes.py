"""Brushes on linked views: whatever way is taken, the counts are those of a naive count of every row."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.crossfilter import brushes, cube
from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable
from airflow_lineage_provider.plan.guarantees import EXACT
from tests.crossfilter.flights import VIEWS, flights

ROWS = 3_000
TABLE = flights(ROWS)
PLAIN: list[dict[str, Any]] = [
    {"carrier": one["carrier"], "delay": int(one["delay"] // 15), "day": one["day"], "place": one["lat"] * 256 + one["lon"]}
    for one in TABLE.to_pylist()
]


def naive(brushes: Mapping[str, Sequence[Any]]) -> dict[str, Counter[Any]]:
    """Every view counts the rows that the brushes on the others leave."""
    held = {name: {*values} for name, values in brushes.items()}
    return {
        name: Counter(row[name] for row in PLAIN if all(row[other] in values for other, values in held.items() if other != name))
        for name in VIEWS
    }


def left(brushes: Mapping[str, Sequence[Any]]) -> list[int]:
    held = {name: {*values} for name, values in brushes.items()}
    return [at for at, row in enumerate(PLAIN) if all(row[name] in values for name, values in held.items())]


@pytest.fixture(scope="module")
def view() -> Crossfilter:
    return Crossfilter.over(TABLE, VIEWS)


def moved(brushes: dict[str, list[Any]], chance: random.Random, bars: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """A brush as a person moves it: one bar more or less, a few bars, most bars, none, or gone."""
    name = chance.choice(list(bars))
    held, values, kind = list(brushes.get(name, [])), bars[name], chance.randrange(6)
    if kind == 0:
        return {other: one for other, one in brushes.items() if other != name}
    if kind == 1 and held:
        held.pop(chance.randrange(len(held)))
    elif kind == 2:
        held = chance.sample(values, max(1, len(values) * 9 // 10))
    elif kind == 3:
        first = chance.randrange(len(values))
        held = values[first : first + chance.randrange(1, 40)]
    elif kind == 4 and chance.random() < 0.3:
        held = []
    else:
        held = [*held, *(one for one in chance.sample(values, 1) if one not in held)]
    return {**brushes, name: held}


@pytest.mark.long
def test_every_brush_counts_as_a_naive_count_of_all_rows(view: Crossfilter) -> None:
    bars, chance = {name: one.values.to_pylist() for name, one in view.views.items()}, random.Random(3)
    brushes: dict[str, list[Any]] = {}
    ways: Counter[str] = Counter()
    for _ in range(90):
        brushes = moved(brushes, chance, bars)
        found, expected = view.brush(brushes), naive(brushes)
        for name in VIEWS:
            assert {value: count for value, count in found.counts[name].items() if count} == expected[name]
            assert list(found.counts[name]) == bars[name]
        numbers = left(brushes)
        assert (found.selected, view.numbers(found.counted).tolist()) == (len(numbers), numbers)
        assert found.rows(3) == TABLE.take(pa.array(numbers[:3], pa.int64()))
        assert found.counted.looked_at <= 2 * ROWS
        ways[found.counted.way] += 1
    assert {"moved", "selected", "complement"} <= set(ways)


def test_the_way_with_the_fewest_rows_is_taken(view: Crossfilter) -> None:
    all_but_first = view.views["carrier"].values.to_pylist()[1:]
    first = view.brush()
    assert first.engine == f"totals: 0 of {ROWS:,} rows"
    most = view.brush(carrier=all_but_first)
    assert (most.counted.way, most.counted.looked_at) == ("complement", naive({})["carrier"]["C0"])
    both = view.brush(carrier=all_but_first, delay=[7])
    assert both.counted.looked_at < ROWS
    more = view.brush(carrier=all_but_first, delay=[6, 7])
    assert (more.counted.way, more.counted.looked_at) == ("moved", naive({})["delay"][6])
    assert view.brush(carrier=all_but_first, delay=[6, 7]).counted.looked_at == 0


@pytest.mark.long
def test_large_brushes_are_counted_by_pairs_of_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    view, chance = Crossfilter.over(TABLE, VIEWS), random.Random(5)
    bars = {name: one.values.to_pylist() for name, one in view.views.items()}
    assert view.brush(carrier=["C0"]).counted.way != "cube"
    monkeypatch.setattr(brushes, "LARGE", 50)
    monkeypatch.setattr(cube, "LARGE", 50)
    monkeypatch.setattr(cube, "_BLOCK", 700)
    view.brush(carrier=["C1"])
    for making in (one for one in threading.enumerate() if one.name == "pairs of bars"):
        making.join()
    ways: Counter[str] = Counter()
    for _ in range(90):
        name = chance.choice(list(VIEWS))
        asked = {name: chance.sample(bars[name], chance.randrange(len(bars[name]) + 1))}
        view.brush()
        found, expected = view.brush(asked), naive(asked)
        for other in VIEWS:
            assert {value: count for value, count in found.counts[other].items() if count} == expected[other]
        ways[found.counted.way] += 1
    assert ways["cube"] >= 3
    assert 0 < view._brushing.pairs.nbytes <= 4 * sum(len(a) * len(b) for a in bars.values() for b in bars.values())
    two = Crossfilter.over(TABLE, {name: VIEWS[name] for name in ("carrier", "delay")})
    two._brushing.pairs.make()
    most = two.brush(carrier=bars["carrier"][1:])
    assert most.engine == f"cube: {len(bars['delay'])} counts of pairs of bars"
    assert two.brush(carrier=bars["carrier"][1:], delay=[7]).counted.way != "cube"


def test_pairs_that_are_too_many_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cube, "MOST_CELLS", 300)
    view = Crossfilter.over(TABLE, VIEWS)
    view._brushing.pairs.make()
    sizes = {name: len(one.values) for name, one in view.views.items()}
    assert {sizes[a] * sizes[b] <= 300 for a, b in view._brushing.pairs._made} == {True}
    assert view.brush(place=view.views["place"].values.to_pylist()[:9]).counted.way != "cube"


def test_a_brush_over_a_value_in_no_bar_leaves_nothing_and_is_named(view: Crossfilter) -> None:
    found = view.brush(carrier=["ZZ", "C1"], day=["2013-13-13", "1900-01-01"])
    assert found.unknown == {"carrier": ("ZZ",), "day": ("2013-13-13", "1900-01-01")}
    assert found.selected == 0
    assert sum(found.counts["delay"].values()) == 0
    of_known = naive({"carrier": ["C1"]})["day"]
    assert found.counts["day"] == {value: of_known[value] for value in found.counts["day"]}
    assert view.brush(carrier=[]).selected == 0
    assert view.brush(carrier=None).selected == ROWS
    (first, *_) = view.views["day"].values.to_pylist()
    assert view.brush(day=[str(first)]).selected == view.brush(day=[first]).selected == naive({})["day"][first]
    assert view.brush(carrier=[None]).selected == naive({})["carrier"][None] > 0


def test_values_of_every_kind_are_bars() -> None:
    nan = float("nan")
    table = pa.table(
        {"x": pa.array([0.0, -0.0, nan, None, 1.5, nan]), "b": [True, None, False, True, True, False], "e": ["", "a", "", "é", "a", ""]}
    )
    view = Crossfilter.over(table, {"x": "x", "b": "b", "e": "e", "one": "1", "d": "CAST(1.5 AS DECIMAL(4, 1))"})
    assert [str(one) for one in view.views["x"].values.to_pylist()] == ["0.0", "1.5", "nan", "None"]
    assert view.brush(x=[nan]).counts["b"] == {False: 2, True: 0, None: 0}
    assert view.brush(x=[0]).counts["e"] == {"": 1, "a": 1, "é": 0}
    assert view.brush(b=[True]).counts["e"] == {"": 1, "a": 1, "é": 1}
    assert view.brush(b=["true"]).selected == 3
    assert (view.brush(d=["1.5"]).selected, view.brush(d=[2]).unknown) == (6, {"d": (2,)})
    assert (view.brush(d=[1.5]).selected, view.brush(d=[1.25]).unknown) == (6, {"d": (1.25,)})
    assert Crossfilter.over(table, {"e": "nullif(e, 'é')::ENUM('', 'a')"}).brush().counts == {"e": {"": 3, "a": 2, None: 1}}
    assert view.codes("e").dtype == np.uint8
    wide = Crossfilter.over(pa.table({"n": range(300)}), {"n": "n"})
    assert wide.codes("n").dtype == np.uint16


def test_a_table_without_rows() -> None:
    view = Crossfilter.over(TABLE.slice(0, 0), VIEWS)
    found = view.brush(carrier=["C0"])
    assert (view.rows, found.selected, found.counts["day"], found.unknown) == (0, 0, {}, {"carrier": ("C0",)})
    assert found.rows().num_rows == 0


def test_rows_of_lineage_are_brushed() -> None:
    run = RunSummary(id="r", pipeline="p", status="complete", started="", seconds=1.0, strategy="rerun", reasons="lazy", rows=2, error="")
    links = pa.table({"asked": [0], "row": [0]})
    rows = LineageRows(run=run, asked="true", table="flights", rows=TABLE, links=links, guarantee=EXACT, engine="")
    view = Crossfilter.over(rows, {"carrier": "carrier"})
    assert (view.title, view.brush(carrier=["C0"]).selected) == ("flights of p", naive({})["carrier"]["C0"])


def test_files_are_one_table_and_a_changed_one_is_refused_by_name(tmp_path: Path) -> None:
    for at in range(3):
        pq.write_table(TABLE.slice(at * 1_000, 1_000), tmp_path / f"part-{at}.parquet", row_group_size=300)
    (tmp_path / "_SUCCESS").write_text("")
    view = Crossfilter.over(tmp_path, VIEWS)
    brushes: dict[str, list[Any]] = {"carrier": ["C1", None], "delay": [0, 1]}
    found = view.brush(brushes)
    assert {value: count for value, count in found.counts["place"].items() if count} == naive(brushes)["place"]
    assert found.rows(50).to_pylist() == TABLE.take(left(brushes)[:50]).to_pylist()
    assert Crossfilter.over([tmp_path / "part-1.parquet"], VIEWS).rows == 1_000
    pq.write_table(TABLE.slice(0, 10), tmp_path / "part-1.parquet")
    (tmp_path / "part-2.parquet").unlink()
    with pytest.raises(SourceUnavailable, match=r"part-1\.parquet, .*part-2\.parquet: not as it was when the views were made"):
        found.rows()
    assert found.counts["carrier"]  # what was counted before stays


def test_what_is_no_crossfilter_is_refused(tmp_path: Path, view: Crossfilter) -> None:
    for views, message in (
        ({}, "1 to 64 views"),
        ({"x": "colour"}, "view x: .*colour.*carrier, delay, day, lat, lon"),
        ({"x": "count(*)"}, "view x: .*not one value for each row"),
        ({"x": "lat, lon"}, "view x: .*are no bars"),
        ({"x": "1) FROM rows; SELECT (1"}, "view x: .*closed that was not opened"),
        ({"x": 7}, "view x: 7 is no expression"),
        ({"": "carrier"}, "no name of a view"),
    ):
        with pytest.raises(InvalidOption, match=message):
            Crossfilter.over(TABLE, views)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="no view 'carriers': the views are carrier, delay, day, place"):
        view.brush(carriers=["C1"])
    with pytest.raises(InvalidOption, match=r"carrier='C1' is no list of values: carrier=\['C1'\]"):
        view.brush(carrier="C1")
    with pytest.raises(SourceUnavailable, match="no Parquet file"):
        Crossfilter.over(tmp_path, VIEWS)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidOption, match="no Parquet file that can be read"):
        Crossfilter.over(tmp_path, VIEWS)
    pq.write_table(TABLE.select(["day"]), tmp_path / "a.parquet")
    pq.write_table(TABLE, tmp_path / "b.parquet")
    with pytest.raises(InvalidOption, match=r"columns of .*b\.parquet"):
        Crossfilter.over(tmp_path, VIEWS)
