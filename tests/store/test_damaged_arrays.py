"""What others leave of arrays in the store: damaged bytes, killed writers, and such who say something else at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import Relation, codec, compress, encode, rules
from airflow_lineage_provider.errors import (
    InvalidRelation,
    RelationDamaged,
    RelationTooNew,
    StoreUnavailable,
)
from tests.store.array_logs import SUM, another, in_store, make, task
from tests.store.conftest import sql


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


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("substr(content, 1, length(content) - 1)", RelationDamaged, "before its last page"),
        ("content || 'x'", RelationDamaged, "go on where it ends"),
        ("set_byte(content, 4, 200)", RelationTooNew, "newer release"),
        ("set_byte(content, 60, 255)", RelationDamaged, "not those that were written"),
    ],
)
def test_the_first_bytes_of_a_large_relation_tell_what_is_wrong(lineage: Lineage, content: str, error: type[Exception], said: str) -> None:
    make(lineage.arrays, A=(2**16,), B=(2**16,))
    order, still = np.random.default_rng(3).permutation(2**16)[None], np.zeros((1, 2**16), dtype=np.int8)
    lineage.arrays.lineage(
        "A", "B", Relation((2**16,), (2**16,), np.arange(2**16)[None], np.arange(2**16)[None], order, order, still, still)
    )
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


def test_rows_beyond_an_array_are_refused_by_the_question_that_needs_them(lineage: Lineage) -> None:
    """Under a checksum that is right, and each time: also where another part of the relation has been read already."""
    make(lineage.arrays, A=(100,), B=(100,))
    order = np.random.default_rng(3).permutation(100)
    relation = compress(np.stack([np.arange(100), order], axis=1), (100,), (100,))
    lineage.arrays.lineage("A", "B", relation)
    wrong = encode(replace(relation, in_lo=relation.in_lo + 1, in_hi=relation.in_hi + 1))
    sql(lineage.store.url, "UPDATE lineage.array_relations SET content = %s", (wrong,))
    log = another(lineage).arrays
    for cells in (5, np.s_[:], 5):
        with pytest.raises(RelationDamaged, match=r"lineage from 'A' to 'B' cannot be read: .* has cells beyond the input"):
            log.prov_query(["B", "A"], cells)
        with pytest.raises(RelationDamaged, match=r"lineage from 'A' to 'B' cannot be read: .* has cells beyond the input"):
            log.prov_query(["A", "B"], cells)


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
