"""What is kept in memory for a while."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_lineage_provider.sources.kept import Kept


@dataclass(frozen=True)
class Some:
    nbytes: int


def test_what_is_larger_than_all_that_is_kept_pushes_nothing_out() -> None:
    kept: Kept[Some] = Kept(100)
    made: list[str] = []

    def make(name: str, size: int) -> Some:
        return kept.found(name, lambda: made.append(name) or Some(size))  # type: ignore[func-returns-value]

    assert [make("a", 60).nbytes, make("b", 40).nbytes, make("large", 101).nbytes] == [60, 40, 101]
    assert [make("a", 60).nbytes, make("b", 40).nbytes, make("large", 101).nbytes] == [60, 40, 101]
    assert made == ["a", "b", "large", "large"]
    make("c", 30)
    make("b", 40)
    assert made == ["a", "b", "large", "large", "c"]
    make("a", 60)
    assert made[-1] == "a"
