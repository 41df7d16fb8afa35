"""Which of SHAP's explainers explains a model exactly, and their differing answers in one shape.

Candidates are tried in the order tree, linear, sampling. An exact explainer is taken only when its contributions add up to
the model's own output on background rows (with missing values too, where the model takes them): SHAP has silently
wrong cases, and a residual found here costs nothing yet.

The unit is the user's choice. Unless they choose, it is probability where an exact explainer gives it: forests add probabilities up, and of
a few features all coalitions are evaluated. What adds margins up (boosted trees, linear models) is explained in its own unit otherwise:
SHAP's "probabilities" of margins are a rescaling, no Shapley values.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.reasons.compiled_once import keep_compiled
from airflow_lineage_provider.reasons.decisions import Decisions
from airflow_lineage_provider.reasons.row_seed import row_seed
from airflow_lineage_provider.reasons.tabular import Coding
from airflow_lineage_provider.reasons.tree_ranks import exact_tree_explainer
from airflow_lineage_provider.words import Space

Floats = np.ndarray[Any, np.dtype[np.float64]]

_TRIED_ROWS = 16
_EXACT_FEATURES = 8
"""Up to so many features, all 2**n coalitions are evaluated; above, permutations are sampled."""
_PERMUTATIONS = 20
"""Of each row's features, run through forwards and backwards."""
_ROWS_A_CALL, _SECONDS_A_CALL = 100, 1.5
"""SHAP's tree code prints a progress bar on stderr when a call takes longer than 5 s: calls are kept short."""
_FEATUREWISE = frozenset({"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer"})


@dataclass(frozen=True)
class Explained:
    """Contributions (rows, features, outputs), base values (rows, outputs) and how each row was explained."""

    contributions: Floats
    base: Floats
    methods: tuple[str, ...]


class Explainer(Protocol):
    """One way to explain a model."""

    @property
    def space(self) -> Space:
        """What contributions are measured in."""
        ...

    def explain(self, frame: pd.DataFrame) -> Explained:
        """The contributions for these rows, each row's independent of the others."""
        ...


@dataclass(frozen=True)
class _Direct:
    """One of SHAP's explainers that works on all rows of a matrix at once."""

    space: Space
    method: str
    explainer: Any
    prepare: Callable[[pd.DataFrame], Any]
    order: list[int]

    def explain(self, frame: pd.DataFrame) -> Explained:
        values = np.concatenate(list(in_short_calls(frame, lambda part: shaped(self._values(part), len(part), frame.shape[1]))))
        contributions = np.empty_like(values)
        contributions[:, self.order, :] = values
        base = np.atleast_1d(np.asarray(self.explainer.expected_value, dtype="float64"))
        # Trees with one output sometimes report two base values, and the other way round.
        bases = np.tile(base[-values.shape[2] :], (len(frame), 1))
        return Explained(contributions, bases, (self.method,) * len(frame))

    def _values(self, frame: pd.DataFrame) -> Any:
        options = {"check_additivity": False} if self.method.startswith("tree") else {}
        return self.explainer.shap_values(self.prepare(frame), **options)


@dataclass(frozen=True)
class _Sampling:
    """Any model: coalitions of features, the others taken from the background. Row by row, each with a seed of its own."""

    space: Space
    method: str
    decisions: Decisions
    seed: int

    def explain(self, frame: pd.DataFrame) -> Explained:
        found = [self._row(frame.iloc[[at]]) for at in range(len(frame))]
        contributions = np.concatenate([shaped(each.values, 1, frame.shape[1]) for each in found])
        bases = np.stack([np.atleast_1d(np.asarray(each.base_values[0], dtype="float64")) for each in found])
        return Explained(contributions, bases, (self.method,) * len(frame))

    def _row(self, row: pd.DataFrame) -> Any:
        shap = require("shap", "shap", "this UDF's reason")
        keep_compiled()
        coding = Coding.of(self.decisions.table, row)
        masker = shap.maskers.Independent(coding.encode(self.decisions.table.background), max_samples=len(self.decisions.table.background))
        seed, cells = row_seed(self.seed, row.iloc[0].tolist()), coding.encode(row)

        def numbers(matrix: Any) -> Floats:
            return self._numbers(coding.decode(matrix))

        if self.method == "exact":
            return shap.ExactExplainer(numbers, masker)(cells, silent=True)
        with _global_generator_kept():
            # Without a seed of its own, this explainer seeds numpy's global generator from the clock.
            explain = shap.PermutationExplainer(numbers, masker, seed=seed)
            return explain(cells, max_evals=_PERMUTATIONS * (2 * cells.shape[1] + 1), silent=True)

    def _numbers(self, frame: pd.DataFrame) -> Floats:
        found = self.decisions.numbers(frame, self.space)
        return found[:, 0] if found.shape[1] == 1 else found  # SHAP takes one output as a flat array only


