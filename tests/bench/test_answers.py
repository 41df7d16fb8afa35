"""What experiments hold answers against: that what is right is taken, and what is wrong is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.comparison import AnswersDiffer, Arm, Comparison
from tests.bench.experiments import peers, tpcds
from tests.bench.experiments.web import _is_right
from tests.bench.peers.questions import questions
from tests.bench.readings import Reading
from tests.bench.web_views import COLUMNS, LISTED, Known, View, views

STORE: Any = SimpleNamespace(runs=lambda limit: [SimpleNamespace(id=f"run {n}") for n in range(limit)])
VIEWS = views(Known("one", 900, [9, 8, 7], "01b", 3), STORE)
SHOWN = [{"name": name} for name in COLUMNS]
ROWS = [[n, n % 1000, n, f"row {n}"] for n in range(LISTED)]


def _page(rows: Any) -> dict[str, Any]:
    return {"columns": SHOWN, "rows": rows}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("runs", {"runs": [{"id": f"run {n}"} for n in range(LISTED)]}, {"runs": [{"id": f"run {n}"} for n in range(1, LISTED + 1)]}),
        ("a run", {"run": {"id": "one", "rows": 900}, "columns": COLUMNS}, {"run": {"id": "one", "rows": 899}, "columns": COLUMNS}),
        ("a page of rows", _page(ROWS), _page([*ROWS[1:], ROWS[1]])),
        ("a page in the middle", _page(ROWS), _page([*ROWS[1:], [900, 899, 1, "row 900"]])),
        ("rows, filtered by a column without index", _page([[450, 450, 1, "row 450"]]), _page([])),
        ("why one row", {"document": {"source": {"t": {"rows": [[300]]}}}}, {"document": {"source": {"t": {"rows": [[300], [301]]}}}}),
        ("derivations", {"derivations": [{"derivation": {"id": "01b"}}]}, {"derivations": []}),
        ("what a source row touched", {"results": [{"result": {"rows": [[300]]}}]}, {"results": [{"result": {"rows": []}}]}),
        ("the store", {"bytes": 90_000}, {"bytes": 0}),
        ("search", {"hits": [{"name": "team", "table": "result", "way": "writes"}]}, {"hits": []}),
    ],
)
def test_what_a_view_answers(name: str, right: Any, wrong: Any) -> None:
    assert VIEWS[name].problem(200, right) == ""
    assert VIEWS[name].problem(200, wrong)
    assert VIEWS[name].problem(503, "busy") == "status 503: busy"
    assert "it has no" in VIEWS[name].problem(200, {})
    assert _is_right(name, VIEWS[name], (0.1, 200, right))
    with pytest.raises(AnswersDiffer, match=name):
        _is_right(name, VIEWS[name], (0.1, 200, wrong))


def test_rows_that_are_sorted_are_the_largest() -> None:
    view = View("", VIEWS["rows, sorted"].told, (3, [9, 8, 7]))
    given = [[n, n, amount, f"row {n}"] for n, amount in enumerate([9, 8, 7])]
    assert view.problem(200, _page(given)) == ""
    assert view.problem(200, _page([*given[:2], [2, 2, 6, "row 2"]]))


def test_rows_that_tie_at_a_limit_are_rows_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def whole(_: Any, sql: str, name: str) -> Arm:
        asked.append(sql)
        return Arm(lambda: None, lambda _: ["(1, 0.30000000000000004)", "(2, 0.5)", "(3, 0.5)"])

    monkeypatch.setattr(tpcds, "written", whole)
    given = {"plain": ["(1, 0.3)", "(2, 0.5)"], "a run": ["(1, 0.29999999999999999)", "(3, 0.5)"], "twice": ["(2, 0.5)", "(2, 0.5)"]}
    ground: Any = None
    arms = tpcds._of_whole(ground, "SELECT *\nFROM t ORDER BY x\nLIMIT 2\n", {name: Arm(lambda: None, lambda rows: rows) for name in given})
    assert asked == ["SELECT *\nFROM t ORDER BY x\n"]
    assert [arms[name].answer(given[name]) for name in ("plain", "a run")] == [2, 2]
    with pytest.raises(AnswersDiffer, match=r"does not give \(2, 0\.5\)"):
        arms["twice"].answer(given["twice"])


def test_queries_that_fail_or_differ_are_counted() -> None:
    one = Comparison("q1", "plain", {arm: [Reading(1.0, {"driver": 1.0}, {"jobs": 1})] for arm in ("plain", "a run")})
    one.asked = {"a run": {"statements": 7}}
    notes = {
        "q1": f"{tpcds.TIES}: fine",
        "q2": f"{tpcds._CANNOT}: two columns",
        "q3": "q3: a run gives 1, plain 2",
        "q4": f"{tpcds.FAILS}: no",
    }
    found = tpcds._together({"q1": one}, notes)
    assert found.figures()["a run"].items() >= {tpcds.DIFFERING: 2, "statements": 7}.items()
    assert found.notes["q3"] == notes["q3"]


def test_what_a_peer_captured_is_its_results_rows() -> None:
    asked = list(questions(500, 20_000))[:2]
    peer: Any = SimpleNamespace(ask=lambda do, name: {"answer": {asked[0].name: [[2.0, "b"], [1, float("nan")]], asked[1].name: []}[name]})
    assert peers._captured(peer, asked) == [["(1, None)", "(2, 'b')"], []]
