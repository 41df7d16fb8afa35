"""Reasoned UDFs from scikit-learn models, explained by the real SHAP."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from airflow_lineage_provider.errors import EnvironmentProblem, UdfDeclarationError, UdfFailed
from airflow_lineage_provider.reasons import ReasonedUdf, shap_adapter, shap_explainers
from airflow_lineage_provider.reasons.payload import Attributions, from_json
from airflow_lineage_provider.reasons.shap_adapter import shap_udf
from airflow_lineage_provider.reasons.shap_explainers import shaped
from tests.in_turn import sampled
from tests.new_process import NewPython

pytestmark = pytest.mark.long

FEATURES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.RandomState(0)
    # Few distinct values, many of them tied with a tree's thresholds in single precision.
    frame = pd.DataFrame(np.round(random.normal(size=(300, 4)), 1), columns=FEATURES)
    return frame, (frame.a * 2 - frame.b + frame.c * frame.d).to_numpy()


def arrays(frame: pd.DataFrame) -> list[pa.Array]:
    return [pa.array(frame[name], from_pandas=True) for name in frame.columns]


def reasons_of(udf: ReasonedUdf, frame: pd.DataFrame) -> tuple[list[Any], list[Attributions]]:
    values, texts = udf.explain_batch(arrays(frame))
    udf.check_values(arrays(frame), values)
    return values.to_pylist(), [from_json(each) for each in texts.to_pylist()]  # type: ignore[misc]


CLASSIFIERS = [
    (RandomForestClassifier(10, random_state=0, n_jobs=2), "tree, interventional", "tree, interventional", "probability"),
    (DecisionTreeClassifier(max_depth=5, random_state=0), "tree, interventional", "tree, interventional", "probability"),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), "exact", "exact", "probability"),
    (HistGradientBoostingClassifier(max_iter=10, random_state=0), "exact", "exact", "probability"),
    (
        make_pipeline(SimpleImputer(), StandardScaler(), RandomForestClassifier(10, random_state=0)),
        "tree, interventional",
        None,
        "probability",
    ),
    (LogisticRegression(), "exact", "exact", "probability"),
    (make_pipeline(StandardScaler(), LogisticRegression()), "exact", "exact", "probability"),
    (make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=2000)), "exact", "exact", "probability"),
    (RidgeClassifier(), "linear", "linear", "raw"),
    (KNeighborsClassifier(), "exact", "exact", "probability"),
    (SVC(), "exact", "exact", "raw"),
]


UNITS = [
    (GradientBoostingClassifier(n_estimators=10, random_state=0), "log-odds", "tree, interventional"),
    (HistGradientBoostingClassifier(max_iter=10, random_state=0), "log-odds", "tree, interventional"),
    (LogisticRegression(), "log-odds", "linear"),
    (make_pipeline(PolynomialFeatures(), LogisticRegression(max_iter=2000)), "log-odds", "exact"),
    (LogisticRegression(), "probability", "exact"),
    (RandomForestClassifier(10, random_state=0), "probability", "tree, interventional"),
    (RidgeClassifier(), "raw", "linear"),
]


@pytest.mark.parametrize(
    ("model", "unit", "explainer"), sampled(UNITS), ids=lambda each: each if isinstance(each, str) else type(each).__name__
)
def test_the_unit_is_the_users_choice(data: Any, model: Any, unit: Any, explainer: str) -> None:
    frame, target = data
    model.fit(frame, np.where(target > 0, "yes", "no"))
    _, reasons = reasons_of(shap_udf(model, FEATURES, name="u", background=frame, unit=unit), frame.head(5))
    assert {(one.output_space, one.method["explainer"]) for one in reasons} == {(unit, explainer)}
    assert max(abs(one.residual or 0) for one in reasons) < 1e-6


def test_many_features_keep_the_unit_that_is_exact() -> None:
    random = np.random.RandomState(1)
    frame = pd.DataFrame(random.normal(size=(60, 9)), columns=list("abcdefghi"))
    model = LogisticRegression().fit(frame, np.where(frame.a > 0, "yes", "no"))
    for unit, space, explainer in ((None, "log-odds", "linear"), ("probability", "probability", "permutation")):
        udf = shap_udf(model, list(frame.columns), name="u", background=frame.head(20), unit=unit)  # type: ignore[arg-type]
        (reason,) = reasons_of(udf, frame.head(1))[1]
        assert (reason.output_space, reason.method["explainer"]) == (space, explainer)


def test_a_unit_that_the_model_does_not_have_is_refused(data: Any) -> None:
    frame, target = data
    forest = RandomForestClassifier(3, random_state=0).fit(frame, target > 0)
    with pytest.raises(UdfDeclarationError, match="its model gives no 'log-odds' numbers to explain; unit can be probability"):
        shap_udf(forest, FEATURES, name="u", background=frame, unit="log-odds")


def test_a_unit_that_is_not_chosen_is_no_part_of_the_version(data: Any) -> None:
    frame, target = data
    model = LogisticRegression().fit(frame, target > 0)
    default, chosen = (shap_udf(model, FEATURES, name="u", background=frame, unit=unit) for unit in (None, "log-odds"))
    # Runs of before there was a choice can still be explained.
    assert json.loads(default._extra) == ["shap adapter 1", "label", "None", FEATURES]
    assert default.version != chosen.version


def test_no_call_of_shap_is_so_long_that_it_draws_a_progress_bar(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now, sizes = [0.0], []
    monkeypatch.setattr("airflow_lineage_provider.reasons.shap_explainers.time.perf_counter", lambda: now[0])

    def call(part: pd.DataFrame, seconds_a_row: float) -> Any:
        sizes.append(len(part))
        now[0] += seconds_a_row * len(part)
        return part.to_numpy()

    frame = data[0].head(250)
    quick = list(shap_explainers.in_short_calls(frame, lambda part: call(part, 0.0001)))
    assert sizes == [1, 100, 100, 49]
    assert np.concatenate(quick).tolist() == frame.to_numpy().tolist()
    sizes.clear()
    list(shap_explainers.in_short_calls(frame.head(20), lambda part: call(part, 0.25)))
    assert sizes == [1, 6, 6, 6, 1]


@pytest.mark.parametrize(("model", "binary", "several", "space"), sampled(CLASSIFIERS), ids=lambda each: type(each).__name__)
def test_classifiers(data: Any, model: Any, binary: str, several: str | None, space: str) -> None:
    frame, target = data
    model.fit(frame, np.where(target > 0, "yes", "no"))
    values, reasons = reasons_of(shap_udf(model, FEATURES, name="u", background=frame), frame.head(30))
    assert values == model.predict(frame.head(30)).tolist()
    assert set(values) == {"yes", "no"}
    for value, reason in zip(values, reasons, strict=True):
        assert (reason.label, reason.output_space, reason.method["explainer"]) == (value, space, binary)
        assert abs(reason.residual or 0) < 1e-6
        assert (reason.output or 0) >= (0.5 if space == "probability" else 0)  # the predicted class is the one explained
    if several is None:
        return
    model.fit(frame, np.digitize(target, [-1, 1]))
    values, reasons = reasons_of(shap_udf(model, FEATURES, name="u", background=frame), frame.head(30))
    assert set(values) == {0, 1, 2}
    for value, reason in zip(values, reasons, strict=True):
        assert (reason.label, reason.method["explainer"]) == (str(value), several)
        assert abs(reason.residual or 0) < 1e-6


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LinearRegression(), "linear"),
        (RandomForestRegressor(10, random_state=0), "tree, interventional"),
        (GradientBoostingRegressor(n_estimators=10, random_state=0), "tree, interventional"),
        (HistGradientBoostingRegressor(max_iter=10, random_state=0), "tree, interventional"),
        (make_pipeline(PolynomialFeatures(), LinearRegression()), "exact"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_regressors(data: Any, model: Any, method: str) -> None:
    frame, target = data
    model.fit(frame, target)
    values, reasons = reasons_of(shap_udf(model, FEATURES, name="u", background=frame, output="value"), frame.head(20))
    np.testing.assert_allclose(values, model.predict(frame.head(20)))
    for value, reason in zip(values, reasons, strict=True):
        assert reason.label is None
        assert reason.method["explainer"] == method
        assert reason.output == pytest.approx(value)
        assert abs(reason.residual or 0) < 1e-5


def brute_force(predict: Any, background: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Shapley values from their definition: the mean over the background of every coalition."""
    from itertools import combinations
    from math import factorial

    count = len(row)
    worth = {}
    for size in range(count + 1):
        for coalition in combinations(range(count), size):
            mixed = background.copy()
            mixed[:, coalition] = row[list(coalition)]
            worth[coalition] = predict(mixed).mean()
    found = np.zeros(count)
    for feature in range(count):
        for coalition in worth:
            if feature in coalition:
                rest = tuple(each for each in coalition if each != feature)
                weight = factorial(len(rest)) * factorial(count - len(coalition)) / factorial(count)
                found[feature] += weight * (worth[coalition] - worth[rest])
    return found


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(10, random_state=0), HistGradientBoostingClassifier(max_iter=10), KNeighborsClassifier()],
    ids=lambda each: type(each).__name__,
)
def test_contributions_are_shapley_values(data: Any, model: Any) -> None:
    frame, target = data
    model.fit(frame.to_numpy(), target > 0)
    udf = shap_udf(model, FEATURES, name="u", background=frame.head(40), output="probability", label=True)
    values, reasons = reasons_of(udf, frame.tail(5))
    for value, reason, row in zip(values, reasons, frame.tail(5).to_numpy(), strict=True):
        margins = model.decision_function if reason.output_space == "log-odds" else lambda cells: model.predict_proba(cells)[:, 1]
        wanted = brute_force(margins, frame.head(40).to_numpy(), row)
        np.testing.assert_allclose([each.contribution for each in reason.features], wanted, atol=1e-6)
        assert reason.output == pytest.approx(np.log(value / (1 - value)) if reason.output_space == "log-odds" else value)


