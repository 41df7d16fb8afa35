"""The wording and the measures of a reason, shared by the page and the terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.answers.values import brief, number, text_of, visible
from airflow_lineage_provider.errors import PayloadError
from airflow_lineage_provider.reasons.apart import NOTHING_APART, Relations, filled
from airflow_lineage_provider.reasons.discretion import MASK
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.payload import (
    Attribution,
    Attributions,
    Box,
    Json,
    Mask,
    Payload,
    TextSpans,
    Untraced,
    Weights,
    from_json,
    total,
)
from airflow_lineage_provider.reasons.untold import is_untold, withholds_any
from airflow_lineage_provider.render.naming import feature_of, label_of, named

POOR_FIT = 0.5
"""A local model with a smaller R² leaves more unexplained than it explains."""

ADDS_UP = 1e-6
"""A residual of at most this share of the largest part is rounding, and is shown as such."""


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A stored reason that this release cannot read: shown as it is, with the problem."""

    text: str
    problem: str


Reason = Untraced | Unreadable


def read(text: str | None, relations: Relations = NOTHING_APART) -> Payload | Unreadable | None:
    """The stored reason; None where there is none. ``relations`` are those that it may have apart."""
    if text is None:
        return None
    try:
        return filled(from_json(text), relations)
    except PayloadError as error:
        return Unreadable(text=text, problem=str(error))


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One feature: ``share`` is the contribution as a part of the largest, from -1 to 1; ``exact`` is told on hovering. ``untold``: it
    stands for features that are withheld."""

    feature: str
    value: str
    contribution: float
    share: float
    exact: str = ""
    untold: bool = False

    @property
    def number(self) -> str:
        return MASK if self.untold else brief(self.contribution, sign=True)

    @property
    def text(self) -> str:
        """``credit history = bad``."""
        return f"{self.feature} = {self.value}" if self.value else self.feature


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """Contributions, the largest first. ``rest`` and ``rest_sum`` are the features that are not among the bars."""

    bars: tuple[Bar, ...]
    rest: int
    rest_sum: float
    sum: float


def bar_chart(reason: Attributions, limit: int, names: Names = NOTHING_SAID) -> BarChart:
    """The ``limit`` largest contributions by size (of equal ones, those that come first in the reason), and after them that nothing is told
    of those that are withheld."""
    told = [each for each in reason.features if not is_untold(each)]
    ordered = sorted(told, key=lambda each: -_size(each.contribution))
    largest = max((_size(each.contribution) for each in told), default=0.0)
    kept, rest = ordered[:limit], ordered[limit:]
    bars = [_bar(each, largest, names) for each in kept]
    untold = [Bar(feature=each.feature, value="", contribution=0.0, share=0.0, untold=True) for each in reason.features if is_untold(each)]
    return BarChart(bars=(*bars, *untold), rest=len(rest), rest_sum=_sum(rest), sum=_sum(told))


def _bar(each: Attribution, largest: float, names: Names) -> Bar:
    known = named(each.feature, each.value, feature_of(names, each.feature))
    contribution = repr(each.contribution)
    told = (known.exact, contribution if contribution != repr(round(each.contribution, 2)) else "")
    return Bar(
        feature=known.feature, value=known.value, contribution=each.contribution, share=share(each.contribution, largest),
        exact=": ".join(one for one in told if one),
    )  # fmt: skip


def _size(contribution: float) -> float:
    return math.inf if not math.isfinite(contribution) else abs(contribution)


def share(contribution: float, largest: float) -> float:
    """How long a bar is, of the longest one, and on which side."""
    if not math.isfinite(contribution):
        return 0.0 if math.isnan(contribution) else math.copysign(1.0, contribution)
    return contribution / largest if 0 < largest < math.inf else 0.0


def _sum(features: Iterable[Any]) -> float:
    return total(each.contribution for each in features)


def explained(reason: Attributions | TextSpans) -> str:
    """What the contributions add up to: ``the probability of 'Reject'``."""
    space = "output" if reason.output_space in ("raw", None) else str(reason.output_space)
    return f"the {visible(space)}" + (f" of '{visible(reason.label)}'" if reason.label is not None else "")


def adds_up(reason: Attributions) -> bool | None:
    """Do base value and contributions give the output, to rounding? None where the output is not known."""
    if reason.residual is None:
        return None
    largest = max((abs(each) for each in (reason.base_value, reason.output or 0.0, 1e-300)), default=1.0)
    largest = max(largest, *(abs(each.contribution) for each in reason.features), 0.0)
    return math.isfinite(reason.residual) and abs(reason.residual) <= ADDS_UP * largest


def sum_text(reason: Attributions) -> str:
    """The sum in words, the residual always in it."""
    if withholds_any(reason):
        return "base value, output and sum are not shown: they would tell what the withheld features contributed"
    total = f"base value {number(reason.base_value)}, contributions {number(_sum(reason.features), sign=True)}"
    if reason.output is None or reason.residual is None:
        return f"{total}; the method states no output, so what is left unexplained is not known"
    left = number(reason.residual, sign=True) or "0"
    what = f"residual {left} (rounding)" if adds_up(reason) else f"residual {left}: the contributions do not add up to the output"
    return f"{total}, output {number(reason.output)}; {what}"


def method_of(reason: Reason | None) -> Mapping[str, Any]:
    """How the reason was made."""
    found: Mapping[str, Any] = getattr(reason, "method", None) or {}
    return found


def method_text(method: Mapping[str, Any]) -> str:
    """How reasons were made: ``library shap 0.51, seed 0``."""
    return ", ".join(f"{visible(key.replace('_', ' '))} {text_of(value, 200)}" for key, value in method.items())


def fit_text(reason: Attributions | TextSpans) -> str:
    """How well the method's own model fits there; nothing where it does not say."""
    if reason.fit is None:
        return ""
    poor = ": it fits poorly, so take the contributions with care" if not reason.fit >= POOR_FIT else ""
    return f"fit of the local model R² {number(reason.fit)} (1 is perfect){poor}"


