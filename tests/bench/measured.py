"""A page of the documents that says what was measured: every goal, and what several results of ``make bench`` have of it.

``make bench-page A="full/*/results.json"`` puts them to what was measured before (``measured.json`` beside this file), and writes
``docs/measured.md``. Of an experiment that several files have, full sizes count, and of equal sizes the newest; a goal that full sizes do
not measure is told by small ones.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.comparison import Comparison
from tests.bench.experiments import EXPERIMENTS
from tests.bench.goals import Goal, goals
from tests.bench.kept_results import KEPT, read_kept, write_kept
from tests.bench.machine import ROOT
from tests.bench.outcomes import Outcome, outcomes
from tests.bench.profile_lines import profile_lines, without_folders
from tests.bench.results import Results, text

PAGE = ROOT / "docs" / "measured.md"
_SIZES = ("full", "small")
_VERDICTS = {"not reached": "Not reached", "reached": "Reached", "told": "Told, without a goal"}
_SHORT = 120
_VERSIONS = ("Python", "Java", "PySpark", "PostgreSQL", "DuckDB", "Arrow")


@dataclass(frozen=True)
class Judged:
    """A goal, and all that was measured of it at one size: reached where every measurement reaches it."""

    goal: Goal
    size: str
    found: Sequence[Outcome]

    @property
    def verdict(self) -> str:
        verdicts = {one.verdict for one in self.found}
        return "not reached" if "not reached" in verdicts else verdicts.pop()

    @property
    def worst(self) -> Outcome:
        return max(self.found, key=lambda one: self._badness(one.measured))

    @property
    def measured(self) -> str:
        """The worst, and the best where there are several."""
        best, worst = (text(one.measured) for one in (min(self.found, key=lambda one: self._badness(one.measured)), self.worst))
        told = worst if worst == best else f"{best} to {worst}"
        reached = sum(one.verdict != "not reached" for one in self.found)
        return told if len(self.found) == 1 or reached == len(self.found) else f"{told} ({reached} of {len(self.found)} reach it)"

    def _badness(self, measured: float | None) -> float:
        value = float("inf") if measured is None or measured != measured else measured
        return -value if self.goal.least is not None else value


def merged(results: Iterable[Results]) -> dict[tuple[str, str], list[Results]]:
    """By experiment and size, each with that experiment alone: the newest, and before it those that have of it what no newer one has.

    Of another commit these count only until the experiment has been measured whole: where a newer one was ended, or was of some parts.
    """
    found: dict[tuple[str, str], list[Results]] = {}
    for one in sorted(results, key=lambda one: str(one.machine.get("date"))):
        for name in one.experiments:
            before = [left for older in found.get((name, one.size), ()) if (left := _left_of(older, one, name))]
            found[name, one.size] = [*before, _of(one, name, one.experiments[name])]
    return found


def layers(results: Iterable[Results]) -> list[Results]:
    """What counts of results, one after the other."""
    return [one for some in merged(results).values() for one in some]


def _left_of(older: Results, newer: Results, name: str) -> Results | None:
    is_whole = name not in newer.failed and name not in newer.parts
    if is_whole and older.machine.get("commit") != newer.machine.get("commit"):
        return None
    titles = {one.title for one in newer.experiments[name]}
    left = [one for one in older.experiments[name] if one.title not in titles]
    return _of(older, name, left) if left else None


def _of(results: Results, name: str, comparisons: list[Comparison]) -> Results:
    """With that experiment alone, and so much of it."""
    failed, parts = ({name: told[name]} if name in told else {} for told in (results.failed, results.parts))
    return replace(results, experiments={name: comparisons}, failed=failed, parts=parts)


def _together(some: Sequence[Results], name: str) -> Results:
    """All that is known of an experiment at a size."""
    return _of(some[-1], name, [one for layer in some for one in layer.experiments[name]])


def judged(found: Mapping[tuple[str, str], Sequence[Results]], wanted: Iterable[Goal]) -> tuple[list[Judged], dict[str, str]]:
    """The goals that are measured; and of the others why not, by figure."""
    measured, lacking = list[Judged](), dict[str, str]()
    known = {(name, size): _together(some, name) for (name, size), some in found.items()}
    for goal in wanted:
        at = {size: outcomes(known[goal.experiment, size], [goal]) for size in _SIZES if (goal.experiment, size) in known}
        own = next((Judged(goal, size, some) for size, some in at.items() if some[0].measured is not None), None)
        if own is not None:
            measured.append(own)
        else:
            lacking[goal.figure] = next((some[0].where for some in at.values()), f"{goal.experiment} was not run")
    return measured, lacking


def page(results: Iterable[Results], wanted: Sequence[Goal]) -> str:
    """The page as Markdown."""
    found = merged(results)
    measured, lacking = judged(found, wanted)
    counts = {verdict: sum(one.verdict == verdict for one in measured) for verdict in _VERDICTS}
    lines = [
        "# What was measured",
        "",
        "<!-- Written by make bench-page, from results of make bench: what is changed here is lost. -->",
        "",
        f"Of {len(wanted)} goals of the benchmarks {counts['reached']} are reached, {counts['not reached']} are not, {counts['told']} "
        f"figures are told without a goal, and {len(lacking)} goals were not measured. `tests/bench/goals.toml` has the goals; [how far it "
        "goes](scale.md) has what follows for large stores. Ratios (÷) are of arms that took turns in one run; figures are medians. A goal "
        "that several comparisons measure is reached where all of them reach it: its worst figure stands last. *busy*: others took more "
        "than a tenth of the machine meanwhile, so that wall times are too long there.",
        "",
        *_runs(found),
    ]
    for verdict, title in _VERDICTS.items():
        lines += _section(title, [one for one in measured if one.verdict == verdict])
    lines += _why([one for one in measured if one.verdict == "not reached"])
    lines += _not_measured(lacking)
    return "\n".join(lines) + "\n"


def _runs(found: Mapping[tuple[str, str], Sequence[Results]]) -> Iterator[str]:
    """The machines, and what was run on them."""
    machines = dict.fromkeys(_machine(one) for some in found.values() for one in some)
    yield from (f"Measured on {one}." for one in machines)
    yield ""
    yield "| experiment | sizes | commit | begun (UTC) | processors that others took | |"
    yield "| --- | --- | --- | --- | ---: | --- |"
    for name, size in sorted(found, key=lambda at: (EXPERIMENTS.index(at[0]) if at[0] in EXPERIMENTS else len(EXPERIMENTS), at)):
        yield from (_run(one, name, size) for one in found[name, size])


def _run(one: Results, name: str, size: str) -> str:
    others = [comparison.others for comparison in one.experiments[name] if comparison.others is not None]
    taken = text(round(statistics.median(others), 2)) if others else "not known" if one.experiments[name] else ""
    commit = f"`{str(one.machine.get('commit'))[:10]}`" + (", changed" if one.machine.get("changed") else "")
    begun = str(one.machine.get("date"))[:16].replace("T", " ")
    of = f"of it: {one.parts[name]}" if name in one.parts else ""
    return _row(name, size, commit, begun, taken, "; ".join(filter(None, (of, _ended(one.failed.get(name, ""))))))


def _machine(one: Results) -> str:
    """All of it that comparisons depend on."""
    known = one.machine
    versions = ", ".join(f"{name} {known[name]}" for name in _VERSIONS if name in known)
    return f"{known.get('cores')} cores of {known.get('CPU')}, {known.get('memory')}, {known.get('system')}; {versions}"


def _ended(problem: str) -> str:
    """Of a traceback the error's line, which follows those that are further in."""
    lines = without_folders(problem).strip().splitlines()
    after = max((at for at, line in enumerate(lines) if line.startswith(" ")), default=-1) + 1
    return f"not to its end: {lines[min(after, len(lines) - 1)][:_SHORT]}" if lines else ""


