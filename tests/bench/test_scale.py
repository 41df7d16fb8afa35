"""The model of large stores: what it multiplies, and that the page of it says what it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.scale import PLACES, Load, Place, bytes_in_files, constants, first_to_break, room, table, uses

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


@pytest.mark.parametrize("load", [(0.0, 1.0, 1.0), (1.0, 1.0, -1.0)])
def test_no_load(load: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="at least something of everything"):
        Load(*load)
