"""Captured lineage of runs that store no result: its rows are those of the Parquet files that they write."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Lineage, Run, reasoned_udf
from airflow_lineage_provider.errors import InvalidCapture, NotCaptured, ResultNotStored, SourceUnavailable, TracingError
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.pipeline.test_captured import BEST, KEYS, Q1, Q4, QUERIES, folder

__all__ = ["folder"]
pytestmark = pytest.mark.spark


def written(output: Path) -> list[tuple[Any, ...]]:
    """The rows of the files, in the order of their paths."""
    tables = [pq.read_table(path) for path in sorted(output.glob("*.parquet"))]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def lineage_of(run: Run, rows: list[tuple[Any, ...]], *, lazy: bool) -> Counter[Any]:
    """Each row of the result, with the keys of the rows behind it."""
    found: list[set[Any]] = [set() for _ in rows]
    for name, one in run.backward("true", lazy=lazy).items():
        assert one.guarantee.level == "exact"
        assert lazy or one.engine.startswith("index: ")
        keys = one.rows.column(KEYS[name]).to_pylist()
        for asked, row in zip(*(column.to_pylist() for column in one.links.columns), strict=True):
            found[asked].add((name, keys[row]))
    return Counter(zip(rows, map(frozenset, found), strict=True))


def descending(run: Run, table: str) -> Counter[Any]:
    """Each row of the result, with how many rows of a table it descends from."""
    found = run.forward("true", table, lazy=False)
    assert found.engine.startswith("index: ")
    behind = Counter(found.links.column("row").to_pylist())
    return Counter((tuple(row.values()), behind[at]) for at, row in enumerate(found.rows.to_pylist()))


@pytest.mark.parametrize("name", sampled(QUERIES))
def test_it_is_that_of_a_stored_result(spark: SparkSession, store: Store, tmp_path: Path, name: str) -> None:
    lineage, output = Lineage(spark, store=store), tmp_path / "out of it"
    stored = lineage.run(QUERIES[name], name=f"stored {name}", capture="eager")
    result = [tuple(row.values()) for row in stored.result_table().to_pylist()]
    run = lineage.run(QUERIES[name], name=f"written {name}", strategy="rerun", output=str(output), capture="eager")
    run.close()
    assert run.index is not None
    assert (run.index.problem, run.index.of_output, {one.segment for one in run.stored} & {0}) == ("", True, set())
    found, rows = lineage.get_run(run.id), written(output)
    assert lineage_of(found, rows, lazy=False) == lineage_of(stored, result, lazy=False)
    # Files of this machine need no Spark.
    alone = Lineage(store=store).get_run(run.id)
    assert lineage_of(alone, rows, lazy=False) == lineage_of(stored, result, lazy=False)
    for table in stored.backward("true"):
        assert descending(found, table) == descending(stored, table)


def test_rows_have_the_numbers_that_a_reader_gives_them(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    lineage, output = Lineage(spark, store=store), tmp_path / "out"
    run = lineage.run(BEST, name="numbered", strategy="rerun", output=str(output))
    run.close()
    run = lineage.get_run(run.id)
    assert run.index is None
    run.capture()
    rows, number = written(output), {row: at for at, row in enumerate(written(output))}
    assert len(number) == len(rows) == 11
    found = run.forward("true", "sales", lazy=False)
    assert found.rids.tolist() == [number[tuple(row.values())] for row in found.rows.to_pylist()]
    reader = lineage.run("SELECT s_id, max(two) AS most FROM {out} GROUP BY s_id".replace("{out}", f"parquet.`{output}`"), name="reader")
    (read,) = reader.backward("true").values()
    own = dict(zip(reader.result_table().column("s_id").to_pylist(), read.per_target.to_pylist(), strict=True))
    assert own == {store_id: [at for at, row in enumerate(rows) if row[0] == store_id] for store_id in own}
    # One of the rows is asked about by its values, and two are linked with the rows of another run.
    one = run.backward({"t_id": "06"}, "sales", lazy=False)
    assert sorted(one.rows.column("t_id").to_pylist()) == ["05", "06"]
    spelled = run.backward("format_string('%s', t_id) = '06'", "sales", lazy=False)  # which Spark alone means
    assert spelled.rows.to_pylist() == one.rows.to_pylist()
    other = lineage.run(Q1, name="linked with it", capture="eager")
    linked = run.linked("t_id IN ('05', '06')", other, table="sales", lazy=False)
    assert linked.engine.startswith("index: ")
    assert sorted(tuple(row.values()) for row in linked.rows.to_pylist()) == [("Target", "binder"), ("Target", "pencil")]
    reader.close()
    other.close()


def test_what_it_does_not_say_is_traced(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    lineage, output = Lineage(spark, store=store), tmp_path / "out"
    wanted = Capture(tables=["item"], direction="backward")
    first = lineage.run(Q1, name="in part", strategy="rerun", output=str(output), capture=wanted)
    second = lineage.run(Q1, name="in part", strategy="rerun", output=f"{output}+append+cluster_by:i_name", capture="eager")
    for one in (first, second):
        one.close()
        assert (one.index.problem if one.index else None) == ""
        assert [found.count for found in one.backward("true", lazy=True).values()] == [2, 2, 4]
    first = lineage.get_run(first.id)
    assert first.backward("true", "item").engine.startswith("index: ")
    assert first.backward("true", "store").engine.startswith("lazy: ")
    with pytest.raises(NotCaptured, match="was captured without store, sales"):
        first.backward("true", "store", lazy=False)
    # Rows that are the same in all columns stay apart, each with its own lineage.
    second = lineage.get_run(second.id)
    own = [row for row in written(output) if row == ("Target", "binder")]
    assert len(own) == 4
    binders = second.backward("i_name = 'binder'", "sales", lazy=False)
    assert (binders.asked_rows, sorted(binders.rows.column("t_id").to_pylist())) == (2, ["01", "04"])
    assert sorted(Counter(binders.links.column("asked").to_pylist()).values()) == [1, 1]
    second.capture(witnesses=True)
    combined = second.witnesses("i_name = 'binder'", lazy=False)
    assert (combined.engine, len(combined)) == ("index: witnesses", 2)
    # A place that was written anew has other rows: of those of the run only tracing can tell.
    spark.range(3).write.mode("overwrite").parquet(str(output))
    for ask in (lambda: second.backward("true", "sales", lazy=False), second.capture):
        with pytest.raises(SourceUnavailable, match=r"numbered as those of its output, and .*/out is another now: .* is gone"):
            ask()
    assert second.backward("true", "sales").engine.startswith("lazy: ")


def test_what_cannot_be_captured(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    lineage, calls = Lineage(spark, store=store), spark.sparkContext.accumulator(0)

    @reasoned_udf("string")
    def weighed_sale(num: int) -> str:
        calls.add(1)
        return "large" if num > 1000 else "small"

    weighed_sale.register(spark)
    judged = "SELECT t_id, weighed_sale(num) AS size FROM sales"
    refused = [
        (Q1, None, "eager", r"needs a result whose rows can be numbered: .* write it to output='/some/path', or take function_material"),
        (Q1, f"csv:{tmp_path}/out", "eager", "needs a result whose rows can be numbered"),
        (judged, f"{tmp_path}/out", "eager", r"would call weighed_sale once more: capture it later \(Run\.capture\)"),
        (Q1, f"{tmp_path}/out", Capture(tables={"sales": CaptureTable(where="num > 1000")}), r"whole tables are captured, tables=\[…\]"),
    ]
    before = len(lineage.runs())
    for sql, output, capture, why in refused:
        with pytest.raises(InvalidCapture, match=why):
            lineage.run(sql, name="refused", strategy="rerun", output=output, capture=capture)  # type: ignore[arg-type]
    assert (len(lineage.runs()), calls.value, (tmp_path / "out").exists()) == (before, 0, False)

    later = lineage.run(judged, name="judged", strategy="rerun", output=f"{tmp_path}/out")
    later.close()
    assert lineage.get_run(later.id).capture().of_output
    large = lineage.get_run(later.id).backward("size = 'large'", "sales", lazy=False)
    assert sorted(large.rows.column("t_id").to_pylist()) == ["02", "05", "07", "09", "10"]
    csv = lineage.run(Q4, name="as CSV", strategy="rerun", output=f"csv:{tmp_path}/csv")
    with pytest.raises(ResultNotStored, match=rf"rows cannot be numbered. It was written to {tmp_path}/csv: an index has numbers"):
        csv.capture()
    csv.close()


def test_other_rows_than_were_written_are_not_taken_for_them() -> None:
    import numpy as np

    from airflow_lineage_provider.deriving.captured_rows import same_rows

    numbers, made, there = np.arange(3), pa.chunked_array([["a", "b", "b"]]), pa.chunked_array([["a", "a", "b"]])
    with pytest.raises(TracingError, match="1 of 3 rows that the pipeline gives when it is run again are not in /out, and 1 rows there"):
        same_rows(numbers, made, numbers, there, "/out")
