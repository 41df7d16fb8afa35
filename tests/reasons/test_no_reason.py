"""A decision that nobody gave a reason for is not explained: neither exactly nor at all."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.deriving.kept.answers import saved
from airflow_lineage_provider.deriving.kept.explanations import restored
from airflow_lineage_provider.deriving.reasons import NO_REASON, worth_of
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.store import DerivationRecord
from tests.answers import guarantees_of
from tests.render import explanation_examples as examples


@pytest.mark.parametrize(
    ("reasons", "values", "level", "cause"),
    [
        ([], [], "exact", ""),
        (['"because"'], ["Reject"], "exact", ""),
        ([None, None], ["Accept", "Reject"], "unavailable", "nobody said"),
        (['"because"', None, None], ["Reject"] * 3, "unavailable", "nobody said (for 2 of 3 decisions)"),
        (['"because"', None], ["Reject", None], "exact", ""),
    ],
)
def test_what_reasons_are_worth(reasons: list[str | None], values: list[str | None], level: str, cause: str) -> None:
    found = worth_of(pa.array(reasons, pa.string()), pa.array(values, pa.string()), "nobody said")
    assert (found.level, found.cause) == (level, cause)


def silent(guarantee: Guarantee) -> Explanation:
    table = examples.reasons({"income": [1, 2]}, ["Accept", "Reject"], [None, None])
    return examples.explanation(reasons={"judge": table}, links={"target": examples.links()}, guarantees={"judge": guarantee})


def test_the_terminal_the_page_and_the_document_say_so() -> None:
    found = silent(worth_of(pa.nulls(2, pa.string()), pa.array(["Accept", "Reject"]), NO_REASON))
    screen = Console(file=StringIO(), width=200)
    found.show(screen)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "judge is unavailable" in text
    assert "✗ unavailable: no reason declared" in text
    assert "✓ exact" not in text
    page = found.to_html()
    assert "no reason declared" in page
    assert "no reason given" in page
    assert "✓ exact" not in page
    document = found.to_dict()
    assert document["guarantee"]["level"] == document["reasons"]["judge"]["guarantee"]["level"] == "unavailable"
    assert [one["reason"] for one in document["reasons"]["judge"]["decisions"]] == [None, None]


class Keeper:
    """A store that keeps one derivation."""

    def save_derivation(self, record: DerivationRecord, _session: object = None) -> str:
        self.record = record
        return "kept"


@pytest.mark.parametrize(
    ("cause", "told"), [("no reason declared: as it was said", "no reason declared: as it was said"), ("", "no reason was given")]
)
def test_an_answer_of_an_earlier_release_is_not_exact_either(cause: str, told: str) -> None:
    keeper: Any = Keeper()
    saved(silent(Guarantee(level="exact", cause=cause)), keeper, {})
    found = restored(keeper.record, examples.run())
    assert guarantees_of(found)["judge"] == Guarantee(level="unavailable", cause=told)
    given = replace(
        silent(EXACT), reasons={"judge": Reasons(examples.reasons({"income": [1]}, ["Accept"], ['"because"']), guarantee=EXACT)}
    )
    saved(given, keeper, {})
    assert restored(keeper.record, examples.run()).reasons["judge"].guarantee == EXACT
