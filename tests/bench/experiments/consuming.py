"""Queries that consume lineage (Smoke, Sec. 6.4): TPC-H Q1, drilled into by month (Q1a), with two parameters (Q1b), and by tax (Q1c).

The same aggregates of the rows behind a bar of Q1, by an index, by one whose rows are in classes of the parameters' columns (data
skipping), by one that keeps aggregates (group-by push-down), and by DuckDB, which looks through the table. Every bar, and every pair of
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from airflow_lineage_provider import Capture, CaptureTable, Cube
from airflow_lineage_provider.recorded_run import Run
from tests.bench.arms import rows_of, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.timed import Asked, Timed
from tests.tpch.data import write_tpch
from tests.tpch.workloads import sql

SCALES = {"small": ("0.01",), "full": ("1", "2")}
PAIRS = {"small": 2, "full": 1}
"""So many pairs of parameters are asked of an index without classes, which reads every row behind the bar for each."""
MONTHS = ("year(l_shipdate) AS year", "month(l_shipdate) AS month")
MEASURES = ("count(*) AS n", "sum(l_quantity) AS quantity")
WHERE = "l_shipmode = :mode AND l_shipinstruct = :instruct"
KEPT = ("count(*)", "sum(l_quantity)")
WAYS = {
    "captured": CaptureTable(),
    "captured, in classes": CaptureTable(partition_by=["l_shipmode", "l_shipinstruct"]),
    "captured, with a cube": CaptureTable(cube=[Cube(by=["l_tax"], measures=[*KEPT])]),
}
Bar = tuple[str, str]
Parameters = tuple[str, str]


def run(ground: Ground) -> Iterator[Comparison]:
    """Capturing, and Q1a to Q1c, of each scale factor."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        file = write_tpch(ground.folder / f"sf{scale}", scale)["lineitem"]
        ground.spark.read.parquet(str(file)).createOrReplaceTempView("lineitem")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "100000000")
            if ground.wants("capturing"):
                yield _capturing(ground, scale)
            asked = _Consuming(ground, file, {name: _run(ground, way, name) for name, way in WAYS.items()})
            some = partial(asked.with_parameters, asked.pairs[: PAIRS[ground.size]], plain=True)
            queries: dict[str, Callable[[], dict[str, Asked]]] = {
                "Q1a": asked.by_month,
                "Q1b": partial(asked.with_parameters, asked.pairs),
                "Q1b of some parameters": some,
                "Q1c": asked.by_tax,
            }
            for name, of in queries.items():
                if ground.wants(title := f"{name}, scale factor {scale}"):
                    yield _told(ground, title, of())


def _text() -> str:
    return sql("tpch", "q01").split("ORDER BY")[0]


def _run(ground: Ground, way: CaptureTable, name: str, where: Path | None = None) -> Run:
    wanted = Capture(direction="backward", tables={"lineitem": way})
    output = None if where is None else f"{where}+overwrite"
    made = ground.lineage.run(_text(), name=f"bench consuming {name}", capture=wanted, output=output)
    made.close()
    assert made.index is not None
    assert not made.index.problem, made.index.problem
    return ground.lineage.get_run(made.id)


def _capturing(ground: Ground, scale: str) -> Comparison:
    def captured(name: str, way: CaptureTable) -> Arm:
        where = ground.folder / "written" / name
        return Arm(lambda: _run(ground, way, name, where), lambda _: rows_of(where))

    arms = {"plain": written(ground, _text())} | {name: captured(name, way) for name, way in WAYS.items()}
    return compared(f"Q1 captured for what will be asked, scale factor {scale}", arms, ground.meter, ground.repeats)


