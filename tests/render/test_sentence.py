"""Why, in one sentence: "because" only of what spoke for the decision."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.render.decisions import Decision
from airflow_lineage_provider.render.reason_text import Unreadable
from airflow_lineage_provider.render.sentence import answer, sentence
from airflow_lineage_provider.render.wording import made_from
from tests.render import explanation_examples as examples


def said(value: Any, reason: Any) -> str:
    return sentence(Decision(row=0, arguments=(), value=value, reason=reason, sources={}))


def shap(base: float, label: str | None, *parts: tuple[str, Any, float], space: str = "probability") -> payload.Attributions:
    return payload.Attributions(parts, base, base + sum(part[2] for part in parts), space, label)  # type: ignore[arg-type]


REJECTED = (("credit_history", 0, -0.42), ("unverified", 1, -0.25), ("income", 80, 0.02), ("debt", 3, -0.03))


@pytest.mark.parametrize(
    ("value", "reason", "expected"),
    [
        ("Reject", shap(0.88, "approved", *REJECTED), "Reject, mostly because credit_history = 0 (−0.42) and unverified = 1 (−0.25)"),
        # The class that was decided is explained: what spoke for it is above 0, wherever the average is.
        ("Reject", shap(0.9, "Reject", ("a", 1, 0.1), ("b", 2, -0.2)), "Reject, mostly because a = 1 (+0.10)"),
        ("Reject", shap(0.9, "Reject", ("b", 2, -0.2)), "Reject; what counted most: b = 2 (−0.20)"),
        # 0.85 instead of 0.9 is still an acceptance: what lowered it is not why.
        ("Accept", shap(0.9, "approved", ("debt", 3, -0.05)), "Accept; what counted most: debt = 3 (−0.050)"),
        ("Accept", shap(0.9, "approved", ("debt", 3, -0.15)), "Accept; what counted most: debt = 3 (−0.15)"),
        (412.5, shap(300.0, None, ("size", 120.0, 112.5), space="raw"), "412.5, mostly because size = 120 (+112)"),
        (
            "yes", shap(0.0, "no", ("x", 1, 2.0), ("y", 1, -1.9), space="log-odds"),
            "yes; what counted most: x = 1 (+2.00) and y = 1 (−1.90)",
        ),
        ("yes", shap(0.5, "yes"), "yes; no feature contributed"),
        ("yes", payload.Attributions((payload.Attribution("x", 1, 0.4),), 0.1), "yes; what counted most: x = 1 (+0.40)"),
        ("Reject", payload.Json({"Debt", "LoanAmount"}), "Reject, because of Debt and LoanAmount"),
        (None, payload.Json(None), "NULL; null"),
        (True, payload.Mask((2, 3), ((1, 2),), "lesion"), "True; 2 of 6 cells for 'lesion'"),
        (
            "sad", payload.TextSpans((payload.Span(0, 3, 0.5, "sad"), payload.Span(4, 7, -0.9)), "bad day"),
            "sad, mostly because of “bad” (+0.50)",
        ),
        (-0.4, payload.TextSpans((payload.Span(0, 3, -0.5),), "bad day"), "-0.4; what counted most: “bad” (−0.50)"),
        ("x", payload.TextSpans((), "bad day"), "x; no part of the text"),
        ("x", payload.Boxes((payload.Box(1, 2, 3, 4, "lip", 0.9),)), "x; 1 box, lip 0.9 at 1, 2, 3 × 4"),
        ("x", None, "x; no reason given"),
        ("x", Unreadable(text="{", problem="?"), "x; a reason that this release cannot read"),
    ],
)  # fmt: skip
def test_sentences(value: Any, reason: Any, expected: str) -> None:
    assert said(value, reason) == expected


def test_a_word_that_occurs_twice_is_said_once() -> None:
    spans = payload.TextSpans((payload.Span(0, 3, 0.5), payload.Span(4, 7, 0.5)), "bad bad day", label="neg")
    assert said("neg", spans) == "neg, mostly because of “bad” (+0.50)"


def test_the_answer_comes_first() -> None:
    assert answer(examples.paper()) == "Reject, because of Debt and LoanAmount."
    assert answer(examples.tall(9)) == "6 Reject and 3 Accept; what counted most: amount, debt and income."
    assert answer(examples.across()) == "credit_exam: Reject, because of Debt and LoanAmount. is_debt: 2 True."
    assert answer(examples.explanation()) == made_from(examples.explanation())
    assert answer(examples.many_kinds()).endswith("… and 3 more functions")
