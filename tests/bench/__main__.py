"""What the product costs and gains, measured on this machine (``make bench``): each experiment in a process of its own.

Every comparison first checks that its arms give the same answer, and then repeats them in turns. Medians, ratios within this run, CPU
seconds by process and counts go to the terminal, to ``results.json`` and to ``report.html``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from tests.bench.comparison import Comparison
from tests.bench.experiments import EXPERIMENTS
from tests.bench.gate import bounds, passed_bounds
from tests.bench.goals import goals
from tests.bench.ground import ground
from tests.bench.machine import machine
from tests.bench.others import with_others
from tests.bench.outcomes import goals_table, outcomes
from tests.bench.parts import asked_parts
from tests.bench.report import write_report
from tests.bench.results import Results, tables
from tests.bench.told import Told

console = Console()
_TIDYING = 60.0
"""Seconds that an experiment which is asked to end may take for it."""


def main() -> int:
    """All that is asked for; 1 where an experiment failed, or a bound does not hold."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # as by Ctrl-C: what was found is kept, servers are stopped
    if arguments.into:
        return _run_one(arguments.only[0], arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = Results(machine(), arguments.size)
    for name in arguments.only or EXPERIMENTS:
        _run(name, arguments, results)
        write_report(results, arguments.out / "report.html")
    console.print(goals_table(outcomes(results, goals())))
    console.print(f"{arguments.out / 'results.json'}, {arguments.out / 'report.html'}")
    problems = list(passed_bounds(results, bounds())) if arguments.gate else []
    for problem in problems:
        console.print(problem, style="red", markup=False)
    return 1 if results.failed or problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--size", choices=("small", "full"), default="small", help="a minute for each experiment, or the papers' shapes")
    parser.add_argument("--repeats", type=int, default=3, help="of every arm, in turns")
    parser.add_argument("--only", action="append", choices=EXPERIMENTS, help="this experiment alone (may be repeated)")
    parser.add_argument(
        "--part",
        default="",
        help="of each experiment the parts alone whose names have this expression in them (a wrong one tells the names)",
    )
    parser.add_argument("--scale-factor", action="append", default=[], help="of TPC-H, in place of the size's (may be repeated): 10, say")
    slower = parser.add_mutually_exclusive_group()
    slower.add_argument("--udf-seconds", type=float, default=0.0, help="that a model of CDA takes longer for each call, as larger ones do")
    slower.add_argument(
        "--cost-ratio", type=float, default=0.0, help="of a CDA query's calls to the rest of it, by making calls slower: the paper's is 190"
    )
    parser.add_argument("--out", type=Path, default=Path("bench"), help="the folder of results.json and report.html")
    parser.add_argument("--gate", action="store_true", help="fail where a figure is beyond its bound (bounds.toml)")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(name: str, arguments: argparse.Namespace, results: Results) -> None:
    """In a process of its own: no experiment finds what another one has warmed up, and none falls with another.

    What it had found is kept, and shown, also where it is ended before it is done, and so is what ran before it.
    """
    into = arguments.out / f"{name}.found.json"
    own = [sys.executable, "-m", "tests.bench", "--only", name, "--size", arguments.size, "--repeats", str(arguments.repeats)]
    own += [text for factor in arguments.scale_factor for text in ("--scale-factor", factor)]
    # (Only one of the two may be given.)
    own += ["--cost-ratio", str(arguments.cost_ratio)] if arguments.cost_ratio else ["--udf-seconds", str(arguments.udf_seconds)]
    own += ["--part", arguments.part, "--into", str(into)]
    into.unlink(missing_ok=True)
    results.failed[name] = "it was ended before it was done"
    try:
        with console.status(name):
            failed, told = _ended(own)
        del results.failed[name]
        if failed:
            results.failed[name] = _problem(told)
    finally:
        found = [Comparison.from_json(one) for one in json.loads(into.read_text(encoding="utf-8"))] if into.exists() else []
        results.experiments[name] = found
        asked = asked_parts(arguments.part, arguments.scale_factor)
        results.parts |= {name: asked} if asked else {}
        results.write(arguments.out / "results.json")
        into.unlink(missing_ok=True)
        if name in results.failed:
            console.print(f"{name} failed:\n{results.failed[name]}", style="red", markup=False)
        for table in tables(found, results.cores):
            console.print(table)


def _ended(own: list[str]) -> tuple[int, str]:
    """How a process of one's own ended, and what it told. It is asked to end, and tidy up, where this one is."""
    process = subprocess.Popen(own, stderr=subprocess.PIPE, text=True)
    try:
        _, told = process.communicate()
    except BaseException:
        process.terminate()
        try:
            process.communicate(timeout=_TIDYING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise
    return process.returncode, told


def _problem(told: str) -> str:
    """The end of what a process said: its traceback, without what Spark says when it starts."""
    before, traceback, after = told.rpartition("Traceback (most recent call last)")
    return (traceback + after)[-3000:] if traceback else before[-3000:] or after[-3000:]


def _run_one(name: str, arguments: argparse.Namespace) -> int:
    found: list[Comparison] = []
    slower = arguments.udf_seconds, arguments.cost_ratio
    with ground(arguments.size, arguments.repeats, tuple(arguments.scale_factor), *slower, arguments.part) as made:
        told = Told(name, arguments.size, made.beside, made.meter)
        for one in with_others(import_module(f"tests.bench.experiments.{name}").run(made)):
            found.append(one)
            # After each: what an experiment had found before it failed is kept, and before it is told what a goal is missed by.
            _write(found, arguments.into)
            if made.meter.ended is not None:  # a profile would take the time that is there for tidying up
                raise made.meter.ended
            told.tell(one)
            _write(found, arguments.into)
        made.parts.check(name)
    return 0


def _write(found: list[Comparison], into: Path) -> None:
    new = into.with_suffix(".new")
    new.write_text(json.dumps([comparison.to_json() for comparison in found]), encoding="utf-8")
    os.replace(new, into)  # it is read where this process is ended, too


if __name__ == "__main__":
    sys.exit(main())
