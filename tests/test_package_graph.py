"""The picture of the architecture is what the code says."""

from __future__ import annotations

import pytest

from tests.package_graph import drawn, edges, mermaid, without_detours

pytestmark = pytest.mark.long


def test_the_picture_of_the_documents_is_drawn_from_the_imports() -> None:
    assert drawn() == mermaid(), "imports between parts have changed: `make docs` draws docs/architecture.md anew"


def test_no_part_is_lost_and_no_detour_is_drawn() -> None:
    """A → B → C says that A may use C: an arrow of its own would say nothing."""
    given = {("a", "b"): True, ("b", "c"): True, ("a", "c"): True, ("a", "d"): False}
    assert without_detours(given) == {("a", "b"): True, ("b", "c"): True, ("a", "d"): False}
    parts = {name for edge in edges() for name in edge}
    assert parts == {name for edge in without_detours(edges()) for name in edge}
