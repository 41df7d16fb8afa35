"""Data profiling (Smoke, Sec. 6.5.2): which values violate four functional dependencies of a table of physicians, and the bipartite graph
of these values and the rows behind them, by both rewritings, by hand in SQL, and in pandas.

The table has the shape of the paper's: 2.2 million rows, of which some were typed wrongly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_lineage_provider import Profile
from airflow_lineage_provider.profiled import profile_of_file
from airflow_lineage_provider.words import ProfileMethod
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

ROWS = {"small": 100_000, "full": 2_200_000}
FDS = (("npi", "pac_id"), ("zip", "city"), ("zip", "state"), ("phone", "zip"))
WRONG = 0.002
"""The part of the rows in which a dependent value was typed wrongly."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Found:
    """Of each dependency how many values violate it, and the rows behind these: with their numbers in the file."""

    values: Sequence[int]
    rows: Sequence[Numbers]

    def told(self) -> list[tuple[int, int, str]]:
        """What is compared."""
        digests = (hashlib.sha256(np.sort(np.asarray(one, np.int64)).tobytes()).hexdigest() for one in self.rows)
        return [(values, len(rows), digest) for values, rows, digest in zip(self.values, self.rows, digests, strict=True)]


def run(ground: Ground) -> Iterator[Comparison]:
    """All four at once, and each by itself."""
    file = write_physicians(ground.folder / "physicians.parquet", ROWS[ground.size])
    yield _compared(ground, file, FDS, "four dependencies")
    for one in FDS:
        yield _compared(ground, file, (one,), f"{one[0]} -> {one[1]}")


def write_physicians(file: Path, rows: int) -> Path:
    """Physicians at practices: every tenth value is one of thousands, as phones are, and some rows have a wrong one."""
    random = np.random.default_rng(3)
    practices = max(rows // 40, 10)
    practice, npi = random.integers(0, practices, rows), random.integers(0, rows // 2, rows)
    place = practice % max(practices // 5, 2)
    columns = {
        "npi": npi + 1_000_000_000,
        "pac_id": _mistyped(random, npi * 13 + 7, rows),
        "zip": _texts("", place + 10_000),
        "city": _texts("city ", _mistyped(random, place // 3, rows)),
        "state": _texts("state ", _mistyped(random, place // 50, rows)),
        "phone": _texts("617-", practice),
    }
    table = pa.table(columns)
    nothing = pa.array(random.random(rows) < 0.001)
    table = table.set_column(3, "city", pc.if_else(nothing, None, table.column("city")))
    pq.write_table(table, file)
    return file


def _mistyped(random: np.random.Generator, values: Numbers, rows: int) -> Numbers:
    """Some of the values as others."""
    return np.where(random.random(rows) < WRONG, values + 1, values)


def _texts(before: str, numbers: Numbers) -> pa.Array:
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), "")


def _compared(ground: Ground, file: Path, fds: Sequence[tuple[str, str]], title: str) -> Comparison:
    arms: dict[str, Callable[[], _Found]] = {
        "SQL, by hand": partial(_by_hand, file, fds),
        "pandas": partial(_in_pandas, file, fds),
        "CD": partial(_profiled, file, fds, "cd"),
        "UG": partial(_profiled, file, fds, "ug"),
    }
    made = {name: Arm(do, _Found.told) for name, do in arms.items()}
    return compared(f"{title}, {pq.read_metadata(file).num_rows:,} physicians", made, ground.meter, ground.repeats)


def _profiled(file: Path, fds: Sequence[tuple[str, str]], method: ProfileMethod) -> _Found:
    found: Profile = profile_of_file(file, [" -> ".join(one) for one in fds], method=method)
    edges = found.graph.edges()
    of, rows = (edges.column(name).to_numpy() for name in ("dependency", "row"))
    return _Found([len(one) for one in found], [rows[of == at] for at in range(len(fds))])


def _by_hand(file: Path, fds: Sequence[tuple[str, str]]) -> _Found:
    """The query of the paper (CD), joined with the table again for the rows."""
    values, rows = [], []
    with duckdb.connect() as connection:
        for left, right in fds:
            known = f"SELECT {left} AS a, {right} AS b, file_row_number AS row FROM read_parquet('{file}', file_row_number = true)"
            known = f"{known} WHERE {left} IS NOT NULL AND {right} IS NOT NULL"
            violating = f"SELECT a FROM ({known}) GROUP BY a HAVING count(DISTINCT b) > 1"
            found: pa.Table = connection.sql(f"SELECT a, row FROM ({known}) SEMI JOIN ({violating}) USING (a)").to_arrow_table()
            values.append(len(found.column("a").unique()))
            rows.append(found.column("row").to_numpy())
    return _Found(values, rows)


def _in_pandas(file: Path, fds: Sequence[tuple[str, str]]) -> _Found:
    table = pd.read_parquet(file, columns=list(dict.fromkeys(name for one in fds for name in one)))
    values, rows = [], []
    for left, right in fds:
        known = table[[left, right]].dropna()
        different = known.groupby(left)[right].nunique()
        violating = different[different > 1].index
        behind = known[known[left].isin(violating)]
        groups = behind.groupby(left).indices  # the graph: the rows of each value
        places = np.concatenate([np.empty(0, np.int64), *groups.values()])
        values.append(len(groups))
        rows.append(behind.index.to_numpy()[places])
    return _Found(values, rows)
