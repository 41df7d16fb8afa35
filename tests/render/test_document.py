"""The JSON document: nothing left out, JSON to the letter, keys that stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.render import explanation_examples as examples

ALL = [examples.paper, examples.many_kinds, examples.empty, examples.wide, examples.nasty]


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_it_is_json_to_the_letter(make: Any) -> None:
    document = make().to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_papers_document() -> None:
    document = examples.paper().to_dict()
    assert sorted(document) == sorted([
        "document", "version", "id", "asked", "answer", "headline", "result_rows", "seconds", "run", "guarantee", "target", "source",
        "intermediate", "reasons", "controls", "runs", "stale", "verified", "verification", "blanked", "segments", "queries",
    ])  # fmt: skip
    assert document["target"]["rows"] == [["Reject", 1]]
    assert document["target"]["links"][0] == {"row": 0, "source": "client", "source_row": 0}
    assert document["source"]["debt"] == {
        "columns": [{"name": "ClientID", "type": "string"}, {"name": "Debt", "type": "int64"}, {"name": "Date", "type": "date32[day]"}],
        "rows": [["0002", 1350, "2022-12-17"]],
        "guarantee": {"level": "exact", "cause": "", "origin": "known"},
        "stale": [],
    }
    (decision,) = document["reasons"]["credit_exam"]["decisions"]
    assert decision["arguments"][0] == {"name": "income", "type": "int64", "value": 2200}
    assert decision["value"] == "Reject"
    assert decision["reason"] == {"kind": "json", "version": 1, "value": ["Debt", "LoanAmount"]}
    assert [link["source"] for link in decision["links"]] == ["client", "debt", "loan"]
    assert document["run"]["pipeline"] == "loan_examination"
    assert [one["materialized"] for one in document["segments"]] == [True, True]
    assert document["segments"][0]["operators"][0].startswith("α judge")
    assert document["queries"][0]["engine"] == "postgresql"


def test_values_that_json_lacks() -> None:
    odd = examples.many_kinds().to_dict()["source"]["odd"]
    assert odd["rows"] == [
        ["12.30", "NaN", "AP8=", ["a", "b"], [["k", 1]], {"x": 1, "y": 2.5}],
        [None, "Infinity", None, [], [], None],
        ["-0.05", 0.1, "", None, None, {"x": 3, "y": None}],
    ]


def test_reasons_keep_their_own_schema_and_unreadable_ones_their_content() -> None:
    made = [one["reason"] for one in examples.many_kinds().to_dict()["reasons"]["credit_exam"]["decisions"]]
    assert made[0]["residual"] == pytest.approx(0.0, abs=1e-12)
    assert made[0]["features"][0]["feature"] == "income"
    assert made[2] is None
    assert made[3] == {"kind": "dream", "version": 1}


def test_nothing_is_left_out_of_a_large_answer() -> None:
    document = examples.tall(1200).to_dict()
    assert len(document["source"]["client"]["rows"]) == len(document["reasons"]["credit_exam"]["decisions"]) == 1200
