"""What a UDF's author calls things: declared, kept with the run, and no part of the version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_lineage_provider import Feature, reasoned_udf
from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.features import Names, document, restored


def judge(history: int, income: float) -> str:
    return "Reject" if history == 0 else "Accept"


HISTORY = Feature("credit history", values={0: "bad", 1: "good"})


def declared(**said: Any) -> Any:
    return reasoned_udf("string", name="judge_of_features", **said)(judge)


def test_labels_do_not_make_it_another_udf() -> None:
    plain, named = declared(), declared(features={"history": HISTORY, "income": "yearly income"}, outcome=Feature(values={"Reject": "no"}))
    assert plain.version == named.version
    assert "features" not in plain.describe()
    kept = json.loads(json.dumps(named.describe()))
    names = Names.of(kept)
    assert names.features == {"history": HISTORY, "income": Feature("yearly income")}
    assert [names.argument(place) for place in range(3)] == [HISTORY, Feature("yearly income"), None]
    assert names.outcome.name_of("Reject") == "no"
    assert names.describe() == {key: kept[key] for key in ("features", "outcome", "version")}
    assert Names.of(plain.describe()) == Names(version=plain.version)


def test_a_description_of_a_later_release_is_read() -> None:
    assert restored(document(HISTORY) | {"colour": "red"}) == HISTORY
    assert restored({}) == Feature()


@pytest.mark.parametrize("value", [0, 0.0, False])
def test_a_value_is_named_whatever_number_it_is(value: Any) -> None:
    assert HISTORY.name_of(value) == "bad"
    assert HISTORY.name_of(0.5) is HISTORY.name_of(None) is None


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"histroy": HISTORY}, "has no argument 'histroy'; its arguments are history, income"),
        ({"history": 3}, "'history' of UDF 'judge_of_features' is 3; it can be a Feature, or a label"),
    ],
)
def test_wrong_declarations_are_refused(features: Any, message: str) -> None:
    with pytest.raises(UdfDeclarationError, match=message):
        declared(features=features)


def test_only_texts_name_plain_values() -> None:
    with pytest.raises(UdfDeclarationError, match="must be texts; 3 is not one"):
        Feature("x", values={1: 3})  # type: ignore[dict-item]
    with pytest.raises(UdfDeclarationError, match="a Feature names plain values"):
        Feature("x", values={object(): "a"})
