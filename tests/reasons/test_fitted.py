"""Models that cannot be asked are refused when the UDF is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.lime_adapter import lime_tabular_udf, lime_text_udf
from airflow_lineage_provider.reasons.shap_adapter import shap_udf

ROWS = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
LABELS = np.array([0, 0, 1, 1])


@pytest.mark.parametrize("declare", [shap_udf, lime_tabular_udf])
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(), "is not fitted: call fit"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "is not fitted: call fit"),
        (LogisticRegression, "is the class LogisticRegression, not a fitted model"),
        (len, "cannot predict"),
        (None, "cannot predict"),
    ],
)
def test_a_model_that_cannot_be_asked(declare: Any, model: Any, message: str) -> None:
    with pytest.raises(UdfDeclarationError, match=message):
        declare(model, ["a", "b"], name="unfitted", background=ROWS)


def test_a_fitted_one_can() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, LABELS)
    assert shap_udf(model, ["a", "b"], name="fitted_here", background=ROWS).has_reason


@pytest.mark.parametrize(("function", "message"), [(LogisticRegression().predict_proba, "is not fitted"), ("text", "needs a function")])
def test_a_text_model(function: Any, message: str) -> None:
    with pytest.raises(UdfDeclarationError, match=message):
        lime_text_udf(function, name="texts", classes=["a", "b"])
