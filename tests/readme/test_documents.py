"""The pages of docs/: every snippet and command is run, in its order; every link leads somewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.readme.conftest import ROOT
from tests.readme.links import links, places
from tests.readme.reader import Reader
from tests.readme.snippets import KINDS, NOT_CODE, documents, snippets

DOCUMENTS = documents(ROOT)
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
AIRFLOW = "airflow.md"
"""The page whose Python is a DAG file: read in tests/airflow/test_readme_dag.py."""


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [*DOCUMENTS, *OTHERS], ids=named)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in links(path):
        assert link.target.exists(), f"{named(path)}: {link.text} is not there"
        assert not link.place or link.place in places(link.target), f"{named(path)}: {link.text} names no heading"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [DOCUMENTS[0]]
    while waiting:
        here = waiting.pop()
        if here not in reached and here.suffix == ".md":
            reached.add(here)
            waiting += [link.target for link in links(here)]
    assert set(DOCUMENTS) <= reached


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_what_is_not_run_is_marked_with_its_reason(path: Path) -> None:
    for one in snippets(path):
        known = one.kind in (*KINDS, *NOT_CODE)
        assert known or one.not_run, f"{named(path)}:{one.line}: nobody runs {one.kind}; mark it: <!-- not run: why -->"


@pytest.mark.parametrize("path", [path for path in DOCUMENTS[1:] if snippets(path)], ids=named)
def test_a_page_works_in_its_order(path: Path, reader: Reader) -> None:
    own = [one for one in snippets(path) if path.name != AIRFLOW or one.kind != "python"]
    reader.read(path, own)
    if path.name in _CHECKS:
        _CHECKS[path.name](reader.names)


# --- what the comments of the snippets say -------------------------------------------------------------------------------


def _explain(names: dict[str, Any]) -> None:
    (control,) = names["clean"].explain("client_id = 8").controls
    assert (control.operator, control.sources, control.rows) == ("▷ (id = client_id)", ("blacklist",), (0,))
    changed = names["grown"].explain(since=names["before"]).target
    assert changed.to_pylist() == [{"client_id": 9, "judge": "Reject"}]


def _crossfilter(names: dict[str, Any]) -> None:
    assert names["late"].counts["carrier"] == {"AA": 1, "UA": 1}
    assert names["late"].selected == 2
    assert names["view"].brush(delay=[6, 7], carrier=["AA"]).counts["day"] == {"Mon": 1, "Tue": 0, "Wed": 0}


def _both_ways(names: dict[str, Any]) -> None:
    rows, found = names["rows"], names["found"]
    assert (rows.guarantee.level, rows.engine, rows.rows.column("debt").to_pylist()) == ("exact", "lazy: postgresql", [10.0])
    assert found.rows.to_pylist() == [{"client_id": 8, "judge": "Accept"}]
    assert [one["loans"]["client_id"] for one in names["together"]] == [7]
    assert names["clients"].to_pylist() == [{"client_id": 7}]
    assert names["clients"].schema.metadata[b"engine"].startswith(b"index: ")
    assert (names["of_output"].rows.column("debt").to_pylist(), names["of_output"].engine.partition(":")[0]) == ([10.0], "index")
    assert names["fresh"].equal
    assert names["fresh"].recomputed.num_rows == 1


def _why_not(names: dict[str, Any]) -> None:
    assert "(month(date) = 12) is false (date = 2025-11-30)" in names["fate"].drop.text


def _columns(names: dict[str, Any]) -> None:
    assert [(one.table, one.column) for one in names["judge"].computed_from] == [("loans", name) for name in ("income", "debt", "amount")]
    assert [(one.table, one.column) for one in names["columns"].influenced_by(names["judge"])] == [("loans", "date")]


def _across(names: dict[str, Any]) -> None:
    assert names["explanation"].intermediate["judged"].rows.num_rows == 1
    assert list(names["explanation"].sources) == ["loans"]


def _strategies(names: dict[str, Any]) -> None:
    (stored,) = names["run"].stored
    assert (stored.name, stored.rows, stored.because) == ("result", 2, "it has function operators")
    assert names["run"].not_stored == ()
    assert [one.segment for one in names["again"].not_stored] == [0]


def _reasons(names: dict[str, Any]) -> None:
    assert names["tone"]("the service was bad") == "against"
    assert names["credit_exam"](30.0, 10.0, 20.0) == "Accept"


def _sketches(names: dict[str, Any]) -> None:
    assert [one.column for one in names["found"].safe] == ["client_id", "income", "debt", "amount", "date"]
    assert [(one.table, one.state, one.rows, one.total) for one in names["again"].sketches] == [("loans", "used", 2, 3)]
    assert all(one.outdated == () for one in names["kept"])
    assert [(one.column, one.uses) for one in names["kept"]][-1] == ("date", 1)
    assert [(one.column, one.because) for one in names["run"].sketches] == [
        ("client_id", "it would have 3 of 3 rows: too many to be worth it")
    ]


def _streams(names: dict[str, Any]) -> None:
    assert [one.batch for one in names["found"]] == [0]
    assert names["found"][0].explanation.sources["loans"].rows.column("debt").to_pylist() == [10.0]
    assert [one.run.status for one in names["lineage"].batches("judge_live")] == ["complete"]


def _security(names: dict[str, Any]) -> None:
    assert "correct horse" not in str(names["sealed"].record)


_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "across-pipelines.md": _across,
    "both-ways.md": _both_ways,
    "columns.md": _columns,
    "crossfilter.md": _crossfilter,
    "explain.md": _explain,
    "reasons.md": _reasons,
    "security.md": _security,
    "strategies.md": _strategies,
    "sketches.md": _sketches,
    "streams.md": _streams,
    "why-not.md": _why_not,
}
