"""What a results store costs at any size, and what gives way first: a model, made of what the benchmarks measure (``scale.toml``).

``python -m tests.bench.scale --runs 1e6 --rows 1e12 --teams 1000`` prints it. It multiplies; it simulates no queue and no failure.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Place = Literal["tables", "files", "files, a store for each team"]
PLACES: tuple[Place, ...] = ("tables", "files", "files, a store for each team")
"""Where stored rows go: into PostgreSQL; into files, with one catalog for all; the same, with a catalog for each team."""

_PEAK = 10
"""At night there are so many times as many runs as on average."""
_DAY = 86_400.0


@dataclass(frozen=True)
class Load:
    """What is asked of it: runs that are kept, rows that all of them store, teams, days that a run is kept, answers a day and run.

    ``unordered``: the share of the answers that look up what is in no order in the files.
    """

    runs: float
    rows: float
    teams: float
    days: float = 365.0
    minutes: float = 10.0
    answers: float = 0.1
    unordered: float = 0.0

    def __post_init__(self) -> None:
        if min(self.runs, self.rows, self.teams, self.days, self.minutes) <= 0 or self.answers < 0:
            raise ValueError(f"a load has at least something of everything, and was given {self}")
        if not 0 <= self.unordered <= 1:
            raise ValueError(f"a share of the answers is between none and all, and was given as {self.unordered}")


@dataclass(frozen=True)
class Use:
    """How much of what one server has is used: ``share`` is 1 where it is all."""

    what: str
    amount: float
    bound: float
    unit: str

    @property
    def share(self) -> float:
        return self.amount / self.bound


def constants() -> dict[str, Any]:
    """What the model is made of."""
    return tomllib.loads(Path(__file__).with_name("scale.toml").read_text(encoding="utf-8"))


def uses(load: Load, place: Place, known: Mapping[str, Any]) -> Iterator[Use]:
    """What of one server's a load uses, in this place."""
    in_tables, servers = place == "tables", load.teams if place.endswith("each team") else 1.0
    row, run, answer, bounds = known["stored_row"], known["run"], known["answer"], known["bounds"]
    runs, rows = load.runs / servers, load.rows / servers
    a_second = runs / load.days / _DAY * _PEAK
    tables = 2 * runs if in_tables else 0.0
    stored = rows * (row["bytes_in_postgresql"] + row["bytes_of_an_index"]) if in_tables else 0.0
    catalog = runs * (run["catalog_bytes_with_tables"] + run["system_catalog_bytes"] if in_tables else run["catalog_bytes_with_files"])
    asking = answer["cpu_s"] + answer["connection_s"] + (0.0 if in_tables else _in_files(load, answer))
    loading = rows / load.days / _DAY * _PEAK * row["load_cpu_s"] if in_tables else 0.0
    asked = runs * load.answers / _DAY * _PEAK
    yield Use("stored rows in PostgreSQL", stored, bounds["stored_bytes"], "B")
    yield Use("tables", tables, bounds["tables"], "")
    yield Use("catalogs", catalog, bounds["catalog_bytes"], "B")
    yield Use("transactions a second", a_second * run["transactions"], bounds["transactions_a_second"], "")
    yield Use("connections", a_second * load.minutes * 60 * run["connections"], bounds["connections"], "")
    yield Use("cores: recording, loading, answers", a_second * run["record_s"] + loading + asked * asking, bounds["cores"], "")


def _in_files(load: Load, answer: Mapping[str, float]) -> float:
    """Seconds that an answer takes longer from files: what it looks up is in order there, or all of a column is read."""
    ordered, other = answer["cpu_s_of_a_row_in_files"], answer["cpu_s_of_a_row_in_files_in_any_order"]
    return load.rows / load.runs * ((1 - load.unordered) * ordered + load.unordered * other)


def bytes_in_files(load: Load, known: Mapping[str, Any]) -> float:
    """What an object store has of all stored rows."""
    return float(load.rows * known["stored_row"]["bytes_in_parquet"])


def first_to_break(load: Load, place: Place, known: Mapping[str, Any]) -> Use:
    """Of what the largest share is used."""
    return max(uses(load, place, known), key=lambda one: one.share)


def room(load: Load, place: Place, known: Mapping[str, Any]) -> float:
    """How many times the load one server could take (below 1: it cannot take it), everything growing alike."""
    return 1 / first_to_break(load, place, known).share


def table(load: Load, known: Mapping[str, Any]) -> str:
    """All that is used, in every place, as Markdown; what is beyond one server stands in bold."""
    lines = ["| | " + " | ".join(PLACES) + " |", "| --- |" + " ---: |" * len(PLACES)]
    for every in zip(*(list(uses(load, place, known)) for place in PLACES), strict=True):
        lines.append(f"| {every[0].what} | " + " | ".join(_told(one) for one in every) + " |")
    files = _short(bytes_in_files(load, known), "B")
    lines.append("| bytes in the object store | " + " | ".join(["–", files, files]) + " |")
    lines.append("| one server takes this load | " + " | ".join(f"{_short(room(load, place, known))} ×" for place in PLACES) + " |")
    return "\n".join(lines) + "\n"


def _told(one: Use) -> str:
    text = f"{_short(one.amount, one.unit)} ({one.share:.2g})" if one.amount else "–"
    return f"**{text}**" if one.share > 1 else text


def _short(number: float, unit: str = "") -> str:
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if number >= 10**power:
            return f"{number / 10**power:.3g} {letter}{unit}"
    return f"{number:.2g} {unit}".rstrip()


def main() -> None:
    """Print the table of a load that is given."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--runs", type=float, default=1e6, help="runs that are kept")
    parser.add_argument("--rows", type=float, default=1e12, help="rows that all of them store")
    parser.add_argument("--teams", type=float, default=1e3)
    parser.add_argument("--days", type=float, default=365.0, help="so long a run is kept")
    parser.add_argument("--minutes", type=float, default=10.0, help="so long a run takes")
    parser.add_argument("--answers", type=float, default=0.1, help="a day and kept run")
    parser.add_argument("--unordered", type=float, default=0.0, help="the share of the answers that look up what is in no order in files")
    print(table(Load(**vars(parser.parse_args())), constants()))


if __name__ == "__main__":
    main()