def test_the_other_class_mirrors(data: Any) -> None:
    frame, target = data
    for model in (LogisticRegression(), GradientBoostingClassifier(n_estimators=5), RandomForestClassifier(5, random_state=0)):
        model.fit(frame, target > 0)
        both = [
            reasons_of(shap_udf(model, FEATURES, name="u", background=frame, output="probability", label=label), frame.head(3))[1]
            for label in (True, False)
        ]
        for yes, no in zip(*both, strict=True):
            mirrored = [-each.contribution for each in no.features]
            np.testing.assert_allclose([each.contribution for each in yes.features], mirrored, atol=1e-7)
            assert max(abs(yes.residual or 0), abs(no.residual or 0)) < 1e-6
            assert (yes.label, no.label) == ("True", "False")


def test_the_model_s_column_order_is_kept(data: Any) -> None:
    frame, target = data
    model = RandomForestRegressor(10, random_state=0).fit(frame, target)
    turned = frame[["d", "c", "b", "a"]]
    straight = reasons_of(shap_udf(model, FEATURES, name="u", background=frame, output="value"), frame.head(5))
    other = reasons_of(shap_udf(model, ["d", "c", "b", "a"], name="u", background=turned, output="value"), turned.head(5))
    assert straight[0] == other[0]
    for one, two in zip(straight[1], other[1], strict=True):
        assert {each.feature: each.contribution for each in one.features} == {each.feature: each.contribution for each in two.features}


