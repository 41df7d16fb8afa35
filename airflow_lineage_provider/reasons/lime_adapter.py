"""Reasoned UDFs explained by LIME: from a tabular model, and from a text classifier.

LIME fits a small linear model to random neighbours of the row. Its generator is seeded anew for every row from the UDF's
seed and the row itself, so that the reason does not depend on which rows were explained before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.adapter import declared, output_identity, tabular_decisions, values, values_with_reasons, version_text
from airflow_lineage_provider.reasons.decisions import Decisions, Output
from airflow_lineage_provider.reasons.features import Feature, Features
from airflow_lineage_provider.reasons.fingerprint import digest
from airflow_lineage_provider.reasons.fitted import check_bound_model
from airflow_lineage_provider.reasons.row_seed import rounded, row_seed
from airflow_lineage_provider.reasons.tabular import Coding
from airflow_lineage_provider.reasons.udf import ReasonedUdf

ADAPTER = "lime adapter 1"
"""Part of every version; to be raised when the adapter would give another reason for the same model and row."""


@dataclass(frozen=True)
class _Lime:
    """What both modes of a tabular UDF share."""

    decisions: Decisions
    seed: int
    num_features: int
    num_samples: int
    method: dict[str, Any]

    def reasons(self, frame: pd.DataFrame) -> list[payload.Attributions]:
        return [self._reason(frame.iloc[[at]]) for at in range(len(frame))]

    def _reason(self, row: pd.DataFrame) -> payload.Attributions:
        table = self.decisions.table
        if missing := [name for name in table.features if row[name].isna().iloc[0]]:
            raise ValueError(f"LIME cannot explain a row with missing values ({', '.join(missing)}): fill them before, or use shap_udf")
        coding = Coding.of(table, row)
        chosen = self.decisions.explained_class(row)[0]
        explanation = self._explainer(coding, row).explain_instance(
            coding.encode(row)[0],
            lambda matrix: self._numbers(coding.decode(matrix)),
            labels=(chosen or 0,),
            num_features=self.num_features,
            num_samples=self.num_samples,
        )
        return self._attributions(row, explanation, chosen)

    def _explainer(self, coding: Coding, row: pd.DataFrame) -> Any:
        lime_tabular = require("lime.lime_tabular", "lime", "this UDF's reason")
        table = self.decisions.table
        categorical = [at for at, name in enumerate(table.features) if table.is_categorical(name)]
        return lime_tabular.LimeTabularExplainer(
            coding.encode(table.background),
            mode="classification" if self.decisions.classes else "regression",
            feature_names=list(table.features),
            categorical_features=categorical,
            categorical_names={at: [str(each) for each in coding.values[table.features[at]]] for at in categorical},
            random_state=row_seed(self.seed, row.iloc[0].tolist()),
        )

    def _numbers(self, frame: pd.DataFrame) -> Any:
        return self.decisions.numbers(frame, "probability") if self.decisions.classes else self.decisions.numbers(frame, "raw")[:, 0]

    def _attributions(self, row: pd.DataFrame, explanation: Any, chosen: int | None) -> payload.Attributions:
        # A regression's explanation is kept under 1, with the signs of a higher value, whatever label was asked for.
        key = 1 if chosen is None else chosen
        weights = dict(explanation.local_exp[key])
        output = self._numbers(row)[0]
        return payload.Attributions(
            features=tuple(
                payload.Attribution(name, row[name].iloc[0], rounded(weights[at]))
                for at, name in enumerate(self.decisions.table.features)
                if at in weights
            ),
            base_value=rounded(explanation.intercept[key]),
            output=rounded(output if chosen is None else output[chosen]),
            output_space="raw" if chosen is None else "probability",
            label=self.decisions.class_name(chosen),
            method=self.method,
            fit=_fit(explanation, key),
        )


def _fit(explanation: Any, place: int) -> float | None:
    """How well LIME's linear model fits around the row (R², weighted by nearness); releases of LIME keep it in one of two shapes."""
    score = explanation.score
    found = score.get(place) if isinstance(score, dict) else score
    return None if found is None else rounded(found)


@dataclass(frozen=True)
class _Main:
    lime: _Lime
    code_identity: str = ADAPTER

    def __call__(self, *columns: Any) -> Any:
        return values(self.lime.decisions, columns)


@dataclass(frozen=True)
class _MainWithReason:
    lime: _Lime
    code_identity: str = ADAPTER

    def __call__(self, *columns: Any) -> tuple[Any, list[payload.Attributions]]:
        return values_with_reasons(self.lime.decisions, columns, self.lime.reasons)


