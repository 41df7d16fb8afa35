"""Whether a sketch pays, decided on recorded figures: each rule by itself, and what a series of runs costs under it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from airflow_lineage_provider.sketches.policy import (
    MeasuredRun,
    are_useless,
    saved_each,
    served_by,
    share_read,
    whether_to_capture,
    whether_to_use,
)

AFTER = 2


def run(
    seconds: float | None, *, through: bool = False, capture: float | None = None, share: float | None = None, of: str = "5", at: str = "v1"
) -> MeasuredRun:
    return MeasuredRun(run_id="r", binding=(of,), versions={0: at}, seconds=seconds, through=through, capture=capture, share=share)


def test_runs_over_the_same_rows_are_counted_that_it_would_have_served() -> None:
    asked: list[str | None] = []

    def serves(binding: tuple[str | None, ...]) -> bool:
        asked.append(binding[0])
        return int(binding[0] or 0) >= 5

    runs = [run(1), run(1), run(1, of="7"), run(1, of="3"), run(1, at="v2"), run(1, through=True)]
    assert served_by(runs, {0: "v1"}, serves) == 3
    assert asked == ["5", "7", "3"]  # each once


@pytest.mark.parametrize(
    ("runs", "served", "yes", "told"),
    [
        ([], 0, False, "would have served 0 earlier runs over the same sources, and is captured from 2 on"),
        ([run(1)], 1, False, "would have served 1 earlier runs"),
        ([run(1), run(1)], 2, True, "what one costs is not known yet"),
        ([run(1, capture=1, share=0.76)], 3, False, "but those of run r have 76% of the bytes, more than 75%"),
        ([run(1, capture=1, share=0.76), run(1, capture=1, share=0.2)], 3, False, "76%"),  # the last one counts
        ([run(1, capture=1, share=0.2), run(1, capture=1, share=0.76)], 9, True, ""),
        # Guessed: 10 s less 2 s, three runs for one captured in vain.
        ([run(10, capture=11, share=0.2)], 3, True, "1.5 more uses are expected (0 uses of 1 captures so far), which save 12.00 s"),
        ([run(10, capture=13, share=0.2)], 3, False, r"(10.00 s less 2.00 s each, as is guessed by the bytes); a capture takes 13.00 s"),
        # Measured: 10 s less 9 s, however few bytes are read.
        ([run(9, through=True), run(10, capture=11, share=0.2)], 3, False, "which save 2.00 s (10.00 s less 9.00 s each)"),
        ([*[run(9, through=True)] * 20, run(10, capture=11, share=0.2)], 3, True, "11.5 more uses are expected"),
        ([*[run(11, through=True)] * 20, run(10, capture=1, share=0.2)], 3, False, "which save -11.50 s"),
        # Those that were compared with a plain run are uses, and their seconds say nothing.
        ([*[run(None, through=True)] * 20, run(10, capture=11, share=0.2)], 3, True, "11.5 more uses are expected (20 uses of 1 captures"),
        # Two runs at once that captured the same: one sketch is left. Another instance's is another one, and so is what kept none.
        ([run(10, capture=11, share=0.2)] * 2, 3, True, "1.5 more uses are expected (0 uses of 1 captures so far)"),
        ([run(10, capture=11, share=0.2), run(10, capture=11, share=0.2, of="6")], 3, False, "(0 uses of 2 captures so far)"),
        ([run(10, capture=11, share=0.2), run(10, capture=11, share=0.2, at="v2")], 3, False, "(0 uses of 2 captures so far)"),
        ([run(10, capture=11, share=0.2), run(10, capture=11), run(10, capture=11)], 3, False, "(0 uses of 3 captures so far)"),
        # A capture that failed cost its seconds all the same.
        ([run(10, capture=50)], 3, False, "a capture takes 50.00 s"),
    ],
)  # fmt: skip
def test_capturing(runs: Sequence[MeasuredRun], served: int, yes: bool, told: str) -> None:
    found = whether_to_capture(runs, served, AFTER)
    assert found.yes is yes, found
    assert told in found.because
    assert re.search("[0-9]", found.because)
    assert found.because.startswith("a sketch of this run would have served")


@pytest.mark.parametrize(
    ("plain", "through", "yes"),
    [
        ([], [], True), ([1.0] * 5, [9.0], True), ([1.0], [9.0] * 5, True),
        ([1.0, 1.0], [1.04, 1.04], True), ([1.0, 1.0], [1.06, 1.06], False),
        ([1.0, 1.0, 1.0], [9.0, 0.5, 0.5], True),  # one slow run says nothing
    ],
)  # fmt: skip
def test_using(plain: list[float], through: list[float], yes: bool) -> None:
    found = whether_to_use([*(run(one) for one in plain), *(run(one, through=True) for one in through)])
    assert found.yes is yes, found
    assert re.search("[0-9]", found.because)


@pytest.mark.parametrize(
    ("plain", "through", "useless", "saved"),
    [
        ([1.0] * 4, [2.0] * 4, True, -1.0), ([1.0] * 4, [2.0] * 3, False, -1.0), ([3.0] * 4, [2.0] * 4, False, 1.0),
        ([3.0, 3.0], [2.0, 1.0], False, 1.5), ([3.0], [2.0] * 9, False, None), ([], [], False, None),
    ],
)  # fmt: skip
def test_what_uses_have_shown(plain: list[float], through: list[float], useless: bool, saved: float | None) -> None:
    runs = [*(run(one) for one in plain), *(run(one, through=True) for one in through)]
    assert are_useless(runs) is useless
    assert saved_each(runs) == saved


def test_bytes_weigh_sources_where_all_are_known() -> None:
    assert share_read([(0.1, 900), (1.0, 100)]) == pytest.approx(0.19)
    assert share_read([(0.1, 900), (1.0, None)]) == pytest.approx(0.55)
    assert share_read([(0.5, 0), (1.0, 0)]) == pytest.approx(0.75)


def seconds_of(days: int, times: int, capture: float, *, reused: bool) -> Iterator[tuple[float, bool]]:
    """What the runs of a pipeline take and whether one captures: ``times`` runs of each day's constant, of which a sketch serves the rest
    of the day (or nothing: its sources change at once). A plain run takes 1 s, and one through a sketch 0.1 s."""
    runs: list[MeasuredRun] = []
    for day in range(days):
        has_sketch = False
        for _ in range(times):
            through = has_sketch and reused
            made = run(0.1 if through else 1.0, through=through, of=str(day))
            served = served_by(runs, {0: "v1"}, lambda binding, day=day: binding == (str(day),))  # type: ignore[misc]
            captures = not has_sketch and whether_to_capture(runs[:100], served, AFTER).yes
            if captures:
                made, has_sketch = run(1.0, capture=capture, share=0.1, of=str(day)), True
            runs.insert(0, made)
            yield (made.seconds or 0.0) + (made.capture or 0.0), captures


def test_what_is_never_reused_costs_next_to_nothing() -> None:
    """Constants that never come again are never captured; of those that come three times they become rare, however cheap they are."""
    once = list(seconds_of(100, 1, 0.5, reused=False))
    assert sum(seconds for seconds, _ in once) == 100
    for capture in (0.1, 0.5, 2.0):
        thrice = list(seconds_of(100, 3, capture, reused=False))
        assert sum(captures for _, captures in thrice) <= 3 * (1 + 2 * 0.9 / capture)  # a third of the runs is remembered
        assert sum(seconds for seconds, _ in thrice) / len(thrice) <= 1.05


def test_what_is_reused_is_captured_each_day() -> None:
    found = list(seconds_of(20, 20, 2.0, reused=True))
    assert sum(captures for _, captures in found) == 20
    assert sum(seconds for seconds, _ in found) / len(found) < 0.4
