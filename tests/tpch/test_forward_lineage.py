"""The paper's queries that only join are what it says of them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.tpch.data import write_tpch
from tests.tpch.forward_lineage import SPJ


@pytest.mark.processes
def test_each_joins_one_table_more_and_keeps_the_lines(tmp_path: Path) -> None:
    """All joins are of keys that others refer to: the lines of four days' orders are found by each, once.

    (Of less than a hundredth of the benchmark's rows, partsupp has no key.)
    """
    with duckdb.connect() as duck:
        for name, file in write_tpch(tmp_path / "tpch", "0.01").items():
            duck.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        days = "DATE '1994-01-01' AND DATE '1994-01-04'"
        by_hand = f"FROM lineitem WHERE l_orderkey IN (SELECT o_orderkey FROM orders WHERE o_orderdate BETWEEN {days})"
        ((lines,),) = duck.execute(f"SELECT count(*) {by_hand}").fetchall()
        found = {name: duck.sql(text).to_arrow_table() for name, text in SPJ.items()}
    assert {name: one.num_rows for name, one in found.items()} == dict.fromkeys(SPJ, lines)
    assert lines > 100
    assert [text.split(" WHERE ")[0].split(" FROM ")[1].count(",") + 1 for text in SPJ.values()] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert found["s8"].column_names[-3:] == ["supp_nation", "cust_nation", "r_name"]
