"""Operations whose lineage is known from earlier calls: never another than a capture would give."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider.arrays import Log, Relation, compose, compress, expand, operation_codec, rules
from airflow_lineage_provider.arrays.contents import digest
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.link import UNPROVEN, signed, unsigned
from airflow_lineage_provider.arrays.operation_codec import decode_operation, encode_operation
from airflow_lineage_provider.arrays.reach import Reach
from airflow_lineage_provider.arrays.reuse import Operation, Refusal
from airflow_lineage_provider.arrays.whole_numbers import number
from airflow_lineage_provider.errors import CaptureFailed, CaptureNeeded, InvalidOption, InvalidRelation, UnknownArray
from tests.arrays.drawing import drawn
from tests.arrays.operations import OPERATIONS, THRESHOLDS, flat_differences, listed, moved, multiplied, scanned, summed, windows
from tests.in_turn import in_turn, sampled

Shape = tuple[int, ...]
Made = Callable[[Shape], tuple[Shape, Any]]


class Calls:
    """Calls of operations in one log, each with arrays of its own."""

    def __init__(self, **options: Any) -> None:
        self.log = Log(**options)
        self.number = 0

    def call(self, name: str, made: Made, shape: Shape, *, is_given: bool = True, **options: Any) -> bool:
        """Whether it was known from earlier calls; what is in the log is what a capture gives, either way."""
        self.number += 1
        source, output = f"in {self.number}", f"out {self.number}"
        out_shape, pairs = made(shape)
        self.log.array(source, shape)
        self.log.array(output, out_shape)
        capture = pairs if is_given else None
        reused = self.log.register_operation(name, [source], [output], capture=capture, **options)
        wanted = pairs if isinstance(pairs, Relation) else compress(pairs, out_shape, shape)
        assert expand(self.log.relation(source, output)).tolist() == expand(wanted).tolist()
        return reused

    def states(self) -> dict[Any, tuple[str, int]]:
        return {one.shapes: (one.state, one.hits) for one in self.log.signatures()}


def rows(shape: Shape) -> tuple[Shape, Any]:
    return summed(shape, 1)


def test_the_same_shapes_are_known_once_a_second_capture_confirmed_them() -> None:
    calls = Calls()
    assert [calls.call("sum", rows, (4, 5), args={"axis": 1}) for _ in range(4)] == [False, False, True, True]
    assert calls.call("sum", rows, (4, 5), args={"axis": 1}, is_given=False)
    assert calls.states()[((4, 5),)] == ("reused", 3)
    assert not calls.call("sum", rows, (4, 5), args={"axis": 1}, reuse=False)
    assert not calls.call("sum", rows, (4, 5), args={"axis": 0})


def test_more_confirmations_can_be_asked_for() -> None:
    calls = Calls(confirmations=3)
    assert [calls.call("sum", rows, (4, 5)) for _ in range(5)] == [False] * 4 + [True]


def scanned_by_rule(shape: Shape) -> tuple[Shape, Any]:
    """A running sum of what was flattened, as tracked arrays tell it: from pairs rows come out that differ at the ends."""
    flat = (shape[0] * shape[1],)
    return flat, compose(rules.scan(flat, 0), rules.reshape(shape, flat))


SHAPES = [(5, 9), (7, 6), (8, 7), (6, 11), (9, 5)]
FLATTENED = [*SHAPES, (4, 10), (7, 12)]
"""How many cells there are is a dimension of its own, of the output."""
SAID: Any = {}
"""Arguments: the operation hangs on shapes alone."""


@pytest.mark.parametrize(
    ("made", "shapes", "further"),
    [
        (rows, SHAPES, (14, 18)),
        (lambda shape: scanned(shape, 0), [(4,), (5,), (7,)], (14,)),
        (lambda shape: moved(np.flip, shape), SHAPES, (12, 13)),
        (lambda shape: moved(np.rot90, shape), SHAPES, (12, 4)),
        (lambda shape: moved(np.roll, shape, 1), [(4,), (6,), (9,)], (18,)),
        (lambda shape: moved(np.tile, shape, 2), [(4,), (6,), (9,)], (18,)),
        (lambda shape: moved(np.repeat, shape, 2), [(4,), (6,), (9,)], (18,)),
        (lambda shape: moved(np.repeat, shape, 3, 1), SHAPES, (14, 9)),
        (lambda shape: windows(shape, 3, 1), [(6,), (7,), (9,)], (18,)),
        (lambda shape: multiplied(shape, 4, left=True), SHAPES, (12, 13)),
        (lambda shape: moved(lambda a: a[..., 0], shape), [(4, 3), (6, 3), (9, 3)], (18, 3)),
        (lambda shape: moved(np.ravel, shape), FLATTENED, (12, 13)),
        (lambda shape: moved(lambda a: a.reshape(-1, 1), shape), FLATTENED, (12, 13)),
        (scanned_by_rule, FLATTENED, (12, 13)),
        (flat_differences, FLATTENED, (12, 13)),
    ],
)
def test_other_shapes_are_known_once_their_number_determines_how_it_grows(made: Made, shapes: list[Shape], further: Shape) -> None:
    calls = Calls()
    assert not any([calls.call("made", made, shape, args=SAID) for shape in shapes][:3])
    assert calls.call("made", made, further, is_given=False, args=SAID)
    assert calls.states()[None][0] == "reused"
    far = tuple(side * 2 if side > 3 else side for side in further)
    assert not calls.call("made", made, far, args=SAID), "what is far beyond is captured, and compared"
    assert calls.call("made", made, tuple(side - 1 if side > 3 else side for side in far), is_given=False, args=SAID)


def test_without_a_word_of_the_arguments_sizes_between_those_that_were_captured_are_known() -> None:
    calls = Calls()
    for length in (6, 8, 9, 40, 15, 19, 22, 35, 12):
        calls.call("flip", lambda shape: moved(np.flip, shape), (length,))
    assert calls.call("flip", lambda shape: moved(np.flip, shape), (27,), is_given=False)
    for length in (41, 5):
        with pytest.raises(CaptureNeeded):
            calls.call("flip", lambda shape: moved(np.flip, shape), (length,), is_given=False)


@pytest.mark.parametrize("made", [lambda a: a[np.arange(len(a)) % 4 != 3][::2], lambda a: a[np.arange(len(a)) ** 2 % len(a)]])
def test_rows_that_do_not_go_on_by_one_step_are_captured(made: Callable[[Ints], Ints]) -> None:
    calls = Calls()
    assert [calls.call("odd", lambda shape: moved(made, shape), (length,)) for length in range(12, 96, 12)] == [False] * 7


def test_the_length_of_what_was_flattened_has_to_be_what_it_was() -> None:
    """Another output of the same input's shape, or one in another shape, is captured."""
    calls = Calls()
    for shape in FLATTENED:
        calls.call("ravel", lambda one: moved(np.ravel, one), shape, args=SAID)
    for made in (lambda a: a.reshape(-1)[:-1], lambda a: a.reshape(1, -1), lambda a: a.T.reshape(-1)[:50]):
        assert not calls.call("ravel", lambda one, made=made: moved(made, one), (12, 13), args=SAID)  # type: ignore[misc]


