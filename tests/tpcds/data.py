"""TPC-DS's tables, cut down to what a few customers did: small, and the joins of the channels still find partners."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

SCALE_FACTOR = "0.001"
"""The generator's smallest: 1,000 customers, 120,527 lines in the stores' tickets."""

_CUSTOMERS = 8
_ITEMS = 32
"""Every eighth customer's sales stay, and the stock of every thirty-second item."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "call_center": ("cc_call_center_sk",),
    "catalog_page": ("cp_catalog_page_sk",),
    "catalog_returns": ("cr_item_sk", "cr_order_number"),
    "catalog_sales": ("cs_item_sk", "cs_order_number"),
    "customer": ("c_customer_sk",),
    "customer_address": ("ca_address_sk",),
    "customer_demographics": ("cd_demo_sk",),
    "date_dim": ("d_date_sk",),
    "household_demographics": ("hd_demo_sk",),
    "income_band": ("ib_income_band_sk",),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
    "item": ("i_item_sk",),
    "promotion": ("p_promo_sk",),
    "reason": ("r_reason_sk",),
    "ship_mode": ("sm_ship_mode_sk",),
    "store": ("s_store_sk",),
    "store_returns": ("sr_item_sk", "sr_ticket_number"),
    "store_sales": ("ss_item_sk", "ss_ticket_number"),
    "time_dim": ("t_time_sk",),
    "warehouse": ("w_warehouse_sk",),
    "web_page": ("wp_web_page_sk",),
    "web_returns": ("wr_item_sk", "wr_order_number"),
    "web_sales": ("ws_item_sk", "ws_order_number"),
    "web_site": ("web_site_sk",),
}
"""The tables and their primary keys."""

CHANNELS = {"store_sales": "ss_customer_sk", "catalog_sales": "cs_bill_customer_sk", "web_sales": "ws_bill_customer_sk"}
RETURNS = {
    "store_returns": ("sr_ticket_number", "store_sales", "ss_ticket_number"),
    "catalog_returns": ("cr_order_number", "catalog_sales", "cs_order_number"),
    "web_returns": ("wr_order_number", "web_sales", "ws_order_number"),
}
_YEARS = (1998, 2003)

Tables = Mapping[str, Path]
"""A Parquet file for each table."""


def write_tpcds(folder: Path) -> Tables:
    """The tables, a file each."""
    whole = folder / "whole"
    options = ["--scale-factor", SCALE_FACTOR, "--output-dir", str(whole)]
    subprocess.run([Path(sys.executable).with_name("tpcgen-cli"), "tpcds", "parquet", *options], check=True, capture_output=True)
    tables = _cut({name: _read(whole / f"{name}.parquet") for name in KEYS})
    for name, table in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in KEYS}


def _read(path: Path) -> pa.Table:
    """A table with its texts as plain strings: Arrow cannot select rows of string views yet."""
    table = parquet.read_table(path)
    return table.cast(pa.schema([(one.name, pa.string() if one.type == pa.string_view() else one.type) for one in table.schema]))


def _cut(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The sales of every eighth customer, their returns, and the dimensions' rows that can matter to them."""
    for name, column in CHANNELS.items():
        tables[name] = _one_in(_CUSTOMERS, tables[name], column)
    for name, (column, sales, number) in RETURNS.items():
        tables[name] = _only(tables[name], column, [tables[sales][number]])
    tables["inventory"] = _one_in(_ITEMS, tables["inventory"], "inv_item_sk")
    years = tables["date_dim"]["d_year"]
    tables["date_dim"] = tables["date_dim"].filter(pc.and_(pc.greater_equal(years, _YEARS[0]), pc.less_equal(years, _YEARS[1])))
    tables["customer_demographics"] = _only(tables["customer_demographics"], "cd_demo_sk", _columns(tables, "_cdemo_sk"))
    tables["time_dim"] = _only(tables["time_dim"], "t_time_sk", _columns(tables, "_time_sk"))
    return tables


def _one_in(number: int, table: pa.Table, column: str) -> pa.Table:
    """The rows of one in so many (a power of two) of what the column numbers."""
    return table.filter(pc.equal(pc.bit_wise_and(pc.cast(table[column], pa.int64()), number - 1), 1))


def _columns(tables: Mapping[str, pa.Table], ending: str) -> list[pa.ChunkedArray]:
    """All columns that refer to a dimension."""
    return [table[name] for table in tables.values() for name in table.column_names if name.endswith(ending) and name != "t_time_sk"]


def _only(table: pa.Table, column: str, found_in: Iterable[pa.ChunkedArray]) -> pa.Table:
    kept: set[Any] = set().union(*(set(values.unique().to_pylist()) for values in found_in))
    return table.filter(pc.is_in(table[column], pa.array(sorted(kept - {None}), table[column].type)))
