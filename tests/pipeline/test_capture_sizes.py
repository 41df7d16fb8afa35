"""How much there is to capture is told before it is fetched: by counting, or by what is known; and it is fetched in parts that fit."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.deriving import capture_sizes
from airflow_lineage_provider.deriving.capture_sizes import Counting
from airflow_lineage_provider.errors import IndexTooLarge
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing import trace
from airflow_lineage_provider.tracing.trace import Step, StepOf
from airflow_lineage_provider.words import Subqueries
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

LARGE = 100_000


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("sizes")
    many = [(n, None if n % 7 == 0 else n % 3, n % 5) for n in range(30)]
    few = [(k, n) for k in (0, 1, 1, 4, None) for n in range(4)]
    frames = {
        "sized": spark.createDataFrame(many, "n int, g int, h int").repartition(3),
        "partners": spark.createDataFrame(few, "k int, v int").coalesce(1),
        "large": spark.range(LARGE).selectExpr("id", "id % 2 AS half", "CAST(0 AS int) AS one"),
    }
    for name, frame in frames.items():
        frame.write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield
    for name in frames:
        spark.catalog.dropTempView(name)


OF_ONE_TABLE = {
    "groups": "SELECT g, count(*) AS c FROM sized GROUP BY g",
    "all of them": "SELECT count(*) AS c FROM sized WHERE n > 5",
    "prefixes": "SELECT n, sum(n) OVER (PARTITION BY g ORDER BY n) AS s FROM sized",
    "frames": "SELECT n, sum(n) OVER (PARTITION BY g ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s FROM sized",
    "two frames": """SELECT n, sum(n) OVER (PARTITION BY g ORDER BY n ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS s,
        max(n) OVER (PARTITION BY g ORDER BY n ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS m FROM sized""",
    "whole partitions": "SELECT n, sum(n) OVER (PARTITION BY g) AS s FROM sized",
}
"""So many rows stand behind each, of one table: besides, a row of a window is made of its own row, which is in its partition."""
OTHERS = {
    "equal partners": "SELECT n FROM sized WHERE h IN (SELECT k FROM partners)",
    "other partners": "SELECT n FROM sized WHERE EXISTS (SELECT 1 FROM partners WHERE v < sized.h AND k = 1)",
    "flags": "SELECT n, h IN (SELECT k FROM partners WHERE k IS NOT NULL) AS there FROM sized",
    "a join below groups": "SELECT h, count(*) AS c FROM sized JOIN partners ON h = k GROUP BY h",
    "groups of groups": "SELECT c, count(*) AS d FROM (SELECT g, h, count(*) AS c FROM sized GROUP BY g, h) GROUP BY c",
    "groups of frames": """SELECT h, sum(s) AS t FROM (
        SELECT h, sum(n) OVER (PARTITION BY g ORDER BY n) AS s FROM sized) GROUP BY h""",
    "exploded": "SELECT h, count(*) AS c FROM (SELECT h, explode(array(1, 1, 2)) AS e FROM sized) GROUP BY h",
}


def made(lineage: Lineage, text: str, **options: Any) -> Run:
    run = lineage.run(text, name="sized", **options)
    run.close()
    return run


def pairs_of(run: Run) -> dict[str, list[tuple[int, str]]]:
    found = {}
    for name, one in run.backward("true").items():
        rows = [json.dumps(row, sort_keys=True) for row in one.rows.to_pylist()]
        found[name] = sorted((asked, rows[row]) for asked, row in zip(*(each.to_pylist() for each in one.links.columns), strict=True))
    return found


class Watched(Counting):
    """What was counted of all rows that are groups, and of all sets."""

    seen: list[list[int]] = []  # noqa: RUF012

    def _of_all(self, many: int, links: Any) -> Any:
        found = super()._of_all(many, links)
        if found is not None:
            self.seen.append(found.tolist())
        return found


@pytest.mark.parametrize("name", sampled([*OF_ONE_TABLE]))
def test_as_many_are_counted_as_there_are(lineage: Lineage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(lineage, OF_ONE_TABLE[name])
    lazily = pairs_of(run)
    monkeypatch.setattr(capture_sizes, "_FEW", 0)
    monkeypatch.setattr("airflow_lineage_provider.deriving.capturing.Counting", Watched)
    monkeypatch.setattr(Watched, "seen", [])
    run.capture()
    (counted,) = Watched.seen
    ((table, pairs),) = lazily.items()
    rows: dict[int, set[str]] = {}
    for asked, row in pairs:
        rows.setdefault(asked, set()).add(row)
    # Rows that have their frames in common have one set.
    behind = np.array(sorted(map(len, {frozenset(one) for one in rows.values()})))
    counted.sort()
    if name in ("frames", "two frames"):  # the frames leave their own row out, or not; it stands behind the row all the same
        sets = run.explain("true", save=False)
        assert table in sets.sources
        assert (behind - np.array(counted)).max() <= 1
        assert (behind >= counted).all()
    else:
        assert counted == behind.tolist()
    assert pairs_of(run) == lazily
    assert all(one.engine.startswith("index: ") for one in run.backward("true").values())


@pytest.mark.parametrize("name", sampled([*OF_ONE_TABLE, *OTHERS]))
def test_in_parts_of_any_size_it_is_the_same(lineage: Lineage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(lineage, {**OF_ONE_TABLE, **OTHERS}[name])
    lazily = pairs_of(run)
    for few, at_once in ((0, 40), (5, 1 << 40)):
        with monkeypatch.context() as patched:
            patched.setattr(capture_sizes, "_FEW", few)
            for place in ("capture_sizes", "capturing"):
                patched.setattr(f"airflow_lineage_provider.deriving.{place}.PAIRS_AT_ONCE", at_once)
            run.capture()
        assert pairs_of(run) == lazily, (few, at_once)
        run.forget_captured()


@pytest.mark.parametrize("name", sampled([*OF_ONE_TABLE]))
def test_too_much_is_refused_before_any_of_it_is_fetched(lineage: Lineage, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(lineage, OF_ONE_TABLE[name])
    # Behind a row of a window stands its own row, besides its frames, which it leads to; one of frames that hang on the order of rows is
    # stored, besides.
    is_window = name not in ("groups", "all of them")
    limit = "125" if "frames" in name else "65" if is_window else "20"
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", limit)
    fetched: list[tuple[str, int]] = []
    add = Building.add

    def noted(self: Building, segment: int, first: int, step: Step, of: StepOf = "rows") -> None:
        fetched.append((of, sum(rows.num_rows for rows in step.sources.values())))
        add(self, segment, first, step, of)

    monkeypatch.setattr(Building, "add", noted)
    told = rf"there are more than {limit} pairs of rows between .* \(segment \d\) and what stands behind it, \d+ by counting them"
    with pytest.raises(IndexTooLarge, match=told):
        run.capture()
    assert all(of == "rows" and (is_window or not rows) for of, rows in fetched)


def test_what_is_not_wanted_is_not_counted_against_it(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made(lineage, OTHERS["equal partners"])  # 18 rows, each with a link, and 16 partners
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "40")
    with pytest.raises(IndexTooLarge):
        run.capture()
    assert run.capture(tables=["sized"]).not_captured == ("partners",)


def test_few_rows_are_not_counted(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_lineage_provider.tracing.row_sets.LinkedRows.counted", property(lambda _: 1 / 0))
    run = made(lineage, OTHERS["a join below groups"])
    assert run.capture().edges
    assert trace.INDEX in run.backward("true", "sized").engine


PREFIXES = "SELECT id, sum(id) OVER (PARTITION BY one ORDER BY id) AS s FROM large"
IN_COMMON: dict[str, tuple[str, Subqueries, int, int]] = {
    "a large partition": ("SELECT id, sum(id) OVER (PARTITION BY one) AS s FROM large", "partners", LARGE, LARGE),
    "all rows of a subquery": ("SELECT id FROM large WHERE half IN (SELECT half FROM large WHERE id > 5)", "rows", LARGE - 6, 2 * LARGE),
    "partners": ("SELECT id FROM large WHERE half IN (SELECT half FROM large WHERE id > 5)", "partners", LARGE // 2 - 3, LARGE),
}
"""Of rows that have their sets of rows in common: how many rows stand behind each, at least, and so many pairs lead on from all sets."""
GROUPS_OF_PREFIXES = """SELECT half, s % 7919 AS r, count(*) AS c FROM (
    SELECT id, half, sum(id) OVER (PARTITION BY one ORDER BY id) AS s FROM large) GROUP BY half, s % 7919"""
CHILD = """
import json, resource, sys
from contextlib import suppress
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import IndexTooLarge, SparkRequired
from airflow_lineage_provider.store import Store

(run_id,) = sys.argv[1:]
with Store.open() as store:
    run = Lineage(store=store).get_run(run_id)
    with suppress(SparkRequired):
        run.backward(at=[0])  # what has to be loaded is
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, most))
    try:
        run.capture()
        told = ""
    except IndexTooLarge as problem:
        told = str(problem)
    print(json.dumps({"told": told, "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before}))
"""


@pytest.mark.parametrize("name", sampled([*IN_COMMON]))
def test_sets_that_rows_have_in_common_are_captured_once(lineage: Lineage, name: str) -> None:
    """From end to end there are billions of pairs."""
    text, subqueries, least, pairs = IN_COMMON[name]
    run = made(lineage, text)
    lazily = run.backward(at=[7, 8], table="large", subqueries=subqueries)
    run.capture(subqueries=subqueries)
    index = run.index
    assert index is not None
    sets = {one.to for one in index if one.to.startswith("sets of rows")}
    assert len(sets) == 1
    assert sum(one.edges for one in index if one.direction == "backward") <= 2 * LARGE + pairs
    found = run.backward(at=[7, 8], table="large", subqueries=subqueries, lazy=False)
    assert ("index: " in found.engine, "index: " in lazily.engine) == (True, False)
    assert [sorted(one.as_py()) for one in found.per_target] == [sorted(one.as_py()) for one in lazily.per_target]
    assert min(len(one) for one in found.per_target) >= least


def test_memory_is_bounded_where_it_is_too_much(lineage: Lineage, store: Store) -> None:
    """Of a hundred thousand rows in one partition there are billions of pairs."""
    run = made(lineage, PREFIXES)
    asked = [sys.executable, "-c", CHILD, run.id]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert "there are more than 100,000,000 pairs of rows between" in found["told"]
    assert found["kilobytes"] < 400_000


def test_sets_below_groups_are_counted_when_they_are_met(lineage: Lineage) -> None:
    """A group goes back to rows of a window, each of which goes back to all before it: to as many rows as its last one does."""
    run = made(lineage, GROUPS_OF_PREFIXES)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        IndexTooLarge, match=r"there are more than 100,000,000 pairs of rows between window .*, \d+,\d+,\d+ by counting them"
    ):
        run.capture()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


def test_groups_of_frames_that_overlap_are_no_more_than_their_rows(lineage: Lineage) -> None:
    """All running sums of a half are in one group: each row is behind it once, though 250,500 pairs of frames and rows are."""
    sums = "SELECT half, sum(id) OVER (PARTITION BY half ORDER BY id) AS s FROM large WHERE id < 1000"
    run = made(lineage, f"SELECT half, count(*) AS c FROM ({sums}) GROUP BY half")
    index, found = run.capture(), run.backward(at=[0, 1], table="large", lazy=False)
    assert [len(one) for one in found.per_target] == [500, 500]
    assert not {*found.per_target[0].as_py()} & {*found.per_target[1].as_py()}
    assert {one.edges for one in index} == {1000}


def test_full_materialization_goes_on_without(lineage: Lineage, caplog: pytest.LogCaptureFixture) -> None:
    run = made(lineage, PREFIXES, strategy="full_materialization")
    assert run.index is not None
    assert run.index.problem.startswith("there are more than 100,000,000 pairs of rows between")
    assert run.index.problem in caplog.text
    assert run.summary.rows == LARGE
