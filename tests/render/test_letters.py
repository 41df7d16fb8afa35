"""Letters of reasons: what is told of a decision, and when none can be given."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.letters import Letter
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.features import Feature, Names
from tests.render.explanation_examples import explanation

NAMES = Names(
    features={
        "income": Feature("income", against="Your income is low."),
        "debt": Feature("debt", against="Your debts are high."),
        "rented": Feature(against="Your housing."),
        "owned": Feature(against="Your housing."),
    },
    outcome=Feature("decision", values={0: "Reject", 1: "Accept"}, favourable=("Accept",)),
    version="v1",
)


def attributions(label: str | None = "Accept", **contributions: float) -> str:
    features = tuple(payload.Attribution(name, 1.0, value) for name, value in contributions.items())
    return payload.to_json(payload.Attributions(features, base_value=0.0, label=label, output_space="probability"))


def answer(*decided: tuple[Any, str | None], names: Names = NAMES, **changes: Any) -> Explanation:
    rows = pa.table({
        "row": list(range(len(decided))), "income": [float(at) for at in range(len(decided))],
        "value": pa.array([value for value, _ in decided]), "reason": pa.array([reason for _, reason in decided], pa.string()),
    })  # fmt: skip
    return explanation(**({"reasons": {"exam": Reasons(rows, names=names)}} | changes))


def only(found: Explanation, **options: Any) -> Letter:
    (letter,) = found.letters(**options)
    return letter


def told(letter: Letter) -> list[tuple[str, tuple[str, ...], float]]:
    return [(one.text, one.features, one.contribution) for one in letter.reasons]


def test_what_counted_most_against_the_person_comes_first() -> None:
    reason = attributions(income=-0.2, debt=-0.3, rented=-0.15, owned=-0.1, age=0.4)
    letters = answer(("Reject", reason), ("Accept", reason)).letters()
    assert (len(letters), letters.favourable) == (1, 1)
    assert told(letters[0]) == [
        ("Your debts are high.", ("debt",), -0.3),
        ("Your housing.", ("rented", "owned"), -0.25),
        ("Your income is low.", ("income",), -0.2),
    ]
    assert (letters[0].version, letters[0].output_space, letters[0].problem) == ("v1", "probability", "")
    assert [one[0] for one in told(only(answer(("Reject", reason)), most=1))] == ["Your debts are high."]


def test_contributions_to_another_class_are_against_the_person() -> None:
    reason = attributions(label="Reject", income=-0.2, debt=0.3)
    assert told(only(answer(("Reject", reason)))) == [("Your debts are high.", ("debt",), 0.3)]


def test_a_class_of_the_models_own_is_for_or_against_the_person_where_that_is_said() -> None:
    """What lowers "approved" is against the person, though no decision is called so; taken for the contrary, a letter says the opposite."""
    found = answer(("Reject", attributions(label="approved", income=-0.2, debt=0.3)))
    assert only(found).reasons == ()
    assert "contributions are to 'approved'" in only(found).problem
    assert told(only(found, favourable=["Accept", "approved"])) == [("Your income is low.", ("income",), -0.2)]
    # A class is against the person where it is this decision, or another that has a name, and not a favourable one.
    marginal = answer(("Marginal", attributions(label="Marginal", debt=0.3)), ("Marginal", attributions(label="Reject", debt=0.3)))
    assert [told(one)[0][0] for one in marginal.letters()] == ["Your debts are high."] * 2


def test_a_value_is_favourable_by_its_name_too() -> None:
    reason = attributions(label="1", debt=-0.3)
    letters = answer((0, reason), (1, reason)).letters()
    assert (len(letters), letters.favourable, letters[0].value_name) == (1, 1, "Reject")
    assert told(letters[0]) == [("Your debts are high.", ("debt",), -0.3)]


@pytest.mark.parametrize(("favourable", "expected"), [("higher", "Your debts are high."), ("lower", "Your income is low.")])
def test_a_number_is_better_higher_or_lower(favourable: str, expected: str) -> None:
    reason = attributions(label=None, income=0.5, debt=-0.3)
    assert [one[0] for one in told(only(answer((0.4, reason)), favourable=[favourable]))] == [expected]
    assert "a higher or a lower one" in only(answer((0.4, reason)), favourable=["x"]).problem


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        (attributions(age=-0.5), "age counted against the person, and has no text"),
        (attributions(income=0.5), "no factor counted against the person"),
        (None, "of another kind: none"),
        (payload.to_json(payload.Json({"x": 1})), "of another kind: Json"),
        ('{"kind": "of a later release"}', "cannot be read"),
    ],
)
def test_where_none_can_be_given_it_says_why(reason: str | None, problem: str) -> None:
    letter = only(answer(("Reject", reason)))
    assert problem in letter.problem
    assert letter.reasons == ()


def test_a_factor_without_a_text_is_no_matter_where_others_counted_more() -> None:
    reason = attributions(income=-0.5, age=-0.1)
    assert told(only(answer(("Reject", reason)), most=1)) == [("Your income is low.", ("income",), -0.5)]
    assert told(only(answer(("Reject", reason)), texts={"age": "Your age."}))[1][0] == "Your age."


def test_what_is_not_exact_is_in_no_letter() -> None:
    unknown = Guarantee(level="unavailable", cause="the UDF is gone")
    letter = only(answer(("Reject", attributions(income=-0.5)), guarantees={"exam": unknown}))
    assert letter.problem == "the decision's reason is not known for certain (unavailable): the UDF is gone"


def test_the_same_decision_has_the_same_letter() -> None:
    reason = attributions(income=-0.5, debt=-0.5)
    one, again = (only(answer(("Reject", reason))) for _ in range(2))
    assert one.digest == again.digest
    assert told(one)[0][0] == "Your debts are high."  # of equal ones by name
    assert only(answer(("Reject", attributions(income=-0.5, debt=-0.4)))).digest != one.digest
    stale = only(answer(("Reject", reason), stale=("loans has changed",)))
    assert (stale.digest, stale.stale) == (one.digest, ("loans has changed",))


def test_the_rows_behind_a_decision() -> None:
    links = pa.table({"row": [0, 0], "source": ["client", "debt"], "source_row": [1, 0]})
    found = answer(("Reject", attributions(income=-0.5)), source={"client": {"id": [7, 8]}, "debt": {"d": [3]}}, links={"exam": links})
    assert only(found).sources == {"client": ({"id": 8},), "debt": ({"d": 3},)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"udf": "other"}, "decided nothing in this answer; it has exam"),
        ({"favourable": "Accept"}, "is no list of values"),
        ({"favourable": []}, "nobody has said which decisions of exam are favourable"),
        ({"most": 0}, "most=0 is no number of reasons"),
        ({"most": True}, "is no number of reasons"),
        ({"texts": {"income": ""}}, "texts has"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        answer(("Reject", attributions(income=-0.5))).letters(**options)


def test_several_udfs_and_none() -> None:
    two = answer(("Reject", attributions(income=-0.5)))
    both = explanation(reasons={"exam": two.reasons["exam"], "other": two.reasons["exam"]})
    with pytest.raises(InvalidOption, match=r"which UDF's decisions are meant.*exam, other"):
        both.letters()
    assert len(both.letters("exam")) == 1
    with pytest.raises(InvalidOption, match="the answer's: none"):
        explanation().letters()


def test_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = Names(features={"income": Feature(against="<b>low</b>")}, outcome=NAMES.outcome, version="v1")
    letters = answer(("Reject", attributions(income=-0.5)), ("Reject", None), names=names).letters()
    document = json.loads(json.dumps(letters.to_dict()))
    assert document["letters"][0]["reasons"] == [{"text": "<b>low</b>", "features": ["income"], "contribution": -0.5}]
    assert document["letters"][0]["digest"] == letters[0].digest
    letters.show(Console(width=120))
    out = capsys.readouterr().out
    assert "1. <b>low</b>" in out
    assert "no letter can be given" in out
    text = letters.to_html(tmp_path / "letters.html")
    assert (tmp_path / "letters.html").read_text(encoding="utf-8") == text
    assert "<b>low" not in text
    assert "&lt;b&gt;low" in text
    assert "<script" not in text
    assert text.count("<article") == 2
    assert "No letter can be given" in text
    assert len(ids := re.findall(r'id="([^"]+)"', text)) == len(set(ids))
    masked = answer(("Reject", attributions(income=-0.5)), source={"client": {"id": ["secret"]}}).letters(mask=["income", "id"])
    assert "secret" not in masked.to_html()
    assert repr(letters) == "<2 letters about decisions of exam, 0 favourable ones need none; 1 cannot be given>"
