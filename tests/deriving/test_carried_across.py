"""What columns carry through the runs that wrote what was read; those of whom nobody knows what they wrote may have written anything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.deriving.across.carried import carried_across
from airflow_lineage_provider.errors import QueryTooSlow, RecordDamaged, StoreUnavailable
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.reasons.discretion import ALL_UNTOLD, UNTOLD, Carried, Discretion
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, plan_text
from airflow_lineage_provider.records.run import RecordedInput
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.store import WrittenPlace
from airflow_lineage_provider.stored_answers import StoredAnswers

IDENTITY = SourceIdentity(kind="row_digest", columns=())
BY_TABLE = Discretion(mask=("client.ssn",))


def renaming(table: str, column: str, name: str) -> RecordedPlan:
    """``SELECT column AS name FROM table``; the table is one file."""
    read, made = Attribute(id=1, name=column, type="string"), Attribute(id=2, name=name, type="string")
    leaf = o.Source(relation=Relation(name=table, kind="table"), output=(read,), columns=(column,), leaf=0)
    plan = segment(o.Project(child=leaf, columns=(e.Alias(child=read, attribute=made),)), (made,), (name,))
    version = FilesVersion(digest=None, count=1, bytes=5, files={f"file:/{table}": (5, 1)})
    return RecordedPlan(plan=plan, materialized={}, sources={0: RecordedSource(source=leaf, identity=IDENTITY, version=version, files={})})


class Runs:
    """Runs ``1`` to ``3``, of which each reads what the one before it wrote, as questions know them (`KnownRuns`)."""

    def __init__(self, **changes: Any) -> None:
        names = {"1": ("client", "ssn", "number"), "2": ("out1", "number", "digits"), "3": ("out2", "digits", "told")}
        self.changes, self.asked = changes, list[str]()
        self.records = {run_id: self._record(run_id, renaming(*of)) for run_id, of in names.items()}

    def _record(self, run_id: str, plan: RecordedPlan) -> Any:
        inputs = tuple(RecordedInput(leaf=0, name="t", identity=IDENTITY, version=one.version) for one in plan.sources.values())
        return SimpleNamespace(id=run_id, status="complete", plan=plan_text(plan), inputs=inputs, segments=(), output=None)

    def run(self, run_id: str) -> Any:
        self.asked.append(run_id)
        change = self.changes.get(f"run{run_id}")
        if isinstance(change, Exception):
            raise change
        return SimpleNamespace(**{**vars(self.records[run_id]), **(change or {})})

    def written(self, places: list[str]) -> list[WrittenPlace]:
        if isinstance(problem := self.changes.get("written"), Exception):
            raise problem
        return [
            WrittenPlace(run_id, "p", "complete", place, "5:1")
            for place in places
            if place.startswith("file:/out")
            for run_id in (place[-1])
        ]


def carried(runs: Any, found: dict[str, Carried] | None = None, **more: Any) -> Carried:
    return carried_across(runs, "3", {} if found is None else found, **more)


def test_through_all_runs() -> None:
    found = carried(Runs())
    assert ("client", "ssn") in found["", "told"]
    assert UNTOLD not in found["", "told"]
    assert BY_TABLE.following(found).masks("told")


@pytest.mark.parametrize(
    "change",
    [
        {"status": "dropped", "plan": "", "inputs": ()}, {"status": "incomplete"}, {"plan": '{"version": 999}'},
        RecordDamaged("the record of run 1 cannot be read"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("run", ["run1", "run2"])
def test_what_a_writer_that_says_nothing_wrote_may_be_anything(change: Any, run: str) -> None:
    """The reader outlives the writer, and is not told for that."""
    found = carried(Runs(**{run: change}))
    assert UNTOLD in found["", "told"]
    assert UNTOLD in found["out2", "digits"]
    for made in (BY_TABLE, Discretion(mask=("c*",)), Discretion(hook=lambda table, column: None)):
        assert made.following(found).masks("told")
        assert made.following(found).masks("digits", "out2")
    assert Discretion(hide=("client.ssn",), mask=("a.b",)).following(found).hides("told")
    # A name alone is looked for among the names that are known.
    assert not Discretion(mask=("ssn",)).following(found).masks("told")


def test_a_run_that_cannot_be_read_says_nothing_of_itself() -> None:
    found = carried(Runs(run3={"status": "dropped", "plan": ""}))
    assert found == ALL_UNTOLD
    assert BY_TABLE.following(found).masks("anything", "any")


def test_a_column_that_was_given_its_name_in_reading_may_be_any() -> None:
    runs = Runs()
    runs.records["1"] = runs._record("1", renaming("client", "ssn", "_c0"))
    assert UNTOLD in carried(runs)["", "told"]


@pytest.mark.parametrize("problem", [StoreUnavailable("away"), QueryTooSlow("slow")])
@pytest.mark.parametrize("where", ["run1", "run2", "written"])
def test_what_may_pass_is_no_answer(problem: Exception, where: str) -> None:
    found: dict[str, Carried] = {}
    with pytest.raises(type(problem)):
        carried(Runs(**{where: problem}), found)
    assert found == {}


def test_it_ends_in_time_and_goes_on_from_there() -> None:
    found: dict[str, Carried] = {}
    times = iter([None, None, None, QueryTooSlow("slow")])

    def in_time() -> None:
        if (problem := next(times)) is not None:
            raise problem

    with pytest.raises(QueryTooSlow):
        carried(Runs(), found, in_time=in_time)
    assert set(found) == {"1"}
    again = Runs()
    assert ("client", "ssn") in carried(again, found)["", "told"]
    assert "1" not in again.asked
    assert BY_TABLE.following(found["3"]).masks("told")


class Answers(StoredAnswers):
    """Knows the runs, and counts what it asks."""

    query_seconds: float | None = None

    def __init__(self, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
        self.carried = {}
        self.forgets = False
        monkeypatch.setattr("airflow_lineage_provider.deriving.known_runs.KnownRuns", lambda store, session: runs)

    @property
    def store(self) -> Any:
        return SimpleNamespace(session=lambda seconds: nullcontext())

    def lasting(self, question: Callable[[], Any]) -> Any:
        found = question()
        if self.forgets:
            self.carried.clear()
        return found

    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> Any: ...


def test_what_was_found_on_the_way_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs()
    answers = Answers(runs, monkeypatch)
    found = answers.carried_by("3")
    asked = len(runs.asked)
    assert answers.carried_by("3") == found
    assert ("client", "ssn") in answers.carried_by("2")["", "digits"]
    assert len(runs.asked) == asked


def test_what_was_found_in_the_time_that_there_was_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(Runs(), monkeypatch)
    answers.query_seconds = 2.5
    clock = iter([0.0, 1.0, 1.0, 1.0, 3.0])
    monkeypatch.setattr("airflow_lineage_provider.stored_answers.time.monotonic", lambda: next(clock))
    with pytest.raises(QueryTooSlow, match=r"2\.5 s"):
        answers.carried_by("3")
    assert set(answers.carried) == {"1"}


def test_another_thread_may_forget_all_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(Runs(), monkeypatch)
    answers.forgets = True
    assert ("client", "ssn") in answers.carried_by("3")["", "told"]