@dataclass
class _Consuming:
    """Asks the runs, and DuckDB over the file that they read."""

    ground: Ground
    file: Path
    runs: Mapping[str, Run]
    drills: dict[tuple[Bar, str], Run] = field(default_factory=dict)

    @property
    def bars(self) -> list[Bar]:
        rows = self.runs["captured"].result_table().select(["l_returnflag", "l_linestatus"]).to_pylist()
        return sorted((row["l_returnflag"], row["l_linestatus"]) for row in rows)

    @property
    def pairs(self) -> list[Parameters]:
        """Of the parameters, all that there are, from the middle on: the first is of no end."""
        columns = [
            sorted(one for (one,) in duckdb.execute(f"SELECT DISTINCT {name} FROM read_parquet('{self.file}')").fetchall())
            for name in ("l_shipmode", "l_shipinstruct")
        ]
        return [*product(*columns)]

    # --- the queries ---------------------------------------------------------------------------------------------------

    def by_month(self) -> dict[str, Asked]:
        """Q1a: each bar by month."""

        def of(ask: Callable[[Bar], pa.Table], timed: Timed) -> None:
            for bar in self.bars:
                timed.ask(bar, lambda bar=bar: ask(bar), _rows)  # type: ignore[misc]

        index = partial(of, lambda bar: self._behind("captured", bar).aggregate(MONTHS, MEASURES))
        return {"lazy, DuckDB": Asked(partial(of, lambda bar: self._lazy(bar, MONTHS))), "index": Asked(index)}

    def with_parameters(self, pairs: Sequence[Parameters], *, plain: bool = False) -> dict[str, Asked]:
        """Q1b: each bar by month, of the rows with these parameters."""

        def of(ask: Callable[[Bar, Parameters], pa.Table], timed: Timed) -> None:
            for bar, pair in product(self.bars, pairs):
                timed.ask((bar, pair), lambda bar=bar, pair=pair: ask(bar, pair), _rows)  # type: ignore[misc]

        def index(name: str, bar: Bar, pair: Parameters) -> pa.Table:
            return self._behind(name, bar).where(WHERE, mode=pair[0], instruct=pair[1]).aggregate(MONTHS, MEASURES)

        found = {"lazy, DuckDB": Asked(partial(of, lambda bar, pair: self._lazy(bar, MONTHS, pair)))}
        found["index, in classes"] = Asked(partial(of, partial(index, "captured, in classes")))
        return found | ({"index": Asked(partial(of, partial(index, "captured")))} if plain else {})

    def by_tax(self) -> dict[str, Asked]:
        """Q1c: each row of Q1b by tax, where Q1b is a run over the rows behind a bar that captures its own lineage."""
        pair = self.pairs[0]
        for bar, name in product(self.bars, ("captured", "captured, with a cube")):
            if (bar, name) not in self.drills:
                self.drills[bar, name] = self._drilled(bar, pair, WAYS[name])

        def of(ask: Callable[[Bar, int, int], pa.Table], timed: Timed) -> None:
            for bar in self.bars:
                for row in self.drills[bar, "captured"].result_table().select(["year", "month"]).to_pylist():
                    asked = (bar, row["year"], row["month"])
                    timed.ask(asked, lambda asked=asked: ask(*asked), _rows)  # type: ignore[misc]

        def index(name: str, bar: Bar, year: int, month: int) -> pa.Table:
            drill = self.drills[bar, name]
            return drill.backward({"year": year, "month": month}, table="lineitem", lazy=False).aggregate(["l_tax"], KEPT)

        def lazy(bar: Bar, year: int, month: int) -> pa.Table:
            return self._lazy(bar, ["l_tax"], pair, f"year(l_shipdate) = {year} AND month(l_shipdate) = {month}")

        return {
            "lazy, DuckDB": Asked(partial(of, lazy)),
            "index": Asked(partial(of, partial(index, "captured"))),
            "index, with a cube": Asked(partial(of, partial(index, "captured, with a cube"))),
        }

    def _drilled(self, bar: Bar, pair: Parameters, way: CaptureTable) -> Run:
        rows = self._behind("captured, in classes", bar).where(WHERE, mode=pair[0], instruct=pair[1])
        text = "SELECT year(l_shipdate) AS year, month(l_shipdate) AS month, count(*) AS n FROM {lines} GROUP BY 1, 2"
        wanted = Capture(direction="backward", tables={"lineitem": way})
        made = self.ground.lineage.run(text, name="bench drill", sources={"lines": rows}, capture=wanted)
        made.close()
        assert made.index is not None
        assert not made.index.problem, made.index.problem
        return self.ground.lineage.get_run(made.id)

    def _behind(self, name: str, bar: Bar) -> Any:
        return self.runs[name].backward({"l_returnflag": bar[0], "l_linestatus": bar[1]}, table="lineitem", lazy=False)

    def _lazy(self, bar: Bar, by: Sequence[str], pair: Parameters | None = None, further: str = "true") -> pa.Table:
        names = ", ".join(one.rpartition(" AS ")[2] for one in by)
        of_bar = f"l_shipdate <= DATE '1998-09-02' AND l_returnflag = '{bar[0]}' AND l_linestatus = '{bar[1]}'"
        of_pair = f"l_shipmode = '{pair[0]}' AND l_shipinstruct = '{pair[1]}'" if pair is not None else "true"
        where = f"{of_bar} AND {of_pair} AND {further}"
        query = f"SELECT {', '.join((*by, *MEASURES))} FROM read_parquet('{self.file}') WHERE {where} GROUP BY {names}"
        return duckdb.execute(query).to_arrow_table()


def _rows(found: pa.Table) -> list[str]:
    """The values of a table's rows, whatever its columns are called and its rows' order."""
    return sorted(repr([str(value) for value in row.values()]) for row in found.to_pylist())


def _told(ground: Ground, title: str, asked: Mapping[str, Asked]) -> Comparison:
    arms = {name: Arm(one, parts=_parts(one)) for name, one in asked.items()}
    found = compared(title, arms, ground.meter, ground.repeats)
    lazy = asked["lazy, DuckDB"].last.ms
    for name, one in asked.items():
        times = [lazy[each] / ms for each, ms in one.last.ms.items()]
        found.facts[name] = one.last.figures() | {
            "times as fast, at least": min(times),
            "times as fast, in the mean": sum(times) / len(times),
        }
    return found


def _parts(asked: Asked) -> dict[str, Callable[[], str]]:
    return {name: lambda: asked.last.slowest() for name in ("most, ms", "times as fast, at least", "times as fast, in the mean")}