def test_squares_say_nothing_of_other_shapes() -> None:
    calls = Calls()
    for side in (4, 5, 6, 7):
        calls.call("sum", rows, (side, side), args=SAID)
    assert calls.call("sum", rows, (9, 9), is_given=False, args=SAID)
    with pytest.raises(CaptureNeeded):
        calls.call("sum", rows, (9, 8), is_given=False, args=SAID)


def test_shapes_that_are_longer_than_wide_say_nothing_of_squares_and_of_wider_ones() -> None:
    """The shorter side is the first of some, the second of others: of the least of two numbers both are a piece."""
    calls = Calls()

    def shorter(shape: Shape) -> tuple[Shape, Any]:
        return listed(shape, shape, lambda at: [(min(shape) - 1, 0)])

    for shape in ((9, 4), (11, 6), (12, 7), (15, 8), (14, 5), (15, 9), (13, 7)):
        calls.call("shorter", shorter, shape, args=SAID)
    assert calls.call("shorter", shorter, (13, 9), is_given=False, args=SAID)
    for shape in ((10, 10), (9, 12), (9, 10)):
        with pytest.raises(CaptureNeeded):
            calls.call("shorter", shorter, shape, is_given=False, args=SAID)


def cross(shape: Shape) -> tuple[Shape, Any]:
    """Of vectors of three the other two, of vectors of two both: the paper's wrong answer."""
    if shape[1] == 2:
        return (shape[0],), np.array([(row, row, one) for row in range(shape[0]) for one in range(2)])
    pairs = [(row, at, row, one) for row in range(shape[0]) for at in range(3) for one in range(3) if one != at]
    return shape, np.array(pairs)


def test_cross_of_two_and_of_three_are_never_answered_from_each_other() -> None:
    calls = Calls()
    for length in (4, 5, 7, 20):
        calls.call("cross", cross, (length, 3), args=SAID)
    assert calls.call("cross", cross, (40, 3), is_given=False, args=SAID)
    with pytest.raises(CaptureNeeded):
        calls.call("cross", cross, (20, 2), is_given=False, args=SAID)
    assert [calls.call("cross", cross, (length, 2), args=SAID) for length in (4, 5, 7, 9)] == [False, False, False, True]
    assert calls.call("cross", cross, (30, 3), is_given=False, args=SAID)


def test_small_dimensions_are_cases_of_their_own() -> None:
    calls = Calls()
    for length in (6, 7, 9):
        calls.call("window", lambda shape: windows(shape, 3, 1), (length,), args=SAID)
    for length in (1, 2, 3):
        assert not calls.call("window", lambda shape: windows(shape, 3, 1), (length,), args=SAID)
    assert calls.call("window", lambda shape: windows(shape, 3, 1), (12,), is_given=False, args=SAID)


