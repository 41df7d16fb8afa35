"""A workflow's cells asked for in every way: by joins over the pairs as they are stored, by comparing, and by the relations themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from airflow_lineage_provider.arrays import Cells, Log, encode
from airflow_lineage_provider.arrays.boxes import Boxes
from airflow_lineage_provider.arrays.codec import opened_together
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.region import Region
from tests.bench.cells.stored import GZIP, STORED, Array, Stored, by_duckdb, by_numpy, kept_connection
from tests.bench.cells.workflows import Workflow
from tests.bench.comparison import Arm, Comparison
from tests.bench.readings import Reading

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

T = TypeVar("T")

MOST_COMPARED = 10**8
"""So many comparisons of two cells take numpy about a second: beyond, they are left out, and it is said."""

BY_DUCKDB = tuple(one.name for one in STORED if not isinstance(one, Array))
IN_STORE, IN_ITS_MEMORY = "arrays, read from the store", "arrays, kept in the store's memory"
OURS = ("arrays", "arrays, not merged", "arrays, read from bytes", IN_STORE, IN_ITS_MEMORY)
BEST, OVER_GZIP = "× best of DuckDB", "× Parquet-GZip"


@dataclass(frozen=True, eq=False)
class Asking:
    """A workflow whose pairs and relations are stored, in every form.

    :ivar connection: by which DuckDB is asked all its questions.
    """

    workflow: Workflow
    files: dict[str, list[Path]]
    log: Log
    stored: Log
    written: list[bytes]
    connection: DuckDBPyConnection

    @classmethod
    def of(cls, workflow: Workflow, folder: Path, stored: Log, name: str) -> Asking:
        """Write all of it.

        :param name: begins the names of the arrays in the store.
        """
        files = {
            one.name: [one.write(given.pairs, folder / f"{one.name}.{at}") for at, given in enumerate(workflow.given)] for one in STORED
        }
        log = Log()
        for place in (log, stored):
            _tell(place, workflow, name)
        return cls(workflow, files, log, stored, [encode(one) for one in workflow.relations], kept_connection())

    def arms(self, cells: Ints, name: str, *, backward: bool) -> tuple[dict[str, Arm], dict[str, str]]:
        """The ways to ask for what stands behind a box of cells, or before it; and of those that are left out, why.

        :param cells: (axes, 2) first and last of the box.
        """
        shapes = self.workflow.shapes[::-1] if backward else self.workflow.shapes
        ranks, end = list(map(len, shapes)), shapes[-1]
        at = np.stack(np.meshgrid(*(np.arange(first, last + 1) for first, last in cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
        arms: dict[str, Arm] = {}
        left_out: dict[str, str] = {}
        for stored in STORED:
            ask = partial(self._numpy if isinstance(stored, Array) else self._duckdb, stored, ranks, at, backward=backward)
            compared = sum(len(one.pairs) for one in self.workflow.given) * len(at)
            if isinstance(stored, Array) and compared > MOST_COMPARED:
                left_out[stored.name] = f"left out: it would compare {compared:,} times"
            else:
                arms[stored.name] = Arm(ask, partial(_bitmap, end), is_quick=True)
        names = [f"{name} {number}" for number in range(len(shapes))]
        path = names[::-1] if backward else names
        asked = np.stack([cells[:, 0], cells[:, 1] + 1], axis=-1)[None]
        ours: dict[str, Callable[[], Any]] = {
            OURS[0]: lambda: self.log.prov_query(path, asked),
            OURS[1]: lambda: self.log.prov_query(path, asked, merge=False),
            OURS[2]: lambda: self._from_bytes(cells, backward),
            IN_STORE: lambda: _afresh(self.stored).prov_query(path, asked),
            IN_ITS_MEMORY: lambda: self.stored.prov_query(path, asked),
        }
        return arms | {way: Arm(ask, _mask, is_quick=True) for way, ask in ours.items()}, left_out

    def _duckdb(self, stored: Stored, ranks: list[int], at: Ints, *, backward: bool) -> Ints:
        tables = [stored.table(path) for path in _in_order(self.files[stored.name], backward)]
        return by_duckdb(self.connection, tables, ranks, at, backward=backward)

    def _numpy(self, stored: Stored, ranks: list[int], at: Ints, *, backward: bool) -> Ints:
        return by_numpy([stored.read(path) for path in _in_order(self.files[stored.name], backward)], ranks, at, backward=backward)

    def _from_bytes(self, cells: Ints, backward: bool) -> Region:
        steps = [Step(one, backward) for one in opened_together((data, str, None) for data in _in_order(self.written, backward))]
        start = steps[0].relation.out_shape if backward else steps[0].relation.in_shape
        return follow(steps, [""] * (len(steps) + 1), Region(start, parts=Boxes(cells[:, :1], cells[:, 1:])))[0]


def _afresh(log: Log) -> Log:
    """The same log in the store, of which nothing was read yet; one in memory has nothing to read."""
    from airflow_lineage_provider.stored_arrays import LogInStore

    return LogInStore(log._lineage) if isinstance(log, LogInStore) else log


def _in_order(hops: list[T], backward: bool) -> list[T]:
    return hops[::-1] if backward else hops


def _tell(log: Log, workflow: Workflow, name: str) -> None:
    for number, shape in enumerate(workflow.shapes):
        log.array(f"{name} {number}", shape)
    for number, relation in enumerate(workflow.relations):
        log.lineage(f"{name} {number}", f"{name} {number + 1}", relation)


def _bitmap(shape: tuple[int, ...], cells: Ints) -> bytes:
    found = np.zeros(shape, dtype=np.bool_)
    found[tuple(cells.T)] = True
    return found.tobytes()


def _mask(found: Cells | Region) -> bytes:
    return (found.mask() if isinstance(found, Cells) else found.mask).tobytes()


def against(one: Comparison) -> None:
    """Say of our own ways how many times they are quicker than the quickest of DuckDB's, and than its joins over Parquet-GZip.

    By CPU seconds, which a busy machine changes little; of PostgreSQL's there are none, so that what asks the store has wall times.
    """
    for arm in one.readings.keys() & set(OURS):
        took = {name: figures["wall, s" if arm in (IN_STORE, IN_ITS_MEMORY) else "CPU, s"] for name, figures in one.figures().items()}
        best = min(took[name] for name in BY_DUCKDB)
        one.facts.setdefault(arm, {}).update({BEST: _times(best, took[arm]), OVER_GZIP: _times(took[GZIP.name], took[arm])})


def _times(other: float, own: float) -> float:
    return float(f"{other / own:.4g}")


def together(title: str, some: list[Comparison]) -> Comparison:
    """Comparisons of several workflows as one: a reading for each; of our own ways the geometric mean of the ratios, and the least.

    A way that was left out of any is left out.
    """
    arms = [arm for arm in some[0].readings if all(arm in one.readings for one in some)]
    readings = {arm: [_median(one, arm) for one in some] for arm in arms}
    # (Done again, and profiled, is the workflow in which our ways gain least.)
    found = Comparison(title, GZIP.name, readings, arms=min(some, key=lambda one: min(one.facts[arm][BEST] for arm in OURS)).arms)
    for arm in OURS:
        for name in some[0].facts[arm]:
            ratios = [one.facts[arm][name] for one in some]
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            found.facts.setdefault(arm, {}).update({f"{name}, mean": float(f"{mean:.4g}"), f"{name}, least": min(ratios)})
    found.notes = dict(itertools.chain.from_iterable(one.notes.items() for one in some))
    return found


def _median(one: Comparison, arm: str) -> Reading:
    walls: Iterable[Reading] = sorted(one.readings[arm], key=lambda reading: reading.wall)
    readings = list(walls)
    return readings[len(readings) // 2]
