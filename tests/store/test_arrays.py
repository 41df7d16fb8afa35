"""Lineage between the cells of arrays, kept in the store: asked like a log in memory, and owned."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import Log, Relation, codec, rules
from airflow_lineage_provider.arrays.keeping import Said
from airflow_lineage_provider.errors import (
    CaptureFailed,
    CaptureNeeded,
    DerivationNotFound,
    InvalidArray,
    InvalidOption,
    InvalidRelation,
    RecordDamaged,
    RelationDamaged,
    RunNotComplete,
    RunNotFound,
    UnknownArray,
)
from airflow_lineage_provider.store import DerivationRecord, RunRecord, kept_reader, known_arrays, lifecycle
from tests.store.array_logs import SUM, another, in_store, make, task
from tests.store.conftest import sql


def random_pairs(draw: np.random.Generator, output: tuple[int, ...], source: tuple[int, ...]) -> Any:
    """Some of all pairs of cells, in any order."""
    every = np.argwhere(np.ones(output + source, dtype=bool))
    return draw.permutation(every)[: draw.integers(0, len(every) + 1)]


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
    whole = known_arrays.known

    def known(*asked: Any) -> Any:
        found = whole(*asked)
        read.extend(one.id for one in found.relations.values() if one.content is not None)
        return found

    monkeypatch.setattr(known_arrays, "known", known)
    log = another(lineage).arrays
    log.array("A", (3, 2))
    with pytest.raises(InvalidRelation, match="is there already"):
        log.lineage("A", "B", SUM)
    assert read == []
    assert log.prov_query(["C", "B"], 1).count == 1
    assert len(read) == 1
    assert [log.prov_query(["C", "B"], at).count for at in range(3)] == [1, 1, 1]
    assert len(read) == 1, "what was read stays in memory"


def test_a_question_is_one_statement_however_long_its_path_is(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is prepared and kept, so that the engine, which says more than the statement, has nothing to do; of all paths the latter
    tells the links besides."""
    log, names = lineage.arrays, [f"a{number}" for number in range(6)]
    make(log, **dict.fromkeys(names, (3,)))
    for source, output in itertools.pairwise(names):
        log.lineage(source, output, [(0, 1), (1, 2), (2, 0)])
    with another(lineage) as fresh:
        said: list[str] = []
        rows = kept_reader.KeptReader.rows
        monkeypatch.setattr(kept_reader.KeptReader, "rows", lambda *given: said.append("kept") or rows(*given))  # type: ignore[func-returns-value]
        for one in (lineage, fresh):
            event.listen(one.store._engine, "before_cursor_execute", lambda *given: said.append("engine"))
        for of, path, cell in ((lineage, names, 1), (fresh, names[::-1], 2), (lineage, names[::-1], 2)):
            said.clear()
            assert of.arrays.prov_query(path, (0,)).indices().tolist() == [[cell]]
            assert said == ["kept"]
            said.clear()
            assert of.arrays.trace(path[0], (0,), to=path[-1]).cells.indices().tolist() == [[cell]]
            assert sorted(said) == ["engine", "engine", "kept", "kept"]


def test_a_question_is_planned_once_and_goes_by_indexes_however_small_tables_are(lineage: Lineage) -> None:
    """PostgreSQL would plan each by itself, and read small tables whole: with a plan that is kept also when they have grown."""
    log = lineage.arrays
    make(log, a=(3,), b=(3,))
    log.lineage("a", "b", [(0, 1), (1, 2), (2, 0)])
    sql(lineage.store.url, "ANALYZE lineage.arrays, lineage.array_relations")
    for _ in range(8):
        assert log.prov_query(["a", "b"], (0,)).count == 1
    (kept,) = lineage.store._reader._idle
    statement, values = known_arrays._known()
    with kept._connection.cursor() as cursor:
        cursor.execute("SELECT custom_plans, generic_plans >= 8 FROM pg_prepared_statements WHERE name = %s", [statement.name])
        assert cursor.fetchall() == [(0, True)]
        cursor.execute(f"EXPLAIN {statement.execute}", [{"least": 1, "ahead": 0}.get(name, "{}") for name in values])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using arrays_pkey" in plan
    assert "Index Scan using array_relations_" in plan
    assert "Seq Scan" not in plan


