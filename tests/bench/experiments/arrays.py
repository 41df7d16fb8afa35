"""What relations between cells take as files, and to write: ProvRC against raw pairs in five other forms (DSLog, table VII, figure 7).

The shapes of numpy's operations are the paper's at full size, a tenth of their cells at the small one (`tests.bench.cells.workloads`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from airflow_lineage_provider.arrays import Relation, decode, encode, expand, rules
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import sorted_pairs
from airflow_lineage_provider.words import ArrayEncoding
from tests.bench.cells.given import Given, cells, matrix_product_bytes, raw_bytes
from tests.bench.cells.stored import GZIP, STORED, Stored
from tests.bench.cells.workloads import Workload, of_numpy, of_pictures, of_tables
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

RULES: dict[str, Callable[[int], tuple[Relation, ...]]] = {
    "Negative": lambda side: rules.elementwise((side, side)),
    "Aggregate": lambda side: (rules.reduction((side, side), 1),),
    "Matrix×Matrix": lambda side: rules.matmul((side, side), (side, side)),
}
ENCODINGS: tuple[ArrayEncoding, ...] = ("provrc", "provrc-gzip", "provrc-pco")


def run(ground: Ground) -> Iterator[Comparison]:
    """Each operation; the same two by the number of their pairs; and rules, which make no pairs."""
    small = ground.is_small
    wide, square = ((10, 10_000), (316, 316)) if small else ((10, 100_000), (1000, 1000))
    for name, workload in of_numpy(wide, square):
        yield _writing(ground, f"writing {name}", workload)
    for part in (of_pictures(256 if small else 512, 40 if small else 500), of_tables(5_000 if small else 40_000)):
        for name, workload in part:
            yield _writing(ground, f"writing {name}", workload)
    for side in (100, 316) if small else (100, 316, 1000, 3162):
        yield from _growing(ground, side)
    for name, make in RULES.items():
        yield _by_rule(ground, name, make)


def _growing(ground: Ground, side: int) -> Iterator[Comparison]:
    """Figure 7: an elementwise operation and a sum along an axis, of a square array."""
    here, square = cells((side, side)), (side, side)
    one_to_one = Given(np.concatenate([here, here]).T, square, square)
    summed = Given(np.stack([here[0], *here], axis=1), square[:1], square)
    yield _compared(ground, "by size, elementwise", [one_to_one], (GZIP,), ("provrc-gzip", "provrc-pco"))
    yield _compared(ground, "by size, sum along an axis", [summed], (GZIP,), ("provrc-gzip", "provrc-pco"))


def _writing(ground: Ground, title: str, workload: Workload) -> Comparison:
    return _compared(ground, title, workload, STORED, ENCODINGS)


def _compared(
    ground: Ground, title: str, workload: Workload, stored: tuple[Stored, ...], encodings: tuple[ArrayEncoding, ...]
) -> Comparison:
    """Each way of writing; and how many bytes there are."""
    files = {one.name: ground.folder / f"pairs.{number}" for number, one in enumerate(stored)}
    arms = {one.name: Arm(_written(one, workload, files[one.name]), _digests(one.read), is_quick=True) for one in stored}
    parts = dict.fromkeys(("bytes ÷ raw, %", "bytes ÷ Parquet-GZip"), partial(_bytes_of, workload))
    for encoding in encodings:
        arms[encoding] = Arm(_encoded(workload, encoding, ground.folder / encoding), _digests(_decoded), is_quick=True, parts=parts)
    pairs = sum(len(one.pairs) for one in workload)
    found = compared(f"{title}, {pairs:,} pairs", arms, ground.meter, ground.repeats)
    sizes = {name: sum(path.stat().st_size for path in arm.do()) for name, arm in arms.items()}
    raw = sum(map(raw_bytes, workload))
    found.facts = {name: _sizes(size, raw, sizes[GZIP.name]) for name, size in sizes.items()}
    return found


def _sizes(size: int, raw: int, gzip: int) -> dict[str, float]:
    return {"bytes": size, "bytes ÷ raw, %": float(f"{100 * size / raw:.4g}"), "bytes ÷ Parquet-GZip": float(f"{size / gzip:.4g}")}


def _bytes_of(workload: Workload) -> str:
    """Of each relation: its rows, and its bytes in every encoding."""
    compressed = [(one, one.compressed()) for one in workload]
    return "\n".join(
        f"  {len(one.pairs):,} pairs, {raw_bytes(one):,} B raw: {len(relation):,} rows, "
        + ", ".join(f"{len(encode(relation, encoding)):,} B as {encoding}" for encoding in ENCODINGS)
        for one, relation in compressed
    )


def _written(stored: Stored, workload: Workload, path: Path) -> Callable[[], list[Path]]:
    return lambda: [stored.write(one.pairs, path.with_suffix(f".{at}")) for at, one in enumerate(workload)]


def _encoded(workload: Workload, encoding: ArrayEncoding, path: Path) -> Callable[[], list[Path]]:
    """Compressed and encoded, into a file, too."""

    def write() -> list[Path]:
        paths = [path.with_suffix(f".{at}") for at in range(len(workload))]
        for one, into in zip(workload, paths, strict=True):
            into.write_bytes(encode(one.compressed(), encoding))
        return paths

    return write


def _decoded(path: Path) -> Ints:
    return expand(decode(path.read_bytes()))


def _digests(read: Callable[[Path], Ints]) -> Callable[[list[Path]], list[str]]:
    """Of the pairs that were written, in their order."""
    return lambda paths: [hashlib.sha256(sorted_pairs(np.ascontiguousarray(read(path).T)).tobytes()).hexdigest() for path in paths]


def _by_rule(ground: Ground, name: str, make: Callable[[int], tuple[Relation, ...]]) -> Comparison:
    """Relations from shapes alone, whatever the number of pairs."""
    sides = (1000, 100_000)
    arms = {f"side {side:,}": _ruled_arm(make, side) for side in sides}
    found = compared(f"by rule, {name}", arms, ground.meter, ground.repeats)
    found.facts = {arm: {"bytes": sum(map(len, one.do()))} for arm, one in arms.items()}
    if name == "Matrix×Matrix":
        for side, facts in zip(sides, found.facts.values(), strict=True):
            facts["bytes ÷ raw, %"] = float(f"{100 * facts['bytes'] / matrix_product_bytes(side):.4g}")
    return found


def _ruled_arm(make: Callable[[int], tuple[Relation, ...]], side: int) -> Arm:
    parts = {"bytes ÷ raw, %": lambda: ", ".join(f"{len(one):,} B" for one in _ruled(make, side))}
    return Arm(partial(_ruled, make, side), _row_counts, is_quick=True, parts=parts)


def _ruled(make: Callable[[int], tuple[Relation, ...]], side: int) -> list[bytes]:
    return [encode(one) for one in make(side)]


def _row_counts(data: list[bytes]) -> list[int]:
    return [len(decode(one)) for one in data]
