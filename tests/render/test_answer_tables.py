"""The tables of an answer as users meet them: one object each, in a namespace for each kind, with old names that still work."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.tables import Intermediate, SourceTable
from airflow_lineage_provider.deriving.kept.answers import saved
from airflow_lineage_provider.deriving.kept.explanations import restored
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.store import DerivationRecord
from tests.render import explanation_examples as examples

SUPERSET = Guarantee(level="superset", cause="identical rows")


def namesakes() -> Any:
    """A source table, a UDF and a table on the way, all called debt."""
    decided = examples.reasons({"amount": [1]}, [True], [payload.Json(1)])
    return replace(
        examples.explanation(),
        sources={"debt": SourceTable(pa.table({"id": [7, 8]}), guarantee=EXACT, stale=("debt: 1 file was replaced",))},
        reasons={"debt": Reasons(decided, guarantee=SUPERSET, links=examples.links((0, "debt", 1)), run_id="01JOTHER")},
        intermediate={
            "debt": Intermediate(
                pa.table({"sum": [3]}), run=examples.run(id="01JOTHER"), guarantee=SUPERSET, links=examples.links((0, "debt", 0))
            )
        },
        target_links=examples.links((0, "debt", 0), (0, "debt", 1)),
        stale=("debt: 1 file was replaced",),
    )


def test_tables_of_different_kinds_may_have_one_name() -> None:
    found = namesakes()
    assert [len(one) for one in (found.sources["debt"], found.reasons["debt"], found.intermediate["debt"])] == [2, 1, 1]
    assert [one.guarantee for one in found.tables.values()] == [EXACT, SUPERSET, SUPERSET]
    assert list(found.tables) == ["source.debt", "reasons.debt", "intermediate.debt"]
    assert found.guarantee == SUPERSET
    assert found.sources["debt"].stale == found.stale
    assert found.reasons["debt"].links.to_pylist() == [{"row": 0, "source": "debt", "source_row": 1}]


def test_a_source_says_which_target_rows_each_of_its_rows_stands_behind() -> None:
    assert namesakes().sources["debt"].links.to_pylist() == [{"row": 0, "source_row": 0}, {"row": 0, "source_row": 1}]


class Keeper:
    """A store that keeps one derivation."""

    def save_derivation(self, record: DerivationRecord, _session: object = None) -> str:
        self.record = record
        return "kept"


def test_namesakes_are_kept_and_read_again() -> None:
    keeper: Any = Keeper()
    made = namesakes()
    saved(made, keeper, {})
    again = restored(keeper.record, made.run)
    assert list(again.tables) == list(made.tables)
    for name, one in again.tables.items():
        assert (one.rows, one.guarantee, one.links) == (made.tables[name].rows, made.tables[name].guarantee, made.tables[name].links)
    assert again.sources["debt"].stale == made.sources["debt"].stale
    assert again.reasons["debt"].run_id == "01JOTHER"


def test_an_answer_that_the_release_before_kept_is_read_as_it_was() -> None:
    """Guarantees and links stood under the tables' names alone, stale tables in one list, callers under ``runs``."""
    keeper: Any = Keeper()
    made = examples.across()
    saved(made, keeper, {})
    now: DerivationRecord = keeper.record
    details = {name: one for name, one in now.details.items() if name not in ("called_by", "stale_of")}
    called_by: Any = now.details["called_by"]
    details |= {"runs": called_by | {"debt": "01JTOTALS"}, "stale": ["client: its files have changed", "loan_2: is gone"]}
    before = replace(
        now,
        guarantees={name.partition(".")[2]: one for name, one in now.guarantees.items()},
        tables={re.sub(r"^links:(reasons|intermediate)\.", "links:", name): one for name, one in now.tables.items()},
        details=details,
    )
    again = restored(before, made.run)
    assert {name: one.guarantee for name, one in again.tables.items()} == {name: one.guarantee for name, one in made.tables.items()}
    assert {name: one.links for name, one in again.reasons.items()} == {name: one.links for name, one in made.reasons.items()}
    assert again.intermediate["debt"].links == made.intermediate["debt"].links
    assert {name: one.run_id for name, one in again.reasons.items()} == {name: one.run_id for name, one in made.reasons.items()}
    assert [one.stale for one in again.sources.values()] == [("client: its files have changed",), (), ()]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("source", lambda found: {"debt": found.sources["debt"].rows}),
        ("links", lambda found: {"target": found.target_links, "debt": found.reasons["debt"].links}),
        ("guarantees", lambda _: {"debt": SUPERSET}),
        ("runs", lambda _: {"debt": "01JOTHER"}),
    ],
)
def test_old_names_work_and_say_what_to_write(old: str, new: Any) -> None:
    found = namesakes()
    with pytest.warns(DeprecationWarning, match=rf"Explanation\.{old} will be gone in the next release: use .*\[name\]"):
        assert getattr(found, old) == new(found)


def test_a_source_table_can_be_used_as_a_table() -> None:
    found = namesakes().sources["debt"]
    assert (found.num_rows, len(found), found.column("id").to_pylist()) == (2, 2, [7, 8])
    assert pa.table(found) == found.rows == found
    assert found.equals(namesakes().sources["debt"])
    assert not found.equals(found.rows.slice(1))
    assert found.to_pandas().id.tolist() == [7, 8]
    assert copy.deepcopy(found) == found == pickle.loads(pickle.dumps(found))
    assert repr(found) == "<2 source rows, exact: id>"
    assert len(repr(SourceTable(pa.table({f"column_{at}": [at] for at in range(100)}), guarantee=EXACT))) < 150
    with pytest.raises(AttributeError, match="no_such_thing"):
        found.no_such_thing  # noqa: B018


def test_an_explanation_is_short() -> None:
    shown = repr(namesakes())
    assert shown == (
        "<Explanation of loan_examination, run 01JEXAMPLE: target 1, source.debt 2, reasons.debt 1, intermediate.debt 1; superset>"
    )


# --- notebooks ----------------------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_essence() -> None:
    shown = examples.paper()._repr_html_()
    for text in ("Reject", "Made from 3 rows of 3 source tables", "client: 1 source row, ✓ exact", "credit_exam: 1 decision", "<table>"):
        assert text in shown


def test_what_data_says_is_text_in_a_notebook() -> None:
    nasty = "<script>alert(1)</script>"
    table = pa.table({nasty: [nasty]})
    shown = examples.explanation(target=table, source={nasty: table})._repr_html_()
    assert "<script>" not in shown + SourceTable(table)._repr_html_()
    assert "&lt;script&gt;" in shown


def test_what_is_withheld_is_not_in_a_notebook_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "client.Name")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "income")
    found = examples.paper()
    assert "Joa" not in found._repr_html_() + found.sources["client"]._repr_html_()
    assert "2200" not in found.reasons["credit_exam"]._repr_html_()
    monkeypatch.delenv("AIRFLOW_LINEAGE_HIDE")
    assert "Joa" in examples.paper().sources["client"]._repr_html_()


def test_long_tables_are_cut() -> None:
    shown = SourceTable(pa.table({"id": range(1000, 2000)}), guarantee=EXACT)._repr_html_()
    assert "1004" in shown
    assert "1005" not in shown
    assert "and 995 more rows" in shown
