"""What axe says of the pages, in a browser, light and dark: the tab's own views hide what is in a frame from it (`web.test_browser`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.render.html import to_html
from tests.chromium import needs_chromium, opened
from tests.deriving import kept_examples
from tests.render import explanation_examples as examples
from tests.render.test_letters import answer, attributions
from tests.web.front_end import AXE

PAGES: dict[str, Callable[[], str]] = {
    "paper": lambda: to_html(examples.paper()),
    "across": lambda: to_html(examples.across()),
    "every kind of reason": lambda: to_html(examples.many_kinds()),
    "hostile": lambda: to_html(examples.nasty()),
    "why not": lambda: kept_examples.why_not().to_html(),
    "descendants": lambda: kept_examples.descendants().to_html(),
    "letters": lambda: answer(("Reject", attributions(income=-0.3)), ("Reject", None)).letters().to_html(),
}
ALL_RULES_AND_THOSE_OF_COLOURS = {"light": "", "dark": "runOnly: {type: 'rule', values: ['color-contrast', 'link-in-text-block']}"}
"""The schemes differ in colours alone."""


@needs_chromium
@pytest.mark.skipif(not AXE.is_file(), reason="the tab's front end is not built")
def test_nothing_is_serious(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    (tmp_path / "empty.html").write_text("<!doctype html><title>empty</title>")
    with opened(f"file://{tmp_path}/empty.html", "file://") as (page, _):
        for name, made in PAGES.items():
            place = tmp_path / f"{name}.html"
            place.write_text(made(), encoding="utf-8")
            page.emulate_media(color_scheme="light")
            page.goto(place.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.evaluate(AXE.read_text())
            for scheme, rules in ALL_RULES_AND_THOSE_OF_COLOURS.items():
                page.emulate_media(color_scheme=scheme)
                told = page.evaluate(f"axe.run(document, {{resultTypes: ['violations'], {rules}}}).then(found => found.violations)")
                serious = [(one["id"], one["nodes"][0]["html"]) for one in told if one["impact"] in ("serious", "critical")]
                found |= {f"{name}, {scheme}": serious} if serious else {}
    assert not found, json.dumps(found, indent=1)
