"""Reasoned UDFs explained by the real LIME, for rows and for texts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from airflow_lineage_provider.errors import EnvironmentProblem, UdfDeclarationError, UdfFailed
from airflow_lineage_provider.reasons.lime_adapter import lime_tabular_udf, lime_text_udf
from airflow_lineage_provider.reasons.payload import Attributions, TextSpans, from_json
from tests.new_process import NewPython

FEATURES = ["a", "b", "c", "kind"]
TEXTS = ["good movie", "bad movie", "good good film", "awful bad film", "nice good", "bad plot", "a plot", "the film"]


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.RandomState(0)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=FEATURES[:3])
    frame["kind"] = random.choice(["red", "green", "blue"], 300)
    return frame, (frame.a * 3 + (frame.kind == "red") * 2 - 0.5).to_numpy()


@pytest.fixture(scope="module")
def model(data: Any) -> Any:
    frame, target = data
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough")
    return make_pipeline(encode, RandomForestClassifier(20, random_state=0)).fit(frame, np.where(target > 0, "yes", "no"))


@pytest.fixture(scope="module")
def text_model() -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, ["pos", "neg", "pos", "neg", "pos", "neg", "neg", "pos"])


def arrays(frame: pd.DataFrame) -> list[pa.Array]:
    return [pa.array(frame[name], from_pandas=True) for name in frame.columns]


def test_rows(data: Any, model: Any) -> None:
    frame, _ = data
    udf = lime_tabular_udf(model, FEATURES, name="u", background=frame)
    rows = frame.head(5)
    values, texts = udf.explain_batch(arrays(rows))
    udf.check_values(arrays(rows), values)
    assert values.to_pylist() == model.predict(rows).tolist()
    for at, text in enumerate(texts.to_pylist()):
        reason = from_json(text)
        assert isinstance(reason, Attributions)
        assert reason.label == values[at].as_py()
        assert reason.output == pytest.approx(model.predict_proba(rows)[at].max())
        assert [each.feature for each in reason.features] == FEATURES
        assert reason.features[3].value == rows.kind.iloc[at]
        strongest = max(reason.features, key=lambda each: abs(each.contribution))
        assert strongest.feature == "a"
        assert (strongest.contribution > 0) == ((rows.a.iloc[at] > 0) == (reason.label == "yes"))
        assert reason.fit is not None
        assert 0 < reason.fit <= 1
        assert abs(reason.residual or 0) < 0.6  # an approximation, and it says by how much


def test_a_regression_and_fewer_features(data: Any) -> None:
    frame, target = data
    numbers = frame[["a", "b", "c"]]
    line = LinearRegression().fit(numbers, target)
    udf = lime_tabular_udf(line, ["a", "b", "c"], name="u", background=numbers, output="value", num_features=1)
    _, texts = udf.explain_batch(arrays(numbers.head(4)))
    for at, text in enumerate(texts.to_pylist()):
        reason = from_json(text)
        assert isinstance(reason, Attributions)
        assert (len(reason.features), reason.features[0].feature, reason.label) == (1, "a", None)
        assert reason.output == pytest.approx(line.predict(numbers)[at])


def test_three_classes(data: Any) -> None:
    frame, target = data
    numbers = frame[["a", "b", "c"]]
    three = LogisticRegression().fit(numbers, np.digitize(target, [-1, 1]))
    udf = lime_tabular_udf(three, ["a", "b", "c"], name="u", background=numbers, num_samples=300)
    values, texts = udf.explain_batch(arrays(numbers.head(6)))
    assert [from_json(each).label for each in texts.to_pylist()] == [str(each) for each in values.to_pylist()]  # type: ignore[union-attr]


def test_a_missing_value_is_refused(data: Any, model: Any) -> None:
    frame, _ = data
    with pytest.raises(UdfDeclarationError, match="has missing values"):
        lime_tabular_udf(model, FEATURES, name="u", background=frame.assign(b=frame.b.mask(frame.b > 1)))
    udf = lime_tabular_udf(model, FEATURES, name="u", background=frame)
    rows = frame.head(2).assign(b=[1.0, None])
    with pytest.raises(UdfFailed, match=r"b=None.*LIME cannot explain a row with missing values \(b\)"):
        udf.explain_batch(arrays(rows))


def test_a_model_without_probabilities_is_refused(data: Any) -> None:
    frame, target = data
    with pytest.raises(UdfDeclarationError, match="LIME needs probabilities"):
        lime_tabular_udf(RidgeClassifier().fit(frame[["a"]], target > 0), ["a"], name="u", background=frame)


def test_texts(text_model: Any) -> None:
    udf = lime_text_udf(text_model.predict_proba, name="tone", classes=text_model.classes_)
    text = "Awful: a bad plot, bad film"
    values, texts = udf.explain_batch([pa.array([text, None, "", "!?", "good"])])
    assert values.to_pylist()[:2] == ["neg", None]
    assert texts[1].as_py() is None
    reason = from_json(texts[0].as_py())
    assert isinstance(reason, TextSpans)
    words = [(text[each.start : each.end], each.label) for each in reason.spans]
    assert words.count(("bad", "neg")) == 2
    weights = {text[each.start : each.end]: each.weight for each in reason.spans}
    assert max(weights, key=lambda word: weights[word]) == "bad"
    assert [each.start for each in reason.spans] == sorted(each.start for each in reason.spans)
    assert (reason.label, reason.output_space) == ("neg", "probability")
    assert reason.output == pytest.approx(text_model.predict_proba([text]).max())
    assert reason.fit is not None
    assert 0 < reason.fit <= 1
    assert from_json(texts[2].as_py()).spans == from_json(texts[3].as_py()).spans == ()  # type: ignore[union-attr]


def test_the_same_reason_in_another_order_and_in_another_process(
    data: Any, model: Any, text_model: Any, tmp_path: Path, new_python: NewPython
) -> None:
    frame, _ = data
    texts = ["good film, bad plot", "nice movie", "a good awful film"]
    rows = lime_tabular_udf(model, FEATURES, name="u", background=frame)
    words = lime_text_udf(text_model.predict_proba, name="t", classes=["n", "p"])
    together = [rows.explain_batch(arrays(frame.head(3)))[1].to_pylist(), words.explain_batch([pa.array(texts)])[1].to_pylist()]
    turned = [
        rows.explain_batch(arrays(frame.head(3).iloc[::-1]))[1].to_pylist()[::-1],
        words.explain_batch([pa.array(texts[::-1])])[1].to_pylist()[::-1],
    ]
    assert together == turned
    joblib.dump((model, frame, text_model), tmp_path / "models")
    code = f"""