def _section(title: str, some: Sequence[Judged]) -> Iterator[str]:
    if some:
        yield from ("", f"## {title}", "", "| figure | goal | measured | paper | experiment |", "| --- | ---: | ---: | ---: | --- |")
    for one in some:
        busy = " *busy*" if any(outcome.is_busy for outcome in one.found) else ""
        yield _row(one.goal.figure, one.worst.bound, one.measured + busy, one.goal.paper, f"{one.goal.experiment}, {one.size}")


def _why(missed: Sequence[Judged]) -> Iterator[str]:
    """Where the time of those that are not reached goes, or what is counted: of the worst."""
    if missed:
        yield from ("", "## Where it goes, where a goal is not reached", "")
    told: dict[str, list[str]] = {}
    for one in missed:
        told.setdefault("\n".join(_reasons(one.worst)), []).append(one.goal.figure)
    for why, figures in told.items():
        yield f"- {_escaped('; '.join(figures))}:"
        yield from (f"  - {line}" for line in why.splitlines())


def _not_measured(lacking: Mapping[str, str]) -> Iterator[str]:
    """By the reason."""
    if lacking:
        yield from ("", "## Not measured", "")
    for why in dict.fromkeys(lacking.values()):
        figures = [figure for figure, reason in lacking.items() if reason == why]
        yield f"- {_escaped(why)}: {_escaped('; '.join(figures))}"


def _reasons(worst: Outcome) -> list[str]:
    lines = profile_lines(worst.profile) if worst.profile else ["nothing tells why"]
    return [_escaped(worst.where), *map(_escaped, lines)]


def _row(*cells: str) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(told: str) -> str:
    """No cell ends early, and nothing is a tag, or leads elsewhere."""
    told = told.replace("](", "]\\(")
    return told.replace("|", "\\|").replace("<", "&lt;").replace("*busy*", "\0").replace("*", "\\*").replace("\0", "*busy*")


def main() -> int:
    """Write it.

    :raises SystemExit: a file cannot be read, or none is given.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.bench.measured", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="results.json files of make bench")
    parser.add_argument("--kept", type=Path, default=KEPT, help="what the page is written from: what is known is in it, and stays")
    parser.add_argument("--out", type=Path, default=PAGE)
    arguments = parser.parse_args()
    try:
        results = [*read_kept(arguments.kept), *(Results.read(path) for path in arguments.results)]
    except (OSError, ValueError) as problem:
        raise SystemExit(f"bench-page: {problem}") from problem
    write_kept(arguments.kept, layers(results), goals())
    arguments.out.write_text(page(read_kept(arguments.kept), goals()), encoding="utf-8")
    print(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
