"""What capturing the lineage of single operators costs (Smoke, Sec. 6.1): a group-by over zipf, a pk-fk join, and an M:N join.

Beside plain Spark and the run with lineage collected (inject) or found afterwards (defer), the ways of the paper's comparison in plain
Spark: the query joined with its input again, so that each row has the number of a row behind it (LOGIC-RID, as Perm rewrites an
aggregation) or all of its columns (LOGIC-TUP); the first indexed then (LOGIC-IDX); and every pair handed by Python, one after another, to
a store outside (PHYS-BDB: here SQLite, whose library every Python has). All find the same pairs, which is checked before anything is timed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_lineage_provider import Capture
from airflow_lineage_provider.capture.csr import Edges, csr
from airflow_lineage_provider.words import CaptureMode
from tests.bench.arms import recorded, rows_of, written
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.zipf import write_zipf

_STATISTICS = (
    "count(*) AS n, sum(v) AS s, sum(v * v) AS squares, sum(CAST(sqrt(v) AS decimal(10, 6))) AS roots, min(v) AS least, max(v) AS most"
)
"""The paper's six; roots as decimals, since a sum that rounds is never collected while a run is made."""
GROUPS = {
    "small": ((100_000, 10, 1.0, 6, 1), (100_000, 5_000, 1.0, 6, 1)),
    "full": (
        *((rows, groups, 1.0, 6, 1) for rows in (100_000, 1_000_000, 10_000_000) for groups in (10, 5_000, 100_000) if groups < rows),
        *((1_000_000, 5_000, skew, 6, 1) for skew in (0.0, 0.4, 0.8, 1.6)),
        (1_000_000, 5_000, 1.0, 1, 1),
        (1_000_000, 5_000, 1.0, 6, 5),
    ),
}
"""Rows, groups, skew, aggregates, keys."""
PK_FK = {"small": ((100_000, 1_000),), "full": ((1_000_000, 1_000), (1_000_000, 100_000))}
M_N = {"small": ((1_000, 10, 1_000),), "full": ((1_000, 10, 1_000), (1_000, 10, 10_000), (1_000, 100, 100_000))}
"""Rows of the left table, its groups, and rows of the right one."""
Numbers = npt.NDArray[np.int64]
EMITTED = 1_000_000
"""Of more pairs none are handed over one by one: it would take hours."""


@dataclass(frozen=True)
class _Query:
    """A query over views; ``annotated`` gives its rows with those of the input behind them, of which {columns} says what: their numbers
    (``rid``), or all they have (``tuples``). ``pairs``: how many there are; 0: that is counted."""

    title: str
    text: str
    annotated: str
    rid: str
    tuples: str
    pairs: int

    @property
    def is_grouped(self) -> bool:
        return "GROUP BY" in self.text


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each table and query."""
    for rows, groups, skew, aggregates, keys in GROUPS[ground.size] if ground.wants("aggregations") else ():
        _view(ground, "zipf", write_zipf(ground.folder / "zipf.parquet", rows, groups, skew, keys=keys))
        yield _compared(ground, _group_by(rows, groups, skew, aggregates, keys))
    for rows, groups in PK_FK[ground.size] if ground.wants("pk-fk joins") else ():
        _view(ground, "zipf", write_zipf(ground.folder / "zipf.parquet", rows, groups, 1.0))
        names = pa.table({"id": np.arange(1, groups + 1), "name": [f"group {n}" for n in range(1, groups + 1)]})
        pq.write_table(names, ground.folder / "gids.parquet")
        _view(ground, "gids", ground.folder / "gids.parquet")
        text = "SELECT g.id AS gid, g.name, z.id, z.z, z.v FROM gids g JOIN zipf z ON g.id = z.z"
        title = f"pk-fk join of {rows:,} rows with {groups:,}"
        yield _compared(ground, _join(title, text, "g.id - 1 AS rid_0, z.id AS rid_1", 2 * rows))
    for left, groups, right in M_N[ground.size] if ground.wants("M:N joins") else ():
        _view(ground, "zipf1", write_zipf(ground.folder / "zipf1.parquet", left, groups, 1.0))
        _view(ground, "zipf2", write_zipf(ground.folder / "zipf2.parquet", right, 100, 1.0, seed=11))
        text = "SELECT a.id AS one, b.id AS other, a.z FROM zipf1 a JOIN zipf2 b ON a.z = b.z"
        title = f"M:N join of {left:,} rows in {groups} groups with {right:,}"
        yield _compared(ground, _join(title, text, "a.id AS rid_0, b.id AS rid_1", 0))


def _group_by(rows: int, groups: int, skew: float, aggregates: int, keys: int) -> _Query:
    by = ", ".join(["z", *(f"z_{n}" for n in range(2, keys + 1))])
    same = " AND ".join(f"q.{one} = t.{one}" for one in by.split(", "))
    text = f"SELECT {by}, {_STATISTICS if aggregates > 1 else 'count(*) AS n'} FROM zipf GROUP BY {by}"
    title = f"group-by of {rows:,} rows into {groups:,}, skew {skew}, {aggregates} aggregates, {keys} keys"
    annotated = f"SELECT q.*, {{columns}} FROM ({text}) q JOIN zipf t ON {same}"
    return _Query(title, text, annotated, "t.id AS rid_0", "t.id AS rid_0, t.z AS base_z, t.v AS base_v", rows)


def _join(title: str, text: str, rids: str, pairs: int) -> _Query:
    """A joined row has one row of each side: its pairs are as many as both sides' rids."""
    head, tail = text.split(" FROM ", 1)
    return _Query(title, text, f"{head}, {{columns}} FROM {tail}", rids, rids, pairs)