import json, joblib, pyarrow as pa
from airflow_lineage_provider.reasons.lime_adapter import lime_tabular_udf, lime_text_udf
model, frame, text_model = joblib.load({str(tmp_path / "models")!r})
rows = lime_tabular_udf(model, list(frame.columns), name="u", background=frame)
words = lime_text_udf(text_model.predict_proba, name="t", classes=["n", "p"])
given = [pa.array(frame[name][:3]) for name in frame.columns]
found = [rows.explain_batch(given)[1].to_pylist(), words.explain_batch([pa.array({texts!r})])[1].to_pylist()]
print(json.dumps([rows.version, words.version, found]))
"""
    assert json.loads(new_python(code, variables={"PYTHONHASHSEED": "7"})) == [rows.version, words.version, together]


def test_another_seed_gives_another_reason_and_version(data: Any, model: Any) -> None:
    frame, _ = data
    one, other = (lime_tabular_udf(model, FEATURES, name="u", background=frame, seed=seed, num_samples=200) for seed in (0, 1))
    assert one.version != other.version
    assert one.explain_batch(arrays(frame.head(1)))[1] != other.explain_batch(arrays(frame.head(1)))[1]


def test_without_lime_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lime.lime_text", None)
    with pytest.raises(EnvironmentProblem, match=r'pip install "airflow-provider-lineage\[lime\]"'):
        lime_text_udf(lambda texts: texts, name="u", classes=["a", "b"])


def test_wrong_probabilities_are_refused() -> None:
    udf = lime_text_udf(lambda texts: [[1.0]] * len(texts), name="u", classes=["a", "b"])
    with pytest.raises(UdfFailed, match=r"returned shape \(1, 1\) for one text and the 2 classes"):
        udf.call_batch([pa.array(["x"])])
