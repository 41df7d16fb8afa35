"""Pages of a result that stands in files are those of the same result in PostgreSQL: filtered, sorted, and page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.deriving.result_page import PageWanted
from airflow_lineage_provider.store import Store
from tests.in_turn import in_turn

pytestmark = pytest.mark.spark
ROWS = 60


@pytest.fixture(scope="module")
def both(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run]]:
    """The same result in files and in a table, asked without Spark."""
    random, folder = Random(3), tmp_path_factory.mktemp("pages")
    rows = [
        (at, random.choice((None, "a", "Z", "ä", "aa", "")), random.choice((None, float("nan"), -0.0, 0.0, 1.5, float("-inf"))), at % 7)
        for at in range(ROWS)
    ]
    spark.createDataFrame(rows, "id int, text string, x double, n int").repartition(3, "id").write.parquet(str(folder / "rows"))
    spark.read.parquet(str(folder / "rows")).createOrReplaceTempView("of_pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
        runs = [
            Lineage(spark, store=store, data=data).run("SELECT * FROM of_pages", name="pages", strategy="full_materialization")
            for data in (str(folder), "store")
        ]
    for run in runs:
        run.close()
    assert [store.materializations(run.id)["result"].in_files for run in runs] == [True, False]
    asked = Lineage(store=store)
    yield asked.get_run(runs[0].id), asked.get_run(runs[1].id)
    spark.catalog.dropTempView("of_pages")


ORDERS: list[list[tuple[str, bool]]] = [
    [], [("text", False)], [("text", True)], [("x", False)], [("x", True)], [("n", True), ("x", False), ("text", True)],
]  # fmt: skip


@pytest.mark.parametrize(("order", "where"), in_turn(ORDERS, [None, "n > 3", "text IS NOT NULL AND x >= 0"]))
def test_the_pages_are_the_same(both: tuple[Run, Run], order: list[tuple[str, bool]], where: str | None) -> None:
    for offset, limit in ((0, 10), (10, 10), (55, 10), (200, 5)):
        wanted = PageWanted(where=where, order=order, offset=offset, limit=limit)
        pages = [run.page(wanted) for run in both]
        told: list[Any] = [(repr(page.rows.to_pylist()), page.more) for page in pages]
        assert told[0] == told[1], (offset, limit)
        at = both[0].page(PageWanted(limit=ROWS))
        places = dict(zip(at.numbers, at.rows.to_pylist(), strict=True))
        assert [repr(places[number]) for number in pages[0].numbers] == [repr(row) for row in pages[0].rows.to_pylist()]


def test_pages_around_are_found_by_one_look(both: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.deriving import result_page, rows, stored_files
    from airflow_lineage_provider.sources.kept import Kept

    looks: list[tuple[int, int]] = []
    matching = stored_files.matching

    def told(stored: Any, columns: Any, where: str, limit: int, order: Any, offset: int, within: Any) -> Any:
        looks.append((limit, offset))
        return matching(stored, columns, where, limit, order, offset, within)

    monkeypatch.setattr(stored_files, "matching", told)
    monkeypatch.setattr(rows, "KEPT", Kept(2**20))
    monkeypatch.setattr(result_page, "_PAGES", 8)
    order = [("text", True), ("id", False)]
    for offset in (0, 3, 7, 5, 16, 20, 57, 60):
        pages = [run.page(PageWanted(where="n < 6", order=order, offset=offset, limit=5)) for run in both]
        assert repr(pages[0].rows.to_pylist()) == repr(pages[1].rows.to_pylist())
        assert pages[0].more == pages[1].more
    assert looks == [(16, 0), (16, 16), (16, 56)]
    for _ in range(2):
        both[0].page(PageWanted(where="n < 6", limit=9))  # more than a look finds for pages
        both[0].explain("n < 6", save=False)
    assert looks[3:] == [(10, 0), (10_001, 0)]


def test_a_page_of_large_rows_is_not_read_whole(both: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """So many bytes of it are read, and some rows more; what is less comes in parts, and is the same."""
    from airflow_lineage_provider.deriving import result_page, stored_files
    from airflow_lineage_provider.errors import AnswerTooLarge
    from airflow_lineage_provider.store.session import Session

    monkeypatch.setattr(result_page, "_FEW", 3)
    monkeypatch.setattr(result_page, "_GROWS", 4)
    read: list[int] = []
    ways: list[tuple[Any, str]] = [(stored_files, "rows"), (Session, "rows")]

    def noting(rows: Any) -> Any:
        def noted(*given: Any, **options: Any) -> Any:
            read.append(len(given[-1] if hasattr(given[-1], "__len__") else given[-2]))
            return rows(*given, **options)

        return noted

    for owner, name in ways:
        monkeypatch.setattr(owner, name, noting(getattr(owner, name)))
    for run in both:
        for where, order in ((None, []), ("n > 1", [("text", True), ("id", False)])):
            expected = run.page(PageWanted(where=where, order=order, limit=ROWS))
            read.clear()
            found = run.page(PageWanted(where=where, order=order, limit=ROWS, most_bytes=expected.rows.nbytes + 10_000))
            assert (repr(found.rows.to_pylist()), found.numbers) == (repr(expected.rows.to_pylist()), expected.numbers)
            assert read[:2] == [4, 16]
            read.clear()
            with pytest.raises(AnswerTooLarge, match=r"the first \d+ of the \d+ rows have [\d,]+ bytes, and no more than 600"):
                run.page(PageWanted(where=where, order=order, limit=ROWS, most_bytes=600))
            assert sum(read) < ROWS // 2
    assert both[0].page(PageWanted(limit=3, most_bytes=1)).rows.num_rows == 3, "what people look at"


def test_a_page_reads_only_what_it_shows(both: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from airflow_lineage_provider.deriving import stored_files

    monkeypatch.setattr(stored_files, "matching", lambda *_, **__: pytest.fail("no row has to be looked for"))
    monkeypatch.setattr(stored_files, "first", lambda *_, **__: pytest.fail("the rows before are not read"))
    assert both[0].page(PageWanted(offset=50, limit=5)).rows.num_rows == 5
