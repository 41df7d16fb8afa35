"""Rows of a source that changed since the run, followed forwards: from an index as when they are traced, never as if nothing had been."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, LineageRows, Run
from airflow_lineage_provider.errors import EmptyTarget, SourceUnavailable
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import write_parquet

pytestmark = pytest.mark.spark

TOTALS = "SELECT country, sum(amount) AS total FROM {credits} JOIN {people} ON person = pid GROUP BY country"
CREDITS = [(10, 1, 20), (11, 1, 30), (12, 2, 40), (13, 3, 50)]
OTHERS = [(13, 3, 50), (12, 2, 40), (11, 1, 30), (10, 1, 20)]
"""The same rows at other positions."""
PEOPLE = [(1, "NL"), (2, "NL"), (3, "DE")]

Change = Callable[[SparkSession, Path], None]


def write(spark: SparkSession, rows: list[tuple[int, int, int]], at: Path, mode: str = "error") -> None:
    spark.createDataFrame(rows, "cid int, person int, amount int").coalesce(1).write.mode(mode).parquet(str(at))


def overwritten(spark: SparkSession, folder: Path) -> None:
    write(spark, OTHERS, folder / "credits", "overwrite")


def rewritten_in_place(spark: SparkSession, folder: Path) -> None:
    """The file has its name, and its rows in another order."""
    write(spark, OTHERS, folder / "new")
    (old,), (new,) = ([*(folder / one).glob("*.parquet")] for one in ("credits", "new"))
    (old.parent / f".{old.name}.crc").unlink()
    shutil.copyfile(new, old)


def other_table_overwritten(spark: SparkSession, folder: Path) -> None:
    """Everybody lives in another country now."""
    spark.createDataFrame([(1, "DE"), (2, "DE"), (3, "NL")], "pid int, country string").coalesce(1).write.mode("overwrite").parquet(
        str(folder / "people")
    )


def appended(spark: SparkSession, folder: Path) -> None:
    write(spark, [(14, 2, 1_000), (10, 3, 7)], folder / "credits", "append")


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    write(spark, CREDITS, tmp_path / "credits")
    assert write_parquet(tmp_path / "people", PEOPLE, "pid int, country string")
    yield tmp_path
    spark.catalog.clearCache()


def totals(lineage: Lineage, folder: Path, capture: str) -> Run:
    text = TOTALS.format(**{name: f"parquet.`{folder / name}`" for name in ("credits", "people")})
    run = lineage.run(text, name="changed totals", capture=capture)  # type: ignore[arg-type]
    run.close()
    return run


def told(found: LineageRows) -> tuple[str, list[dict[str, object]]]:
    return found.guarantee.level, sorted(found.rows.to_pylist(), key=repr)


@pytest.mark.parametrize("change", [overwritten, rewritten_in_place])
def test_rows_that_are_named_by_a_table_that_is_another_now(lineage: Lineage, spark: SparkSession, tables: Path, change: Change) -> None:
    captured, traced = (totals(lineage, tables, one) for one in ("eager", "lazy"))
    table = next(name for name in captured.backward("true") if "credits" in name)
    before = captured.forward("cid = 13", table)
    assert told(before) == ("exact", [{"country": "DE", "total": 50}])
    change(spark, tables)
    found, lazily = captured.forward("cid = 13", table), traced.forward("cid = 13", table)
    assert (found.engine.startswith("index: "), lazily.engine.startswith("lazy: ")) == (True, True)
    for one in (found, lazily, captured.forward([{"cid": 13, "person": 3, "amount": 50}], table), captured.forward(at=[0], table=table)):
        assert one.guarantee.level == "unavailable"
        assert f"{table} changed after the run: which of the rows that the run read are meant cannot be told" in str(one.guarantee.cause)
        assert one.stale
    across = captured.forward("cid = 13", table, across=True)
    assert across.guarantee.level == "unavailable"
    impact = captured.impact("cid = 13", table, revised={"amount": 1})
    assert impact.touched.guarantee.level == "unavailable"
    with pytest.raises(EmptyTarget, match=r"no row of .* matches cid = 99.*that is the table as it is now: "):
        captured.forward("cid = 99", table)


def test_rows_by_their_keys_are_those_that_the_run_read(lineage: Lineage, spark: SparkSession, tables: Path) -> None:
    captured = totals(lineage, tables, "eager")
    explained = captured.explain("country = 'DE'", save=False)
    (keyed,) = next(one for name, one in explained.sources.items() if "credits" in name).keyed
    before = captured.forward(keyed)
    overwritten(spark, tables)
    after = captured.forward(keyed)
    assert told(after) == told(before) == ("exact", [{"country": "DE", "total": 50}])
    assert after.engine.startswith("index: ")


def test_files_that_were_added_are_not_read(lineage: Lineage, spark: SparkSession, tables: Path) -> None:
    captured, traced = (totals(lineage, tables, one) for one in ("eager", "lazy"))
    table = next(name for name in captured.backward("true") if "credits" in name)
    before = captured.forward("cid = 10", table)
    appended(spark, tables)
    for run in (captured, traced):
        assert told(run.forward("cid = 10", table)) == told(before) == ("exact", [{"country": "NL", "total": 90}])
        with pytest.raises(EmptyTarget):
            run.forward("cid = 14", table)


def test_another_table_that_changed(lineage: Lineage, spark: SparkSession, tables: Path) -> None:
    """An index knows what the run read of it; who traces reads what is there now, and says so."""
    captured, traced = (totals(lineage, tables, one) for one in ("eager", "lazy"))
    table = next(name for name in captured.backward("true") if "credits" in name)
    other_table_overwritten(spark, tables)
    assert told(captured.forward("cid = 13", table)) == ("exact", [{"country": "DE", "total": 50}])
    assert traced.forward("cid = 13", table).guarantee.level == "unavailable"
    assert captured.linked("country = 'DE'", captured, table).guarantee.level == "exact"
    assert traced.linked("country = 'DE'", captured, table).guarantee.level == "unavailable"
    assert told(captured.backward("country = 'DE'", table))[0] == "exact"
    # The rows are there as they were read; which of them stand behind the result hangs on the other table.
    assert traced.backward("country = 'DE'", table).guarantee.level == "unavailable"
    assert {one.guarantee.level for one in traced.explain("country = 'DE'", save=False).sources.values()} == {"unavailable"}
    with pytest.raises(SourceUnavailable):
        traced.witnesses("country = 'DE'")
    with pytest.raises(SourceUnavailable):
        [*traced.backward_batches("country = 'DE'", table=table)]


def test_a_table_that_changed_says_nothing_of_rows_that_were_not_traced_through_it(
    lineage: Lineage, spark: SparkSession, tables: Path
) -> None:
    """Each group is looked for by itself: only one of them reads what is there now."""
    totals = f"SELECT person, sum(amount) AS total FROM parquet.`{tables}/credits` GROUP BY person"
    counts = f"SELECT pid AS k, count(country) AS countries FROM parquet.`{tables}/people` GROUP BY pid"
    run = lineage.run(f"SELECT k, total, countries FROM ({totals}) JOIN ({counts}) ON k = person", name="changed groups")
    run.close()
    before = run.backward("k = 1")
    credit, person = (next(name for name in before if table in name) for table in ("credits", "people"))
    other_table_overwritten(spark, tables)
    after = run.backward("k = 1")
    assert told(after[credit]) == told(before[credit]) == told(run.backward("k = 1", credit))
    assert told(after[credit])[0] == "exact"
    assert after[person].guarantee.level == "unavailable"
    explained = run.explain("k = 1", save=False)
    assert (explained.sources[credit].guarantee.level, explained.sources[person].guarantee.level) == ("exact", "unavailable")
    assert sum(batch.num_rows for batch in run.backward_batches("k = 1", table=credit)) == 2


def test_a_table_of_the_catalog_at_another_version(lineage: Lineage, spark: SparkSession) -> None:
    name = "changed_credits"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    frame = spark.createDataFrame(CREDITS, "cid int, person int, amount int")
    try:
        frame.write.format("parquet").saveAsTable(name)
        run = lineage.run(f"SELECT person, sum(amount) AS total FROM {name} GROUP BY person", name="changed catalog", capture="eager")
        run.close()
        assert told(run.forward("cid = 13")) == ("exact", [{"person": 3, "total": 50}])
        frame.write.format("parquet").mode("overwrite").saveAsTable(name)
        assert run.forward("cid = 13").guarantee.level == "unavailable"
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_table_of_a_database_with_other_rows(store: Store, lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    options = {"url": f"jdbc:derby:{tmp_path}/db;create=true", "driver": "org.apache.derby.jdbc.EmbeddedDriver", "dbtable": "credits"}
    frame = spark.createDataFrame(CREDITS, "cid int, person int, amount int")
    frame.write.format("jdbc").options(**options).save()
    spark.read.format("jdbc").options(**options).load().createOrReplaceTempView("changed_jdbc")
    try:
        run = lineage.run("SELECT person, sum(amount) AS total FROM changed_jdbc GROUP BY person", name="changed jdbc", capture="eager")
        run.close()
        before = run.forward("cid = 13")
        assert before.rows.to_pylist() == [{"person": 3, "total": 50}]
        frame.limit(1).write.format("jdbc").options(**options).mode("append").save()
        assert (before.guarantee.level, run.forward("cid = 13").guarantee.level) == ("exact", "unavailable")
    finally:
        spark.catalog.dropTempView("changed_jdbc")
