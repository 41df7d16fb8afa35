"""A reasoned UDF from a fitted model, explained by SHAP."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from airflow_lineage_provider.extras import require
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.reasons.adapter import declared, output_identity, tabular_decisions, values, values_with_reasons, version_text
from airflow_lineage_provider.reasons.decisions import Decisions, Output
from airflow_lineage_provider.reasons.features import Feature, Features
from airflow_lineage_provider.reasons.fingerprint import digest
from airflow_lineage_provider.reasons.row_seed import rounded
from airflow_lineage_provider.reasons.shap_explainers import Explained, Explainer, check_unit, explainer_of
from airflow_lineage_provider.reasons.udf import ReasonedUdf
from airflow_lineage_provider.words import Space

ADAPTER = "shap adapter 1"
"""Part of every version; to be raised when the adapter would contradict an earlier reason for the same model and row. (Not for another
unit: every reason names its own.)"""

_EXPLAINERS: OrderedDict[str, Explainer] = OrderedDict()
"""The explainers built in this process, by identity of the adapter: a Spark worker runs many tasks."""
_KEPT = 8


@dataclass(frozen=True)
class _Shap:
    """What both modes of the UDF share. `method` says how the reason is made and goes into each reason."""

    decisions: Decisions
    seed: int
    key: str
    method: dict[str, Any]
    unit: Space | None = None

    def explainer(self) -> Explainer:
        if self.key not in _EXPLAINERS:
            _EXPLAINERS[self.key] = explainer_of(self.decisions, self.seed, self.unit)
            while len(_EXPLAINERS) > _KEPT:
                _EXPLAINERS.popitem(last=False)
        return _EXPLAINERS[self.key]

    def reasons(self, frame: pd.DataFrame) -> list[payload.Attributions]:
        explainer = self.explainer()
        outputs = self.decisions.numbers(frame, explainer.space)
        explained = explainer.explain(frame)
        classes = self.decisions.explained_class(frame)
        return [self._reason(frame, at, outputs, explained, classes[at]) for at in range(len(frame))]

    def _reason(self, frame: pd.DataFrame, at: int, outputs: Any, explained: Explained, chosen: int | None) -> payload.Attributions:
        explainer, columns = self.explainer(), explained.contributions.shape[2]
        place, sign = self._column(columns, chosen)
        output = outputs[at, place if outputs.shape[1] == columns else chosen or 0]
        whole = explainer.space == "probability" and outputs.shape[1] != columns  # the model gives both classes, SHAP one
        base = explained.base[at, place]
        return payload.Attributions(
            features=tuple(
                payload.Attribution(name, _shown(frame[name].iloc[at]), rounded(sign * explained.contributions[at, where, place]))
                for where, name in enumerate(frame.columns)
            ),
            base_value=rounded(_other_class(base, explainer.space) if sign < 0 else base),
            output=rounded(output if whole or sign > 0 else _other_class(output, explainer.space)),
            output_space=explainer.space,
            label=self.decisions.class_name(chosen),
            method={**self.method, "explainer": explained.methods[at]},
        )

    def _column(self, columns: int, chosen: int | None) -> tuple[int, int]:
        """Where SHAP's answer has the chosen class, and -1 where it has only the other one of two."""
        if chosen is None:
            return 0, 1
        return (chosen, 1) if columns > 1 else (0, 1 if chosen == 1 else -1)


@dataclass(frozen=True)
class _Main:
    """Normal mode: what the model decides."""

    shap: _Shap
    code_identity: str = ADAPTER

    def __call__(self, *columns: Any) -> Any:
        return values(self.shap.decisions, columns)


@dataclass(frozen=True)
class _MainWithReason:
    """Reasoning mode: what the model decides, and SHAP's attributions."""

    shap: _Shap
    code_identity: str = ADAPTER

    def __call__(self, *columns: Any) -> tuple[Any, list[payload.Attributions]]:
        return values_with_reasons(self.shap.decisions, columns, self.shap.reasons)


def shap_udf(
    model: Any,
    features: Sequence[str] | Features,
    *,
    name: str,
    background: Any,
    returns: str | None = None,
    output: Output = "label",
    label: Any = None,
    unit: Space | None = None,
    seed: int = 0,
    max_background: int = 100,
    model_path: Path | None = None,
    module: str | None = None,
    outcome: Feature | str | None = None,
) -> ReasonedUdf:
    """A reasoned UDF (vectorised) from a fitted scikit-learn-like classifier, regressor or Pipeline.

    :param model: the fitted model.
    :param features: its features, in the order of the UDF's arguments; or a mapping of them to what people call them, `Feature` or label.
    :param name: the UDF's name.
    :param background: rows (a DataFrame, or an array in the order of `features`) that stand for "nothing is known of this row".
    :param returns: the value's Spark type; from the model by default.
    :param output: ``"label"`` the predicted class, explained for each row; ``"probability"`` that of class `label`; ``"value"`` a
        regression's; or a function from probabilities (rows, classes) to one value per row.
    :param label: the class that is always explained (with a function as `output`, or ``"probability"``); of two classes the
        second by default, of more the most probable one where `output` is a function.
    :param unit: what contributions are measured in: ``"probability"``, ``"log-odds"`` or ``"raw"`` (margins; a regression's value). By
        default probability where an exact explainer gives it, else what the model adds up; every reason names it.
    :param seed: of the background sample and of sampling explainers.
    :param max_background: at most so many background rows are kept.
    :param model_path: the file the model was loaded from, whose content then stands for the model in the version.
    :param module: where `registry.find` shall look for it later (its ``find_udf``); the calling module by default.
    :param outcome: what people call the value, and the names of its values.
    :raises EnvironmentProblem: SHAP is not installed.
    :raises UdfDeclarationError: model, features, background and output do not fit together.
    """
    require("shap", "shap", f"shap_udf({name!r})")
    decisions = tabular_decisions(
        model, features, background, name=name, output=output, label=label, seed=seed, max_background=max_background
    )
    check_unit(decisions, unit, name)
    table = decisions.table
    version = version_text(ADAPTER, output_identity(output), str(label), list(table.features), *([unit] if unit else []))
    background_hash = digest(table.background, "the background")
    method = {"library": "shap", "seed": seed, "background_hash": background_hash, "background_rows": len(table.background)}
    shared = _Shap(decisions, seed, digest((version, model, table.background, seed), f"the model of UDF {name!r}"), method, unit)
    return declared(
        _Main(shared),
        _MainWithReason(shared),
        library="shap",
        method=method,
        name=name,
        returns=returns or decisions.value_type(),
        version=version,
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


def _other_class(number: float, space: str) -> float:
    """The other one of two classes: its probability, or its log-odds."""
    return 1.0 - number if space == "probability" else -number


def _shown(value: Any) -> Any:
    """A row's value in a reason: whole numbers as such, missing ones as null."""
    if pd.isna(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