def _compared(ground: Ground, query: _Query) -> Comparison:
    ways = _Ways(ground, query)
    arms = {"plain": written(ground, query.text), "run": recorded(ground, query.text, "function_materialization")}
    arms |= {f"run and {mode}": ways.captured(mode) for mode in ("inject", "defer")}
    arms |= {"LOGIC-RID": ways.annotated("LOGIC-RID", query.rid), "LOGIC-IDX": ways.indexed()}
    if query.is_grouped:  # a joined row has the columns of both sides
        arms["LOGIC-TUP"] = ways.annotated("LOGIC-TUP", query.tuples)
    if ways.expected <= EMITTED:
        arms["PHYS-BDB"] = ways.emitted()
    found = compared(query.title, arms, ground.meter, ground.repeats)
    if len(set(ways.pairs.values())) != 1:
        raise AnswersDiffer(f"{query.title}: the arms find so many pairs of rows: {ways.pairs}")
    found.facts = {name: {"pairs": float(many)} for name, many in ways.pairs.items()}
    if "PHYS-BDB" not in arms:
        found.notes["PHYS-BDB"] = f"{ways.expected:,} pairs one by one would take hours"
    return found


@dataclass
class _Ways:
    """Ways to have the lineage of a query; ``pairs``: how many of rows each has found."""

    ground: Ground
    query: _Query
    pairs: dict[str, int] = field(default_factory=dict)

    @property
    def expected(self) -> int:
        """How many pairs there are."""
        return self.query.pairs or 2 * int(self.ground.spark.sql(f"SELECT count(*) FROM ({self.query.text})").collect()[0][0])

    def _where(self, name: str) -> Path:
        return self.ground.folder / "written" / name

    def captured(self, mode: CaptureMode) -> Arm:
        where, name = self._where(f"captured {mode}"), f"run and {mode}"

        def do() -> None:
            made = self.ground.lineage.run(
                self.query.text,
                name=f"bench operator {mode}",
                output=f"{where}+overwrite",
                capture=Capture(mode=mode, direction="backward"),
            )
            made.close()
            assert made.index is not None
            assert not made.index.problem, made.index.problem
            self.pairs[name] = made.index.edges

        return Arm(do, lambda _: rows_of(where))

    def annotated(self, name: str, columns: str) -> Arm:
        where = self._where(name)
        return Arm(partial(self._annotate, columns, where, name), lambda _: self._without_lineage(where))

    def _annotate(self, columns: str, where: Path, name: str) -> None:
        self.ground.spark.sql(self.query.annotated.format(columns=columns)).write.mode("overwrite").parquet(str(where))
        rows = sum(pq.read_metadata(one).num_rows for one in where.glob("*.parquet"))
        self.pairs[name] = rows * columns.count("rid_")

    def _without_lineage(self, where: Path) -> list[str]:
        """The query's rows: of a group's each once, of a join's each that there is."""
        names = [one for one in pq.read_schema(next(where.glob("*.parquet"))).names if not one.startswith(("rid_", "base_"))]
        rows = pq.read_table(where, columns=names)
        kept = rows.group_by(names, use_threads=False).aggregate([]) if self.query.is_grouped else rows
        return sorted(repr(tuple(row.values())) for row in kept.to_pylist())

    def indexed(self) -> Arm:
        """What is annotated is read again, and made into indexes both ways."""
        where = self._where("LOGIC-IDX")

        def do() -> None:
            self._annotate(self.query.rid, where, "LOGIC-IDX")
            rows, found = pq.read_table(where), 0
            output = _numbered(rows.select([one for one in rows.column_names if not one.startswith("rid_")]), self.query)
            for name in (one for one in rows.column_names if one.startswith("rid_")):
                rids = rows.column(name).to_numpy()
                backward = csr(Edges(output, rids), int(output.max()) + 1, int(rids.max()) + 1)
                found += len(backward.inverse(int(rids.max()) + 1).rids)
            self.pairs["LOGIC-IDX"] = found

        return Arm(do, lambda _: self._without_lineage(where))

    def emitted(self) -> Arm:
        """Each pair is a call of Python's, and an entry in a store outside."""
        where = self._where("PHYS-BDB")

        def do() -> None:
            self._annotate(self.query.rid, where, "PHYS-BDB")
            rows = pq.read_table(where)
            output = _numbered(rows.select([one for one in rows.column_names if not one.startswith("rid_")]), self.query).tolist()
            store = self.ground.folder / "edges.sqlite"
            store.unlink(missing_ok=True)
            with sqlite3.connect(store) as connection:
                connection.execute("CREATE TABLE edges (output int, side int, rid int)")
                emit: Callable[[int, int, int], object] = lambda *edge: connection.execute("INSERT INTO edges VALUES (?, ?, ?)", edge)  # noqa: E731
                for side, name in enumerate(one for one in rows.column_names if one.startswith("rid_")):
                    for at, rid in zip(output, rows.column(name).to_pylist(), strict=True):
                        emit(at, side, rid)
                connection.execute("CREATE INDEX backward ON edges (output, side)")
                ((found,),) = connection.execute("SELECT count(*) FROM edges").fetchall()
            self.pairs["PHYS-BDB"] = found

        return Arm(do, lambda _: self._without_lineage(where))


def _numbered(rows: pa.Table, query: _Query) -> Numbers:
    """The number of the result's row that each annotated row is of."""
    if not query.is_grouped:
        return np.arange(rows.num_rows)
    return np.asarray(rows.column("z").combine_chunks().dictionary_encode().indices.to_numpy(), np.int64)


def _view(ground: Ground, name: str, file: Path) -> None:
    ground.spark.read.parquet(str(file)).createOrReplaceTempView(name)
