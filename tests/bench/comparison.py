"""Ways to do one thing, compared: first that all give the same answer, then what each takes, in turns."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tests.bench.readings import Meter, Reading


class AnswersDiffer(AssertionError):
    """Two arms do not give the same: there is nothing to compare."""


@dataclass(frozen=True)
class Arm:
    """One way. ``answer`` makes of what ``do`` gives something that equals every other arm's; it is not measured.

    ``reading``: where it is done in a process that reads itself, what this one took. ``is_quick``: it is done again and again, and readings
    are of once (`Meter.repeated`).

    Where a goal is not reached, it is done once more, and profiled; ``profile`` is how, where it cannot be done here (but elsewhere, say).
    ``parts`` tell for a figure that is no time what it is made of.
    """

    do: Callable[[], Any]
    answer: Callable[[Any], Any] = lambda given: given
    reading: Callable[[Any], Reading] | None = None
    is_quick: bool = False
    profile: Callable[[], str] | None = None
    parts: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    def read(self, meter: Meter) -> Reading:
        """Do it once more, and what it took."""
        if self.reading is not None:
            return self.reading(self.do())
        return meter.repeated(self.do) if self.is_quick else meter.measured(self.do)


@dataclass
class Comparison:
    """What the arms took, each reading by itself. ``facts`` are further numbers of an arm: bytes stored, rows read.

    ``notes`` are words: of ways that cannot do it, or do it wrong, and so have no readings, the reason. ``profiles``: of arms that do not
    reach a goal, where the time goes, or what the figure is made of. ``others``: how many processors others took meanwhile (`others`).
    ``asked``: statements, transactions and connections of the store's server, of one further turn that is not measured, where that is
    cheap. ``arms``: how they are done, while the experiment goes on.
    """

    title: str
    baseline: str
    readings: dict[str, list[Reading]]
    facts: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    profiles: dict[str, str] = field(default_factory=dict)
    others: float | None = None
    asked: dict[str, dict[str, int]] = field(default_factory=dict)
    arms: Mapping[str, Arm] = field(default_factory=dict, compare=False, repr=False)

    def is_busy(self, cores: int) -> bool:
        """Whether others took more than a tenth of the machine meanwhile: wall times say little then."""
        return self.others is not None and self.others > cores / 10

    def figures(self) -> dict[str, dict[str, float]]:
        """For each arm its figures: medians, and ratios to the baseline's medians."""
        return {arm: self._of(arm) for arm in self.readings}

    def _of(self, arm: str) -> dict[str, float]:
        own, base = self._medians(arm), self._medians(self.baseline)
        both = {"wall ÷": (own["wall, s"], base["wall, s"]), "CPU ÷": (own["CPU, s"], base["CPU, s"])}
        ratios = {name: _ratio(*one) for name, one in both.items() if one[1]}  # what is in a process of its own has no CPU seconds here
        return own | ratios | self.asked.get(arm, {}) | self.facts.get(arm, {})

    def _medians(self, arm: str) -> dict[str, float]:
        read = [_flat(one) for one in self.readings[arm]]
        names = dict.fromkeys(name for one in read for name in one)  # not every reading has all: where more files are opened than are told
        return {name: _rounded(statistics.median(one[name] for one in read if name in one)) for name in names}

    def to_json(self) -> dict[str, Any]:
        kept = asdict(replace(self, arms={}))
        del kept["arms"]
        return {**kept, "figures": self.figures()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Comparison:
        readings = {arm: [Reading(**one) for one in some] for arm, some in found["readings"].items()}
        return cls(
            found["title"],
            found["baseline"],
            readings,
            {arm: dict(some) for arm, some in found["facts"].items()},
            dict(found.get("notes", {})),
            dict(found.get("profiles", {})),
            found.get("others"),
            found.get("asked", {}),
        )


_WARM = 10.0
"""Seconds: a JVM that works so long is warm."""


QUICK = 2.0
"""Seconds: what takes longer is not done once more for what is counted."""


ENDINGS = (SystemExit, KeyboardInterrupt)
"""By these an experiment ends that is asked to end before it is done."""


def compared(
    title: str, arms: Mapping[str, Arm], meter: Meter, repeats: int, baseline: str = "", *, warm_up: int = 0, keeps_turns: bool = False
) -> Comparison:
    """Do each once and compare their answers; then all of them ``repeats`` times, in turns, so that a slower moment is everyone's.

    The baseline is the first, where none is named.

    :param warm_up: so many further turns at most are not measured: for as long as the baseline becomes quicker by a tenth.
    :param keeps_turns: where it is to end meanwhile (`ENDINGS`), the whole turns that there are count, and ``meter.ended`` has what ends
        it, which the next comparison raises. Until then nothing may be asked of Spark: a call of it may have been broken off.
    :raises AnswersDiffer: see there.
    """
    if meter.ended is not None:
        raise meter.ended
    base = baseline or next(iter(arms))
    answers, took = dict[str, Any](), 0.0
    for name, arm in arms.items():
        started = time.perf_counter()
        given = arm.do()
        took = time.perf_counter() - started if name == base else took
        answers[name] = arm.answer(given)
    for name, answer in answers.items():
        if answer != answers[base]:
            raise AnswersDiffer(f"{title}: {name} gives {_short(answer)}, {base} {_short(answers[base])}")
    _warm(arms, base, took, warm_up)
    readings: dict[str, list[Reading]] = {name: [] for name in arms}
    found = Comparison(title, base, readings, arms=arms)
    try:
        for _ in range(repeats):
            turn = {name: arm.read(meter) for name, arm in arms.items()}
            for name, reading in turn.items():
                readings[name].append(reading)
        found.asked = _asked(arms, readings, meter)
    except ENDINGS as problem:
        if not (keeps_turns and readings[base]):
            raise
        meter.ended = problem
    return found


def per_factor_of_ten(growth: float, factor: float) -> float:
    """What something that grew so much while a size did so grew by each time that the size did ten times.

    >>> per_factor_of_ten(9.0, 100.0)
    3.0
    """
    return float(f"{growth ** (1 / math.log10(factor)):.4g}")


def _asked(arms: Mapping[str, Arm], readings: Mapping[str, list[Reading]], meter: Meter) -> dict[str, dict[str, int]]:
    """Of the arms that are quick and done in this process, what the store's server is asked."""
    here = {name: arm for name, arm in arms.items() if arm.reading is None and not arm.is_quick and readings[name]}
    quick = {name: arm for name, arm in here.items() if min(one.wall for one in readings[name]) < QUICK}
    found = {name: meter.asked(arm.do) for name, arm in quick.items()}
    return {name: counts for name, counts in found.items() if counts}


def _warm(arms: Mapping[str, Arm], base: str, took: float, turns: int) -> None:
    for _ in range(turns):
        if took > _WARM:
            return
        before = took
        for name, arm in arms.items():
            started = time.perf_counter()
            arm.do()
            took = time.perf_counter() - started if name == base else took
        if took > 0.9 * before:
            return


def _flat(one: Reading) -> dict[str, float]:
    cpu = {f"{process}, CPU s": seconds for process, seconds in one.cpu.items()}
    memory = {f"{process}, MB at most": most for process, most in one.memory.items()}
    return {"wall, s": one.wall, "CPU, s": one.all_cpu, **cpu, **memory, **one.counts}


def _rounded(value: float) -> float:
    # What takes microseconds has digits that count, too.
    return round(value, 4) if value >= 1 else float(f"{value:.4g}")


def _ratio(one: float, other: float) -> float:
    # So many digits that count: what is a thousand times quicker is no 0.001.
    return float(f"{one / other:.4g}")


def _short(answer: Any) -> str:
    text = repr(answer)
    return text if len(text) < 300 else text[:300] + "…"