def lime_tabular_udf(
    model: Any,
    features: Sequence[str] | Features,
    *,
    name: str,
    background: Any,
    returns: str | None = None,
    output: Output = "label",
    label: Any = None,
    num_features: int | None = None,
    num_samples: int = 1000,
    seed: int = 0,
    max_background: int = 5000,
    model_path: Path | None = None,
    module: str | None = None,
    outcome: Feature | str | None = None,
) -> ReasonedUdf:
    """A reasoned UDF (vectorised) from a fitted model, explained by LIME; arguments as of `shap_udf`, and

    :param num_features: at most so many features in a reason; all by default.
    :param num_samples: neighbours drawn per row.

    A LIME explanation is an approximation: the residual says how far it is from the model's own output for the row.

    :raises EnvironmentProblem: LIME is not installed.
    :raises UdfDeclarationError: model, features, background and output do not fit together, or the background has missing values.
    """
    require("lime.lime_tabular", "lime", f"lime_tabular_udf({name!r})")
    decisions = tabular_decisions(
        model, features, background, name=name, output=output, label=label, seed=seed, max_background=max_background
    )
    table = decisions.table
    if table.background.isna().any(axis=None):
        raise UdfDeclarationError(f"the background of UDF {name!r} has missing values, which LIME cannot sample; leave those rows out")
    if decisions.classes and not hasattr(model, "predict_proba"):
        raise UdfDeclarationError(f"UDF {name!r}: LIME needs probabilities, which {type(model).__name__} does not give (predict_proba)")
    wanted = num_features or len(table.features)
    method = {"library": "lime", "seed": seed, "background_hash": digest(table.background, "the background"), "num_samples": num_samples}
    shared = _Lime(decisions, seed, wanted, num_samples, method)
    return declared(
        _Main(shared),
        _MainWithReason(shared),
        library="lime",
        method=method,
        name=name,
        returns=returns or decisions.value_type(),
        version=version_text(ADAPTER, output_identity(output), str(label), list(table.features), wanted, num_samples),
        parameters=table.features,
        features=features,
        outcome=outcome,
        model=model,
        model_path=model_path,
        seed=seed,
        module=module,
        background=table.background,
        vectorized="pandas",
    )


@dataclass(frozen=True)
class _Text:
    """What both modes of a text UDF share."""

    predict_proba: Callable[[list[str]], Any]
    classes: tuple[str, ...]
    seed: int
    num_features: int
    num_samples: int
    method: dict[str, Any]

    def decided(self, text: str) -> tuple[int, float]:
        """The place of the most probable class, and its probability."""
        found = np.asarray(self.predict_proba([text]))
        if found.shape != (1, len(self.classes)):
            raise ValueError(f"predict_proba returned shape {found.shape} for one text and the {len(self.classes)} classes {self.classes}")
        place = int(found[0].argmax())
        return place, float(found[0, place])

    def reason(self, text: str, place: int, probability: float) -> payload.TextSpans:
        label, output = self.classes[place], rounded(probability)
        if not any(each.isalnum() for each in text):  # LIME finds no word to leave out
            return payload.TextSpans((), text, self.method, label, output, "probability")
        lime_text = require("lime.lime_text", "lime", "this UDF's reason")
        explainer = lime_text.LimeTextExplainer(class_names=list(self.classes), random_state=row_seed(self.seed, [text]))
        explanation = explainer.explain_instance(
            text, self.predict_proba, labels=(place,), num_features=self.num_features, num_samples=self.num_samples
        )
        words = explanation.domain_mapper.indexed_string
        spans = [
            payload.Span(int(start), int(start) + len(words.word(word)), rounded(weight), label)
            for word, weight in explanation.local_exp[place]
            for start in np.atleast_1d(words.string_position(word))
        ]
        in_order = tuple(sorted(spans, key=lambda span: span.start))
        return payload.TextSpans(in_order, text, self.method, label, output, "probability", _fit(explanation, place))


@dataclass(frozen=True)
class _TextMain:
    text: _Text
    code_identity: str = ADAPTER

    def __call__(self, text: str | None) -> str | None:
        return None if text is None else self.text.classes[self.text.decided(text)[0]]


@dataclass(frozen=True)
class _TextMainWithReason:
    text: _Text
    code_identity: str = ADAPTER

    def __call__(self, text: str | None) -> tuple[str | None, payload.TextSpans | None]:
        if text is None:
            return None, None
        place, probability = self.text.decided(text)
        return self.text.classes[place], self.text.reason(text, place, probability)


def lime_text_udf(
    predict_proba: Callable[[list[str]], Any],
    *,
    name: str,
    classes: Sequence[str],
    num_features: int = 10,
    num_samples: int = 1000,
    seed: int = 0,
    model_path: Path | None = None,
    module: str | None = None,
    outcome: Feature | str | None = None,
) -> ReasonedUdf:
    """A reasoned UDF from a text classifier: the most probable class, and the words that spoke for or against it as text spans.

    :param predict_proba: list of texts to probabilities (texts, classes); a method of a fitted Pipeline, say.
    :param classes: the classes' names, in the order of the probabilities.
    :param num_features: at most so many distinct words in a reason; each of a word's occurrences is a span with the word's weight.
    :param num_samples: variants of the text (words left out) drawn per row.

    The others are those of `shap_udf`. NULL in is NULL out, with no reason.

    :raises EnvironmentProblem: LIME is not installed.
    :raises UdfDeclarationError: fewer than two classes, or code whose version cannot be taken.
    """
    require("lime.lime_text", "lime", f"lime_text_udf({name!r})")
    check_bound_model(predict_proba, name)
    if len(classes) < 2:
        raise UdfDeclarationError(f"UDF {name!r} needs at least two classes, it has {list(classes)}")
    method = {"library": "lime", "seed": seed, "num_samples": num_samples}
    shared = _Text(predict_proba, tuple(str(each) for each in classes), seed, num_features, num_samples, method)
    return declared(
        _TextMain(shared),
        _TextMainWithReason(shared),
        library="lime",
        method=method,
        name=name,
        returns="string",
        version=version_text(ADAPTER, list(shared.classes), num_features, num_samples),
        parameters=("text",),
        features=None,
        outcome=outcome,
        model=predict_proba,
        has_copies=False,
        model_path=model_path,
        seed=seed,
        module=module,
    )
