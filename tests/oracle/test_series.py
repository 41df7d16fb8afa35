"""The record of a long series: what passed is not drawn again, what failed is, and nothing that was written down is lost."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from tests.oracle.series import Block, Series


def block(number: int, examples: int = 50) -> Block:
    return Block("test_fuzz", "all", number, examples)


class Odd(Exception):
    """Of a pipeline that nothing can be said of."""


def why(error: Exception) -> str | None:
    return "odd" if isinstance(error, Odd) else None


def one(counted: Block, error: BaseException | None = None) -> None:
    """A new pipeline that ends like that; Hypothesis is told of those that are rejected, as it is."""
    with suppress(UnsatisfiedAssumption), counted.one(why, f"SELECT {len(counted.known)}"):
        if error is not None:
            raise error


def drawn(series: Series, number: int, end: BaseException | None = None) -> None:
    with series.written(block(number)) as counted:
        one(counted)
        one(counted, Odd())
        one(counted, end)


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(7, tmp_path / "new", "abc")


def test_what_passed_is_known_again(series: Series, tmp_path: Path) -> None:
    drawn(series, 0)
    assert series.has_passed(block(0))
    assert not series.has_passed(block(1))
    assert not series.has_passed(block(0, examples=20))
    assert not series.has_passed(Block("test_fuzz", "paper", 0, 50))
    assert not Series(8, tmp_path / "new", "abc").has_passed(block(0))
    assert not Series(7, tmp_path / "new", "abd").has_passed(block(0))


def test_what_failed_is_drawn_again_and_told(series: Series) -> None:
    drawn(series, 0)
    with pytest.raises(AssertionError):
        drawn(series, 1, AssertionError("the result is not what plain Spark gives"))
    assert not series.has_passed(block(1))
    told = series.told()
    assert "3 pipelines passed, 2 rejected (2 odd), 1 failed; 2 blocks" in told[0]
    assert told[1:] == ["block 1 of test_fuzz failed: AssertionError: the result is not what plain Spark gives"]
    drawn(series, 1)
    assert series.has_passed(block(1))
    assert "4 pipelines passed, 2 rejected (2 odd), 0 failed; 2 blocks" in series.told()[0]


def test_after_a_failure_nothing_is_counted() -> None:
    """Hypothesis goes on from there to simpler cases."""
    counted = block(0)
    with pytest.raises(ValueError):
        one(counted, ValueError())
    one(counted)
    one(counted, Odd())
    assert (counted.passed, counted.rejected.total()) == (0, 0)


def test_a_rejected_pipeline_is_no_example_to_hypothesis() -> None:
    with pytest.raises(UnsatisfiedAssumption), block(0).one(why, "SELECT 1"):
        raise Odd


def test_a_query_counts_once() -> None:
    counted = block(0)
    with counted.one(why, "SELECT 1"):
        pass
    with pytest.raises(UnsatisfiedAssumption), counted.one(why, "SELECT 1"):
        raise AssertionError("it is not asked again")
    with counted.one(why, "SELECT 2"):
        pass
    assert (counted.passed, counted.rejected.total()) == (2, 0)


def test_a_failing_query_is_made_simpler_over_other_tables() -> None:
    counted = block(0)
    with pytest.raises(ValueError), counted.one(why, "SELECT 1"):
        raise ValueError
    with pytest.raises(ValueError), counted.one(why, "SELECT 1"):
        raise ValueError


def test_a_line_that_was_cut(series: Series) -> None:
    drawn(series, 0)
    with series.file.open("a") as file:
        file.write('{"test": "test_fuzz", "blo\n')
    drawn(series, 2)
    assert [one.block for one in series.blocks().values()] == [0, 2]


def test_a_stopped_block_is_not_written_down(series: Series) -> None:
    with pytest.raises(KeyboardInterrupt):
        drawn(series, 0, KeyboardInterrupt())
    assert not series.has_passed(block(0))


def test_passes_of_trusted_commits_are_taken_over_and_told_apart(series: Series, tmp_path: Path) -> None:
    drawn(series, 0)
    drawn(series, 1)
    with pytest.raises(AssertionError):
        drawn(series, 2, AssertionError("wrong"))
    later = Series(7, tmp_path / "new", "abd", trusted=["abc", "abd"])
    assert [later.has_passed(block(number)) for number in range(4)] == [True, True, False, False]
    with pytest.raises(AssertionError):
        drawn(later, 1, AssertionError("wrong now"))
    drawn(later, 2)
    assert [later.has_passed(block(number)) for number in range(4)] == [True, False, True, False]
    own, taken, together, failure = later.told()
    assert own.startswith("seed 7 at abd: 3 pipelines passed, 2 rejected (2 odd), 1 failed; 2 blocks")
    assert taken.startswith("taken from abc: 2 pipelines passed, 1 rejected (1 odd), 0 failed; 1 blocks")
    assert together.startswith("together: 5 pipelines passed, 3 rejected (3 odd), 1 failed; 3 blocks")
    assert failure == "block 1 of test_fuzz failed: AssertionError: wrong now"


def test_a_commit_at_which_nothing_was_checked_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUZZ_TRUSTED", "0123456789ab")
    with pytest.raises(FileNotFoundError, match="0123456789ab, at which no block of seed 7 was checked"):
        Series.asked_for(7)
