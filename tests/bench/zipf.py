"""The tables of the paper's microbenchmarks (Smoke, Sec. 6.1): zipf(id, z, v), of which z is drawn by Zipf's law from so many groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import numpy.typing as npt


def drawn(rows: int, groups: int, skew: float, seed: int) -> npt.NDArray[np.int64]:
    """Numbers from 1 to ``groups``, of which n is drawn in proportion to n to the power of -skew (0: all alike), each once at least."""
    random = np.random.default_rng(seed)
    weights = np.arange(1, groups + 1, dtype=np.float64) ** -skew
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(rows), side="right").astype(np.int64) + 1
    found[:groups] = np.arange(1, min(groups, rows) + 1)
    random.shuffle(found)
    return np.minimum(found, groups)


def write_zipf(path: Path, rows: int, groups: int, skew: float, *, keys: int = 1, seed: int = 7) -> Path:
    """One Parquet file of it, ``id`` being the place of a row; with more ``keys`` z has companions (z_2 …) that it determines."""
    random, z = np.random.default_rng(seed + 1), drawn(rows, groups, skew, seed)
    columns = {"id": np.arange(rows), "z": z, "v": random.integers(0, 100, rows)}
    columns |= {f"z_{n}": z * n % 1009 for n in range(2, keys + 1)}
    pq.write_table(pa.table(columns), path, row_group_size=1 << 20)
    return path