def test_what_hangs_on_values_is_refused_and_says_why() -> None:
    calls, random = Calls(), np.random.default_rng(0)

    def shuffled(shape: Shape) -> tuple[Shape, Any]:
        return moved(lambda a: random.permutation(a), shape)

    assert [calls.call("sort", shuffled, (6,)) for _ in range(4)] == [False] * 4
    assert {(one.state, one.why.partition(":")[0]) for one in calls.log.signatures()} == {
        ("refused", "two captures for the same shapes differ")
    }


def sorting(values: Any) -> Made:
    """What sorting these values moves."""
    return lambda shape: moved(lambda a: a[np.argsort(values, kind="stable")], shape)


def refused_sort(**options: Any) -> Calls:
    """A log in which two sorts of six cells have differed."""
    calls = Calls(**options)
    for values in ([3, 1, 2, 6, 5, 4], [1, 2, 3, 4, 5, 6]):
        assert not calls.call("sort", sorting(values), (6,))
    return calls


def test_what_hangs_on_values_is_not_reused_at_shapes_that_are_seen_later() -> None:
    """Two captures alike prove nothing there, as where a task is cleared and run again on the same table."""
    calls = refused_sort()
    same = [3, 1, 2, 7, 6, 5, 4]
    assert [calls.call("sort", sorting(values), (7,)) for values in (same, same, same, same[::-1])] == [False] * 4
    assert {one.state for one in calls.log.signatures()} == {"refused"}


def test_what_verify_has_refused_is_not_reused_at_other_shapes_or_contents() -> None:
    calls, same = Sorted(), np.array([1.0, 2.0, 3.0, 4.0])
    for _ in range(2):
        calls.call("sort", sorting(same), (4,))
    calls.log.array("in", (4,))
    calls.log.array("out", (4,))
    assert calls.log.register_operation("sort", ["in"], ["out"], capture=moved(np.flip, (4,))[1])
    assert len(calls.log.verify()) == 1
    longer = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    assert [calls.call("sort", sorting(values), (5,)) for values in (longer, longer, longer[::-1])] == [False] * 3
    assert [calls.sort(longer) for _ in range(3)] == [False] * 3


def test_what_differs_for_the_same_contents_is_not_reused_for_any() -> None:
    """A random shuffle."""
    calls, random = Calls(), np.random.default_rng(0)
    for values in (np.arange(9.0), np.arange(9.0), np.arange(9.0) + 1, np.arange(9.0) + 1, np.arange(9.0) + 1):
        told = {f"in {calls.number + 1}": values}
        assert not calls.call("shuffle", lambda shape: moved(lambda a: random.permutation(a), shape), (9,), contents=told)
    assert {one.state for one in calls.log.signatures()} == {"refused"}


def test_a_refusal_is_written_and_read_whatever_shapes_came_after_it() -> None:
    calls = refused_sort()
    for length in range(7, 100):
        for _ in range(2):
            assert not calls.call("sort", sorting(np.arange(length)), (length,))
    (operation,) = calls.log._kept.operations()
    found = decode_operation(encode_operation(operation), 1)
    assert (found.refused, found.why) == (Refusal.SHAPES, operation.why)
    assert len(found.known) < len(operation.known)
    for length in (6, 7, 50, 99, 1000):
        assert found.predicted(((length,),), ((length,),)) is None


def test_captures_of_other_contents_confirm_nothing() -> None:
    """Two tables that happen to be in the same order say nothing of a third, whether its contents are told or not."""
    calls = Sorted()
    for values in ([1.0, 2.0, 3.0, 4.0], [1.0, 5.0, 6.0, 7.0], [0.0, 5.0, 6.0, 7.0]):
        assert not calls.sort(np.array(values))
    assert not calls.sort(np.array([4.0, 3.0, 2.0, 1.0])), "what happens to be alike is no proof"
    other = Sorted()
    for values in ([1.0, 2.0, 3.0, 4.0], [1.0, 5.0, 6.0, 7.0]):
        other.sort(np.array(values))
    assert [one.state for one in other.log.signatures() if one.shapes] == ["provisional"]
    assert not other.call("sort", sorting([4, 3, 2, 1]), (4,))
    assert {one.state for one in other.log.signatures() if one.shapes} == {"refused"}, "and what differs is proof that it hangs on values"
    assert other.sort(np.array([1.0, 2.0, 3.0, 4.0])) is False
    assert other.sort(np.array([1.0, 2.0, 3.0, 4.0])), "for the same contents it goes on"


def test_captures_of_told_contents_are_none_of_those_that_tell_how_it_grows() -> None:
    calls = Sorted()
    for length in (5, 6, 8, 10):
        calls.sort(np.arange(float(length)), args=SAID)
    for length in (7, 9):
        with pytest.raises(CaptureNeeded):
            calls.call("sort", sorting(np.arange(length)), (length,), is_given=False, args=SAID)
    for length in (5, 6, 8):
        assert not calls.call("sort", sorting(np.arange(length)), (length,), args=SAID)
    assert calls.call("sort", sorting(np.arange(9)), (9,), is_given=False, args=SAID)