SHUFFLED = np.random.default_rng(7).permutation(2**17)
"""Of each output cell, the input cell behind it."""


@pytest.fixture
def large(lineage: Lineage) -> Lineage:
    """A shuffle, of which the bytes are some hundred thousand in eight pages."""
    shape = (2**17,)
    make(lineage.arrays, A=shape, B=shape)
    at, still = np.arange(2**17)[None], np.zeros((1, 2**17), dtype=np.int8)
    lineage.arrays.lineage("A", "B", Relation(shape, shape, at, at, SHUFFLED[None], SHUFFLED[None], still, still))
    return lineage


def test_of_a_large_relation_a_question_reads_what_it_needs(large: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one statement more, where that is a part; by none more where it is asked about many cells. Answers are the same."""
    ((size,),) = sql(large.store.url, "SELECT octet_length(content) FROM lineage.array_relations")
    read: list[list[int]] = []
    rows = kept_reader.KeptReader.rows

    def counting(*given: Any) -> Any:
        found = rows(*given)
        read.append([len(value) for row in found for value in row if isinstance(value, memoryview)])
        return found

    monkeypatch.setattr(kept_reader.KeptReader, "rows", counting)
    mask = np.zeros(2**17, dtype=np.bool_)
    mask[[5, 70_000]] = True
    every = np.arange(2**17)
    fresh = another(large).arrays
    for cells, statements, share in (
        (70_000, 2, 0.15),
        (np.s_[5:90], 2, 0.15),
        (np.array([[[131_000, 131_072]]]), 2, 0.15),
        (np.array([[5], [70_000]]), 2, 0.3),
        ([[5], [70_000]], 2, 0.3),
        (mask, 1, 1),
        (every[::20, None], 1, 1),
        (np.s_[:], 1, 1),
        (..., 1, 1),
    ):
        read.clear()
        log = another(large).arrays
        wanted = every[cells] if isinstance(cells, int | slice) or cells is ... else np.arange(131_000, 131_072)
        if isinstance(cells, np.ndarray) and cells.ndim < 3:
            wanted = every[cells.reshape(-1)]
        elif isinstance(cells, list):
            wanted = np.array(cells)[:, 0]
        assert log.prov_query(["B", "A"], cells).indices()[:, 0].tolist() == np.sort(SHUFFLED[wanted].reshape(-1)).tolist()
        assert len(read) == statements
        assert sum(map(sum, read)) <= share * int(str(size)) + codec.FIRST_READ
        read.clear()
        log.prov_query(["B", "A"], cells)
        assert read == [[]], "what was read stays in memory"
        # By parts, as whatever was read of it before by the same object.
        assert fresh.prov_query(["B", "A"], cells).count == len(np.unique(SHUFFLED[wanted]))
    read.clear()
    ahead = another(large).arrays.prov_query(["A", "B"], np.s_[70_000:70_003])
    assert ahead.indices()[:, 0].tolist() == np.flatnonzero(np.isin(SHUFFLED, [70_000, 70_001, 70_002])).tolist()
    assert len(read) == 1, "forward all rows have to be looked at"
    with another(large) as closed:
        closed.arrays.prov_query(["B", "A"], 3)
        relation = closed.arrays.relation("A", "B")
    assert not relation.is_apart
    assert relation.in_lo[0].tolist() == SHUFFLED.tolist()
    large.arrays.array("sums", (2**16,))
    groups = np.sort(np.random.default_rng(8).integers(0, 2**16, 2**17))[None]
    still = np.zeros((1, 2**17), dtype=np.int8)
    large.arrays.lineage("A", "sums", Relation((2**16,), (2**17,), groups, groups, SHUFFLED[None], SHUFFLED[None], still, still))
    read.clear()
    behind_sum = another(large).arrays.prov_query(["sums", "A"], 9).indices()[:, 0]
    assert behind_sum.tolist() == np.sort(SHUFFLED[groups[0] == 9]).tolist()
    assert (len(read), sum(read[0]) > 2**16) == (1, True), "of rows that are looked for all are needed"
    sql(large.store.url, "UPDATE lineage.array_relations SET turned = true")
    for path, statements, behind in ((["A", "B"], 2, int(SHUFFLED[9])), (["B", "A"], 1, int(np.flatnonzero(SHUFFLED == 9)[0]))):
        read.clear()
        assert another(large).arrays.prov_query(path, 9).indices().tolist() == [[behind]]
        assert len(read) == statements


@pytest.mark.parametrize(
    ("meanwhile", "error", "said"),
    [
        ("DELETE FROM lineage.array_relations", UnknownArray, "^lineage from 'A' to 'B' was dropped meanwhile$"),
        ("UPDATE lineage.array_relations SET content = set_byte(content, 120000, 1 + get_byte(content, 120000) % 255)", RelationDamaged,
         "^lineage from 'A' to 'B' cannot be read: page 3 of a relation's column is not as it was written"),
        ("UPDATE lineage.array_relations SET content = substr(content, 1, 100000)", RelationDamaged,
         "^lineage from 'A' to 'B' cannot be read: a relation's bytes end before 139,377"),
        ("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()", None, ""),
    ],
)  # fmt: skip
def test_what_happens_between_the_first_bytes_and_the_parts(
    large: Lineage, meanwhile: str, error: type[Exception] | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = known_arrays.parts

    def parts(*given: Any) -> list[bytes]:
        sql(large.store.url, meanwhile)
        return whole(*given)

    monkeypatch.setattr(known_arrays, "parts", parts)
    log = another(large).arrays
    if error is None:
        assert log.prov_query(["B", "A"], 58_000).indices().tolist() == [[int(SHUFFLED[58_000])]]
        return
    with pytest.raises(error, match=said):
        log.prov_query(["B", "A"], 58_000)


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


def test_labels_are_kept(lineage: Lineage) -> None:
    """In one process and in another, in a task, and as the catalog lists them; two that say others do not both hold."""
    columns = ["client", "net, 'euros'", "ü"]
    lineage.arrays.array("orders", (2, 3), labels={1: columns})
    lineage.arrays.array("sums", (2,))
    lineage.arrays.lineage("orders", "sums", [(row, row, column) for row in range(2) for column in (0, 2)])
    other = another(lineage).arrays
    assert other.prov_query(["sums", "orders"], 0).labels == {1: ("client", "ü")}
    assert other.prov_query(["orders", "sums"], np.s_[0, ["ü", "client"]]).indices().tolist() == [[0]]
    assert other.prov_query(["orders", "sums"], np.s_[0, "net, 'euros'"]).count == 0
    assert other.labels("orders") == {1: tuple(columns)}
    other.array("orders", (2, 3))
    other.array("orders", (2, 3), labels={1: columns})
    with pytest.raises(InvalidArray, match="with other labels"):
        other.array("orders", (2, 3), labels={0: ["a", "b"]})
    assert {one.name: one.labels for one in other.kept()} == {"orders": {1: tuple(columns)}, "sums": {}}
    for labels in ({0: ["a", "b"]}, {0: ["b", "a"]}, None):
        with lineage.arrays.task(task()) as log:
            log.array("base", (2, 3), labels={1: columns})
            log.array("own", (2,), labels=labels)
            log.lineage("base", "own", [(0, 0, 0), (1, 1, 0)])
            assert log.prov_query(["own", "base"], 0).labels == {1: ("client",)}
        assert other.labels("task:etl/load/manual__2026-01-01/own") == ({} if labels is None else {0: tuple(labels[0])})


def test_two_that_name_an_array_with_other_labels(lineage: Lineage) -> None:
    """The second one has not seen the first's, and is refused when it is written."""
    logs = (lineage.arrays, another(lineage).arrays)
    said = [Said({"A": (2,)}, labels={"A": {0: labels}}) for labels in (("a", "b"), ("b", "a"))]
    logs[0]._kept.enter(said[0])
    logs[1]._kept.enter(said[0])
    with pytest.raises(InvalidArray, match="with other labels"):
        logs[1]._kept.enter(said[1])
    assert logs[1].labels("A") == {0: ("a", "b")}


def test_labels_that_are_damaged_are_told(lineage: Lineage) -> None:
    lineage.arrays.array("A", (2,), labels={0: ["a", "b"]})
    sql(lineage.store.url, "UPDATE lineage.arrays SET labels = '[1]'")
    with pytest.raises(RecordDamaged, match="labels of array 'A'"):
        another(lineage).arrays.prov_query(["A"], 0)
