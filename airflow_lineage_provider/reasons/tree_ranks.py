"""Rows of a tree ensemble as ranks among its thresholds, on which SHAP's interventional explainer is exact.

SHAP's C code keeps a node's threshold in single precision. A threshold halfway between two neighbouring values can then
round to the greater of them, and rows with that value go the wrong way: on real data contributions missed the model's
output by 0.01 and more. A value's rank among the thresholds of its feature says as much to a tree as the value, and ranks are
whole numbers: nothing rounds. ``x <= cuts[k]`` is the same as ``(how many cuts are below x) <= k``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Ranks:
    """The thresholds of each feature, sorted, and the precision in which the model compares."""

    cuts: tuple[Floats, ...]
    precision: Any

    def rows(self, cells: Floats) -> Floats:
        """Rows (rows, features) as ranks; a missing value stays missing."""
        compared = cells.astype(self.precision).astype("float64")
        ranks = [np.searchsorted(cuts, compared[:, at], side="left") for at, cuts in enumerate(self.cuts)]
        return np.where(np.isnan(compared), np.nan, np.column_stack(ranks).astype("float64"))


def exact_tree_explainer(build: Callable[[Floats], Any], background: Floats) -> tuple[Any, Ranks]:
    """A TreeExplainer that works on ranks; its base value is still that of the values.

    :param build: makes the interventional explainer for a background sample.
    :param background: the sample (rows, features).
    :raises ValueError: the trees split on categories, which have no order.
    """
    explainer = build(background)
    precision = explainer.model.input_dtype
    if precision is np.float32:
        # scikit-learn's trees compare in single precision; SHAP rounds the rows accordingly and forgets the background.
        explainer = build(background.astype("float32").astype("float64"))
    ensemble = explainer.model
    if np.any(ensemble.threshold_types):
        raise ValueError("the trees split on categories")
    inner = ensemble.children_left >= 0
    places = [inner & (ensemble.features == at) for at in range(background.shape[1])]
    ranks = Ranks(tuple(np.unique(np.asarray(ensemble.thresholds[each], dtype="float64")) for each in places), precision)
    thresholds = np.array(ensemble.thresholds, copy=True)
    for place, cuts in zip(places, ranks.cuts, strict=True):
        thresholds[place] = np.searchsorted(cuts, ensemble.thresholds[place], side="left")
    ensemble.thresholds = thresholds
    explainer.data = ranks.rows(background)
    return explainer, ranks
