"""What stored answers keep beside their tables: what earlier releases wrote is read, and damage is named by its field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.answers.explanation import Image
from airflow_lineage_provider.deriving.kept.details import AnswerDetails, ImageDetails
from airflow_lineage_provider.deriving.kept.explanations import restored
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.store import DerivationRecord
from airflow_lineage_provider.typed_json import read, read_one_of, written
from tests.render import explanation_examples as examples

FOLDER = Path(__file__).parent / "old_answers"


def old(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["early", "latest"])
def test_answers_of_earlier_releases_are_read(name: str) -> None:
    details = read(AnswerDetails, old(name)["details"])
    assert details.order == ("target", "client", "loan", "payment", "debt", "credit_exam", "is_debt")
    assert details.intermediate["debt"].run.pipeline == "debt totals"
    assert [one.segment for one in details.queries] == [0, 1]
    assert (details.verified, details.result_rows) == (None, 2)
    assert {udf: details.caller(udf, "the one asked") for udf in ("credit_exam", "is_debt", "gone")} == {
        "credit_exam": examples.across().reasons["credit_exam"].run_id,
        "is_debt": "01JTOTALS",
        "gone": "the one asked",
    }
    worth = read_one_of(dict[str, Guarantee], old(name)["guarantees"])
    assert Guarantee(level="superset", cause="identical rows") in worth.values()
    assert EXACT in worth.values()
    assert read(AnswerDetails, json.loads(json.dumps(written(details)))) == details


def test_the_latest_answer_is_what_is_written_now() -> None:
    assert read(AnswerDetails, old("latest")["details"]) == AnswerDetails.of(examples.across())


def test_images_come_back() -> None:
    for image in (Image(data=b"\x00\xff"), Image(problem="it is gone")):
        kept = read(ImageDetails, json.loads(json.dumps(written(ImageDetails.of("a.png", image)))))
        assert (kept.path, kept.image) == ("a.png", image)


DAMAGES: list[tuple[str, Any, str]] = [
    ("order", None, r"details\.order is null"),
    ("queries.0.seconds", "1", r"details\.queries\[0\]\.seconds is '1', not a number"),
    ("intermediate.debt.run.id", 7, r"details\.intermediate\.debt\.run\.id is 7, not a text"),
    ("materialized", [0, "1"], r"details\.materialized\[1\] is '1', not a whole number"),
    ("choices", [{}], r"details\.choices\[0\]\.segment is missing"),
    ("colour", "red", r"details\.colour is not known to this release"),
]


@pytest.mark.parametrize(("place", "value", "message"), DAMAGES)
def test_damage_is_told_by_its_field(place: str, value: Any, message: str) -> None:
    details = copy.deepcopy(old("latest")["details"])
    inner: Any = details
    *way, last = place.split(".")
    for step in way:
        inner = inner[int(step)] if isinstance(inner, list) else inner[step]
    inner[last] = value
    with pytest.raises(RecordDamaged, match=f"derivation 01J cannot be read: {message}"):
        restored(DerivationRecord(id="01J", run_id="r", target="t", details=details), examples.run())