def from_average(reason: Attributions) -> bool:
    """Is the base value the average output? (LIME's is where its local model begins.)"""
    return reason.fit is None and reason.method.get("library") != "lime"


def output_text(reason: Attributions | TextSpans) -> str:
    """The model's output, named: ``probability of 'Reject' 0.93, 0.31 on average``; what was explained where it is not known."""
    if reason.output is None:
        return f"what moved {explained(reason)}" if isinstance(reason, Attributions) else ""
    what = explained(reason).removeprefix("the ")
    base = f", {number(reason.base_value)} on average" if isinstance(reason, Attributions) and from_average(reason) else ""
    return f"{what} {number(reason.output)}{base}"


def pills(reason: Json) -> tuple[str, ...] | None:
    """The items of a short list of plain values (a set of attributes, as in the paper's example 3); None for any other JSON."""
    value = reason.value
    if not isinstance(value, list) or not 0 < len(value) <= 40 or any(isinstance(each, list | dict) for each in value):
        return None
    texts = tuple(text_of(each) for each in value)
    return texts if all(len(each) <= 60 for each in texts) else None


def json_text(reason: Json) -> str:
    """The JSON, indented."""
    from airflow_lineage_provider.answers.values import jsonable

    return visible(json.dumps(jsonable(reason.value), indent=2, ensure_ascii=False), block=True)


def box_text(box: Box) -> str:
    """``lip 0.93 at 12, 40, 30 × 10``."""
    label = visible(box.label) if box.label is not None else "box"
    score = f" {number(box.score)}" if box.score is not None else ""
    return f"{label}{score} at {number(box.x)}, {number(box.y)}, {number(box.width)} × {number(box.height)}"


def cells_marked(mask: Mask) -> int:
    """How many cells of the array the mask marks."""
    return sum(length for _, length in mask.runs)


def weights_text(reason: Weights) -> str:
    """``1,234 of 173,056 cells weigh, most 0.31 at [120, 88] for 'face'``."""
    import numpy as np

    weights = reason.to_array()
    label = f" for '{visible(reason.label)}'" if reason.label is not None else ""
    if not reason.levels:
        return f"none of {weights.size:,} cells weighs{label}"
    at = np.unravel_index(int(np.abs(weights).argmax()), weights.shape)
    count = int(np.count_nonzero(weights))
    largest = f"most {number(float(weights[at]), sign=True)} at [{', '.join(map(str, at))}]"
    return f"{count:,} of {weights.size:,} cells weigh{'s' if count == 1 else ''}, {largest}{label}"


@dataclass(frozen=True, kw_only=True)
class Overall:
    """What counted most over many decisions: the mean size of each feature's contribution."""

    explained: str
    decisions: int
    bars: tuple[Bar, ...]
    rest: int


def overall(reasons: Iterable[Reason | None], names: Names = NOTHING_SAID, limit: int = 8) -> tuple[Overall, ...]:
    """One summary for each class and output space that at least two attributions explain, the most frequent first."""
    groups: dict[str, list[Attributions]] = {}
    for reason in reasons:
        if isinstance(reason, Attributions):
            groups.setdefault(explained(reason), []).append(reason)
    found = [_overall(what, group, names, limit) for what, group in groups.items() if len(group) > 1]
    return tuple(sorted(found, key=lambda each: -each.decisions))


def _overall(what: str, group: list[Attributions], names: Names, limit: int) -> Overall:
    totals: dict[str, float] = {}
    for reason in group:
        for each in (one for one in reason.features if not is_untold(one)):
            totals[each.feature] = totals.get(each.feature, 0.0) + (abs(each.contribution) if math.isfinite(each.contribution) else 0.0)
    ordered = sorted(((total / len(group), name) for name, total in totals.items()), key=lambda each: -each[0])
    largest = ordered[0][0] if ordered else 0.0
    bars = tuple(
        Bar(feature=label_of(name, names), value="", contribution=mean, share=share(mean, largest), exact=f"{visible(name)}: {mean!r}")
        for mean, name in ordered[:limit]
    )
    return Overall(explained=what, decisions=len(group), bars=bars, rest=max(0, len(ordered) - limit))
