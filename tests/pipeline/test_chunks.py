"""`Run.explain_in_chunks`: many rows chunk by chunk, gone on with after a kill, and what is new since the last time."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.errors import (
    DerivationNotFound,
    InvalidOption,
    InvalidTarget,
    NothingChanged,
    ResultNotStored,
    TargetTooLarge,
)
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.pipeline import chunk_driver
from tests.pipeline.chunk_driver import calls, half_of

pytestmark = pytest.mark.spark

ROWS = [(rid, rid % 23, f"name {rid}") for rid in range(36)]
JOINED = "SELECT a.rid, a.name, half_of(b.x) AS half FROM chunked a JOIN chunked b ON a.x = b.x WHERE b.rid < 30"


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    half_of.register(spark)
    return Lineage(spark, store=store)


def recorded(lineage: Lineage, rows: list[Any], path: Path, query: str = JOINED, strategy: Strategy = "function_materialization") -> Run:
    assert lineage.spark is not None
    lineage.spark.createDataFrame(rows, "rid int, x int, name string").coalesce(1).write.parquet(str(path))
    lineage.spark.read.parquet(str(path)).createOrReplaceTempView("chunked")
    return lineage.run(query, name=f"chunks of {path.parent.name}", strategy=strategy)


def answer(found: list[Explanation]) -> dict[str, Any]:
    """What explanations say, whatever way they are cut: links as pairs of values, tables as sets of rows."""

    def rows(table: Any, *but: str) -> list[str]:
        return list(map(repr, table.drop_columns([name for name in but if name in table.column_names]).to_pylist()))

    links: Counter[tuple[str, str]] = Counter()
    for one in found:
        target, source = rows(one.target), {name: rows(made.rows) for name, made in one.sources.items()}
        for link in one.target_links.to_pylist():
            links[target[link["row"]], source[link["source"]][link["source_row"]]] += 1
    return {
        "target": [row for one in found for row in rows(one.target)],
        "sources": {row for one in found for made in one.sources.values() for row in rows(made.rows)},
        "reasons": {row for one in found for row in rows(one.reasons["half_of"].rows, "row")},
        "links": links,
    }


def test_all_chunks_are_the_answer_of_one_derivation(lineage: Lineage, tmp_path: Path) -> None:
    run, told = recorded(lineage, ROWS, tmp_path / "t"), list[str]()
    whole = run.explain("rid > 0", save=False)
    made = run.explain_in_chunks("rid > 0", chunk_rows=10, progress=told.append)
    chunks = [lineage.derivation(one) for one in made.ids]
    sizes = [one.target.num_rows for one in chunks]
    assert sizes == [10] * (len(sizes) - 1) + [whole.target.num_rows % 10 or 10]
    assert len(sizes) == made.chunks > 3
    assert answer(chunks) == answer([whole])
    assert (made.is_complete, made.rows, made.guarantee.level) == (True, whole.target.num_rows, whole.guarantee.level)
    assert dict(made.counts) == {"target": made.rows}
    told_of = f"{made.chunks} explanations of {made.rows} rows of {run.record.pipeline}, run {run.id}: rid > 0"
    assert repr(made) == f"<{told_of}; {whole.guarantee.level}>"
    assert chunks[1].asked == f"rid > 0: rows 11 to 20 of {made.rows}"
    assert f"chunk 2 of {made.chunks}: rows 11 to 20 of {made.rows}" in told
    one = run.explain_in_chunks("rid > 0")
    assert (one.chunks, dict(one.counts), one.asked) == (1, whole.counts(), "rid > 0")
    assert answer([lineage.derivation(one.ids[0])]) == answer([whole])


def drive(run_id: str, when: str) -> int:
    return subprocess.run([sys.executable, "-m", "tests.pipeline.chunk_driver", run_id, when], timeout=300, check=False).returncode


def test_killed_and_gone_on_with(lineage: Lineage, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded(lineage, ROWS[:30], tmp_path / "t", "SELECT rid, half_of(rid) AS half FROM chunked")
    monkeypatch.setenv(chunk_driver.CALLS, str(tmp_path / "calls"))

    # In the middle of the second chunk: what its model was asked until then is lost, and nothing else.
    assert drive(run.id, "explaining:14") == -signal.SIGKILL
    assert (len(calls()), len(store.derivations(run.id))) == (14, 1)
    (first,) = store.derivations(run.id)
    # Where the second chunk's answer is stored: its reasons are kept already.
    assert drive(run.id, "storing:1") == -signal.SIGKILL
    assert (len(calls()), len(store.derivations(run.id))) == (24, 1)

    told: list[str] = []
    made = chunk_driver.explain(Lineage(store=store), run.id, progress=told.append)
    assert any(f"going on with {made.id}: 1 of 3 chunks are stored" in line for line in told)
    assert (made.is_complete, made.ids[0], len(store.derivations(run.id))) == (True, first.id, 3)
    lost = set(calls()[10:14])
    assert len(lost & set(range(11, 21))) == 4
    assert Counter(calls()) == {x: 2 if x in lost else 1 for x in range(1, 30)}
    whole = run.explain("rid > 0", save=False)
    assert answer([lineage.derivation(one) for one in made.ids]) == answer([whole])
    assert len(calls()) == 33

    # It has come to its end: asked again it begins anew, with the reasons that are known.
    again = chunk_driver.explain(Lineage(store=store), run.id)
    assert (again.id != made.id, again.is_complete, len(calls())) == (True, True, 33)
    assert lineage.explanation_set(made.id) == made


def test_a_chunk_that_another_process_stored_meanwhile_is_stored_once(lineage: Lineage, store: Store, tmp_path: Path) -> None:
    run = recorded(lineage, ROWS[:30], tmp_path / "t", "SELECT rid, half_of(rid) AS half FROM chunked")
    others: list[Any] = []

    def told(stage: str) -> None:
        if stage.startswith("chunk 1 of 3") and not others:
            others.append(None)
            others.append(chunk_driver.explain(Lineage(store=store), run.id))

    made = chunk_driver.explain(lineage, run.id, progress=told)
    assert (made, len(made.ids), len(store.derivations(run.id))) == (others[1], 3, 3)


PLAIN = "SELECT rid, half_of(x) AS half FROM chunked"


def rids(lineage: Lineage, made: Any) -> list[int]:
    return sorted(rid for one in made.ids for rid in lineage.derivation(one).target.column("rid").to_pylist())


def ask(run: Run, occasion: str = "", **options: Any) -> Any:
    return run.explain_in_chunks(**{"since": "last_derivation", "asked_by": "task", "occasion": occasion, **options})


def test_since_the_last_derivation(lineage: Lineage, store: Store, tmp_path: Path) -> None:
    first = recorded(lineage, ROWS[:5], tmp_path / "1", PLAIN)
    made = ask(first, "mon")
    assert (rids(lineage, made), made.since) == ([0, 1, 2, 3, 4], None)
    second = recorded(lineage, [*ROWS[1:5], (0, 22, "other"), *ROWS[5:8]], tmp_path / "2", PLAIN)

    # What fails before its end is no answer.
    with pytest.raises(TargetTooLarge):
        ask(second, "tue", max_rows=2)
    tuesday = ask(second, "tue", chunk_rows=2)
    assert (rids(lineage, tuesday), tuesday.since, tuesday.chunks) == ([0, 5, 6, 7], first.id, 2)

    third = recorded(lineage, [*ROWS[:5], *ROWS[5:10]], tmp_path / "3", PLAIN)
    made = ask(third, "wed")
    assert (rids(lineage, made), made.since) == ([0, 8, 9], second.id)  # row 0 is as it was on Monday, and not as on Tuesday
    with pytest.raises(NothingChanged):
        ask(third, "thu")

    # Asked again on the same occasion (a task that was cleared) the answer is the same, also where later runs were asked about.
    assert rids(lineage, ask(third, "wed")) == [0, 8, 9]
    assert rids(lineage, ask(second, "tue")) == [0, 5, 6, 7]
    # Another question has answers of its own.
    assert rids(lineage, ask(third, "wed", asked_by="another task")) == list(range(10))
    assert rids(lineage, ask(third, "wed", target="rid < 3")) == [0, 1, 2]

    lineage.drop(second.id)
    assert rids(lineage, ask(third, "fri", target=None, difference="rows")) == list(range(10))
    with pytest.raises(NothingChanged):
        ask(third, "fri")  # of what was asked on Wednesday nothing is lost
    for gone in (tuesday.id, "nothing"):
        with pytest.raises(DerivationNotFound, match="no set of derivations"):
            lineage.explanation_set(gone)


def test_a_part_of_an_answer_does_not_count(lineage: Lineage, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = recorded(lineage, ROWS[:5], tmp_path / "1", PLAIN)
    save = Store.save_derivation

    def failing(one: Store, record: Any, session: Any) -> str:
        if record.place.chunk == 1:
            raise KeyboardInterrupt
        return save(one, record, session)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "save_derivation", failing)
        with pytest.raises(KeyboardInterrupt):
            ask(first, "mon", chunk_rows=2)
    assert len(store.derivations(first.id)) == 1
    second = recorded(lineage, ROWS[:6], tmp_path / "2", PLAIN)
    made = ask(second, "tue")
    assert (rids(lineage, made), made.since) == ([0, 1, 2, 3, 4, 5], None)


def test_what_is_refused(lineage: Lineage, tmp_path: Path) -> None:
    run = recorded(lineage, ROWS[:5], tmp_path / "t", PLAIN)
    with pytest.raises(InvalidOption, match="chunk_rows=0"):
        run.explain_in_chunks("true", chunk_rows=0)
    with pytest.raises(InvalidTarget, match="type Table is not known again"):
        run.explain_in_chunks(run.result_table())
    with pytest.raises(InvalidTarget, match="exactly one way"):
        run.explain_in_chunks(chunk_rows=2)
    with pytest.raises(TargetTooLarge):
        run.explain_in_chunks("true", chunk_rows=2, max_rows=4)
    with pytest.raises(InvalidOption, match="since"):
        run.explain(since="last_derivation")
    other = recorded(lineage, ROWS[:5], tmp_path / "u", PLAIN, strategy="rerun")
    with pytest.raises(ResultNotStored, match="no lasting order"):
        other.explain_in_chunks("true", chunk_rows=2)
    made = run.explain_in_chunks(at="0, 2", chunk_rows=1)
    assert (made.chunks, rids(lineage, made)) == (2, run.result_table().column("rid").take([0, 2]).to_pylist())
    made = run.explain_in_chunks([{"rid": 1}, {"rid": 3}], chunk_rows=1)
    assert rids(lineage, made) == [1, 3]