def test_a_shape_that_grows_otherwise_ends_it() -> None:
    calls = Calls()
    for length in (4, 6):
        calls.call("odd", lambda shape: moved(np.flip, shape), (length,))
    calls.call("odd", lambda shape: moved(lambda a: a, shape), (8,))
    assert not calls.call("odd", lambda shape: moved(np.flip, shape), (11,))
    assert "is another than it grew to" in calls.log.signatures()[0].why


def test_verify_finds_what_was_reused_wrongly() -> None:
    calls = Calls()
    same = moved(lambda a: a, (6,))
    for _ in range(2):
        calls.call("sort", lambda shape: same, (6,))
    calls.log.array("in", (6,))
    calls.log.array("out", (6,))
    assert calls.log.register_operation("sort", ["in"], ["out"], capture=moved(np.flip, (6,))[1])
    (found,) = calls.log.verify()
    assert "sort" in found
    assert "'out'" in found
    assert {one.state for one in calls.log.signatures()} == {"refused"}
    assert not calls.call("sort", lambda shape: same, (6,))


def test_what_captures_are_worth_is_said_and_is_not_mixed() -> None:
    """What is known by captures that are superset is not reused as exact."""
    calls, all_ = Calls(), listed((4,), (4, 5), lambda at: np.ndindex(4, 5))
    for _ in range(2):
        calls.call("f", lambda shape: all_, (4, 5), guarantee="superset")
    assert calls.call("f", lambda shape: all_, (4, 5), guarantee="superset", is_given=False)
    found = calls.log.prov_query([f"out {calls.number}", f"in {calls.number}"], 0)
    assert (found.count, found.guarantee) == (20, "superset")
    assert not calls.call("f", rows, (4, 5))
    assert calls.log.prov_query([f"out {calls.number}", f"in {calls.number}"], 0).guarantee == "exact"
    with pytest.raises(CaptureNeeded):
        calls.call("f", rows, (4, 5), guarantee="unavailable", is_given=False)
    with pytest.raises(InvalidRelation, match="sure"):
        calls.call("f", rows, (4, 5), guarantee="sure")


class Sorted(Calls):
    """Calls of a sort, whose captures hang on what is sorted."""

    def sort(self, values: Any, told: Any = None, **options: Any) -> bool:
        return self.call(
            "sort", sorting(values), values.shape, contents={f"in {self.number + 1}": values if told is None else told}, **options
        )


def test_what_hangs_on_values_is_known_for_the_same_values() -> None:
    calls, random = Sorted(), np.random.default_rng(0)
    one, other = random.permutation(np.arange(9.0)), random.permutation(np.arange(9.0))
    assert [calls.sort(one) for _ in range(3)] == [False, False, True]
    assert [calls.sort(other) for _ in range(3)] == [False, False, True]
    assert calls.sort(one, is_given=False)
    assert calls.sort(one, is_given=False, told=digest("any", (9,), one))
    for wanted in (random.permutation(np.arange(9.0)), one.astype(np.float32), one.reshape(3, 3)[:, 0]):
        with pytest.raises(CaptureNeeded):
            calls.sort(wanted, is_given=False)
    states = {one.contents: (one.state, one.hits) for one in calls.log.signatures() if one.contents}
    assert states == {(digest("any", (9,), one),): ("reused", 3), (digest("any", (9,), other),): ("reused", 1)}
    assert {one.state for one in calls.log.signatures() if one.shapes} == {"refused"}, "of other values of the same shapes nothing is known"


def test_captures_of_the_same_values_do_not_confirm_one_another_for_others() -> None:
    calls, values = Sorted(), np.array([3.0, 1.0, 2.0, 5.0])
    for _ in range(3):
        calls.sort(values)
    assert not calls.sort(values[::-1])
    with pytest.raises(CaptureNeeded):
        calls.sort(values + np.array([0, 0, 9, 0]), is_given=False)


def test_what_gives_another_lineage_for_the_same_values_is_refused() -> None:
    calls, values = Calls(), np.arange(4.0)
    for function in (np.flip, np.copy, np.copy):
        calls.call("odd", lambda shape, one=function: moved(one, shape), (4,), contents={f"in {calls.number + 1}": values})  # type: ignore[misc]
    assert {one.state for one in calls.log.signatures()} == {"refused"}


def test_what_is_known_of_contents_is_written_and_read() -> None:
    calls = Sorted()
    for _ in range(2):
        calls.sort(np.array([3.0, 1.0, 2.0, 5.0]))
    (operation,) = calls.log._kept.operations()
    found = decode_operation(encode_operation(operation), 1)
    assert found.signatures() == operation.signatures()
    assert [next(map(expand, one.relations)).tolist() for one in found.by_contents.values()] == [
        next(map(expand, one.relations)).tolist() for one in operation.by_contents.values()
    ]


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"b": np.zeros(3)},
        {"a": np.zeros(4)},
        {"a": "abc"},
        {"a": np.array([None] * 3)},
        {"a": np.ma.masked_array([1, 2, 3], [True, False, False])},
    ],
)
def test_what_are_no_contents_is_refused(contents: Any) -> None:
    log = Log()
    log.array("a", (3,))
    log.array("b", (3,))
    with pytest.raises(InvalidRelation):
        log.register_operation("sort", ["a"], ["b"], capture=[(0, 0)], contents=contents)
    assert log.signatures() == []