@dataclass(frozen=True)
class _ByMissing:
    """One explainer for whole rows, another for rows with missing values, on which the first does not add up."""

    space: Space
    whole: Explainer
    holed: Explainer

    def explain(self, frame: pd.DataFrame) -> Explained:
        holes = frame.isna().any(axis=1).to_numpy()
        if not holes.any() or holes.all():
            return (self.holed if holes.all() else self.whole).explain(frame)
        first, second = self.whole.explain(frame[~holes]), self.holed.explain(frame[holes])
        back = np.argsort(np.concatenate([np.flatnonzero(~holes), np.flatnonzero(holes)]))
        methods = first.methods + second.methods
        return Explained(
            np.concatenate([first.contributions, second.contributions])[back],
            np.concatenate([first.base, second.base])[back],
            tuple(methods[at] for at in back),
        )


def in_short_calls(frame: pd.DataFrame, call: Callable[[pd.DataFrame], Floats]) -> Iterator[Floats]:
    """What a call gives for the rows of a frame, so many at a time as take about `_SECONDS_A_CALL`: one first, `_ROWS_A_CALL` at most."""
    at, size = 0, 1
    while at < len(frame):
        started = time.perf_counter()
        part = frame.iloc[at : at + size]
        yield call(part)
        at += len(part)
        a_row = (time.perf_counter() - started) / len(part)
        size = max(1, min(_ROWS_A_CALL, int(_SECONDS_A_CALL / max(a_row, 1e-9))))


def explainer_of(decisions: Decisions, seed: int, unit: Space | None = None) -> Explainer:
    """The first explainer that is exact for this model and unit, else a sampling one."""
    few = len(decisions.table.features) <= _EXACT_FEATURES
    wanted: Space | None = unit or ("probability" if few and hasattr(decisions.model, "predict_proba") else None)
    for candidate in (_interventional_tree, _path_dependent_tree, _linear):
        # SHAP says "not for this model" with whatever exception comes up, and warns of what the check below finds out.
        with contextlib.suppress(Exception), _quiet():
            found = candidate(decisions)
            if found is None or wanted not in (None, found.space):
                continue
            if _adds_up(found, decisions, decisions.table.background.head(_TRIED_ROWS)):
                if _bears_missing(found, decisions):
                    return found
                return _ByMissing(found.space, found, _sampling(decisions, found.space, seed))
    return _sampling(decisions, wanted or ("probability" if hasattr(decisions.model, "predict_proba") else "raw"), seed)


def check_unit(decisions: Decisions, unit: Space | None, name: str) -> None:
    """Can the model be explained in this unit at all?

    :raises UdfDeclarationError: it has no such numbers.
    """
    if unit is None:
        return
    known = ["raw"] if not decisions.classes or hasattr(decisions.model, "decision_function") else []
    if hasattr(decisions.model, "predict_proba"):
        known.insert(0, "probability")
    if decisions.classes and hasattr(decisions.model, "decision_function"):
        known[-1] = decisions.margin_space()
    if unit not in known:
        raise UdfDeclarationError(f"UDF {name!r}: its model gives no {unit!r} numbers to explain; unit can be {' or '.join(known)}")


def _sampling(decisions: Decisions, space: Space, seed: int) -> Explainer:
    method = "exact" if len(decisions.table.features) <= _EXACT_FEATURES else "permutation"
    return _Sampling(space, method, decisions, seed)


def shaped(found: Any, rows: int, features: int) -> Floats:
    """(rows, features, outputs) from any of SHAP's shapes: a list per output, (rows, features), (rows, features, outputs)."""
    values = np.stack([np.asarray(each) for each in found], axis=-1) if isinstance(found, list) else np.asarray(found)
    if values.shape[:2] != (rows, features):
        raise ValueError(f"SHAP returned shape {values.shape} for {rows} rows of {features} features")
    return np.asarray(values, dtype="float64").reshape(rows, features, -1)


