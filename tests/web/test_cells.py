"""Cells behind a reason in the tab: the region over the source's own image, spans in its text; and nothing of a column that is withheld."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.render.explanation_examples import png
from tests.web.conftest import Flights

API = "/lineage/api/v1"
Client = Callable[..., Any]
SHAPE = "h4v4h-4z"
"""Of a pixel of the reason, four of the picture's a side."""
PIXELS = base64.b64encode(png()).decode()[200:300]


@pytest.fixture(autouse=True)
def of_photos(setting: None, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", flights.store.url)


def answer(client: Any, flights: Flights, form: str) -> str:
    found = client.post(f"{API}/runs/{flights.runs['photos']}/explanation", json={"where": "n = 1", "form": form})
    assert found.status_code == 200, found.text
    return str(found.json()["page"]) if form == "page" else json.dumps(found.json()["document"])


def test_the_region_is_that_of_the_reason(client: Client, flights: Flights) -> None:
    """The lamp is one of the pixels that the reason is about, each 4 × 4 of the picture's right half."""
    document = json.loads(answer(client(), flights, "json"))
    (decision,) = document["reasons"]["is_lit"]["decisions"]
    lamp = decision["reason"]["reason"]["boxes"][0]
    page = answer(client(), flights, "page")
    assert f'd="M{32 + 4 * int(lamp["x"])} {4 * int(lamp["y"])}{SHAPE}"' in page
    assert 'viewBox="0 0 64 48"' in page
    assert PIXELS in page
    assert ">GOOD</mark>" in page


@pytest.mark.parametrize("setting_name", ["AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK"])
@pytest.mark.parametrize("pattern", ["photo", "photos.photo"])
def test_no_pixel_of_a_column_that_is_withheld(
    client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch, setting_name: str, pattern: str
) -> None:
    monkeypatch.setenv(setting_name, pattern)
    for form in ("page", "json"):
        told = answer(client(), flights, form)
        assert PIXELS not in told
        assert "data:image" not in told
        assert SHAPE not in told
        assert "GOOD" in told


@pytest.mark.parametrize("pattern", ["told", "photos.told"])
def test_no_character_of_a_column_that_is_withheld(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", pattern)
    page = answer(client(), flights, "page")
    assert "good picture" not in page.lower()
    assert "GOOD" not in page
    assert PIXELS in page
