"""Experiments that are ended before they are done: what was measured is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.comparison import Arm, compared
from tests.bench.experiments import tpcds
from tests.bench.readings import Meter


def _ending(after: int, gives: int = 1) -> Arm:
    """Done so often; then what ends the experiment comes while it is done."""
    done = list[int]()

    def do() -> int:
        done.append(1)
        if len(done) > after:
            raise SystemExit(143)
        return gives

    return Arm(do)


def test_whole_turns_count_where_a_comparison_is_ended() -> None:
    """The first time of each is for its answer, and the last turn has one arm of two."""
    meter = Meter(None, None)
    found = compared("x", {"a": Arm(lambda: 1), "b": _ending(3)}, meter, 9, keeps_turns=True)
    assert [len(some) for some in found.readings.values()] == [2, 2]
    with pytest.raises(SystemExit, match="143"):
        compared("y", {"a": Arm(lambda: 1)}, meter, 1)
    for keeps_turns, after in ((False, 3), (True, 1), (True, 0)):
        with pytest.raises(SystemExit):
            compared("x", {"a": Arm(lambda: 1), "b": _ending(after)}, Meter(None, None), 9, keeps_turns=keeps_turns)


def test_the_queries_of_tpcds_that_were_compared_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of three was, the second gave other rows, and it was not yet known whether they are ties."""

    def ground(where: str) -> Any:
        folder = tmp_path / where
        folder.mkdir()
        return SimpleNamespace(folder=folder, is_small=True, meter=Meter(None, None), repeats=2)

    for name, arms in {"one": [Arm(lambda: 1), Arm(lambda: 2), Arm(lambda: 0)], "none": [_ending(1), Arm(lambda: 0)]}.items():
        monkeypatch.setattr(tpcds, "write_tpcds", lambda _: {})
        given = iter(arms)
        monkeypatch.setattr(tpcds, "written", lambda *_, given=given: next(given))
        monkeypatch.setattr(tpcds, "recorded", lambda *_: Arm(lambda: 1))
        monkeypatch.setattr(tpcds, "_of_whole", lambda *_: {"plain": _ending(0), "a run": Arm(lambda: 1)})
        experiment, own = tpcds.run(here := ground(name)), here.meter
        if name == "none":
            with pytest.raises(SystemExit):
                next(experiment)
            continue
        (told,) = experiment
        assert told.title == "TPC-DS, 1 queries"
        assert told.notes == {"worst query": "q03", "ended": "at q42, before all 3 queries were compared"}
        assert told.facts["a run"][tpcds.DIFFERING] == 0
        assert len(told.readings["a run"]) == 2
        assert isinstance(own.ended, SystemExit)
