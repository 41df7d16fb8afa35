"""`Run.explain_stream`: explanations part by part say what one says at once, in whatever parts, and in files as well."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving import part_sizes
from airflow_lineage_provider.errors import AnswerTooLarge, EmptyTarget, InvalidOption
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.pipeline.chunk_driver import half_of
from tests.pipeline.test_chunks import ROWS, answer, recorded

pytestmark = pytest.mark.spark


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    half_of.register(spark)
    return Lineage(spark, store=store)


@pytest.mark.parametrize(("strategy", "rows"), [("function_materialization", ROWS), ("rerun", ROWS[:6] + ROWS[22:28])])
def test_all_parts_are_the_answer_of_one_derivation(
    lineage: Lineage, tmp_path: Path, strategy: Strategy, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded(lineage, rows, tmp_path / "t", strategy=strategy)
    whole = run.explain("rid > 0", save=False)
    for first, links, most in ((1, 1, 1_000), (5, 60, 1_000), (64, 100_000, 9), (64, 100_000, 1_000)):
        monkeypatch.setattr(part_sizes, "FIRST", first)
        monkeypatch.setattr(part_sizes, "LINKS", links)
        monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", str(most))
        stream = run.explain_stream("rid > 0")
        parts = list(stream)
        assert answer(parts) == answer([whole])
        assert stream.guarantee == whole.guarantee
        assert max(sum(map(len, part.sources.values())) for part in parts) <= most
        assert (len(parts) == 1) == (most == 1_000 and first == 64)
        assert parts[0].asked == f"{whole.asked}: rows 1 to {len(parts[0].target):,} of {len(whole.target):,}"
        assert list(stream) == []


def test_other_runs_are_traced_through(lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(lineage, ROWS, tmp_path / "t", "SELECT x, count(*) AS n FROM chunked GROUP BY x").close()
    made = lineage.run("SELECT x, count(*) AS n FROM chunked GROUP BY x", name="counted", output=str(tmp_path / "n"))
    made.close()
    assert lineage.spark is not None
    lineage.spark.read.parquet(str(tmp_path / "n")).createOrReplaceTempView("counted")
    run = lineage.run("SELECT x, n + 1 AS m FROM counted", name="onward")
    monkeypatch.setattr(part_sizes, "FIRST", 10)
    monkeypatch.setattr(part_sizes, "LINKS", 1)
    whole, parts = run.explain("true", save=False), list(run.explain_stream("true"))
    assert {row["rid"] for part in parts for row in part.sources["chunked"].rows.to_pylist()} == set(range(36))
    assert sum(len(part.intermediate["counted"]) for part in parts) == len(whole.intermediate["counted"]) == 23
    assert {one for part in run.explain_stream("true", across=False) for one in part.sources} == {"counted"}


def test_as_files(lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and links of the whole files are those of one explanation."""
    run = recorded(lineage, ROWS, tmp_path / "t")
    whole = run.explain("rid > 0", save=False)
    monkeypatch.setattr(part_sizes, "FIRST", 3)
    monkeypatch.setattr(part_sizes, "LINKS", 9)
    folder = tmp_path / "why"
    rows = run.explain_stream("rid > 0").write(folder)
    contents = json.loads((folder / "tables.json").read_text())
    found = {name: pa.ipc.open_stream((folder / one["file"]).read_bytes()).read_all() for name, one in contents["tables"].items()}
    assert (
        {name: table.num_rows for name, table in found.items()} == rows == {name: one["rows"] for name, one in contents["tables"].items()}
    )
    assert set(rows) == {"target", "links", "source.chunked", "reasons.half_of", "links.reasons.half_of"}
    assert (contents["asked"], contents["run"], contents["tables"]["source.chunked"]["guarantee"]) == (whole.asked, run.id, "exact")
    batches: dict[str, list[pa.RecordBatch]] = {}
    for name, batch in run.explain_stream("rid > 0").batches():
        batches.setdefault(name, []).append(batch)
    assert {name: pa.Table.from_batches(some).to_pylist() for name, some in batches.items()} == {
        name: table.to_pylist() for name, table in found.items()
    }
    assert all(one.schema == found[name].schema for name, some in batches.items() for one in some)
    assert found["target"].equals(whole.target)
    reasons = found["reasons.half_of"]
    assert reasons.column("row").to_pylist() == list(range(reasons.num_rows))

    def pairs(rows: pa.Table, sources: pa.Table, links: pa.Table, but: str = "") -> set[tuple[str, str]]:
        left = [repr({name: value for name, value in row.items() if name != but}) for row in rows.to_pylist()]
        right = [repr(row) for row in sources.to_pylist()]
        return {(left[link["row"]], right[link["source_row"]]) for link in links.to_pylist()}

    sources, made = found["source.chunked"], whole.reasons["half_of"]
    assert pairs(found["target"], sources, found["links"]) == pairs(whole.target, whole.sources["chunked"].rows, whole.target_links)
    expected = pairs(made.rows, whole.sources["chunked"].rows, made.links, "row")
    assert pairs(reasons, sources, found["links.reasons.half_of"], "row") == expected
    with pytest.raises(InvalidOption, match="is not empty"):
        run.explain_stream("rid > 0").write(folder)
    run.explain_stream("rid > 0").write(tmp_path / "withheld", hide=["name"], mask=["x"])
    told = json.loads((tmp_path / "withheld" / "tables.json").read_text())["tables"]["source.chunked"]["file"]
    withheld = pa.ipc.open_stream((tmp_path / "withheld" / told).read_bytes()).read_all()
    assert withheld.column_names == ["rid", "x"]
    assert not set(withheld.column("x").to_pylist()) & set(range(23))


