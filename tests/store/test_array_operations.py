"""What is known of operations between arrays, kept in the store: shared, raced for, checked, damaged."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.arrays import Log
from airflow_lineage_provider.errors import (
    CaptureNeeded,
    RelationTooNew,
)
from airflow_lineage_provider.stored_arrays import KeptInStore
from tests.store.array_logs import another, in_store, make, task
from tests.store.conftest import sql


def summed(log: Log, length: int, name: str, *, capture: bool = True) -> bool:
    log.array(f"{name} {length}", (length, 5))
    log.array(f"{name} {length} sums", (length,))
    pairs = [(row, row, column) for row in range(length) for column in range(5)] if capture else None
    return log.register_operation("sum", [f"{name} {length}"], [f"{name} {length} sums"], args={"axis": 1}, capture=pairs)


def test_what_is_known_of_operations_outlives_the_process(lineage: Lineage) -> None:
    for length in (4, 6, 9, 2600):
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


def test_what_hangs_on_values_is_refused_for_everybody_at_all_shapes(lineage: Lineage) -> None:
    orders = {(2, 0): [(0, 1), (1, 0)], (2, 1): [(0, 0), (1, 1)], (3, 0): [(0, 2), (1, 1), (2, 0)]}
    for number, (length, kind) in enumerate([(2, 0), (2, 1), (3, 0), (3, 0)]):
        with another(lineage).arrays.task(task(run=f"{number}")) as log:
            make(log, A=(length,), B=(length,))
            assert not log.register_operation("sort", ["A"], ["B"], capture=orders[length, kind])
    make(lineage.arrays, A=(3,), B=(3,))
    with pytest.raises(CaptureNeeded):
        another(lineage).arrays.register_operation("sort", ["A"], ["B"])
    assert {one.state for one in lineage.arrays.signatures()} == {"refused"}


def test_how_many_captures_confirm_one_another_is_a_setting(lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONFIRMATIONS", "2")
    assert [summed(another(lineage).arrays, 4, name) for name in "abcd"] == [False, False, False, True]


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


def test_what_an_older_release_knew_is_captured_again(lineage: Lineage) -> None:
    """It reused lineage at sizes for which no capture spoke; what it has found to hang on values stays refused."""
    for length in (4, 6, 9):
        summed(lineage.arrays, length, "a")
    make(lineage.arrays, A=(2,), B=(2,), C=(2,))
    for output, cell in (("B", 0), ("C", 1)):
        lineage.arrays.register_operation("f", ["A"], [output], capture=[(0, cell)])
    sql(lineage.store.url, "UPDATE lineage.array_operations SET content = set_byte(content, 4, 1)")
    assert {one.operation: (one.shapes, one.state) for one in lineage.arrays.signatures()} == {
        '["f", null]': (None, "refused"),
        '["sum", {"axis": 1}]': (None, "provisional"),
    }
    with pytest.raises(CaptureNeeded):
        summed(lineage.arrays, 8, "b", capture=False)
    assert not summed(lineage.arrays, 4, "c")


def test_what_an_older_release_may_have_reused_is_not_told_as_exact(lineage: Lineage) -> None:
    """Its links do not say by which rule they were reused; relations that were given are what they were."""
    summed(lineage.arrays, 4, "a")
    make(lineage.arrays, A=(4, 5))
    lineage.arrays.lineage("A", "a 4", [(0, 0, 0, 0)])
    for path in (["a 4 sums", "a 4"], ["a 4", "A"]):
        assert lineage.arrays.prov_query(path, 0 if len(path[0]) > 3 else (0, 0)).guarantee == "exact"
    sql(lineage.store.url, "UPDATE lineage.array_relations SET operation = substr(operation, 3) WHERE operation <> ''")
    log = another(lineage).arrays
    found = log.prov_query(["a 4 sums", "a 4"], 0)
    assert (found.count, found.guarantee) == (5, "unavailable")
    assert "register its operation again" in found.cause
    assert log.trace("a 4 sums", 0, to="A").cells.cause == found.cause
    assert {one.operation: one.guarantee for one in log.kept_array("a 4 sums").relations} == {'["sum", {"axis": 1}]': "unavailable"}
    given = log.prov_query(["a 4", "A"], (0, 0))
    assert (given.guarantee, given.cause) == ("exact", "")
    log.drop("a 4 sums")
    log.array("a 4 sums", (4,))
    log.register_operation("sum", ["a 4"], ["a 4 sums"], args={"axis": 1}, capture=[(0, 0, 0)])
    assert log.prov_query(["a 4 sums", "a 4"], 0).guarantee == "exact"


def test_what_hangs_on_values_is_known_for_the_same_values_in_another_process(lineage: Lineage) -> None:
    make(lineage.arrays, A=(3,), B=(3,), C=(3,), D=(3,), E=(3,))
    values = np.array([3.0, 1.0, 2.0])
    for output in "BC":
        assert not another(lineage).arrays.register_operation(
            "sort", ["A"], [output], capture=[(0, 1), (1, 2), (2, 0)], contents={"A": values}
        )
    with another(lineage).arrays.task(task()) as log:
        log.array("mine", (3,))
        log.array("sorted", (3,))
        assert log.register_operation("sort", ["mine"], ["sorted"], contents={"mine": values})
    assert lineage.arrays.register_operation("sort", ["A"], ["D"], contents={"A": values})
    assert lineage.arrays.prov_query(["D", "A"], 0).indices().tolist() == [[1]]
    with pytest.raises(CaptureNeeded):
        lineage.arrays.register_operation("sort", ["A"], ["E"], contents={"A": -values})
