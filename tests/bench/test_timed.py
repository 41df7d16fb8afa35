"""Questions that are timed one by one, the tables that are drawn by Zipf's law, and the experiments that need no Spark, at a tiny size."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.bench.experiments import crossfilter, profiling
from tests.bench.readings import Meter
from tests.bench.timed import Asked, Timed
from tests.bench.zipf import drawn, write_zipf


def test_each_question_is_timed_and_some_are_compared() -> None:
    def ask(timed: Timed) -> None:
        timed.ask("quick", lambda: [1, 2], len)
        timed.ask("slow", lambda: time.sleep(0.02))

    asked = Asked(ask)
    assert asked() == {"quick": 2}
    found = asked.last.figures()
    assert (found["questions"], found["most, ms"] >= 20 > found["p99, CPU ms"]) == (2, True)
    assert found["compared, ms"] == asked.last.ms["quick"] < found["most, ms"]
    assert asked.last.slowest({"slow": 7}).splitlines()[0].endswith(", 7 rows")


def test_zipf(tmp_path: Path) -> None:
    counts = np.bincount(drawn(100_000, 50, 1.0, 3), minlength=51)[1:]
    assert counts.sum() == 100_000
    assert counts.min() > 0
    expected = np.arange(1, 51) ** -1.0
    assert counts / 100_000 == pytest.approx(expected / expected.sum(), rel=0.2)
    flat = np.bincount(drawn(100_000, 50, 0.0, 3), minlength=51)[1:]
    assert flat == pytest.approx(np.full(50, 2_000), rel=0.15)
    table = pq.read_table(write_zipf(tmp_path / "z.parquet", 1_000, 10, 1.6, keys=3))
    assert table.column_names == ["id", "z", "v", "z_2", "z_3"]
    assert table.column("id").to_pylist() == list(range(1_000))
    assert len(table.select(["z", "z_2", "z_3"]).group_by(["z", "z_2", "z_3"]).aggregate([])) == 10


def ground(folder: Path) -> Any:
    return SimpleNamespace(size="small", repeats=1, folder=folder, meter=Meter(None, None), wants=lambda part: True)


@pytest.mark.long
def test_all_ways_count_flights_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(crossfilter.ROWS, "small", 20_000)
    monkeypatch.setitem(crossfilter.VIEWS, "day", 500)
    monkeypatch.setattr(pd, "read_csv", partial(pd.read_csv, nrows=20_000))  # of New York's flights
    monkeypatch.setattr(crossfilter, "BRUSHES", 20)
    monkeypatch.setattr(crossfilter, "COMPARED", 20)
    found = list(crossfilter.run(ground(tmp_path)))
    assert [one.title for one in found[:3]] == [
        "until 20,000 flights can be brushed", "each bar of 20,000 flights once", "brushes on several views of 20,000 flights",
    ]  # fmt: skip
    assert found[1].figures()["crossfilter"]["questions"] == sum(crossfilter.VIEWS.values()) == 838
    assert {*found[4].figures()} == {"lazy, DuckDB", "crossfilter", "BT", "BT+FT", "cube"}


def test_all_ways_find_the_same_violations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(profiling.ROWS, "small", 5_000)
    found = list(profiling.run(ground(tmp_path)))
    assert [one.title for one in found][:2] == ["four dependencies, 5,000 physicians", "npi -> pac_id, 5,000 physicians"]
    assert all({*one.figures()} == {"SQL, by hand", "pandas", "CD", "UG"} for one in found)
