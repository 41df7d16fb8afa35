"""The decisions of a UDF as a table, and their attributions as a DataFrame."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.decided import COLUMNS, Reasons
from airflow_lineage_provider.plan.guarantees import EXACT
from airflow_lineage_provider.reasons import payload
from tests.answers import links_of
from tests.render import explanation_examples as examples


def test_attributions_are_one_row_a_feature() -> None:
    found = examples.many_kinds().reasons["sentiment"]
    frame = found.attributions()
    assert list(frame.columns) == list(COLUMNS)
    assert frame[["row", "decided", "label", "feature", "contribution"]].values.tolist() == [
        [0, -0.4, "negative", "terrible", -0.42], [0, -0.4, "positive", "excellent", 0.31], [0, -0.4, None, "not come", -0.11],
    ]  # fmt: skip
    shap = examples.tall(3).reasons["credit_exam"].attributions()
    assert len(shap) == 15
    assert set(shap.output_space) == {"probability"}
    assert shap[(shap.row == 0) & (shap.feature == "amount")].contribution.item() == 0.305
    assert shap.groupby("row").contribution.sum().round(4).tolist() == pytest.approx((shap.groupby("row").output.first() - 0.31).tolist())


def test_decisions_without_attributions_have_no_row() -> None:
    assert examples.paper().reasons["credit_exam"].attributions().empty
    kept = examples.reasons({"x": [1, 2]}, ["a", "b"], [None, examples.attributions()])
    assert set(examples.explanation(reasons={"f": kept}).reasons["f"].attributions().row) == {1}


def test_they_can_be_used_as_a_table() -> None:
    made = examples.paper()
    found = made.reasons["credit_exam"]
    assert (found.num_rows, len(found), found.column_names[0]) == (1, 1, "row")
    assert found.column("value").to_pylist() == ["Reject"]
    assert found["value"][0].as_py() == "Reject"
    assert found.to_pandas().value.tolist() == ["Reject"]
    assert pa.table(found) == found.rows == found
    assert found == Reasons(found.rows)
    assert found != Reasons(found.rows.slice(1))
    assert (found.guarantee, found.links) == (EXACT, links_of(made)["credit_exam"])
    assert repr(found).startswith("<1 decision, exact: row, income")
    with pytest.raises(AttributeError, match="no_such_thing"):
        found.no_such_thing  # noqa: B018


def test_they_can_be_copied_and_sent() -> None:
    found = examples.paper().reasons["credit_exam"]
    assert copy.copy(found) == found
    assert pickle.loads(pickle.dumps(Reasons(found.rows))) == found


def test_reasons_as_objects() -> None:
    table = examples.reasons({"x": [1, 2, 3]}, [1, 2, 3], [payload.Json(1), None, payload.Json([2])])
    assert Reasons(table).payloads() == [payload.Json(1), None, payload.Json([2])]