def _interventional_tree(decisions: Decisions) -> Explainer | None:
    """Against the background: what the features of each row changed in what the trees add up."""
    split = _tree_split(decisions)
    if split is None:
        return None
    shap = require("shap", "shap", "this UDF's reason")
    estimator, prepare, order = split

    def build(cells: Floats) -> Any:
        background = shap.maskers.Independent(cells, max_samples=len(cells))
        return shap.TreeExplainer(estimator, data=background, feature_perturbation="interventional", model_output="raw")

    explainer, ranks = exact_tree_explainer(build, prepare(decisions.table.background))
    return _Direct(_tree_space(decisions), "tree, interventional", explainer, lambda frame: ranks.rows(prepare(frame)), order)


def _path_dependent_tree(decisions: Decisions) -> Explainer | None:
    """Against the training rows that the trees counted."""
    split = _tree_split(decisions)
    if split is None:
        return None
    shap = require("shap", "shap", "this UDF's reason")
    explainer = shap.TreeExplainer(split[0], feature_perturbation="tree_path_dependent", model_output="raw")
    return _Direct(_tree_space(decisions), "tree, path dependent", explainer, split[1], split[2])


def _tree_space(decisions: Decisions) -> Space:
    """What the trees add up. Boosted trees add up margins: SHAP's probabilities of them are a rescaling, no Shapley values."""
    margin = not decisions.classes or hasattr(decisions.model, "decision_function")
    return decisions.margin_space() if margin else "probability"


def _tree_split(decisions: Decisions) -> tuple[Any, Callable[[pd.DataFrame], Any], list[int]] | None:
    return None if any(decisions.table.is_categorical(each) for each in decisions.table.features) else _split(decisions)


def _linear(decisions: Decisions) -> Explainer | None:
    shap = require("shap", "shap", "this UDF's reason")
    split = _split(decisions)
    if split is None or not hasattr(split[0], "coef_"):
        return None
    estimator, prepare, order = split
    background = prepare(decisions.table.background)
    explainer = shap.LinearExplainer(estimator, shap.maskers.Independent(background, max_samples=len(background)))
    return _Direct(decisions.margin_space(), "linear", explainer, prepare, order)


def _split(decisions: Decisions) -> tuple[Any, Callable[[pd.DataFrame], Any], list[int]] | None:
    """The model's last step, what it is given for a frame, and where its columns stand among the features.

    None where a step before it mixes features, so that the last step's features are not the user's.
    """
    table, model = decisions.table, decisions.model
    before = [step for _, step in getattr(model, "steps", [])[:-1] if step not in (None, "passthrough")]
    if not all(type(step).__name__ in _FEATUREWISE or _plain_imputer(step, len(table.features)) for step in before):
        return None
    order = [table.features.index(each) for each in table.model_columns or table.features]

    def prepare(frame: pd.DataFrame) -> Any:
        rows = table.for_model(frame)
        for step in before:
            rows = step.transform(rows)
        return np.asarray(rows, dtype="float64")

    return (model.steps[-1][1] if hasattr(model, "steps") else model), prepare, order


def _plain_imputer(step: Any, features: int) -> bool:
    # An imputer may add indicator columns, or drop a column that was all missing.
    return type(step).__name__ == "SimpleImputer" and len(step.get_feature_names_out()) == features


def _bears_missing(explainer: Explainer, decisions: Decisions) -> bool:
    rows = decisions.table.background.head(_TRIED_ROWS)
    holes = rows.mask(np.arange(len(rows))[:, None] % rows.shape[1] == np.arange(rows.shape[1]))
    try:
        decisions.numbers(holes, explainer.space)
    except Exception:
        return True  # the model itself takes no missing values, so none will have to be explained
    with contextlib.suppress(Exception):
        return _adds_up(explainer, decisions, holes)
    return False


def _adds_up(explainer: Explainer, decisions: Decisions, frame: pd.DataFrame) -> bool:
    outputs = decisions.numbers(frame, explainer.space)
    found = explainer.explain(frame)
    sums = found.base + found.contributions.sum(axis=1)
    return bool(np.allclose(sums, outputs[:, -sums.shape[1] :], rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(outputs).max()))))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _global_generator_kept() -> Iterator[None]:
    """numpy's global generator, which SHAP seeds and samples from, is the user's: it is put back as it was."""
    state = np.random.get_state()
    try:
        yield
    finally:
        np.random.set_state(state)
