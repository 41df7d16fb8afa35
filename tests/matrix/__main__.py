"""``python -m tests.matrix [combination …]``: runs the core on each, prints the table, and fails where one fails.

Environments stay in ``.matrix`` between calls; beside them are the reports and the logs of the last runs. Ctrl-C ends the tests that run,
and prints what is known by then.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.environments import ROOT, NoEnvironment
from tests.matrix.combinations import COMBINATIONS, Combination, chosen
from tests.matrix.environment import HOME, prepared
from tests.matrix.outcome import Outcome, other_releases, read_outcome, table, versions_of

_FOREIGN = ("AIRFLOW", "PYSPARK", "PYTHONPATH", "SPARK_HOME", "VIRTUAL_ENV", "PYTEST_")
_PATIENCE = 60
"""Seconds that pytest has to end in, after Ctrl-C."""


def main(arguments: list[str]) -> int:
    """0 where all that were chosen are good, 1 where one is not, 2 where there is no such combination, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("combinations", nargs="*", help=f"of {', '.join(one.name for one in COMBINATIONS)} (all)")
    parser.add_argument("--processes", default="2", help="of pytest (2)")
    given = parser.parse_args(arguments)
    try:
        wanted = chosen(given.combinations)
    except ValueError as problem:
        parser.error(str(problem))
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        for outcome in _outcomes(wanted, given.processes):
            outcomes.append(outcome)
            print(table([outcome]).splitlines()[1], flush=True)
            print(*(f"  {name}" for name in outcome.failed), sep="\n", flush=True)
    except KeyboardInterrupt:
        interrupted = True
    print(table(outcomes))
    if interrupted:
        print(f"stopped; not run to the end: {', '.join(one.name for one in wanted[len(outcomes) :])}")
        return 130
    return 0 if all(one.is_good for one in outcomes) else 1


def _outcomes(wanted: tuple[Combination, ...], processes: str) -> Iterator[Outcome]:
    for one in wanted:
        print(f"{one.name}: Python {one.python}, {', '.join(one.releases)}", flush=True)
        try:
            python = prepared(one)
        except NoEnvironment as problem:
            yield Outcome(one.name, problem=str(problem))
            continue
        report = HOME / f"{one.name}.xml"
        report.unlink(missing_ok=True)
        versions = versions_of(python)
        others = other_releases(one, versions)
        if others is not None:
            yield Outcome(one.name, versions, problem=others)
            continue
        began = time.monotonic()
        _run(
            [str(python), "-m", "pytest", *_options(one, processes), f"--junitxml={report}", *(f"tests/{path}" for path in one.tests)], one
        )
        print(f"{one.name}: {time.monotonic() - began:.0f} seconds; {HOME / one.name}.log has all that was said", flush=True)
        yield read_outcome(one.name, versions, report)


def _options(one: Combination, processes: str) -> list[str]:
    let = [f"--pythonwarnings=ignore::{warning}" for warning in one.let]
    return ["--quiet", "--tb=short", "-p", "no:cacheprovider", "--numprocesses", processes, "--dist", "worksteal", *let]


def _run(command: list[str], one: Combination) -> None:
    # Pandas on Spark before 4.2 sets it itself, too late for a session that runs, and warns.
    settings = {"PYARROW_IGNORE_TIMEZONE": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | settings
    with (HOME / f"{one.name}.log").open("w", encoding="utf-8") as log:
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            running.wait()
        except KeyboardInterrupt:
            # The terminal has told pytest, too, which stops its sessions and servers.
            try:
                running.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                running.kill()
            raise
        finally:
            if running.poll() is None:
                running.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
