"""What the experiments about cells of arrays stand on: forms in which pairs are stored, and ways to ask them, against pairs by hand."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Log, expand
from tests.bench.cells.asked import BEST, OURS, OVER_GZIP, Asking, against, together
from tests.bench.cells.coverage import AGAIN, RUNS, SEEN, covered, numpy_coverage, shares
from tests.bench.cells.given import Given, digits_before, matrix_product_bytes, raw_bytes
from tests.bench.cells.numpy_functions import FUNCTIONS, OF_WORKFLOWS, Function, Variant
from tests.bench.cells.stored import GZIP, STORED, Stored
from tests.bench.cells.workflows import Workflow, random_workflow, range_of, relational, residual_block
from tests.bench.cells.workloads import of_numpy, of_tables
from tests.bench.comparison import Comparison, compared
from tests.bench.readings import Meter, Reading


def text(given: Given) -> str:
    return "".join(f"{at},{','.join(map(str, pair))}\n" for at, pair in enumerate(given.padded().tolist()))


def test_the_raw_file_of_the_paper_is_as_long_as_its_text() -> None:
    for workload in dict(of_numpy((3, 40), (12, 12))).values():
        assert all(raw_bytes(one) == len(text(one)) for one in workload)
    assert [digits_before(count) for count in (1, 10, 11, 100, 1234)] == [
        sum(len(str(at)) for at in range(count)) for count in (1, 10, 11, 100, 1234)
    ]


def test_the_raw_file_of_a_product_of_matrices_is_that_of_its_pairs() -> None:
    i, j, k = np.indices((12, 12, 12)).reshape(3, -1)
    square = (12, 12)
    given = [Given(np.stack([i, j, i, k], axis=1), square, square), Given(np.stack([i, j, k, j], axis=1), square, square)]
    assert matrix_product_bytes(12) == sum(map(raw_bytes, given))


def test_the_papers_own_sizes_are_met_at_its_shapes() -> None:
    """Negative has 22.67 MB, Aggregate 20.56, Matrix×Vector 39.23; Addition is twice the first."""
    sizes = {name: sum(map(raw_bytes, one)) / 1e6 for name, one in itertools.islice(of_numpy((10, 100_000), (1000, 1000)), 4)}
    wanted = {"Negative": 22.67, "Addition": 45.33, "Aggregate": 20.56, "Matrix×Vector": 39.23}
    assert {name: round(size, 2) for name, size in sizes.items()} == wanted


def test_a_sort_is_numpys_and_a_shuffle_goes_across_rows() -> None:
    workloads = dict(of_numpy((3, 40), (1, 1)))
    numbers = np.random.default_rng(0).random((3, 40))
    ((sort,), (shuffle,)) = (workloads[name] for name in ("Sort", "Shuffle"))
    found = np.zeros((3, 40))
    found[tuple(sort.pairs[:, :2].T)] = numbers[tuple(sort.pairs[:, 2:].T)]
    assert (len(sort.pairs), found.tolist()) == (120, np.sort(numbers).tolist())
    for ends in (shuffle.pairs[:, :2], shuffle.pairs[:, 2:]):
        assert len(np.unique(ends, axis=0)) == len(ends) == 120
    assert (shuffle.pairs[:, 0] != shuffle.pairs[:, 2]).any()


@pytest.mark.parametrize("stored", STORED, ids=lambda one: one.name)
def test_pairs_are_read_as_they_were_written(stored: Stored, tmp_path: Path) -> None:
    (given,) = dict(of_numpy((3, 40), (1, 1)))["Shuffle"]
    for pairs in (given.pairs, given.pairs[:0]) if stored.name != "raw" else (given.pairs,):
        assert stored.read(stored.write(pairs, tmp_path / "pairs")).tolist() == pairs.tolist()


def test_all_ways_of_asking_give_what_the_pairs_by_hand_give(tmp_path: Path) -> None:
    workflow = random_workflow((6, 7), 5, 11, 10**4)
    asking = Asking.of(workflow, tmp_path, Log(), "cells")
    for backward in (False, True):
        shape = workflow.shapes[-1 if backward else 0]
        cells = range_of(shape, 0.3, np.random.default_rng(2))
        wanted = by_hand(workflow, cells, backward)
        arms, left_out = asking.arms(cells, "cells", backward=backward)
        assert not left_out
        assert set(OURS) < set(arms)
        assert {arm.answer(arm.do()) for arm in arms.values()} == {wanted.tobytes()}


def by_hand(workflow: Workflow, cells: np.ndarray, backward: bool) -> np.ndarray:
    """A bitmap."""
    shapes = workflow.shapes
    asked = {tuple(at) for at in np.ndindex(*shapes[-1 if backward else 0]) if all((cells[:, 0] <= at) & (at <= cells[:, 1]))}
    for relation in workflow.relations[:: -1 if backward else 1]:
        rank = len(relation.out_shape)
        pairs = [(tuple(pair[:rank]), tuple(pair[rank:])) for pair in expand(relation).tolist()]
        asked = {end for start, end in (pairs if backward else [pair[::-1] for pair in pairs]) if start in asked}
    found = np.zeros(shapes[0 if backward else -1], dtype=bool)
    for at in asked:
        found[at] = True
    return found


def test_what_would_be_compared_too_often_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.bench.cells.asked.MOST_COMPARED", 10)
    arms, left_out = Asking.of(residual_block((4, 5)), tmp_path, Log(), "cells").arms(np.array([[0, 3], [0, 4]]), "cells", backward=False)
    assert "array" not in arms
    assert list(left_out) == ["array"]


def test_every_function_of_random_workflows_makes_something_of_an_array() -> None:
    for name, function in OF_WORKFLOWS.items():
        with np.errstate(all="ignore"):
            assert np.size(function(np.random.default_rng(1).random((5, 6)), np.random.default_rng(2))), name


def test_what_the_paper_counts_of_numpys_functions_is_listed_once() -> None:
    assert len(FUNCTIONS) == 132
    assert len(OF_WORKFLOWS) == 76


@pytest.mark.long
def test_functions_are_reused_by_dimensions_or_generally_or_not() -> None:
    found = numpy_coverage(["add", "reshape", "sort", "expand_dims"])
    assert {name: (one.by_dimensions, one.generally, one.errors) for name, one in found.items()} == {
        "add": (True, True, 0), "reshape": (True, False, 0), "sort": (False, False, 0), "expand_dims": (True, True, 0),
    }  # fmt: skip
    assert found["sort"].why.startswith("two captures")
    assert shares(found) == {
        "functions": 4, "ProvRC < .5 raw, %": 100, "by dimensions, %": 75, "generally, %": 50,
        "calls of other shapes captured": sum(one.captured for one in found.values()), "errors": 0,
    }  # fmt: skip


def test_a_function_that_hangs_on_values_unseen_is_counted_as_an_error() -> None:
    """It turns its array round in the last calls, which are known from those before."""
    runs = iter(range(RUNS))
    one = Variant(lambda a: np.flip(a) if next(runs) > SEEN + AGAIN else a * 1, ("a",))
    found = covered("sort", Function(True, (one,)))
    assert found.generally
    assert found.errors == RUNS - 1 - SEEN - AGAIN


def test_workflows_over_tables_are_linked_hop_by_hop() -> None:
    workflow = relational(60)
    assert [one.in_shape for one in workflow.relations] == workflow.shapes[:-1]
    assert {name for name, _ in of_tables(60)} == {"Group By", "Inner Join"}


def test_ratios_of_several_workflows_are_told_by_their_mean_and_their_least() -> None:
    def one(gzip: float, own: float) -> Comparison:
        took = {GZIP.name: gzip, "Parquet": gzip, "columns by pcodec": gzip / 2, "raw": 9.0} | dict.fromkeys(OURS, own)
        found = Comparison("x", GZIP.name, {arm: [Reading(seconds, {"driver": seconds})] for arm, seconds in took.items()})
        against(found)
        return found

    some = [one(2.0, 0.1), one(8.0, 0.1)]
    assert [found.facts["arrays"] for found in some] == [{BEST: 10.0, OVER_GZIP: 20.0}, {BEST: 40.0, OVER_GZIP: 80.0}]
    facts = together("all", some).facts["arrays"]
    assert facts == {f"{BEST}, mean": 20.0, f"{BEST}, least": 10.0, f"{OVER_GZIP}, mean": 40.0, f"{OVER_GZIP}, least": 20.0}


def test_quick_work_is_read_over_many_times() -> None:
    times: list[int] = []
    read = Meter(None, None).repeated(lambda: times.append(1))
    assert len(times) > 1
    assert 0 < read.wall < 0.01
    assert math.isclose(sum(read.cpu.values()), read.all_cpu)
    assert compared("x", {}, Meter(None, None), 0, "none").readings == {}
