"""What a fitted model decides for rows: the value of the UDF, and the numbers behind it that an explainer explains."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.reasons.tabular import Table
from airflow_lineage_provider.words import ModelOutput, Space, is_one_of, words

Output = ModelOutput | Callable[[Any], Any]


@dataclass(frozen=True)
class Decisions:
    """A fitted scikit-learn-like model with what the UDF returns of it.

    :param model: the model, in one thread.
    :param table: its features.
    :param output: ``"label"`` the predicted class; ``"probability"`` the chosen class's; ``"value"`` a regression's; or a
        function from probabilities (rows, classes) (from values (rows,) for a regression) to one value per row.
    :param chosen: the place of the class that is always explained; None explains the predicted class.
    """

    model: Any
    table: Table
    output: Output
    chosen: int | None

    @property
    def classes(self) -> list[Any]:
        """The classes, as Python values; empty for a regression."""
        found: list[Any] = np.asarray(getattr(self.model, "classes_", [])).tolist()
        return found

    def values(self, frame: pd.DataFrame) -> Any:
        """The UDF's values, one per row."""
        rows = self.table.for_model(frame)
        if self.output in ("label", "value"):
            return self.model.predict(rows)
        numbers = self.model.predict_proba(rows) if self.classes else self.model.predict(rows)
        return numbers[:, self.chosen] if self.output == "probability" else self._called(numbers, len(frame))

    def _called(self, numbers: Any, rows: int) -> Any:
        assert callable(self.output)
        found = np.asarray(self.output(numbers))
        if found.shape != (rows,):
            raise ValueError(f"the output function returned shape {found.shape} for {rows} rows; it needs one value per row")
        return found

    def numbers(self, frame: pd.DataFrame, space: Space) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The model's own numbers (rows, outputs) in a space; one output for a regression or a binary log-odds."""
        rows = self.table.for_model(frame)
        if not self.classes:
            found = self.model.predict(rows)
        else:
            found = self.model.predict_proba(rows) if space == "probability" else self.model.decision_function(rows)
        return np.asarray(found, dtype="float64").reshape(len(frame), -1)

    def margin_space(self) -> Space:
        """What decision_function() is measured in: log-odds where its logistic is the probability, else raw margins."""
        if len(self.classes) != 2 or not hasattr(self.model, "predict_proba"):
            return "raw"
        margins = self.numbers(self.table.background, "raw")[:, 0]
        probabilities = self.numbers(self.table.background, "probability")[:, 1]
        return "log-odds" if np.allclose(0.5 * (1.0 + np.tanh(margins / 2.0)), probabilities, atol=1e-6) else "raw"

    def explained_class(self, frame: pd.DataFrame) -> list[int | None]:
        """The place of the class to explain, row by row; None for a regression."""
        if not self.classes or self.chosen is not None:
            return [self.chosen] * len(frame)
        places = {label: at for at, label in enumerate(self.classes)}
        return [places[each] for each in np.asarray(self.model.predict(self.table.for_model(frame))).tolist()]

    def class_name(self, place: int | None) -> str | None:
        """A class as reasons name it; None for a regression."""
        return None if place is None else str(self.classes[place])

    def value_type(self) -> str:
        """The Spark type of the values, where the user does not say."""
        if callable(self.output):
            return "string"
        if self.output != "label":
            return "double"
        kinds = {type(each) for each in self.classes}
        return {bool: "boolean", int: "bigint", float: "double"}.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


def decisions_of(model: Any, table: Table, output: Output, label: Any, name: str) -> Decisions:
    """The decisions of a model, checked.

    :raises UdfDeclarationError: the model cannot give that output, or has no such class.
    """
    found = Decisions(_one_thread(model), table, output, None)
    if not callable(output) and not is_one_of(output, ModelOutput):
        known = ", ".join(map(repr, words(ModelOutput)))
        raise UdfDeclarationError(f"UDF {name!r}: output is {output!r}; it can be {known} or a function")
    if np.ndim(getattr(model, "classes_", [])) != 1 or any(isinstance(each, (list, np.ndarray)) for each in found.classes):
        raise UdfDeclarationError(f"UDF {name!r}: its model predicts several outputs at once; declare one UDF for each")
    _check_output(model, found, name)
    return Decisions(found.model, table, _by_value(output), _chosen(found, label, name))


def _by_value(output: Output) -> Output:
    """A copy of the user's function: cloudpickle then sends its code, and executors need not have the user's module."""
    if not isinstance(output, types.FunctionType):
        return output
    same = types.FunctionType(output.__code__, output.__globals__, output.__name__, output.__defaults__, output.__closure__)
    same.__kwdefaults__ = output.__kwdefaults__
    return same


def _check_output(model: Any, found: Decisions, name: str) -> None:
    kind = "classifier" if found.classes else "regressor"
    if (found.output == "value") == bool(found.classes) and not callable(found.output):
        fit = "'label', 'probability' or a function" if found.classes else "'value' or a function"
        raise UdfDeclarationError(f"UDF {name!r}: output={found.output!r} does not fit a {kind}; use output={fit}")
    if found.classes and found.output != "label" and not hasattr(model, "predict_proba"):
        raise UdfDeclarationError(f"UDF {name!r}: {type(model).__name__} gives no probabilities (predict_proba); use output='label'")


def _chosen(found: Decisions, label: Any, name: str) -> int | None:
    classes = found.classes
    if label is not None:
        if label not in classes:
            raise UdfDeclarationError(f"UDF {name!r}: its model has no class {label!r}; it has {classes}")
        return classes.index(label)
    if found.output == "label" or not classes:
        return None
    if len(classes) == 2:
        return 1
    if found.output == "probability":
        raise UdfDeclarationError(f"UDF {name!r}: say whose probability it returns with label=…, one of {classes}")
    return None


def _one_thread(model: Any) -> Any:
    """A copy, whatever is done to the model from here on (``partial_fit`` changes what it has learnt in place), that does not start
    threads: a Spark task has one core, and threads add up in an order that changes the last digit.
    """
    own = copy.deepcopy(model)
    _without_threads(own)
    return own


def _without_threads(model: Any) -> None:
    for _, each in getattr(model, "steps", ()):
        if hasattr(each, "get_params"):
            _without_threads(each)
    if not hasattr(model, "steps") and isinstance(getattr(model, "n_jobs", None), int):
        model.n_jobs = 1
