"""Lineage between the cells of arrays, kept in the store: asked like a log in memory, owned, raced for, damaged, and left by the dead."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import Log, codec, encode, rules
from airflow_lineage_provider.errors import (
    CaptureFailed,
    CaptureNeeded,
    DerivationNotFound,
    InvalidArray,
    InvalidOption,
    InvalidRelation,
    RelationDamaged,
    RelationTooNew,
    RunNotComplete,
    RunNotFound,
    StoreUnavailable,
    UnknownArray,
)
from airflow_lineage_provider.store import DerivationRecord, RunRecord, found_arrays, lifecycle
from airflow_lineage_provider.stored_arrays import KeptInStore
from tests.store.conftest import sql

SUM = [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (2, 2, 1)]


@pytest.fixture
def lineage(empty_url: str) -> Iterator[Lineage]:
    with Lineage(store=empty_url) as opened:
        yield opened


def another(lineage: Lineage) -> Lineage:
    """The same store, as another process has it."""
    return Lineage(store=lineage.store.url)


def task(dag: str = "etl", name: str = "load", run: str = "manual__2026-01-01", map_index: int = -1) -> dict[str, Any]:
    """The context of a task, as far as it is looked at."""
    return {"ti": SimpleNamespace(dag_id=dag, task_id=name, run_id=run, map_index=map_index)}


def make(log: Log, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        log.array(name, shape)


def random_pairs(draw: np.random.Generator, output: tuple[int, ...], source: tuple[int, ...]) -> Any:
    """Some of all pairs of cells, in any order."""
    every = np.argwhere(np.ones(output + source, dtype=bool))
    return draw.permutation(every)[: draw.integers(0, len(every) + 1)]


def in_store(url: str) -> tuple[int, ...]:
    """How many arrays, relations and operations there are."""
    tables = ("arrays", "array_relations", "array_operations")
    return tuple(int(str(sql(url, f"SELECT count(*) FROM lineage.{table}")[0][0])) for table in tables)


def test_the_log_of_a_store_answers_as_one_in_memory(lineage: Lineage) -> None:
    """Random relations, forward, backward and by all paths; those of the store are asked by another process's object."""
    draw = np.random.default_rng(5)
    for number in range(12):
        logs = (Log(), lineage.arrays)
        shapes = [tuple(draw.integers(1, 5, draw.integers(0, 4)).tolist()) for _ in range(3)]
        names = [f"{number}/{part}" for part in "abc"]
        pairs = [random_pairs(draw, shapes[to], shapes[of]) for of, to in ((0, 1), (1, 2), (0, 2))]
        for log in logs:
            for name, shape in zip(names, shapes, strict=True):
                log.array(name, shape)
            for (of, to), given in zip(((0, 1), (1, 2), (0, 2)), pairs, strict=True):
                log.lineage(names[of], names[to], given, guarantee=("exact", "superset")[to - 1])
        memory, other = logs[0], another(lineage).arrays
        for path in (names, names[::-1], [names[0], names[2]]):
            one, two = (log.prov_query(path, ...) for log in (memory, other))
            assert (one.boxes.tolist(), one.guarantee) == (two.boxes.tolist(), two.guarantee)
        one_traced, two_traced = (log.trace(names[2], ..., to=names[0]) for log in (memory, other))
        assert [path.names for path in one_traced.paths] == [path.names for path in two_traced.paths]
        assert one_traced.cells.boxes.tolist() == two_traced.cells.boxes.tolist()