def test_what_is_refused(lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(lineage, ROWS, tmp_path / "t", "SELECT x % 2 AS odd, count(*) AS n FROM chunked GROUP BY x % 2")
    with pytest.raises(InvalidOption, match="difference="):
        run.explain_stream("true", difference="all")  # type: ignore[arg-type]
    with pytest.raises(EmptyTarget):
        list(run.explain_stream("n < 0"))
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "10")
    with pytest.raises(AnswerTooLarge):
        list(run.explain_stream("true"))
    left = run.explain_stream("true")
    left.close()
    assert (list(left), list(left.batches())) == ([], [])


MEMORY = """
import sys
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving import part_sizes
part_sizes.LINKS, part_sizes.BYTES = 10_000, 8 * 2**20
run = Lineage(store=sys.argv[1]).get_run(sys.argv[2])
ways = {
    "explain_stream": lambda: sum(len(part.sources["wide"]) for part in run.explain_stream("true")),
    "explain_stream, batches": lambda: sum(len(one) for name, one in run.explain_stream("true").batches() if name == "source.wide"),
    "backward_batches": lambda: sum(map(len, run.backward_batches("true", table="wide"))),
    "backward": lambda: len(run.backward("true", "wide").rows),
}
for way in ways.values():
    rows = way()
    most = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(rows, int(most) // 1024)
"""


def test_memory_hangs_on_a_part(lineage: Lineage, spark: SparkSession, tmp_path: Path, store: Store) -> None:
    """Ten times the rows take as much memory, but not where they are had at once."""
    runs = {}
    for rows in (25_000, 250_000):
        path = tmp_path / f"wide_{rows}.parquet"
        texts = [f"{at % 97:08}" * 50 for at in range(rows)]
        table = pa.table({"id": pa.array(range(rows)), "team": pa.array([at // 100 for at in range(rows)]), "text": texts})
        pq.write_table(table, path, row_group_size=5_000)
        spark.read.parquet(str(path)).createOrReplaceTempView("wide")
        runs[rows] = lineage.run("SELECT team, count(*) AS n FROM wide GROUP BY team", name="wide")
        runs[rows].close()

    def most(rows: int) -> list[int]:
        """After each way."""
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, store.url, runs[rows].id], capture_output=True, text=True, timeout=600, check=True
        )
        told = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        assert [found for found, _ in told] == [rows] * 4
        return [most for _, most in told]

    *streamed, at_once = (large - small for large, small in zip(most(250_000), most(25_000), strict=True))
    assert max(streamed) < 80
    assert at_once > 80