def test_several_arrays() -> None:
    log = Log()
    for at in range(3):
        for name, shape in (("left", (4, 5)), ("right", (5, 6)), ("product", (4, 6))):
            log.array(f"{name} {at}", shape)
        sources, outputs = [f"left {at}", f"right {at}"], [f"product {at}"]
        capture = {
            (sources[0], outputs[0]): multiplied((4, 5), 6, left=True)[1],
            (sources[1], outputs[0]): lambda index: [(row, index[1]) for row in range(5)],
        }
        assert log.register_operation("matmul", sources, outputs, capture=capture if at < 2 else None) == (at == 2)
    assert log.prov_query(["product 2", "right 2"], (0, 3)).boxes.tolist() == [[[0, 5], [3, 4]]]
    assert log.prov_query(["left 2", "product 2"], (1, 3)).boxes.tolist() == [[[1, 2], [0, 6]]]


@pytest.mark.parametrize(
    ("sources", "outputs", "options", "error"),
    [
        (["a"], ["b"], {}, CaptureNeeded),
        (["a"], ["b"], {"capture": {("a", "c"): []}}, CaptureNeeded),
        (["a"], ["b", "c"], {"capture": []}, CaptureNeeded),
        (["a"], ["none"], {"capture": []}, UnknownArray),
        (["a"], ["b", "b"], {"capture": []}, InvalidRelation),
        (["a"], ["a"], {"capture": []}, InvalidRelation),
        ([], ["a"], {"capture": []}, InvalidRelation),
        (["a"], ["b"], {"capture": [(9, 9)]}, InvalidRelation),
        (["a"], ["b"], {"capture": lambda index: None}, CaptureFailed),
        (["a"], ["b", "c"], {"capture": {("a", "b"): [], ("a", "c"): lambda index: 1 / 0}}, CaptureFailed),
        (["a"], ["b"], {"capture": [], "args": {"axis": object()}}, InvalidRelation),
        (["a"], ["b"], {"capture": [], "args": float("nan")}, InvalidRelation),
    ],
)
def test_what_is_no_call_is_refused_and_leaves_nothing(sources: Any, outputs: Any, options: Any, error: type[Exception]) -> None:
    log = Log()
    for name in ("a", "b", "c"):
        log.array(name, (3,))
    with pytest.raises(error):
        log.register_operation("made", sources, outputs, **options)
    assert not log.register_operation("made", ["a"], ["b", "c"], capture={("a", "b"): [(0, 0)], ("a", "c"): []})
    with pytest.raises(InvalidRelation, match="there already"):
        log.register_operation("again", ["a"], ["b"], capture=[])


def test_what_was_captured_meanwhile_is_another_than_what_was_foretold() -> None:
    operation = Operation('["flip", {}]', 1)
    for length in (5, 6, 8, 10):
        operation.observe(((length,),), ((length,),), (compress(moved(np.flip, (length,))[1], (length,), (length,)),))
    told = operation.predicted(((9,),), ((9,),))
    assert told is not None
    operation.count(((9,),), told)
    operation.observe(((9,),), ((9,),), (compress(moved(np.copy, (9,))[1], (9,), (9,)),))
    with pytest.raises(CaptureNeeded, match="another lineage was captured meanwhile"):
        operation.count(((9,),), told)


def test_links_that_earlier_releases_may_have_reused_are_unavailable() -> None:
    operation = '["sum", {"axis": 1}]'
    assert unsigned(signed(operation), "superset") == (operation, "superset", "")
    for kept in (operation, f"2:{operation}"):
        assert unsigned(kept, "exact") == (operation, "unavailable", UNPROVEN)
    assert unsigned(signed(""), "exact") == ("", "exact", "")


@pytest.mark.parametrize("given", [-1, 1.0, True, "2"])
def test_confirmations_are_a_number(given: Any) -> None:
    with pytest.raises(InvalidOption, match="confirmations"):
        Log(confirmations=given)


def test_confirmations_are_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CONFIRMATIONS", "2")
    calls = Calls()
    assert [calls.call("sum", rows, (4, 5)) for _ in range(4)] == [False] * 3 + [True]


def older(data: bytes, **whys: str) -> bytes:
    """What the second version has written of an operation.

    :param whys: of the operation, of what is known of shapes (``known``) and of contents, why it is refused.
    """
    source = operation_codec._SEAL.taken_off(data)
    head = json.loads(source.take(source.number()))
    rest = data[len(data) - sum(sum(one["bytes"]) for one in (*head["known"], *head["contents"])) :]
    del head["refused"]
    head["why"] = whys.get("why", "")
    for part in ("known", "contents"):
        head[part] = [one | {"why": whys.get(part, "")} for one in head[part]]
    document = json.dumps(head).encode()
    return operation_codec._SEAL.put_on(number(len(document)) + document + rest, 2)