def test_nothing_is_read_that_no_question_leads_to(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    make(lineage.arrays, A=(3, 2), B=(3,), C=(3,))
    lineage.arrays.lineage("A", "B", SUM)
    lineage.arrays.lineage("B", "C", rules.elementwise((3,))[0])
    read: list[int] = []
    whole = found_arrays.content

    def content(connection: Any, number: int) -> bytes | None:
        read.append(number)
        return whole(connection, number)

    monkeypatch.setattr(found_arrays, "content", content)
    log = another(lineage).arrays
    log.array("A", (3, 2))
    with pytest.raises(InvalidRelation, match="is there already"):
        log.lineage("A", "B", SUM)
    assert read == []
    assert log.prov_query(["C", "B"], 1).count == 1
    assert len(read) == 1
    assert [log.prov_query(["C", "B"], at).count for at in range(3)] == [1, 1, 1]
    assert len(read) == 1, "what was read stays in memory"


@pytest.mark.parametrize(
    ("say", "error", "said"),
    [
        (lambda log: log.array("A", (3,)), InvalidArray, "is known with shape \\(3, 2\\)"),
        (lambda log: log.array("task:etl/x/y/z", (3,)), InvalidArray, "begins like those of a task"),
        (lambda log: log.lineage("A", "B", SUM), InvalidRelation, "is there already"),
        (lambda log: log.lineage("B", "A", []), InvalidRelation, "would be a circle"),
        (lambda log: log.lineage("A", "none", []), UnknownArray, "no array 'none'; known are: 'C', 'B', 'A'"),
        (lambda log: log.prov_query(["A", "C"], np.s_[0, 0]), UnknownArray, "'A' is linked with 'B'"),
        (lambda log: log.register_operation("f", ["A"], ["B"]), InvalidRelation, "is there already"),
        (lambda log: log.lineage("A", "C", capture=lambda at: 1 / 0), CaptureFailed, "ZeroDivisionError"),
        (lambda log: log.register_operation("f", ["A"], ["C"]), CaptureNeeded, "needs a capture"),
        (lambda log: log.kept_array("x"), UnknownArray, "no array 'x'"),
        (lambda log: log.drop("A", "x"), UnknownArray, "nothing was dropped"),
        (lambda log: log.kept(limit=-1), InvalidOption, "limit"),
        (lambda log: log.task().__enter__(), InvalidOption, "LineageHook"),
        (lambda log: log.task({"ti": 1}).__enter__(), InvalidOption, "no context of a task"),
    ],
)
def test_what_is_wrong_is_refused_and_leaves_nothing(
    lineage: Lineage, say: Callable[[Any], Any], error: type[Exception], said: str
) -> None:
    make(lineage.arrays, A=(3, 2), B=(3,), C=(3,))
    lineage.arrays.lineage("A", "B", SUM)
    before = in_store(lineage.store.url)
    with pytest.raises(error, match=said):
        say(another(lineage).arrays)
    assert in_store(lineage.store.url) == before


@pytest.mark.parametrize("name", ['a"b', "'; DROP TABLE lineage.runs; --", "größe ✓", "%s %(x)s :y", "a" * 5000, "\\x00", "a/b/"])
def test_odd_names(lineage: Lineage, name: str) -> None:
    make(lineage.arrays, source=(2,))
    lineage.arrays.array(name, (2,))
    lineage.arrays.lineage("source", name, [(0, 1), (1, 0)])
    assert another(lineage).arrays.prov_query([name, "source"], 0).indices().tolist() == [[1]]
    assert [one.name for one in lineage.arrays.kept(name[:3]) if one.name != "source"] == [name]
    assert lineage.arrays.drop(name) == 1


def test_a_task_keeps_all_it_says_or_nothing_and_replaces_its_earlier_try(lineage: Lineage) -> None:
    with lineage.arrays.task(task()) as log:
        make(log, photo=(4, 4), small=(2, 2))
        log.lineage("photo", "small", capture=lambda at: [(2 * at[0], 2 * at[1])])
        assert log.prov_query(["small", "photo"], (1, 1)).indices().tolist() == [[2, 2]]
        assert in_store(lineage.store.url) == (0, 0, 0)
    assert in_store(lineage.store.url) == (2, 1, 0)

    def fail() -> None:
        with another(lineage).arrays.task(task()) as log:
            log.array("photo", (8, 8))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert lineage.arrays.kept_array("task:etl/load/manual__2026-01-01/photo").shape == (4, 4)
    with another(lineage).arrays.task(task()) as log:
        log.array("photo", (8, 8))
    assert [(one.name, one.shape) for one in lineage.arrays.kept()] == [("task:etl/load/manual__2026-01-01/photo", (8, 8))]
    with lineage.arrays.task(task(map_index=3)) as log:
        log.array("photo", (1,))
    assert [one.owner for one in lineage.arrays.kept()] == ["task:etl/load[3]/manual__2026-01-01/", "task:etl/load/manual__2026-01-01/"]


def test_questions_go_across_tasks(lineage: Lineage) -> None:
    with lineage.arrays.task(task()) as log:
        make(log, photo=(4, 4), small=(2, 2), other=(4, 4))
        log.lineage("photo", "small", capture=lambda at: [(2 * at[0], 2 * at[1])])
    with another(lineage).arrays.task(task(name="judge")) as log:
        small = log.name("small", task="load")
        log.array("score", ())
        log.lineage(small, "score", rules.reduction((2, 2)))
        photo = log.name("photo", task="load")
        assert log.prov_query(["score", small, photo], ()).count == 4
        assert log.trace("score", (), to=photo).paths[0].names == (log.name("score"), small, photo)
        with pytest.raises(InvalidRelation, match="not of an array that was named here"):
            log.lineage(photo, log.name("other", task="load"), [])
        with pytest.raises(InvalidArray, match="is another's"):
            log.array(log.name("new", task="load"), (4, 4))
        with pytest.raises(InvalidRelation, match="circle"):
            log.lineage("score", small, rules.all_to_all((), (2, 2)))
    score = "task:etl/judge/manual__2026-01-01/score"
    assert lineage.arrays.prov_query([score, small, photo], ()).indices().tolist() == [[0, 0], [0, 2], [2, 0], [2, 2]]
    assert [one.names for one in lineage.arrays.trace(photo, (0, 0), to=score).paths] == [(photo, small, score)]
    assert lineage.arrays.drop("task:etl/load/manual__2026-01-01/") == 3
    assert lineage.arrays.kept_array(score).relations == ()


def test_the_task_is_known_where_the_hook_opened_the_store(lineage: Lineage) -> None:
    lineage.current_task = lambda: task("a/b%", "t", "run/1")
    with lineage.arrays.task() as log:
        log.array("c", (1,))
    assert [one.name for one in lineage.arrays.kept()] == ["task:a%2Fb%25/t/run%2F1/c"]


def test_arrays_go_with_their_runs_and_derivations(lineage: Lineage) -> None:
    store = lineage.store
    run = store.begin_run(RunRecord(pipeline="p"))
    with pytest.raises(RunNotComplete), lineage.arrays.of_run(run) as log:
        log.array("a", (1,))
    store.publish_run(run)
    derivation = store.save_derivation(DerivationRecord(run_id=run, target="a = 1"))
    with lineage.arrays.of_run(run) as log:
        make(log, a=(1,), b=(1,))
        log.lineage("a", "b", [(0, 0)])
        with pytest.raises(InvalidOption, match="arrays of a run"):
            log.name("x", task="load")
    with lineage.arrays.of_derivation(derivation) as log:
        log.array("c", (1,))
        log.lineage(f"run:{run}/b", "c", [(0, 0)])
    make(lineage.arrays, free=(1,))
    assert in_store(store.url) == (4, 2, 0)
    lineage.drop(run)
    assert [one.name for one in lineage.arrays.kept()] == ["free"]
    assert in_store(store.url) == (1, 0, 0)
    with pytest.raises(RunNotFound), lineage.arrays.of_run("no such run") as log:
        log.array("a", (1,))
    with pytest.raises(DerivationNotFound), lineage.arrays.of_derivation(derivation) as log:
        log.array("a", (1,))
    with pytest.raises(RunNotComplete), lineage.arrays.of_run(run) as log:
        log.array("a", (1,))


def test_retention_drops_old_arrays_of_tasks(lineage: Lineage) -> None:
    store = lineage.store
    run = store.begin_run(RunRecord(pipeline="p"))
    store.publish_run(run)
    for log in (lineage.arrays.task(task()), lineage.arrays.of_run(run)):
        with log as made:
            made.array("a", (1,))
    old = datetime.now(UTC) - timedelta(days=10)
    sql(store.url, "UPDATE lineage.arrays SET created = %s", (old,))
    make(lineage.arrays, young=(1,))
    assert lifecycle.retire(store._engine, 5) == []
    assert [one.name for one in lineage.arrays.kept()] == ["young", f"run:{run}/a"]
    sql(store.url, "UPDATE lineage.runs SET finished = %s", (old,))
    assert lifecycle.retire(store._engine, 5) == [run]
    assert [one.name for one in lineage.arrays.kept()] == ["young"]


# What is known of operations


def summed(log: Log, length: int, name: str, *, capture: bool = True) -> bool:
    log.array(f"{name} {length}", (length, 5))
    log.array(f"{name} {length} sums", (length,))
    pairs = [(row, row, column) for row in range(length) for column in range(5)] if capture else None
    return log.register_operation("sum", [f"{name} {length}"], [f"{name} {length} sums"], args={"axis": 1}, capture=pairs)


def test_what_is_known_of_operations_outlives_the_process(lineage: Lineage) -> None:
    for length in (4, 6, 9):
        assert not summed(another(lineage).arrays, length, "a")
    assert summed(another(lineage).arrays, 5000, "b", capture=False)
    with another(lineage).arrays.task(task()) as log:
        assert summed(log, 777, "c", capture=False)
    (general, *_) = lineage.arrays.signatures()
    assert (general.operation, general.state, general.hits) == ('["sum", {"axis": 1}]', "reused", 2)
    assert lineage.arrays.prov_query(["b 5000 sums", "b 5000"], 4999).boxes.tolist() == [[[4999, 5000], [0, 5]]]
    (relation,) = lineage.arrays.kept_array("b 5000 sums").relations
    assert (relation.operation, relation.rows, relation.guarantee) == ('["sum", {"axis": 1}]', 1, "exact")


def test_what_was_reused_is_checked_and_refused_for_everybody(lineage: Lineage) -> None:
    make(lineage.arrays, A=(2,), B=(2,), C=(2,), D=(2,), E=(2,))
    for output in "BC":
        assert not lineage.arrays.register_operation("f", ["A"], [output], capture=[(0, 0)])
    assert lineage.arrays.register_operation("f", ["A"], ["D"], capture=[(1, 1)])
    assert another(lineage).arrays.verify() == [], "another process was not given the capture"
    assert len(lineage.arrays.verify()) == 1
    with pytest.raises(CaptureNeeded):
        another(lineage).arrays.register_operation("f", ["A"], ["E"])


def test_two_writers_of_one_signature_end_in_one_state(lineage: Lineage) -> None:
    """Each of eight threads registers the same operation at one shape; none of the captures is lost."""
    make(lineage.arrays, A=(4, 5))
    start, failed = threading.Barrier(8), []

    def work(number: int) -> None:
        try:
            with another(lineage) as own:
                own.arrays.array(f"B {number}", (4,))
                start.wait()
                pairs = [(row, row, column) for row in range(4) for column in range(5)]
                own.arrays.register_operation("sum", ["A"], [f"B {number}"], capture=pairs)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    state = lineage.store.array_operation('["sum", null]', 1)
    ((shapes, known),) = state.known.items()
    assert (shapes, known.same + known.hits) == (((4, 5),), 7)
    assert in_store(lineage.store.url) == (9, 8, 1)


def test_a_reuse_that_somebody_else_has_refused_meanwhile_is_not_kept(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = lineage.arrays, another(lineage).arrays
    make(one, A=(2,), B=(2,), C=(2,), D=(2,))
    for output in "BC":
        one.register_operation("f", ["A"], [output], capture=[(0, 0)])
    keep = KeptInStore.enter

    def enter(kept: Any, said: Any, owner: Any = None) -> None:
        monkeypatch.undo()
        make(other, E=(2,))
        other.register_operation("f", ["A"], ["E"], capture=[(1, 1)], reuse=False)
        other._kept.enter(type(said)(lessons=[('["f", null]', lambda operation: operation.refuse("it hangs on values"))]))
        keep(kept, said, owner)

    monkeypatch.setattr(KeptInStore, "enter", enter)
    with pytest.raises(CaptureNeeded, match="it hangs on values"):
        one.register_operation("f", ["A"], ["D"])
    assert one.kept_array("D").relations == ()


def test_what_is_known_is_damaged_or_newer(lineage: Lineage, caplog: pytest.LogCaptureFixture) -> None:
    for length in (4, 6, 9):
        summed(lineage.arrays, length, "a")
    url = lineage.store.url
    sql(url, "UPDATE lineage.array_operations SET content = substr(content, 1, 40)")
    assert [one.state for one in lineage.arrays.signatures()] == ["provisional"]
    assert "is damaged, and is not used" in caplog.text
    assert not summed(lineage.arrays, 4, "b"), "a capture is asked again, and what it gives replaces the damage"
    assert len(lineage.arrays.signatures()) == 2
    sql(url, "UPDATE lineage.array_operations SET content = set_byte(content, 4, 9)")
    for ask in (lambda: summed(lineage.arrays, 6, "b"), lineage.arrays.signatures):
        with pytest.raises(RelationTooNew, match="version 9"):
            ask()


# What others leave


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("substr(content, 1, length(content) - 1)", RelationDamaged, "cut off"),
        ("substr(content, 1, 3)", RelationDamaged, "end at 3"),
        ("set_byte(content, 4, 200)", RelationTooNew, "newer release"),
        ("decode('80049503000000000000004b012e', 'hex')", RelationDamaged, "no relation"),
        ("''", RelationDamaged, "end at 0"),
    ],
)
def test_bytes_that_are_no_relation_are_refused(lineage: Lineage, content: str, error: type[Exception], said: str) -> None:
    make(lineage.arrays, A=(3, 2), B=(3,))
    lineage.arrays.lineage("A", "B", SUM)
    sql(lineage.store.url, f"UPDATE lineage.array_relations SET content = {content}")
    with pytest.raises(error, match=f"lineage from 'A' to 'B' cannot be read: .*{said}"):
        another(lineage).arrays.prov_query(["B", "A"], 0)


