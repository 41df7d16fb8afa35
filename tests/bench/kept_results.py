"""What the page of what was measured is written from: of results the part that goals are held against, in a file of the repository.

No machine measures all experiments at once, at full sizes: the file has of each experiment the newest results, and those that come are put
to it.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.bench.comparison import Comparison
from tests.bench.goals import Goal
from tests.bench.profile_lines import as_told, profile_lines
from tests.bench.readings import Reading
from tests.bench.results import Results

KEPT = Path(__file__).with_name("measured.json")


def read_kept(path: Path) -> list[Results]:
    """What `write_kept` wrote; nothing where there is no such file.

    :raises ValueError: the file is something else.
    """
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Results.from_json(one, str(path)) for one in found]


def write_kept(path: Path, results: Iterable[Results], wanted: Iterable[Goal]) -> None:
    """A line for each, of what goals are held against."""
    goals = list(wanted)
    lines = [json.dumps(kept(one, goals).to_json(), ensure_ascii=False) for one in results]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def kept(results: Results, wanted: Iterable[Goal]) -> Results:
    """Results with the arms alone that goals are about, their medians in place of all readings, and the lines of profiles that say most."""
    goals = list(wanted)
    experiments = {}
    for name, some in results.experiments.items():
        own = [goal for goal in goals if goal.experiment == name]
        about = [one for one in some if any(re.fullmatch(goal.comparison, one.title) for goal in own)]
        experiments[name] = [_kept(results.size, one, own) for one in about]
    return Results(results.machine, results.size, experiments, results.failed, results.parts)


def _kept(size: str, one: Comparison, goals: Iterable[Goal]) -> Comparison:
    about = [goal for goal in goals if re.fullmatch(goal.comparison, one.title)]
    arms = [arm for arm in one.readings if any(re.fullmatch(goal.arm, arm) or goal.over == arm for goal in about) or arm == one.baseline]
    figures = one.figures()
    away = {arm for goal in about if goal.size in ("", size) for arm, value in goal.measured(one.title, figures) if not goal.reached(value)}
    return Comparison(
        one.title, one.baseline, {arm: [_median(one.readings[arm])] for arm in arms if one.readings[arm]},
        facts=_of(one.facts, arms), profiles={arm: as_told(profile_lines(told)) for arm, told in one.profiles.items() if arm in away},
        others=one.others, asked=_of(one.asked, arms),
    )  # fmt: skip


def _of(told: Mapping[str, Any], arms: Iterable[str]) -> dict[str, Any]:
    return {arm: told[arm] for arm in arms if arm in told}


def _median(readings: list[Reading]) -> Reading:
    """One reading with the medians: of what not every reading has, of those that have it."""
    return Reading(
        statistics.median(one.wall for one in readings),
        _medians([one.cpu for one in readings]),
        {name: int(value) for name, value in _medians([one.counts for one in readings]).items()},
        _medians([one.memory for one in readings]),
    )


def _medians(told: list[Any]) -> dict[str, float]:
    names = dict.fromkeys(name for one in told for name in one)
    return {name: statistics.median(one[name] for one in told if name in one) for name in names}