@pytest.mark.parametrize(
    ("whys", "refused"),
    [
        ({}, Refusal.NOTHING),
        ({"why": "at shapes ((7,),) the lineage is another than it grew to at others"}, Refusal.OTHER_SHAPES),
        ({"why": "two captures for the same shapes differ: the lineage hangs on values"}, Refusal.SHAPES),
        ({"why": "at shapes", "known": "it hangs on values"}, Refusal.SHAPES),
        ({"why": "a capture gave another lineage than was reused"}, Refusal.ALL),
        ({"why": "two captures for the same shapes differ", "contents": "two captures for the same contents differ"}, Refusal.ALL),
    ],
)
def test_what_the_release_before_has_refused_is_refused_for_all(whys: dict[str, str], refused: Refusal) -> None:
    calls, values = Sorted(), np.array([3.0, 1.0, 2.0])
    for _ in range(2):
        calls.sort(values)
        calls.call("sort", sorting(values), (3,))
    (operation,) = calls.log._kept.operations()
    found = decode_operation(older(encode_operation(operation), **whys), 1)
    assert (found.refused, found.why) == (refused, whys.get("why", ""))
    assert found.predicted(((3,),), ((3,),)) is None, "captures of other contents had confirmed it, perhaps"
    contents = next(iter(found.by_contents))
    assert (found.predicted(((3,),), ((3,),), contents) is None) == (refused is Refusal.ALL)


def test_what_an_older_release_knew_is_not_relied_on() -> None:
    """Its entries may be of sizes for which no capture spoke; that an operation hangs on values stays known."""
    operation = Operation('["sum", {}]', 1)
    for shape in ((4, 9), (4, 9), (7, 6)):
        output, pairs = summed(shape, 1)
        operation.observe((shape,), (output,), (compress(pairs, output, shape),))
    data = encode_operation(operation)
    assert decode_operation(data, 1).known.keys() == operation.known.keys()
    first = older(data)
    assert decode_operation(first[:4] + b"\1" + first[5:], 1) == Operation('["sum", {}]', 1)
    first = older(data, why="two captures differ")
    assert decode_operation(first[:4] + b"\1" + first[5:], 1) == Operation('["sum", {}]', 1, refused=Refusal.ALL, why="two captures differ")


FIXED = {
    "negative", "transpose", "flip", "tile", "repeat", "roll", "ravel", "every second", "diagonal", "to diagonal", "upper triangle",
    "sum of all", "window", "padded window", "two segments", "flat cumsum", "flat differences",
}  # fmt: skip


@drawn(12, one_in=20, name=st.sampled_from(sorted(FIXED)), data=st.data())
def test_nothing_is_ever_reused_wrongly(name: str, data: st.DataObject) -> None:
    """`Calls.call` compares with a capture each time."""
    calls, operation = Calls(), OPERATIONS[name]
    rank = data.draw(st.sampled_from([one for one in operation.ranks if one < 4]))
    sides = st.tuples(*[st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9])] * rank)
    for shape in data.draw(st.lists(sides, min_size=4, max_size=14)):
        if operation.fits(shape):
            calls.call(name, lambda one: operation.relation(one, np.random.default_rng(0)), shape)


@drawn(16, one_in=10, data=st.data())
def test_what_hangs_on_values_is_never_reused_once_it_was_seen(data: st.DataObject) -> None:
    """Histories of a sort of three lengths, of values of two kinds; `Calls.call` compares with a capture."""
    calls, captured = Sorted(), set[tuple[int, bool]]()
    for length, kind, is_told in data.draw(st.lists(st.tuples(st.sampled_from([4, 5, 7]), st.booleans(), st.booleans()), max_size=24)):
        values = np.arange(float(length)) if kind else np.arange(float(length))[::-1]
        has_differed = any((one, not other) in captured for one, other in captured)
        if is_told:
            reused = calls.sort(values)
        elif has_differed:
            reused = calls.call("sort", sorting(values), (length,))
            assert not reused
        else:
            reused = calls.log.register_operation("sort", *named(calls.log, length), capture=sorting(values)((length,))[1])
        captured |= set() if reused else {(length, kind)}


def named(log: Log, length: int) -> tuple[list[str], list[str]]:
    """Two new arrays of a length."""
    names = [f"{side} {len(log._kept.names(10_000))}" for side in ("a", "b")]
    for name in names:
        log.array(name, (length,))
    return names[:1], names[1:]


