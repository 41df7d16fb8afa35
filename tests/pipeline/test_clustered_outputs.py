"""Results that are written in ranges of columns, sorted: the rows, the files, and whose rows their readers' lineage says they are."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage, Output, reasoned_udf
from airflow_lineage_provider.errors import InvalidOutput
from airflow_lineage_provider.spark.executing.outputs import partition_of, write_jobs
from tests.answers import guarantees_of, links_of
from tests.in_turn import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import Store

ROWS = 400
JOB = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
RUN = "01a213ba-fb41-7668-b88f-9baba2af6c64"


@pytest.fixture
def lineage(spark: SparkSession, store: Store, tmp_path: Path) -> Lineage:
    """Over rows that stand nowhere near their order."""
    place = str(tmp_path / "given")
    spark.range(ROWS).selectExpr("id AS rid", "(id * 37) % 400 AS k", "id % 3 AS g").repartition(3, "rid").write.parquet(place)
    spark.read.parquet(place).createOrReplaceTempView("given")
    return Lineage(spark, store=store)


SQL = "SELECT k, rid, g FROM given WHERE g < 2"


def ranges(place: Path) -> list[list[int]]:
    """The values of k, file by file."""
    return [pq.read_table(file).column("k").to_pylist() for file in sorted(place.glob("*.parquet"))]


def in_ranges(files: list[list[int]]) -> bool:
    """Each sorted, and none within another."""
    bounds = sorted((values[0], values[-1]) for values in files)
    return all(values == sorted(values) for values in files) and all(a[1] <= b[0] for a, b in pairwise(bounds))


def expected(spark: SparkSession) -> Counter[Any]:
    return Counter(map(tuple, spark.sql(SQL).collect()))


@pytest.mark.spark
@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun"]))
def test_files_are_ranges_and_lineage_is_as_ever(spark: SparkSession, lineage: Lineage, tmp_path: Path, strategy: Any) -> None:
    place = tmp_path / "clustered"
    run = lineage.run(SQL, name="w", output=Output.path(str(place), cluster_by=["K"]), strategy=strategy)
    files = ranges(place)
    assert len(files) > 1
    assert in_ranges(files)
    written = Counter(map(tuple, spark.read.parquet(str(place)).select("k", "rid", "g").collect()))
    assert written == expected(spark) == Counter(map(tuple, run.result.collect()))
    # The rows of a reader of these files, back to the first table and forward again, by their values.
    reader = lineage.run(f"SELECT k, rid AS own FROM parquet.`{place}` WHERE k % 50 = 7", name="r")
    found = reader.explain("true", across=True)
    rids = found.sources["given"].column("rid").to_pylist()
    own = [row["own"] for row in found.target.to_pylist()]
    assert sorted(own) == [rid for rid in range(ROWS) if rid * 37 % 400 % 50 == 7 and rid % 3 < 2]
    links = {(own[link["row"]], rids[link["source_row"]]) for link in links_of(found)["target"].to_pylist() if link["source"] == "given"}
    assert links == {(each, each) for each in own}
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}
    for each in own[:2]:
        later = run.forward(f"rid = {each}", "given", across=True).later[reader.id]
        assert later.rows.column("own").to_pylist() == [each]


@pytest.mark.spark
def test_files_that_are_gone_are_read_from_the_result_by_nothing_but_values(lineage: Lineage, tmp_path: Path) -> None:
    """The place of a row in a clustered file is not its number in the result: what only the place could tell is not told."""
    place = tmp_path / "gone"
    lineage.run(SQL, name="w", output=f"{place}+overwrite+cluster_by:k")
    reader = lineage.run(f"SELECT count(*) AS n, max(k) AS most FROM parquet.`{place}`", name="r")
    lineage.run("SELECT 1 AS k, 1L AS rid, 1L AS g", name="other", output=f"{place}+overwrite")
    found = reader.explain("true")
    (table,) = found.sources.values()
    assert table.guarantee.level == "unavailable"
    assert table.stale


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["path", "table"])
def test_appended(spark: SparkSession, lineage: Lineage, tmp_path: Path, kind: str) -> None:
    """Each run's own files are in ranges, named after it, and replaced by its key."""
    place = str(tmp_path / "appended") if kind == "path" else "clustered_there"
    output = f"{'' if kind == 'path' else 'table:'}{place}+cluster_by:k,rid+append"
    try:
        for _ in range(2):
            lineage.run(SQL, name="w", output=output).close()
        lineage.run(SQL, name="w", output=output, append_key="day").close()
        lineage.run(SQL, name="w", output=output, append_key="day").close()
        frame = spark.read.parquet(place) if kind == "path" else spark.table(place)
        assert Counter(map(tuple, frame.select("k", "rid", "g").collect())) == Counter(dict.fromkeys(expected(spark), 3))
        files = [Path(name.removeprefix("file:")) for name in frame.inputFiles()]
        assert all("-clustered-" in file.name for file in files)
        runs = {file.name.partition("-clustered-")[0] for file in files}
        assert len(runs) == 3
        assert all(in_ranges([pq.read_table(file).column("k").to_pylist() for file in files if file.name.startswith(run)]) for run in runs)
    finally:
        spark.sql("DROP TABLE IF EXISTS clustered_there")


@pytest.mark.spark
def test_a_model_is_called_once_for_a_row(spark: SparkSession, lineage: Lineage, tmp_path: Path) -> None:
    """Where the ranges begin is found by looking at rows: at those that Spark keeps."""
    notes = tmp_path / "calls"
    notes.mkdir()

    @reasoned_udf("bigint")
    def noted(rid: int) -> int:
        (notes / f"{rid}-{len(list(notes.glob(f'{rid}-*')))}").touch()
        return rid + 1

    noted.register(spark)
    for strategy in ("function_materialization", "rerun"):
        place = str(tmp_path / strategy)
        lineage.run(
            "SELECT noted(rid) AS k FROM given WHERE rid < 20",
            name="n",
            strategy=strategy,
            output=Output.path(place, cluster_by=["k"]),
        )
        assert sorted(row.k for row in spark.read.parquet(place).collect()) == list(range(1, 21))
        assert len(list(notes.iterdir())) == 20
        for file in notes.iterdir():
            file.unlink()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["q"], "cluster_by names column q, which the result has not; it has k, m, k2"),
        (["k", "K"], "names a column twice: k, K"),
        (["m"], r"column m, which is map<string,int>: its values have no order"),
    ],
)
def test_refused_before_the_run(lineage: Lineage, tmp_path: Path, columns: list[str], told: str) -> None:
    with pytest.raises(InvalidOutput, match=told):
        lineage.run("SELECT k, map('a', 1) AS m, k AS k2 FROM given", output=Output.path(str(tmp_path / "x"), cluster_by=columns))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        (f"part-00003-{JOB}-c000.snappy.parquet", 3),
        (f"part-00003-{JOB}-c001.snappy.parquet", None),
        (f"g=1/part-00003-{JOB}.c000.snappy.parquet", None),
        (f"part-00003-{JOB}_00001.c000.snappy.parquet", None),
        (f"lineage-{RUN}-00003-{JOB}-c000.snappy.parquet", 3),
        (f"lineage-{RUN}-clustered-00003-{JOB}-c000.snappy.parquet", None),
        (f"clustered-00003-{JOB}-c000.snappy.parquet", None),
    ],
)
def test_what_a_file_s_name_tells(name: str, partition: int | None) -> None:
    assert partition_of(f"/data/{name}") == partition
    assert write_jobs({f"/data/{name}": (1, 1)}) == {JOB}
