"""Data shaped like that of the paper's crossfilter: flights with a place, a day, a delay and a carrier, all skewed."""

from __future__ import annotations

import pyarrow as pa

VIEWS = {"carrier": "carrier", "delay": "CAST(floor(delay / 15) AS int)", "day": "day", "place": "lat * 256 + lon"}


def flights(rows: int, seed: int = 7) -> pa.Table:
    """So many flights: 12 carriers (some are not known), delays in minutes, 365 days, places on a grid of 256 × 256."""
    import numpy as np

    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 14)
    carriers = np.array([None, *(f"C{at}" for at in range(12))], object)[::-1]
    return pa.table({
        "carrier": pa.array(carriers[chance.choice(13, rows, p=weights / weights.sum())], pa.string()),
        "delay": np.minimum(chance.exponential(20, rows), 119) - 10,
        "day": (chance.integers(0, 365, rows) + 15706).astype("datetime64[D]"),
        "lat": (chance.beta(8, 3, rows) * 20).astype("int64"),
        "lon": (chance.beta(2, 5, rows) * 20).astype("int64"),
    })  # fmt: skip
