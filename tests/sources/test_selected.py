"""SQL that a person writes over rows of lineage: one SELECT over these rows, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOption
from airflow_lineage_provider.plan.guarantees import EXACT

RUN = RunSummary(id="r", pipeline="p", status="complete", started="", seconds=1.0, strategy="rerun", reasons="lazy", rows=2, error="")


def rows_of(table: pa.Table) -> LineageRows:
    links = pa.table({"asked": [0, 0, 1], "row": [0, 1, 1]})
    return LineageRows(run=RUN, asked="true", table="loans", rows=table, links=links, guarantee=EXACT, engine="index: rid array")


LOANS = rows_of(pa.table({"occ": ["a", "b"], "amount": [1.5, None]}))


def test_rows_and_links() -> None:
    assert LOANS.query("SELECT occ, count(*) AS n, sum(amount) AS s FROM rows GROUP BY occ ORDER BY occ").to_pylist() == [
        {"occ": "a", "n": 1, "s": 1.5}, {"occ": "b", "n": 1, "s": None},
    ]  # fmt: skip
    text = "SELECT asked, max(occ) AS last FROM rows JOIN links USING (row) GROUP BY asked ORDER BY asked"
    assert LOANS.query(text).to_pylist() == [{"asked": 0, "last": "b"}, {"asked": 1, "last": "b"}]
    own = rows_of(pa.table({"Row": [7, 8]}))
    assert own.query("SELECT sum(row) AS s FROM rows").to_pylist() == [{"s": 15}]
    assert LOANS.query("WITH few AS (FROM rows LIMIT 1) SELECT count(*) AS n FROM few").to_pylist() == [{"n": 1}]
    assert rows_of(pa.table({"occ": pa.array([], pa.string())})).query("SELECT count(*) AS n FROM rows").to_pylist() == [{"n": 0}]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECTED 1", "is no SQL that DuckDB reads"),
        ("", "is not one SELECT over rows, links"),
        ("SELECT 1; SELECT 2", "is not one SELECT"),
        ("CREATE TABLE kept AS FROM rows", "is not one SELECT"),
        ("INSERT INTO rows VALUES ('c', 1)", "is not one SELECT"),
        ("SET enable_external_access = true", "is not one SELECT"),
        ("SELECT nothing FROM rows", "nothing"),
        ("SELECT * FROM loans", "loans"),
        (7, "query=7"),
    ],
)
def test_what_is_not_one_select_over_them(query: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        LOANS.query(query)


def test_columns_that_duckdb_does_not_tell_apart_are_not_taken_for_one_another() -> None:
    """It would call the second ``a_1``, and ``a`` would be the first."""
    alike = rows_of(pa.Table.from_arrays([pa.array([1, 1]), pa.array([7, 8]), pa.array(["x", "y"])], names=["A", "a", "g"]))
    asking: list[Callable[[], Any]] = [
        lambda: alike.query("SELECT sum(a) AS s FROM rows"), lambda: alike.where("a = 7"), lambda: alike.aggregate(by=["A"]),
        lambda: Crossfilter.over(alike, {"v": "a"}),
    ]  # fmt: skip
    for ask in asking:
        with pytest.raises(InvalidOption, match="does not tell the columns A, a apart"):
            ask()
    assert alike.aggregate(by=["g"], measures=['sum("a (column 2)") AS s']).to_pylist() == [{"g": "x", "s": 7}, {"g": "y", "s": 8}]
    assert alike.where("g = 'x'").rows.to_pylist() == [{"A": 1, "a": 7, "g": "x"}]


def test_no_file_is_read_and_none_written(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for query in (f"SELECT * FROM '{secret}'", f"SELECT * FROM read_csv('{secret}')", f"SELECT content FROM read_text('{secret}')"):
        with pytest.raises(InvalidOption, match="DuckDB failed"):
            LOANS.query(query)
    with pytest.raises(InvalidOption, match="is not one SELECT"):
        LOANS.query(f"COPY rows TO '{tmp_path}/out.csv'")
    assert [one.name for one in tmp_path.iterdir()] == ["secret.csv"]


def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EnvironmentProblem, match=r"SQL over rows of lineage needs duckdb.*\[duckdb\]"):
        LOANS.query("SELECT 1")


def test_parameters_of_a_query() -> None:
    assert LOANS.query("SELECT occ FROM rows WHERE amount > :least OR occ = $occ", least=1, occ="b").column(0).to_pylist() == ["a", "b"]
    assert LOANS.query("SELECT ':x' AS a, [1, 2, 3][1:2] AS b, 1::int AS c FROM rows WHERE occ=:o", o="a").to_pylist() == [
        {"a": ":x", "b": [1, 2], "c": 1}
    ]
    with pytest.raises(InvalidOption, match="has :q and no value for it: give it by name, q="):
        LOANS.query("SELECT 1 FROM rows WHERE occ = :p OR occ = :q", p=1)
    with pytest.raises(InvalidOption, match="has no :q; its parameters are: p"):
        LOANS.query("SELECT 1 FROM rows WHERE occ = :p", p="a", q="b")
