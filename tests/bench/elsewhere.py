"""Arms that are done in a process of their own each time: what it has of memory at most is theirs alone, and nothing is warm.

``alone(*arguments)`` of an experiment's module is a context that gives the work, and the meter that reads it, in that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import psutil

from tests.bench.comparison import QUICK, Arm
from tests.bench.memory import most_at
from tests.bench.profiles import ALONE, Beside, profile
from tests.bench.readings import Meter, Reading

MEMORY = "memory, MB"
"""What a process had at most beyond what it had before the work."""
_PART = "part "


@dataclass(frozen=True)
class Work:
    """What is to be done in the other process. ``answer`` does it, too, and gives what JSON has, and other arms give as well.

    ``counts`` are further ones, after it; ``parts`` tell what figures are made of that are no times, as `Arm.parts` do, after it, too.
    """

    do: Callable[[], Any]
    answer: Callable[[], Any]
    meter: Meter
    beside: Beside = ALONE
    counts: Callable[[], dict[str, int]] = dict
    parts: Mapping[str, Callable[[], str]] = field(default_factory=dict)


Alone = Callable[..., AbstractContextManager[Work]]


def elsewhere(module: str, *arguments: str, once: bool = False, parts: Sequence[str] = ()) -> Arm:
    """The work that a module has for these arguments; ``parts`` are figures of which it tells what they are made of.

    :param once: in one process, whose reading counts, and which gives the answer afterwards: where starting it is what takes time.
    """
    ask, known = partial(_asked, module, arguments), dict[str, Any]()

    def answer(_: Any) -> Any:
        known.update(ask("both") if once else {"answer": ask("answer")})
        return known["answer"]

    return Arm(
        lambda: None,
        answer,
        reading=lambda _: Reading(**(known["reading"] if once else ask("read"))),
        profile=lambda: str(ask("profile")),
        parts={MEMORY: lambda: str(ask("memory"))} | {figure: partial(ask, f"{_PART}{figure}") for figure in parts},
    )


def _asked(module: str, arguments: tuple[str, ...], how: str) -> Any:
    own = [sys.executable, "-m", __name__, module, how, *arguments]
    done = subprocess.run(own, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(own[2:])}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _read(work: Work) -> dict[str, Any]:
    before = psutil.Process().memory_info().rss
    with work.meter.reading() as reading:
        work.do()
    reading.counts[MEMORY] = max(round(reading.memory.get("driver", 0.0) - before / 2**20), 0)
    reading.counts |= work.counts()
    reading.counts |= work.meter.asked(work.do) if reading.wall < QUICK else {}
    return asdict(reading)


def _part(work: Work, figure: str) -> str:
    work.do()
    return work.parts[figure]()


HOW: dict[str, Callable[[Work], Any]] = {
    "answer": lambda work: work.answer(),
    "read": _read,
    "both": lambda work: {"reading": _read(work), "answer": work.answer()},
    "profile": lambda work: profile(work.do, work.beside),
    "memory": lambda work: most_at(work.do),
}


def main() -> None:
    """Do it, and print what was found, as JSON."""
    module, how, *arguments = sys.argv[1:]
    alone: Alone = import_module(module).alone
    with alone(*arguments) as work:
        print(json.dumps(_part(work, how.removeprefix(_PART)) if how.startswith(_PART) else HOW[how](work)))


if __name__ == "__main__":
    main()
