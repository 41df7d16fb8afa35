"""A seed per row: sampling explainers give the same reason for the same row, whatever the batch, order or process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from airflow_lineage_provider.reasons.plain import encode, plain


def row_seed(seed: int, row: Sequence[Any]) -> int:
    """A 32-bit seed from the UDF's seed and the row's values; whole numbers count as the same float (3 and 3.0)."""
    values = [float(each) if isinstance(each, int) else each for each in plain(list(row), "a row")]
    text = json.dumps([seed, encode(values)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def rounded(number: float) -> float:
    """12 significant digits: what vectorised arithmetic rounds differently for another batch shape is beyond them."""
    return float(f"{float(number):.12g}")