@pytest.mark.parametrize(("name", "args"), in_turn(sampled(sorted(THRESHOLDS), 2), [None, {"n": 10}, {"slice": "0:10"}]))
def test_a_threshold_is_not_jumped_over(name: str, args: Any) -> None:
    """Below it, then far beyond: what a capture gives, whether the arguments tell the number or nobody does."""
    calls, operation = Calls(), THRESHOLDS[name]
    sizes = (4, 5, 7, 8, 6, 9, 60, 30, 45, 58, 11, 22, 40, 16, 36, 59, 13, 21)
    for at, size in enumerate(sizes):
        shape = (
            (size,) if operation.rank == 1 else (size, sizes[at - 5]) if operation.rank == 2 else (size // 3, sizes[at - 5] // 4, size // 5)
        )
        calls.call(name, lambda one: operation.made(one, min(10, operation.numbers[1])), tuple(max(side, 4) for side in shape), args=args)


def test_a_triangle_that_comes_to_touch_the_other_side_is_another_piece() -> None:
    """Far beyond all numbers of the arguments the difference of two sides still passes one."""
    calls, operation = Calls(), THRESHOLDS["tril"]
    shapes = [
        (40, 44),
        (43, 41),
        (50, 45),
        (47, 52),
        (45, 48),
        (52, 50),
        (44, 49),
        (48, 46),
        (41, 50),
        (40, 51),
        (40, 52),
        (41, 60),
        (44, 47),
    ]
    reused = [calls.call("tril", lambda one: operation.made(one, 10), shape, args={"k": 10}) for shape in shapes]
    assert not any(reused[9:12])
    ratios = ((1, 1), (1, 10), (10, 1))
    cuts = (4, 5, 6, 9, 10, 11, 19, 20, 21)
    assert Reach.of('["tril", {"k": 10}]') == Reach(cuts, last=22, offset=11, ratios=ratios, divisors=(2, 10))
    assert Reach.of('["resized", {"by": 0.75, "to": "1e-999999"}]').ratios == ((1, 1), (3, 4), (4, 3))


def of_each_picture(shape: Shape) -> tuple[Shape, Any]:
    """The first 200 cells of each."""
    return moved(lambda a: a.reshape(len(a), -1)[:, :200], shape)


def masked_picture(shape: Shape) -> tuple[Shape, Any]:
    """The first 200 cells of each picture where they are."""
    places = np.arange(shape[1] * shape[2]).reshape(shape[1:])
    return moved(lambda a: np.where(places < 200, a, -1), shape)


PICTURES = [
    (5, 8, 24), (6, 24, 8), (7, 9, 22), (5, 22, 9), (9, 7, 28), (8, 28, 7), (7, 10, 19), (9, 19, 10), (6, 14, 14), (9, 12, 16), (5, 16, 12),
    (8, 13, 15), (10, 15, 13), (6, 8, 9), (9, 9, 8), (7, 10, 8), (8, 13, 9), (9, 11, 17), (5, 17, 11), (7, 15, 15), (8, 16, 14),
]  # fmt: skip
GROWING_LONGER = [(20, 50), (22, 50), (45, 50), (55, 50)]


@pytest.mark.parametrize(
    ("made", "shapes", "args"),
    [
        (lambda shape: listed(shape, shape, lambda at: [(min(shape) - 1, 0)]), GROWING_LONGER, {}),
        (lambda shape: listed(shape, shape, lambda at: [(min(shape) - 1, 0)]), GROWING_LONGER, None),
        (lambda shape: listed(shape, shape, lambda at: [at] if at[0] < min(shape) else []), GROWING_LONGER, {}),
        (lambda shape: listed(shape, shape, lambda at: [at] if at[1] < min(shape) else []), [one[::-1] for one in GROWING_LONGER], {}),
        (masked_picture, PICTURES, {"first": 200}),
        (masked_picture, PICTURES, None),
        (of_each_picture, PICTURES, {"first": 200}),
        *(
            (
                lambda shape: listed(shape, shape, lambda at: [at] if at[1] < 2 * shape[0] else []),
                [(10, 12), (12, 15), (14, 13), (20, 18), (16, 22), (10, 24)],
                args,
            )
            for args in ({"ratio": 2}, {"ratio": 0.5}, None)
        ),
        (
            lambda shape: listed(shape, shape, lambda at: [at] if 2 * at[1] < 3 * shape[0] else []),
            [(20, 12), (22, 15), (24, 13), (20, 18), (26, 20), (21, 25), (18, 30)],
            {"ratio": 1.5},
        ),
        (
            lambda shape: listed(shape, shape, lambda at: [at] if at[0] < shape[1] + shape[2] else []),
            [(9, 5, 6), (8, 6, 5), (10, 7, 6), (9, 6, 7), (11, 7, 7), (12, 5, 6)],
            {},
        ),
    ],
)  # fmt: skip
def test_what_sides_are_beside_each_other_is_not_jumped_over(made: Made, shapes: list[Shape], args: Any) -> None:
    """Beside one that is always the same, a multiple, or two together; and the number of cells of some axes. The last is another piece."""
    calls = Calls()
    assert not [calls.call("made", made, shape, args=args) for shape in shapes][-1]


def test_where_nobody_says_what_it_hangs_on_only_sizes_within_the_hull_are_known() -> None:
    calls = Calls()
    corners = [(20, 20), (20, 60), (60, 20), (61, 62), (40, 39), (30, 45), (50, 33), (37, 52), (44, 28)]
    for shape in corners:
        calls.call("flip", lambda one: moved(np.flip, one), shape)
    assert calls.call("flip", lambda one: moved(np.flip, one), (41, 42))
    for outside in ((20, 61), (62, 40), (19, 30)):
        assert not calls.call("flip", lambda one: moved(np.flip, one), outside)


def test_the_one_threshold_that_would_fit_all_calls_is_tried() -> None:
    """Of two numbers that grow together, as far as is known, but for the one call that lies between: however far the calls lie apart."""
    rows = np.array([(1, 10, 0), (1, 20, 0), (1, 30, 0), (1, 6_000, 4_766), (1, 6_500, 5_266), (1, 9_000, 7_766), (1, 900, 41)])
    lengths = [((int(one),),) for one in rows[:, 1]]
    assert (np.maximum(rows[:-1, 1] - 1_234, 0) == rows[:-1, 2]).all()
    assert not Reach.of('["made", null]').covers(rows, lengths, [((int(one),),) for one in rows[:, 2]], 1)


def of_a_window(shape: Shape) -> tuple[Shape, Any]:
    return windows(shape, 25, 12)


@pytest.mark.parametrize("name", ["window 25", "window25", "2.5e1"])
def test_numbers_in_a_name_are_arguments(name: str) -> None:
    calls = Calls()
    for length in (26, 28, 30, 27, 33, 40, 52):
        calls.call(name, of_a_window, (length,), args=SAID)
    for length in (24, 25, 20, 14, 12):
        assert not calls.call(name, of_a_window, (length,), args=SAID)


def test_numbers_in_a_name_say_no_more_of_others() -> None:
    assert Reach.of('["window 25", {}]') == Reach.of('["window", {"size": 25}]')
    assert Reach.of('["window 2 of", {"by": 3}]').divisors == (2, 3)
    assert Reach.of('["window", null]').divisors == (2, 3, 4)


@pytest.mark.parametrize(
    ("made", "shapes", "further"),
    [
        (lambda shape: listed((), shape, lambda at: [(shape[0] % 2,)]), [(4,), (6,), (10,), (14,), (8,)], (9,)),
        (lambda shape: listed((), shape, lambda at: [((shape[0] * shape[1]) % 2, 0)]), [(4, 5), (7, 6), (8, 10), (9, 4), (6, 7)], (7, 5)),
        (lambda shape: listed((), shape, lambda at: [(sum(shape) % 2, 0)]), [(4, 6), (7, 5), (8, 10), (9, 5), (6, 8)], (7, 6)),
        (lambda shape: moved(lambda a: a[: len(a) // 2 * 2], shape), [(4,), (6,), (10,), (14,), (8,)], (9,)),
    ],
)
def test_what_is_even_says_nothing_of_what_is_odd(made: Made, shapes: list[Shape], further: Shape) -> None:
    calls = Calls()
    for shape in shapes:
        calls.call("halved", made, shape, args=SAID)
    assert not calls.call("halved", made, further, args=SAID)


@drawn(12, one_in=4, name=st.sampled_from(sorted(THRESHOLDS)), is_said=st.booleans(), data=st.data())
def test_no_threshold_is_ever_jumped_over(name: str, is_said: bool, data: st.DataObject) -> None:
    """Also where one of the dimensions is always the same."""
    calls, operation = Calls(), THRESHOLDS[name]
    number, most = data.draw(st.integers(*operation.numbers)), {1: 70, 2: 44, 3: 13}[operation.rank]
    near = [one for one in (number - 1, number, number + 1, 2 * number, 2 * number + 1, number // 2, most) if 0 < one <= most]
    sides = st.tuples(*[st.one_of(st.integers(1, most), st.sampled_from(near))] * operation.rank)
    shapes = data.draw(st.lists(sides, min_size=5, max_size=24))
    if data.draw(st.booleans()):
        shapes = sorted(shapes, reverse=data.draw(st.booleans()))
    if operation.rank > 1 and data.draw(st.booleans()):
        at = data.draw(st.integers(0, operation.rank - 1))
        shapes = [(*shape[:at], shapes[0][at], *shape[at + 1 :]) for shape in shapes]
    for shape in shapes:
        calls.call(name, lambda one: operation.made(one, number), shape, args={"n": number} if is_said else None)


GROWING = {
    "ravel",
    "flat cumsum",
    "flat differences",
    "repeat",
    "every second",
    "two segments",
    "diagonal",
    "to diagonal",
    "upper triangle",
}
"""Those that have more rows the larger the array is, or hang on which of its sides is the shorter."""


@pytest.mark.parametrize("name", sorted(FIXED - GROWING))
def test_these_operations_are_reused(name: str) -> None:
    calls, operation = Calls(), OPERATIONS[name]
    rank = max(one for one in operation.ranks if one < 3)
    shapes = [shape[:rank] for shape in ((14, 9), (7, 15), (8, 16), (5, 11), (6, 13), (10, 12), (9, 20))]
    reused = [calls.call(name, lambda one: operation.relation(one, np.random.default_rng(0)), shape, args=SAID) for shape in shapes]
    assert reused[-1]