def test_text_and_missing_values(data: Any) -> None:
    frame, target = data
    mixed = frame.assign(kind=np.where(frame.a > 0, "red", "blue"))
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough")
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=10)).fit(mixed, target > 0)
    rows = pd.DataFrame({"a": [1.0, None], "b": [None, 2.0], "c": [0.5, 0.5], "d": [1.0, 1.0], "kind": ["green", None]})
    values, reasons = reasons_of(shap_udf(model, [*FEATURES, "kind"], name="u", background=mixed), rows)
    assert values == model.predict(rows).tolist()
    assert [each.value for each in reasons[0].features] == [1, None, 0.5, 1, "green"]
    assert all(abs(each.residual or 0) < 1e-6 for each in reasons)


def test_missing_values_of_a_tree(data: Any) -> None:
    frame, target = data
    for model in (RandomForestClassifier(10, random_state=0), HistGradientBoostingClassifier(max_iter=10)):
        model.fit(frame, target > 0)
        rows = frame.head(6).mask(np.eye(6, 4, dtype=bool))
        values, reasons = reasons_of(shap_udf(model, FEATURES, name="u", background=frame), rows)
        assert values == model.predict(rows).tolist()
        assert all(abs(each.residual or 0) < 1e-6 for each in reasons)


def test_a_missing_value_that_the_model_does_not_take(data: Any) -> None:
    frame, target = data
    udf = shap_udf(LinearRegression().fit(frame, target), FEATURES, name="line", background=frame, output="value")
    with pytest.raises(UdfFailed, match=r"UDF 'line' failed on a=1.0, b=None, c=1.0, d=1.0: ValueError: Input X contains NaN"):
        udf.call_batch([pa.array([1.0, 1.0]), pa.array([1.0, None]), pa.array([1.0, 1.0]), pa.array([1.0, 1.0])])


