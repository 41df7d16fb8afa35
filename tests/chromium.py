"""A real browser for tests of pages: Chromium without a window, as the system has it or ``CHROMIUM`` says; with ``WEB_SHOTS`` a folder for
pictures to be looked at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHOTS = os.environ.get("WEB_SHOTS")
needs_chromium = pytest.mark.browser
"""Without it such a test is skipped (`tests.conftest`)."""
_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
)


@contextmanager
def started() -> Iterator[Any]:
    """The browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS.split())
        yield browser
        browser.close()


@contextmanager
def opened(url: str, own: str) -> Iterator[tuple[Any, list[str]]]:
    """A page, and what goes wrong in it: errors, and what it asks for beyond addresses that begin with ``own``."""
    with started() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: problems.append(told.text) if told.type == "error" and "favicon" not in told.text else None)
        page.on("request", lambda asked: problems.append(asked.url) if not asked.url.startswith(own) else None)
        page.goto(url)
        yield page, problems


def wide_and_narrow(page: Any, name: str) -> None:
    """Pictures of it, light, and narrow and dark, where somebody wants to look."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}-light.png", full_page=True)
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 800})
        page.screenshot(path=f"{SHOTS}/{name}-dark.png", full_page=True)
