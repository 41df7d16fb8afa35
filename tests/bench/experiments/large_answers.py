"""Answers with very many source rows, without Spark: at once and as a stream, against the join by hand in DuckDB; time, and memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import embedded
from tests.bench.comparison import Comparison, compared
from tests.bench.elsewhere import Work, elsewhere
from tests.bench.ground import Ground
from tests.bench.profiles import Beside
from tests.bench.readings import Meter

SIZES = {"small": ((100_000, 1_000),), "full": ((1_000_000, 10_000), (10_000_000, 10_000))}
"""Source rows, and rows of the result that are asked about: all."""
SQL = "SELECT team, count(*) AS n, sum(amount) AS total FROM bench_large GROUP BY team"


def run(ground: Ground) -> Iterator[Comparison]:
    """One comparison for each size; every arm in a process of its own, whose memory is its own."""
    for rows, targets in SIZES[ground.size]:
        folder = _source(ground, rows, targets)
        made = ground.lineage.run(SQL, name="bench large")
        made.close()
        arms = {way: elsewhere(__name__, way, ground.lineage.store.url, made.id, str(rows), str(folder)) for way in WAYS}
        yield compared(f"{targets:,} rows made of {rows:,}", arms, ground.meter, ground.repeats)
        ground.lineage.drop(made.id)


def _source(ground: Ground, rows: int, targets: int) -> Path:
    folder = ground.folder / f"large_{rows}"
    columns = ["id", f"CAST(hash(id) % {targets} AS int) AS team", "id % 1000 AS amount", "concat('row ', id) AS name"]
    ground.spark.range(0, rows, numPartitions=4).selectExpr(*columns).write.parquet(str(folder))
    ground.spark.read.parquet(str(folder)).createOrReplaceTempView("bench_large")
    return folder


@contextmanager
def alone(way: str, url: str, made: str, rows: str, folder: str) -> Iterator[Work]:
    """A way, in a process that has loaded what it needs, and has the run at hand."""
    for limit in ("SOURCE", "TARGET"):
        os.environ[f"AIRFLOW_LINEAGE_{limit}_LIMIT"] = rows
    with Lineage(store=url) as lineage:
        do, pairs = WAYS[way](lineage.get_run(made), folder)
        yield Work(do, lambda: _digest(pairs(do())), Meter(None, lineage.store, Path(folder)), Beside(server=embedded.ensure_running()))


Pairs = Iterator[pa.Table]
"""Tables that have of each pair the number of the row of the result (``asked``) and the source row, so that numbers stay together."""
Way = tuple[Callable[[], Any], Callable[[Any], Pairs]]
"""What is done, and the pairs of what it gives."""


def _by_hand(_: Run, folder: str) -> Way:
    source = f"read_parquet('{folder}/*.parquet')"
    teams = f"SELECT row_number() OVER (ORDER BY team) AS asked, team FROM (SELECT DISTINCT team FROM {source})"
    joined = f"SELECT asked, rows.* FROM ({teams}) JOIN {source} AS rows USING (team)"
    return lambda: duckdb.execute(joined).to_arrow_table(), lambda found: iter([found])


def _explained(run: Run, _: str) -> Way:
    def pairs(found: Any) -> Pairs:
        links = found.target_links
        yield _joined(links.column("row"), found.sources["bench_large"].rows, links.column("source_row"))

    return lambda: run.explain("true", save=False, across=False), pairs


def _backward(run: Run, _: str) -> Way:
    def pairs(found: Any) -> Pairs:
        yield _joined(found.links.column("asked"), found.rows, found.links.column("row"))

    return lambda: run.backward("true", "bench_large").replaced(), pairs


def _streamed(run: Run, _: str) -> Way:
    """Batch after batch, of which nothing is kept."""

    def stream(count: bool = True) -> Any:
        batches = run.backward_batches("true", table="bench_large")
        return sum(map(len, batches)) if count else map(pa.Table.from_batches, ([one] for one in batches))

    return stream, lambda _: stream(count=False)


def _explained_in_parts(run: Run, _: str) -> Way:
    """Part after part, of which nothing is kept."""

    def pairs() -> Pairs:
        first = 0
        for part in run.explain_stream("true", across=False):
            links = part.target_links
            yield _joined(pc.add(links.column("row"), first), part.sources["bench_large"].rows, links.column("source_row"))
            first += len(part.target)

    return lambda: sum(len(part.sources["bench_large"]) for part in run.explain_stream("true", across=False)), lambda _: pairs()


WAYS: dict[str, Callable[[Run, str], Way]] = {
    "a join by hand in DuckDB": _by_hand,
    "explain": _explained,
    "backward": _backward,
    "backward_batches": _streamed,
    "explain_stream": _explained_in_parts,
}


def _joined(asked: Any, rows: pa.Table, at: Any) -> pa.Table:
    return rows.take(at).append_column("asked", asked)


def _digest(pairs: Pairs) -> list[str]:
    """How many pairs there are, of how many rows of the result; and a sum over these, of all values of the rows behind each."""
    values = "hash(id::bigint, team::int, amount::bigint, name::varchar)::hugeint"
    one = f"SELECT asked::bigint AS asked, count(*) AS n, sum({values}) AS h FROM given GROUP BY 1"
    with duckdb.connect() as database:
        database.execute("CREATE TABLE parts (asked bigint, n bigint, h hugeint)")
        for given in pairs:
            database.register("given", given)
            database.execute(f"INSERT INTO parts {one}")
        whole = "SELECT sum(n) AS n, sum(h) AS h FROM parts GROUP BY asked"
        (found,) = database.execute(f"SELECT sum(n), count(*), sum(hash(n, h)::hugeint) FROM ({whole})").fetchall()
    return [str(one) for one in found]