def test_an_output_function(data: Any) -> None:
    frame, target = data
    model = RandomForestClassifier(10, random_state=0).fit(frame, np.where(target > 0, "good", "bad"))

    def judge(probabilities: np.ndarray) -> np.ndarray:
        return np.select([probabilities[:, 1] > 0.8, probabilities[:, 1] < 0.2], ["Accept", "Reject"], "Marginal")

    udf = shap_udf(model, FEATURES, name="judge", background=frame, output=judge, label="good")
    values, reasons = reasons_of(udf, frame.head(60))
    assert set(values) == {"Accept", "Marginal", "Reject"}
    assert {each.label for each in reasons} == {"good"}
    other = shap_udf(model, FEATURES, name="judge", background=frame, output=lambda p: p[:, 0] > 0.5, label="good", returns="boolean")
    assert other.version != udf.version
    with pytest.raises(UdfFailed, match="one value per row"):
        shap_udf(model, FEATURES, name="judge", background=frame, output=lambda p: p).call_batch(arrays(frame.head(2)))


def test_many_features_are_sampled_with_a_seed_per_row() -> None:
    random = np.random.RandomState(1)
    names = [f"x{at}" for at in range(12)]
    frame = pd.DataFrame(random.normal(size=(100, 12)), columns=names)
    model = KNeighborsClassifier().fit(frame, frame.x0 > 0)
    udf = shap_udf(model, names, name="u", background=frame, max_background=20)
    state = _numpy_state()
    _, reasons = reasons_of(udf, frame.head(3))
    assert _numpy_state() == state  # the user's generator is left alone
    assert {each.method["explainer"] for each in reasons} == {"permutation"}
    assert all(abs(each.residual or 0) < 1e-9 for each in reasons)
    turned = reasons_of(udf, frame.head(3).iloc[::-1])[1]
    assert turned[::-1] == reasons


def test_the_same_reason_alone_in_another_order_and_in_another_process(data: Any, tmp_path: Any, new_python: NewPython) -> None:
    frame, target = data
    whole = frame.head(8)
    model = RandomForestClassifier(20, random_state=0, n_jobs=2).fit(frame, target > 0)
    udf = shap_udf(model, FEATURES, name="u", background=frame)
    together = udf.explain_batch(arrays(whole))[1].to_pylist()
    alone = [udf.explain_batch(arrays(whole.iloc[[at]]))[1][0].as_py() for at in range(8)]
    assert together == alone
    import joblib

    joblib.dump((model, frame), tmp_path / "model")
    code = f"""
import json, joblib, pyarrow as pa
from airflow_lineage_provider.reasons.shap_adapter import shap_udf
model, frame = joblib.load({str(tmp_path / "model")!r})
udf = shap_udf(model, list(frame.columns), name="u", background=frame)
print(json.dumps([udf.version, udf.explain_batch([pa.array(frame[name][:8]) for name in frame.columns])[1].to_pylist()]))
"""
    assert json.loads(new_python(code, variables={"PYTHONHASHSEED": "99"})) == [udf.version, together]


