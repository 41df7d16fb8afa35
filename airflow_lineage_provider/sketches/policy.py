"""Whether a sketch pays: decided on what runs of the same template took (the paper's adaptive strategy, Sec. 8).

The paper counts how often a sketch could have been used, and captures one from some number on. Here the seconds of earlier runs decide,
too: what a use saves is measured as plain runs less runs through sketches, what a capture costs as it took. How often a sketch will be
used is what sketches of this template were used so far, the new one counted with the earlier runs that it would have served:

    uses expected = (uses so far + earlier runs it would have served) / (sketches captured so far + 1)

So each sketch that was captured in vain makes the next one wait longer, and where none is used they become rare. (Of several captures of
one instance over the same versions one is kept: they are one sketch.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from airflow_lineage_provider.sketches.sketch import WORTH
from airflow_lineage_provider.sketches.template import Binding

SLOWER = 1.05
"""A run through sketches that takes more than so many times a plain run's seconds is not worth it."""
MEASURED = 2
"""So many runs of a kind tell how long it takes: the first one warms Spark up, or was alone on its machine."""


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """What a run of a template took.

    ``versions`` are digests of the versions of its sources, by leaf. ``seconds`` are those of the run (None where it was compared with a
    plain run meanwhile), ``through`` says whether it read through sketches; ``capture`` are the seconds that capturing sketches of it took,
    and ``share`` is the part of its sources' bytes that a run through these reads: 1 where none was kept, None where that failed.
    """

    run_id: str
    binding: Binding
    versions: Mapping[int, str]
    seconds: float | None
    through: bool
    capture: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Decision:
    """What is done, and why: one sentence, with numbers."""

    yes: bool
    because: str


def served_by(runs: Iterable[MeasuredRun], versions: Mapping[int, str], serves: Callable[[Binding], bool]) -> int:
    """How many of these runs a sketch would have served: plain runs over the same rows, of constants that it serves."""
    over_the_same = [run for run in runs if not run.through and dict(run.versions) == dict(versions)]
    answers = {binding: serves(binding) for binding in dict.fromkeys(run.binding for run in over_the_same)}
    return sum(answers[run.binding] for run in over_the_same)


def share_read(sources: Sequence[tuple[float, int | None]]) -> float:
    """The part of the bytes of sources that is read, of each of which the part and, if that is known, the bytes are given.

    >>> share_read([(0.5, 100), (1.0, 300)]), share_read([(0.5, 100), (1.0, None)]), share_read([])
    (0.875, 0.75, 1.0)
    """
    known = [count for _, count in sources if count is not None]
    weights = known if len(known) == len(sources) and any(known) else [1] * len(sources)
    read = sum(part * weight for (part, _), weight in zip(sources, weights, strict=True))
    return read / sum(weights) if weights else 1.0


def whether_to_use(runs: Sequence[MeasuredRun]) -> Decision:
    """Whether a run reads through the sketches that fit.

    >>> took = lambda seconds, through: MeasuredRun(run_id="", binding=(), versions={}, seconds=seconds, through=through)
    >>> whether_to_use([took(3.0, True), took(3.2, True), took(1.0, False), took(1.2, False)]).because
    'runs through sketches take 3.10 s here, and plain runs 1.10 s'
    """
    plain, through = _seconds(runs, through=False), _seconds(runs, through=True)
    if min(len(plain), len(through)) < MEASURED:
        return Decision(True, f"{len(plain)} plain runs and {len(through)} through sketches are not yet enough to compare")
    told = f"runs through sketches take {median(through):.2f} s here, and plain runs {median(plain):.2f} s"
    return Decision(median(through) <= SLOWER * median(plain), told)


def are_useless(runs: Sequence[MeasuredRun]) -> bool:
    """Whether sketches of a template have had their chance: runs through them are slower, and twice as many as are enough say so."""
    plain, through = _seconds(runs, through=False), _seconds(runs, through=True)
    return min(len(plain), len(through)) >= 2 * MEASURED and not whether_to_use(runs).yes


def saved_each(runs: Sequence[MeasuredRun]) -> float | None:
    """The seconds that a run through sketches of a template saves; None where too few have shown it."""
    plain, through = _seconds(runs, through=False), _seconds(runs, through=True)
    return None if min(len(plain), len(through)) < MEASURED else median(plain) - median(through)


def whether_to_capture(runs: Sequence[MeasuredRun], served: int, after: int) -> Decision:
    """Whether sketches of a run are captured. ``runs`` are earlier ones of its template, the newest first, of which ``served`` would have
    been served by them; with fewer than ``after`` none is captured."""
    told = f"a sketch of this run would have served {served:,} earlier runs over the same sources"
    if served < after:
        return Decision(False, f"{told}, and is captured from {after:,} on")
    captured = [run for run in runs if run.capture is not None]
    last = next((run for run in captured if run.share is not None), None)
    if last is not None and last.share is not None and last.share > WORTH:
        return Decision(False, f"{told}, but those of run {last.run_id} have {last.share:.0%} of the bytes, more than {WORTH:.0%}")
    if not captured:
        return Decision(True, f"{told}, and what one costs is not known yet")
    return _paying(runs, captured, last, served, told)


def _paying(runs: Sequence[MeasuredRun], captured: Sequence[MeasuredRun], last: MeasuredRun | None, served: int, told: str) -> Decision:
    """Whether what uses save is more than the capture costs."""
    plain, through = _seconds(runs, through=False), _seconds(runs, through=True)
    cost = median(run.capture for run in captured if run.capture is not None)
    uses = sum(run.through for run in runs)
    made = _captures(captured)
    expected = (uses + served) / (made + 1)
    before = median(plain) if plain else 0.0
    after = median(through) if through else before * (last.share or 0.0 if last is not None else 0.0)
    saved = (before - after) * expected
    how = f"{uses:,} uses of {made:,} captures so far"
    each = f"{before:.2f} s less {after:.2f} s each" + ("" if through else ", as is guessed by the bytes")
    numbers = f"{expected:.1f} more uses are expected ({how}), which save {saved:.2f} s ({each}); a capture takes {cost:.2f} s"
    return Decision(saved >= cost, f"{told}; {numbers}")


def _captures(captured: Sequence[MeasuredRun]) -> int:
    """How many captures there were; those of one instance that kept sketches are one, as each takes the place of the one before."""
    kept = [run for run in captured if run.share is not None and run.share <= WORTH]
    return len(captured) - len(kept) + len({(run.binding, *sorted(run.versions.items())) for run in kept})


def _seconds(runs: Iterable[MeasuredRun], *, through: bool) -> list[float]:
    return [run.seconds for run in runs if run.through == through and run.seconds is not None]
