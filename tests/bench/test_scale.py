"""The model of large stores: what it multiplies, and that the page of it says what it gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.comparison import Comparison
from tests.bench.experiments import EXPERIMENTS
from tests.bench.readings import Reading
from tests.bench.results import Results
from tests.bench.scale import PLACES, Load, Place, bytes_in_files, constants, first_to_break, room, table, uses
from tests.bench.scale_check import held, measured

INTERNET = Load(1e6, 1e12, 1e3)
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.parametrize("load", [INTERNET, Load(1e5, 1e11, 30), Load(1e4, 1e9, 3)], ids=str)
def test_the_page_has_what_the_model_gives(load: Load) -> None:
    assert table(load, constants()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("place", "breaks"), [("tables", "tables"), ("files", "connections")])
def test_what_gives_way_first(place: Place, breaks: str) -> None:
    assert first_to_break(INTERNET, place, constants()).what == breaks


@pytest.mark.parametrize("place", PLACES)
def test_twice_the_load_is_half_the_room(place: Place) -> None:
    twice = Load(2 * INTERNET.runs, 2 * INTERNET.rows, INTERNET.teams)
    assert room(twice, place, constants()) == pytest.approx(room(INTERNET, place, constants()) / 2)


def test_teams_of_their_own_share_nothing() -> None:
    for shared, own in zip(uses(INTERNET, "files", constants()), uses(INTERNET, "files, a store for each team", constants()), strict=True):
        assert own.amount == pytest.approx(shared.amount / INTERNET.teams)


def test_files_have_the_rows_that_tables_do_not() -> None:
    assert not [one for one in uses(INTERNET, "files", constants()) if one.what in ("tables", "stored rows in PostgreSQL") and one.amount]
    assert bytes_in_files(INTERNET, constants()) == pytest.approx(1e12 * constants()["stored_row"]["bytes_in_parquet"])


def test_larger_runs_in_files_take_answers_longer() -> None:
    """What their row groups' statistics take to read; in tables an index leads there."""
    larger = Load(INTERNET.runs / 100, INTERNET.rows, INTERNET.teams)
    cost = {place: _cores(larger, place) / larger.runs - _cores(INTERNET, place) / INTERNET.runs for place in PLACES}
    assert cost["files"] > 0
    loading = INTERNET.rows * constants()["stored_row"]["load_cpu_s"] * (1 / larger.runs - 1 / INTERNET.runs)
    assert cost["tables"] == pytest.approx(10 * loading / INTERNET.days / 86_400)


def test_what_is_in_any_order_in_files_takes_answers_longer_still() -> None:
    """By a column that is read, of all rows of the run; half of the answers cost half of it; tables have an index."""
    known = constants()["answer"]
    more = known["cpu_s_of_a_row_in_files_in_any_order"] - known["cpu_s_of_a_row_in_files"]
    asked_a_second = INTERNET.runs * INTERNET.answers / 86_400 * 10
    for share in (0.5, 1.0):
        load, each = replace(INTERNET, unordered=share), share * more * INTERNET.rows / INTERNET.runs
        assert _cores(load, "files") - _cores(INTERNET, "files") == pytest.approx(asked_a_second * each)
        assert _cores(load, "tables") == _cores(INTERNET, "tables")
    with pytest.raises(ValueError, match="between none and all"):
        replace(INTERNET, unordered=1.5)


def test_the_page_says_what_order_is_worth() -> None:
    known = constants()["answer"]
    ordered, other = (1e8 * known[f"cpu_s_of_a_row_in_files{how}"] for how in ("", "_in_any_order"))
    assert f"from files {ordered:.1g} more for each hundred million rows" in " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"In any other order all of that column is read: {other:.1g} more" in " ".join(PAGE.read_text(encoding="utf-8").split())


def _cores(load: Load, place: Place) -> float:
    return next(one.amount for one in uses(load, place, constants()) if one.what.startswith("cores"))


def test_every_constant_is_measured() -> None:
    """By an experiment; bounds are of a server, and the run's connections are as its code has them."""
    known = constants()
    told = {one.constant for one in measured(known)}
    assert told == {f"{table}.{name}" for table in ("stored_row", "run", "answer") for name in known[table]} - {"run.connections"}
    assert {one.experiment for one in measured(known)} <= set(EXPERIMENTS)


def test_constants_beside_results() -> None:
    known: dict[str, Any] = {"run": {"s": 0.1, "bytes": 40.0, "none": 1.0}}
    at = {"experiment": "kept_runs", "comparison": "(ten|more) runs", "arm": "all"}
    known["measured"] = [
        {"constant": "run.s", **at, "of": "CPU, s"},
        {"constant": "run.bytes", **at, "of": "bytes", "per": 10, "beside": 100},
        {"constant": "run.none", **at, "of": "jobs"},
    ]
    readings = {"all": [Reading(1.0, {"driver": 0.125})]}
    found = [
        Comparison(f"{title} runs", "all", readings, {"all": {"bytes": 100.0 + size}}) for title, size in (("ten", 700.0), ("more", 500.0))
    ]
    results = Results({}, "full", {"kept_runs": found})
    assert [(one.verdict, one.found) for one in held(results, known)] == [("holds", 0.125), ("off", 60.0), ("not measured", None)]


@pytest.mark.parametrize("load", [(0.0, 1.0, 1.0), (1.0, 1.0, -1.0)])
def test_no_load(load: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="at least something of everything"):
        Load(*load)