def test_what_the_version_depends_on(data: Any) -> None:
    frame, target = data

    def of(seed: int = 0, background: pd.DataFrame = frame, flip: bool = False, model_seed: int = 0) -> str:
        model = RandomForestClassifier(3, random_state=model_seed).fit(frame, (target > 0) ^ flip)
        return shap_udf(model, FEATURES, name="u", background=background, seed=seed).version

    assert of() == of()
    assert len({of(), of(seed=1), of(background=frame.tail(50)), of(flip=True), of(model_seed=1)}) == 5


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"features": ["a", "b", "c", "e"]}, "features"),
        ({"features": ["a", "b"]}, "was fitted on"),
        ({"background": np.zeros((3, 2))}, "has shape (3, 2)"),
        ({"background": pd.DataFrame({"a": []})}, "at least one row"),
        ({"output": "value"}, "does not fit a classifier"),
        ({"output": "odds"}, "output is 'odds'"),
        ({"label": "maybe"}, "has no class 'maybe'"),
        ({"output": "probability"}, "say whose probability"),
    ],
)
def test_what_does_not_fit_together(data: Any, change: dict[str, Any], part: str) -> None:
    frame, target = data
    model = DecisionTreeClassifier().fit(frame, np.digitize(target, [-1, 1]))
    with pytest.raises(UdfDeclarationError) as caught:
        shap_udf(model, **{"features": FEATURES, "name": "u", "background": frame, **change})
    assert part in str(caught.value)


def test_without_shap_the_extra_is_named(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    frame, target = data
    with pytest.raises(EnvironmentProblem, match=r'pip install "airflow-provider-lineage\[shap\]"'):
        shap_udf(LinearRegression().fit(frame, target), FEATURES, name="u", background=frame, output="value")


def test_every_shape_that_shap_returns() -> None:
    flat = np.arange(6.0).reshape(2, 3)
    assert shaped(flat, 2, 3).shape == (2, 3, 1)
    assert shaped([flat, -flat], 2, 3).shape == (2, 3, 2)
    np.testing.assert_array_equal(shaped([flat, -flat], 2, 3), shaped(np.stack([flat, -flat], axis=-1), 2, 3))
    with pytest.raises(ValueError, match="SHAP returned shape"):
        shaped(flat, 3, 2)


def _numpy_state() -> list[int]:
    state: Any = np.random.get_state()
    return list(state[1].tolist())


def test_a_model_that_learns_on_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done to it in place after the UDF was declared changes no decision and no reason."""
    monkeypatch.setattr(shap_adapter, "_EXPLAINERS", OrderedDict())
    rows = pd.DataFrame({"x": [0.0, 1, 2, 3], "y": [3.0, 2, 1, 0]})
    model = SGDClassifier(loss="log_loss", random_state=0).fit(rows, [0, 0, 1, 1])
    udf = shap_udf(model, ["x", "y"], name="learning", background=rows, output="probability")
    given, version = [pa.array([4.0]), pa.array([1.0])], udf.version
    (before,) = udf.call_batch(given).to_pylist()
    for _ in range(30):
        model.partial_fit(rows * [3, 1], [1, 1, 0, 0])
    values, (reason,) = udf.explain_batch(given)
    assert values.to_pylist() == [before] != model.predict_proba(pd.DataFrame({"x": [4.0], "y": [1.0]}))[:, 1].tolist()
    found = from_json(reason.as_py())
    assert isinstance(found, Attributions)
    assert found.output == pytest.approx(before)
    assert udf.current_version() == version != shap_udf(model, ["x", "y"], name="learning", background=rows, output="probability").version
