"""Named arrays in memory: what is recorded, how it is asked, and what an answer says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Cells, Log, Relation, compress
from airflow_lineage_provider.arrays.boxes import from_mask
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.path import Step, is_dense
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.selection import in_parts
from airflow_lineage_provider.errors import (
    CaptureFailed,
    InvalidArray,
    InvalidCells,
    InvalidRelation,
    LineageError,
    TooManyCells,
    UnknownArray,
)
from tests.arrays.operations import moved, summed

SUM = [(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (2, 2, 0), (2, 2, 1)]


@pytest.fixture
def log() -> Log:
    """B is the sum of the rows of A, and C has the cells of B in another order."""
    made = arrays(A=(3, 2), B=(3,), C=(3,))
    made.lineage("A", "B", SUM)
    made.lineage("B", "C", [(0, 2), (1, 0), (2, 1)])
    return made


def arrays(**shapes: tuple[int, ...]) -> Log:
    """Arrays without lineage."""
    made = Log()
    for name, shape in shapes.items():
        made.array(name, shape)
    return made


def cells(found: Cells) -> list[tuple[int, ...]]:
    return [tuple(one) for one in found.indices().tolist()]


def test_backward_and_forward(log: Log) -> None:
    assert cells(log.prov_query(["C", "B", "A"], 0)) == [(2, 0), (2, 1)]
    assert cells(log.prov_query(["A", "B", "C"], np.s_[0, :])) == [(1,)]
    assert cells(log.prov_query(["A", "B", "A"], (0, 0))) == [(0, 0), (0, 1)]
    assert cells(log.prov_query(["B"], [0, 2])) == [(0,), (2,)]


def test_what_an_answer_says(log: Log) -> None:
    found = log.prov_query(["C", "B", "A"], np.s_[0:2])
    assert (found.array, found.shape, found.count, found.guarantee) == ("A", (3, 2), 4, "exact")
    assert found.boxes.tolist() == [[[0, 1], [0, 2]], [[2, 3], [0, 2]]]
    assert found.mask().tolist() == [[True, True], [False, False], [True, True]]
    assert [(hop.source, hop.target, hop.boxes, hop.execution) for hop in found.hops] == [("C", "B", 2, "boxes"), ("B", "A", 2, "boxes")]
    assert all(hop.ms >= 0 for hop in found.hops)
    assert repr(found) == "Cells(array='A', shape=(3, 2), count=4, guarantee='exact')"


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (np.s_[1], [1]),
        (np.s_[1:], [1, 2]),
        (np.s_[...], [0, 1, 2]),
        (np.s_[::2], [0, 2]),
        (np.s_[2:1], []),
        ((), [0, 1, 2]),
        (np.int8(2), [2]),
        (np.array(2), [2]),
        ([2, 0, 2], [0, 2]),
        ([[2], [0]], [0, 2]),
        ([], []),
        (np.array([True, False, True]), [0, 2]),
        (np.array([[[0, 2]], [[1, 3]], [[2, 2]]]), [0, 1, 2]),
        (np.array([1], dtype=np.uint8), [1]),
    ],
    ids=repr,
)
def test_how_cells_are_asked_for(log: Log, asked: Any, wanted: list[int]) -> None:
    assert [cell for (cell,) in cells(log.prov_query(["B"], asked))] == wanted


@pytest.mark.parametrize(
    "asked",
    [
        3, -1, np.s_[0:4], np.s_[-2:], np.s_[::-1], np.s_[0, 0], 1.0, "0", None, True, np.array([1.0]), np.array([[0, 1]]), np.array(["0"]),
        np.array([True]), [3], [-1], np.array([[[0, 4]]]), np.array([[[2, 1]]]), [[0], [1, 2]], [10**30], (..., ...), {0}, np.array([0j]),
        np.ma.masked_array([0.5]), np.ma.masked_array([0, 1], [False, True]), np.ma.masked_array([True] * 3, [True, False, False]),
        [np.ma.masked_array([0], [True])],
    ],
    ids=repr,
)  # fmt: skip
def test_what_are_no_cells_is_refused(log: Log, asked: Any) -> None:
    with pytest.raises(InvalidCells, match="'B'"):
        log.prov_query(["B", "A"], asked)


def test_arrays_of_one_cell_of_none_and_of_many_axes() -> None:
    log = arrays(one=(), other=(), none=(0, 3), deep=(1,) * 12)
    log.lineage("one", "other", np.zeros((1, 0), dtype=int))
    log.lineage("none", "one", [])
    log.lineage("deep", "other", [(0,) * 12])
    assert log.prov_query(["other", "one"], ()).indices().shape == (1, 0)
    assert log.prov_query(["one", "other"], np.array(True)).mask().tolist() is True
    assert log.prov_query(["one", "none"], ()).count == 0
    assert log.prov_query(["none", "one"], np.zeros((0, 3), dtype=bool)).count == 0
    assert cells(log.prov_query(["other", "deep"], ())) == [(0,) * 12]
    assert cells(log.prov_query(["deep", "other", "one"], np.ones((1,) * 12, dtype=bool))) == [()]


def test_masked_pairs_are_refused() -> None:
    """What is masked would be taken for what is not."""
    log = arrays(A=(3, 2), B=(3,))
    masked = np.ma.masked_array([[0, 0, 1], [1, 1, 1]], [[False] * 3, [True] * 3])
    for given in (masked, [masked[0], masked[1]]):
        with pytest.raises(InvalidRelation, match="masked"):
            log.lineage("A", "B", given)
    with pytest.raises(CaptureFailed, match="masked"):
        log.lineage("A", "B", capture=lambda at: masked[:, 1:])
    log.lineage("A", "B", masked.compressed().reshape(-1, 3))
    assert cells(log.prov_query(["B", "A"], ...)) == [(0, 1)]


def test_a_capture_is_called_for_every_cell() -> None:
    log = arrays(A=(3, 2), B=(3,))
    log.lineage("A", "B", capture=lambda at: ((at[0], column) for column in range(2)) if at[0] else [])
    assert cells(log.prov_query(["B", "A"], ...)) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    log.array("C", (3,))
    log.lineage("B", "C", capture=lambda at: at)
    assert cells(log.prov_query(["C", "B"], 1)) == [(1,)]


@pytest.mark.parametrize(
    ("capture", "said"),
    [
        (lambda at: [(at[0], 0)] if at[0] < 2 else 1 / 0, "at cell \\(2,\\), raised ZeroDivisionError"),
        (lambda at: None, "at cell \\(0,\\), gave nothing"),
        (lambda at: [0, 1], "at cell \\(0,\\), gave no cells"),
        (lambda at: [(0, 0, 0)], "at cell \\(0,\\), gave no cells"),
        (lambda at: [(0, 2)], "beyond array 'A'"),
        (lambda at: [(0.0, 1.0)], "type float64"),
        (lambda at: "ab", "gave no cells"),
        (lambda at: [(0, 0), (1,)], "gave no cells"),
    ],
)
def test_a_capture_that_fails_says_where_and_leaves_nothing(capture: Callable[[tuple[int, ...]], Any], said: str) -> None:
    log = arrays(A=(3, 2), B=(3,))
    with pytest.raises(CaptureFailed, match=said):
        log.lineage("A", "B", capture=capture)
    with pytest.raises(UnknownArray):
        log.relation("A", "B")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (np.array(SUM, dtype=float), "type float64"),
        ([(0, 0, float("nan"))], "type float64"),
        ([(0, 0, 2)], "position 2, beyond array 'A'"),
        ([(3, 0, 0)], "position 3, beyond array 'B'"),
        ([(0, 0, 2**31)], "beyond array 'A'"),
        ([(0, -1, 0)], "position -1"),
        (np.array([(0, 0, 2**63)], dtype=np.uint64), "is beyond every array"),
        ([(0, 0, 2**64)], "type object"),
        ([(0, 0)], "these have shape \\(1, 2\\)"),
        ([0, 0, 0], "these have shape \\(3,\\)"),
        ([(0, 0, 0), (1,)], "no array of them"),
        (np.array(SUM, dtype=complex), "type complex128"),
        (np.array(SUM, dtype=bool), "type bool"),
        (np.array(SUM, dtype=object), "type object"),
        (np.array(SUM, dtype=str), "type <U"),
        (np.zeros(3, dtype=[("b", int)]), "type \\[\\('b'"),
        (iter(SUM), "type object"),
        ("A", "type <U1"),
    ],
)
def test_what_are_no_pairs_is_refused_and_leaves_nothing(pairs: Any, said: str) -> None:
    log = arrays(A=(3, 2), B=(3,))
    with pytest.raises(InvalidRelation, match=said):
        log.lineage("A", "B", pairs)
    log.lineage("A", "B", SUM)


@pytest.mark.parametrize("shape", [(-1,), (2**31,), (2**31 - 1,) * 3, "ab", 3, (1.5,), None, (1,) * 33], ids=repr)
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(InvalidArray, match="'A'"):
        Log().array("A", shape)


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", 3, None, b"A"], ids=ascii)
def test_what_is_no_name_is_refused(name: Any) -> None:
    with pytest.raises(InvalidArray):
        Log().array(name, ())


@pytest.mark.parametrize("name", ["it's", 'a "b"', "größe", "画像", "a b\n", "--", "💥"])
def test_odd_names_are_names(name: str) -> None:
    log = Log()
    log.array(name, (2,))
    log.array("B", ())
    log.lineage(name, "B", [(0,), (1,)])
    assert log.prov_query(["B", name], ()).count == 2


def test_a_name_has_one_shape(log: Log) -> None:
    log.array("A", [3, 2])
    with pytest.raises(InvalidArray, match=r"known with shape \(3, 2\), and cannot have \(2, 3\)"):
        log.array("A", (2, 3))


def test_unknown_arrays_and_links_are_told_with_those_that_are_known(log: Log) -> None:
    with pytest.raises(UnknownArray, match="no array 'X'; known are: 'A', 'B', 'C'"):
        log.prov_query(["X", "A"], 0)
    with pytest.raises(UnknownArray, match="between arrays 'C' and 'A'; 'C' is linked with 'B'"):
        log.prov_query(["C", "A"], 0)
    with pytest.raises(UnknownArray, match="there is no array"):
        log.lineage("A", "X", [])
    no_paths: tuple[Any, ...] = ([], "BA", None)
    for path in no_paths:
        with pytest.raises(UnknownArray, match="no path"):
            log.prov_query(path, 0)
    log.array("alone", (1,))
    with pytest.raises(UnknownArray, match="no path leads from array 'A' to 'alone'"):
        log.trace("A", ..., to="alone")


def test_no_array_is_made_from_itself(log: Log) -> None:
    for source, output in (("A", "A"), ("B", "A"), ("C", "A")):
        with pytest.raises(InvalidRelation, match="circle"):
            log.lineage(source, output, [])
    with pytest.raises(InvalidRelation, match="is there already"):
        log.lineage("A", "B", [])


def test_pairs_or_a_capture(log: Log) -> None:
    log.array("D", (3,))
    neither_or_both: tuple[dict[str, Any], ...] = ({}, {"pairs": [], "capture": lambda at: []})
    for given in neither_or_both:
        with pytest.raises(InvalidRelation, match="either pairs or a capture"):
            log.lineage("A", "D", **given)
    with pytest.raises(InvalidRelation, match="it can be exact, superset, unavailable"):
        log.lineage("A", "D", [], guarantee="perhaps")


def test_an_answer_is_worth_as_much_as_its_weakest_hop(log: Log) -> None:
    log.array("D", (3,))
    log.lineage("C", "D", [(0, 0)], guarantee="superset")
    assert log.prov_query(["D", "C", "B"], 0).guarantee == "superset"
    assert log.trace("D", 0, to="A").cells.guarantee == "superset"
    assert log.prov_query(["C", "B"], 0).guarantee == "exact"


def test_all_paths_between_two_arrays() -> None:
    """Without its mean: every cell comes from all cells through the mean, and from its own through the difference."""
    log = arrays(x=(4,), mean=(), y=(4,), unrelated=(4,))
    log.lineage("x", "mean", [(0,), (1,), (2,), (3,)])
    log.lineage("mean", "y", [(0,), (1,), (2,), (3,)])
    log.lineage("x", "y", [(at, at) for at in range(4)])
    log.lineage("x", "unrelated", [(at, at) for at in range(4)])
    found = log.trace("y", 1, to="x")
    assert [(one.names, one.cells.count) for one in found.paths] == [(("y", "x"), 1), (("y", "mean", "x"), 4)]
    assert (found.cells.count, found.cells.array, len(found.cells.hops)) == (4, "x", 3)
    assert {one.names for one in log.trace("x", 1, to="y").paths} == {("x", "y"), ("x", "mean", "y")}
    assert log.trace("x", 1, to="x").cells.count == 1


def test_too_many_paths_are_refused() -> None:
    log = Log()
    names = [f"{level}{side}" for level in range(11) for side in "ab"]
    for name in names:
        log.array(name, (1,))
    for level in range(10):
        for one in "ab":
            for other in "ab":
                log.lineage(f"{level}{one}", f"{level + 1}{other}", [(0, 0)])
    assert len(log.trace("9a", 0, to="0a").paths) == 256
    log.array("end", (1,))
    log.array("start", (1,))
    for side in "ab":
        log.lineage(f"10{side}", "end", [(0, 0)])
        log.lineage("start", f"0{side}", [(0, 0)])
    with pytest.raises(TooManyCells, match="more than 1,000 paths"):
        log.trace("start", 0, to="end")


def big(side: int) -> Relation:
    """Every cell of an array stands behind every cell of another."""
    ends = np.array([[0], [0], [0]]), np.array([[side - 1]] * 3)
    moves = np.zeros((3, 1), dtype=np.int8)
    return Relation((side,) * 3, (side,) * 3, *ends, *ends, moves, moves)


def test_a_large_answer_is_counted_and_not_enumerated() -> None:
    log = arrays(A=(1000,) * 3, B=(1000,) * 3)
    log.lineage("A", "B", big(1000))
    found = log.prov_query(["B", "A"], (0, 0, 0))
    assert (found.count, len(found.boxes)) == (10**9, 1)
    for ask in (found.indices, found.mask):
        with pytest.raises(TooManyCells, match="AIRFLOW_LINEAGE_CELL_LIMIT"):
            ask()


def test_the_limit_is_a_setting(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CELL_LIMIT", "3")
    with pytest.raises(TooManyCells, match="4 cells of array 'A'"):
        log.prov_query(["B", "A"], [0, 1]).indices()
    assert log.prov_query(["B", "A"], 0).indices().tolist() == [[0, 0], [0, 1]]


def test_a_compressed_relation_is_taken_as_it_is(log: Log) -> None:
    log.array("D", (3,))
    log.lineage("A", "D", compress(np.array(SUM), (3,), (3, 2)))
    assert cells(log.prov_query(["D", "A"], 2)) == [(2, 0), (2, 1)]
    assert len(log.relation("A", "D")) == 1


def changed(**columns: Any) -> Relation:
    given = compress(np.array(SUM), (3,), (3, 2))
    return Relation(**{name: columns.get(name, getattr(given, name)) for name in Relation.__dataclass_fields__})


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (changed(in_shape=(2, 3)), "is between shapes"),
        (changed(in_hi=np.array([[0], [2]])), "beyond the input"),
        (changed(in_lo=np.array([[-1], [0]]), in_hi=np.array([[-1], [1]])), "beyond the input"),
        (changed(out_hi=np.array([[3]])), "no box of cells of the output"),
        (changed(out_lo=np.array([[2]]), out_hi=np.array([[1]])), "no box of cells of the output"),
        (changed(lo_moves=np.array([[2], [0]], dtype=np.int8)), "an axis that an output"),
        (changed(in_lo=np.array([[0], [1]]), in_hi=np.array([[0], [0]])), "ends before it begins"),
        (changed(hi_moves=np.array([[0], [0]], dtype=np.int8)), "ends before it begins"),
        (changed(lo_moves=np.array([[0], [0]])), "lo_moves of a compressed relation is an array of int8"),
        (changed(in_lo=[[0], [0]]), "in_lo of a compressed relation"),
        (changed(out_lo=np.zeros((1, 2), dtype=np.int64)), "a compressed relation is an array"),
    ],
)
def test_what_is_no_relation_is_refused(relation: Relation, said: str) -> None:
    log = arrays(A=(3, 2), B=(3,))
    with pytest.raises(LineageError, match=said) as refused:
        log.lineage("A", "B", relation)
    assert isinstance(refused.value, InvalidRelation)


# --- how a hop is gone -------------------------------------------------------------------------------------------------------


def shuffled(cells: int) -> tuple[Ints, tuple[int, ...]]:
    output, pairs = moved(np.random.default_rng(1).permutation, (cells,))
    return pairs, output


@pytest.mark.parametrize(("share", "dense"), [(0.00001, False), (0.01, True), (0.5, True)])
def test_scattered_cells_behind_a_shuffle_go_by_bitmaps(share: float, dense: bool) -> None:
    pairs, shape = shuffled(800_000)
    mask = np.asarray(np.random.default_rng(2).random(shape) < share)
    step = Step(compress(pairs, shape, shape), True)
    assert step.side.index  # sorted, which a first question would not be worth
    assert is_dense(step, Region(shape, parts=from_mask(mask))) is dense
    assert is_dense(step, Region(shape, bits=mask)), "a bitmap is read for boxes, or gone through"


def test_a_large_array_goes_by_boxes() -> None:
    relation = big(1000)
    every = Region((1000,) * 3, parts=relation.out_boxes)
    assert not is_dense(Step(relation, True), every)


def test_many_boxes_of_an_array_too_large_for_a_bitmap_are_told_apart() -> None:
    """Columns and rows of a large image, crossing: cut into pieces, and counted once."""
    log = Log()
    log.array("image", (40_000, 30_000))
    crossing = np.array([[[at, at + 1], [0, 30_000]] for at in (5, 500)] + [[[0, 40_000], [at, at + 1]] for at in (7, 70, 700)])
    assert log.prov_query(["image"], crossing).count == 2 * 30_000 + 3 * 40_000 - 6


def test_what_cannot_be_told_apart_is_refused() -> None:
    log = Log()
    log.array("image", (2**20, 2**20))
    at = np.arange(0, 40_000)
    nested = np.stack([np.stack([at, 2**20 - at], axis=1), np.stack([at, 2**20 - at], axis=1)], axis=1)
    with pytest.raises(TooManyCells, match="40,000 boxes overlap"):
        log.prov_query(["image"], nested).count  # noqa: B018


def is_turned(log: Log, source: str, output: str) -> bool:
    return log._kept.known((source, output), [(source, output)]).links[source, output].turned


def test_the_direction_with_fewer_rows_is_kept() -> None:
    """A vector on the diagonal of a matrix: n rows of output cells, and one row of input cells."""
    log = arrays(v=(50,), m=(50, 50))
    diagonal = [(at, at, at) for at in range(50)]
    log.lineage("v", "m", diagonal)
    for name in ("given", "registered", "of a relation", "known"):
        log.array(name, (50, 50))
    log.lineage("v", "given", compress(np.array(diagonal), (50, 50), (50,)))
    captures = (diagonal, compress(np.array(diagonal), (50, 50), (50,)), None)
    made = zip(("registered", "of a relation", "known"), captures, strict=True)
    assert [log.register_operation("diag", ["v"], [name], args={}, capture=one) for name, one in made] == [False, False, True]
    for name in ("m", "given", "registered", "of a relation", "known"):
        assert cells(log.prov_query([name, "v"], np.s_[3:5, :])) == [(3,), (4,)]
        assert cells(log.prov_query(["v", name], 7)) == [(7, 7)]
        assert len(log.relation("v", name)) == 50
        assert is_turned(log, "v", name)
    output, pairs = summed((100, 100), 1)
    log.array("sums", output)
    log.array("table", (100, 100))
    log.lineage("table", "sums", pairs)
    assert not is_turned(log, "table", "sums")
    log.array("again", output)
    log.register_operation("sum", ["table"], ["again"], capture=pairs)
    assert not is_turned(log, "table", "again")
    at, shuffled = np.arange(5_000), np.random.default_rng(1).permutation(5_000)
    for name, shape, columns in (("long", (5_000, 5_000), [at, at, at]), ("shuffled", (5_000,), [at, shuffled])):
        log.array(name, shape)
        log.array(f"source of {name}", (5_000,))
        log.lineage(f"source of {name}", name, compress(np.stack(columns, axis=1), shape, (5_000,)))
        assert is_turned(log, f"source of {name}", name) is (name == "long")
        assert cells(log.prov_query([name, f"source of {name}"], (4_321,) * len(shape))) == [(columns[-1][4_321],)]


@pytest.mark.parametrize(
    ("cells", "least"),
    [
        (5, 2**16),
        (np.s_[5, 3], 2**16),
        (np.s_[5, ...], 2**16),
        (np.s_[0:100, 3], 400**2),
        (np.s_[0:100], 400**2),
        (np.s_[:100, :, :], 400**3),
        (np.s_[5:], None),
        (np.s_[:, 3], None),
        (..., None),
        ((), None),
        ("net", 2**16),
        (["net", "gross"], 2**17),
        ([[3, 4], [5, 6], [7, 8]], 3 * 2**16),
        (np.eye(4, dtype=np.bool_), None),
        (np.zeros((3, 2), dtype=np.int64), 3 * 2**16),
        (np.array([[[0, 100], [0, 900]]]), 400**2),
        (np.array([[[0, 60], [0, 1]], [[200, 240], [0, 1]]]), 400**2),
        (np.array([[[0, 2**62]] * 40]), 2**59),
        (np.array([[[9, 0]]], dtype=np.uint8), 2**16),
        (np.zeros(3), None),
        (np.zeros((2, 0, 2), dtype=np.int64), 2**17),
        (None, None),
        (np.s_["a":"b"], None),
    ],
)
def test_of_which_relations_parts_are_worth_reading(cells: Any, least: int | None) -> None:
    """Of those of which what is asked about is a small share, as far as that is known without the shape."""
    assert in_parts(cells) == least