def test_random_bytes_are_never_a_relation(lineage: Lineage) -> None:
    make(lineage.arrays, A=(3, 2), B=(3,))
    lineage.arrays.lineage("A", "B", SUM)
    draw = np.random.default_rng(1)
    for length in draw.integers(0, 300, 30).tolist():
        body = draw.bytes(length)
        head = codec.SEAL.magic + bytes([codec.SEAL.version]) + zlib.crc32(body).to_bytes(4, "little")
        sql(lineage.store.url, "UPDATE lineage.array_relations SET content = %s", (head + body,))
        with pytest.raises(RelationDamaged):
            another(lineage).arrays.prov_query(["B", "A"], 0)


def test_a_relation_of_other_arrays_is_refused(lineage: Lineage) -> None:
    make(lineage.arrays, A=(3, 2), B=(3,))
    lineage.arrays.lineage("A", "B", SUM)
    other = encode(rules.elementwise((7,))[0])
    sql(lineage.store.url, "UPDATE lineage.array_relations SET content = %s", (other,))
    with pytest.raises(RelationDamaged, match="between arrays of shapes \\(7,\\) and \\(7,\\)"):
        another(lineage).arrays.relation("A", "B")


def test_a_killed_writer_leaves_nothing(lineage: Lineage) -> None:
    """It is killed after the last statement of its transaction, and before the end of it."""
    make(lineage.arrays, A=(3,))
    code = f"""
        import os, signal
        from airflow_lineage_provider import Lineage
        from airflow_lineage_provider.store import kept_arrays
        from types import SimpleNamespace
        whole = kept_arrays.save
        def save(*arguments, **options):
            whole(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        kept_arrays.save = save
        with Lineage(store={lineage.store.url!r}) as lineage:
            ti = SimpleNamespace(dag_id="d", task_id="t", run_id="r", map_index=-1)
            with lineage.arrays.task({{"ti": ti}}) as log:
                log.array("B", (3,))
                log.array("C", (3,))
                log.register_operation("f", ["B"], ["C"], capture=[(0, 0)])
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=Path(__file__).parents[2], timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert in_store(lineage.store.url) == (1, 0, 0)
    with lineage.arrays.task(task()) as log:
        log.array("free", (1,))
    assert in_store(lineage.store.url) == (2, 0, 0)


def test_two_say_the_same_lineage_at_once(lineage: Lineage) -> None:
    """One of two that differ is refused, however they meet."""
    make(lineage.arrays, A=(3,), B=(3,))
    start, told = threading.Barrier(2), []

    def work(pairs: list[tuple[int, int]]) -> None:
        with another(lineage) as own:
            start.wait()
            try:
                own.arrays.lineage("A", "B", pairs)
                told.append("kept")
            except InvalidRelation:
                told.append("refused")

    for_both = [threading.Thread(target=work, args=([(at, at)],)) for at in range(2)]
    for thread in for_both:
        thread.start()
    for thread in for_both:
        thread.join()
    assert sorted(told) == ["kept", "refused"]
    assert in_store(lineage.store.url) == (2, 1, 0)


def test_a_circle_that_two_make_together_is_refused(lineage: Lineage) -> None:
    """A task says what was no circle when it began, and somebody else closes it meanwhile."""
    with lineage.arrays.task(task()) as log:
        make(log, a=(1,), x=(1,))
        a, x = map(log.name, "ax")

    def judge() -> None:
        with another(lineage).arrays.task(task(name="judge")) as log:
            log.array("b", (1,))
            log.lineage(x, "b", [(0, 0)])
            log.lineage("b", a, [(0, 0)])
            lineage.arrays.lineage(a, x, [(0, 0)])

    with pytest.raises(InvalidRelation, match="circle"):
        judge()
    assert {one.name for one in lineage.arrays.kept()} == {a, x}


def test_relations_are_stored_as_they_are(lineage: Lineage) -> None:
    found = sql(
        lineage.store.url,
        "SELECT a.attstorage FROM pg_attribute a WHERE a.attname = 'content' AND a.attrelid IN"
        " ('lineage.array_relations'::regclass, 'lineage.array_operations'::regclass)",
    )
    assert [str(one) for (one,) in found] == ["e", "e"]


def test_a_store_that_goes_away() -> None:
    lineage = Lineage(store="postgresql://someone@127.0.0.1:1/db?connect_timeout=2", on_store_failure="keep_result")
    with pytest.raises(StoreUnavailable):
        lineage.arrays.array("A", (1,))
