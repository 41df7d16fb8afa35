"""Values that are kept of rows mean what they meant: where they would not, they are refused."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.sources.duckdb_query import selected
from airflow_lineage_provider.sources.row_expressions import row_values

ROWS = pa.table({"name": ["b", "C", None], "n": [1, 2, 3], "day": pa.array([1, 2, 3], pa.date32()), "parts": [[1], [2], []]})
LOST = {
    "name COLLATE NOCASE": "a text with an order of its own",
    "[name COLLATE NOCASE]": "a text with an order of its own",
    "name::ENUM('C', 'b')": r"of type ENUM\('C', 'b'\)",
    "{'e': name::ENUM('C', 'b')}": "of type STRUCT",
    "uuid_extract(name)::UUID": "uuid_extract",
    "(CASE WHEN n = 1 THEN 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' END)::UUID": "of type UUID",
    "n::HUGEINT": "of type HUGEINT",
}


def test_what_would_be_another_value_when_it_is_read_again() -> None:
    for (expression, told), rows in product(LOST.items(), (ROWS, ROWS.slice(0, 0))):
        with pytest.raises(InvalidOption, match=told):
            row_values(["n", expression], rows, "")


def test_why() -> None:
    """The largest of texts without regard to case is another one than that of the plain texts that Arrow has of them."""
    own = selected("SELECT max(name COLLATE NOCASE) FROM rows", {"rows": ROWS})
    again = selected("SELECT name COLLATE NOCASE AS name FROM rows", {"rows": ROWS})
    assert (own.column(0)[0].as_py(), selected("SELECT max(name) FROM rows", {"rows": again}).column(0)[0].as_py()) == ("C", "b")


def test_what_is_the_same() -> None:
    texts = ["name", '"name"', "lower(name)", "name COLLATE NOCASE = 'B'", "'collate'"]
    for expression in [*texts, "n / 2", "year(day)", "parts", "{'n': n}", "day - day", "NULL"]:
        assert row_values([expression], ROWS, "").num_rows == row_values([expression, "n"], ROWS, "").num_rows == 3
