"""Features of an attribution that are withheld: one line in their place, without a number.

A contribution tells a value as the value itself would, to whoever knows the model (of an additive one it is the value). The sum of all
tells it as well: base value, output and the other contributions leave nothing else. So none of these is told beside that line.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from airflow_lineage_provider.reasons.discretion import MASK
from airflow_lineage_provider.reasons.payload import Attribution, Attributions

FEATURES = "withheld features"


def without(reason: Attributions, withholds: Callable[[str], bool]) -> Attributions:
    """The attribution with one line for these features; the same where it has none of them.

    >>> told = without(Attributions((("income", 22.0, 0.25), ("age", 31, 0.5)), 0.0, 0.75), lambda name: name == "age")
    >>> [one.feature for one in told.features], told.output, told.residual
    (['income', 'withheld features'], None, None)
    """
    shown = tuple(one for one in reason.features if not withholds(one.feature))
    if len(shown) == len(reason.features):
        return reason
    line = Attribution(FEATURES, MASK, math.nan)
    return Attributions((*shown, line), math.nan, None, reason.output_space, reason.label, reason.method, reason.fit)


def is_untold(one: Attribution) -> bool:
    """Whether this is that line."""
    return one.feature == FEATURES and one.value == MASK and math.isnan(one.contribution)


def withholds_any(reason: Attributions) -> bool:
    """Whether an attribution has it."""
    return any(map(is_untold, reason.features))
