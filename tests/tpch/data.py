"""The tables: TPC-H's at a tiny scale factor, and the CDA workload's extension of them (section 7.2.1), as Parquet files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tests.tpch.pictures import write_pictures
from tests.tpch.reviews import review

SCALE_FACTOR = "0.001"

KEYS: Mapping[str, tuple[str, ...]] = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
"""The tables and their primary keys."""

Tables = Mapping[str, Path]
"""A Parquet file for each table."""


def write_tpch(folder: Path, scale_factor: str = SCALE_FACTOR) -> Tables:
    """TPC-H's tables."""
    generator = Path(sys.executable).with_name("tpcgen-cli")
    options = ["--scale-factor", scale_factor, "--output-dir", str(folder), "--num-threads", "1"]
    subprocess.run([generator, "tpch", "parquet", *options], check=True, capture_output=True)
    return {name: folder / f"{name}.parquet" for name in KEYS}


def write_cda(folder: Path, tpch: Tables) -> Tables:
    """The same tables, with pictures of the parts (as paths) and reviews of the lines."""
    folder.mkdir()
    pictures = [str(path) for path in write_pictures(folder / "pictures")]
    part, lineitem = (parquet.read_table(tpch[name]) for name in ("part", "lineitem"))
    shown = pa.array([pictures[key % len(pictures)] for key in part["p_partkey"].to_pylist()])
    _write(part.append_column("p_image", shown), folder / "part.parquet")
    lines = zip(lineitem["l_orderkey"].to_pylist(), lineitem["l_linenumber"].to_pylist(), strict=True)
    reviews = pa.array([review(order * 7 + number) for order, number in lines])
    at = lineitem.column_names.index("l_comment")
    _write(lineitem.set_column(at, "l_comment", reviews), folder / "lineitem.parquet")
    return {**tpch, "part": folder / "part.parquet", "lineitem": folder / "lineitem.parquet"}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A table's rows, in the order of the file."""
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def _write(table: pa.Table, path: Path) -> None:
    parquet.write_table(table, path)
