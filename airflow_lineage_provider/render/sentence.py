"""Why, in one plain sentence: ``Rejected, mostly because credit history = bad (−0.42) and unverified = yes (−0.25)``.

"Because" is said only of what spoke for the decision: contributions to the class that was decided, or those that moved the model's output
away from its average where it moved at all. Else the sentence says what counted most, and not for what.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import brief, count, shortened, text_of, visible
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Names
from airflow_lineage_provider.reasons.payload import Attributions, Boxes, Json, Mask, Span, TextSpans, Weights
from airflow_lineage_provider.reasons.untold import is_untold
from airflow_lineage_provider.render import reason_text as words
from airflow_lineage_provider.render.decisions import decisions, outcomes
from airflow_lineage_provider.render.naming import label_of, outcome_text
from airflow_lineage_provider.render.wording import made_from, more

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.render.decisions import Decision

NAMED = 3
"""At most so many features stand in a sentence, and none of less than a quarter of the first."""

MOVED, MOVED_SHARE = 0.1, 0.25
"""A probability has moved when it is so far from the average; another output when it moved by this share of all contributions."""

OUTCOMES = 4
SUMMARIZED = 5_000
"""Decisions beyond this many are left out of what counted most."""


def answer(explanation: Explanation) -> str:
    """The answer to the question that was asked, in a sentence or a few."""
    said = [_of_udf(explanation, name) for name, made in explanation.reasons.items() if len(made)]
    if not said:
        return made_from(explanation)
    if len(said) == 1:
        return said[0]
    names = [name for name, made in explanation.reasons.items() if len(made)]
    shown = [f"{visible(name)}: {text}" for name, text in zip(names, said, strict=True)]
    rest = more(len(shown) - NAMED, "function")
    return " ".join([*shown[:NAMED], *([rest] if rest else [])])


def _of_udf(explanation: Explanation, name: str) -> str:
    made = explanation.reasons[name]
    if len(made) == 1:
        (decision,) = decisions(explanation, name)
        return f"{sentence(decision, made.names)}."
    counts = outcomes(made.rows, made.names)
    shown = [f"{times:,} {text}" for text, times in counts[:OUTCOMES]]
    rest = sum(times for _, times in counts[OUTCOMES:])
    # As many outcomes as decisions (amounts, probabilities) would be a list and no sentence.
    decided = listed([*shown, *([f"{rest:,} others"] if rest else [])]) if len(counts) <= len(made) / 2 else count(len(made), "decision")
    return f"{decided}{_counted_most(explanation, name)}."


def _counted_most(explanation: Explanation, name: str) -> str:
    given = [each.reason for each in decisions(explanation, name, SUMMARIZED)]
    found = words.overall(given, explanation.reasons[name].names)
    if not found:
        return ""
    bars = [bar for bar in found[0].bars[:NAMED] if bar.contribution and bar.share >= 0.25]
    named = listed([bar.feature for bar in bars])
    if any(is_untold(one) for each in given if isinstance(each, Attributions) for one in each.features):
        return f"; of what is shown, {named} counted most" if bars else ""
    return f"; what counted most: {named}" if bars else ""


def sentence(decision: Decision, names: Names = NOTHING_SAID) -> str:
    """What was decided and why, in plain words, without a full stop."""
    return f"{outcome_text(decision.value, names)}{because(decision, names)}"


def because(decision: Decision, names: Names = NOTHING_SAID, limit: int = 240) -> str:
    """What follows the decision in its sentence: ``, mostly because income = 2200 (+0.3)``."""
    return shortened(_because(decision, names), limit)


def clause(text: str) -> str:
    """What follows the decision as a text of its own."""
    return text.lstrip(",; ")


def _because(decision: Decision, names: Names) -> str:
    match decision.reason:
        case None:
            return "; no reason given"
        case words.Unreadable():
            return "; a reason that this release cannot read"
        case Attributions() as reason:
            return _attributed(reason, decision.value, names)
        case TextSpans() as reason:
            return _spans(reason, decision.value)
        case Boxes() as reason:
            return f"; {count(len(reason.boxes), 'box', 'boxes')}" + "".join(f", {words.box_text(box)}" for box in reason.boxes[:3])
        case Mask() as reason:
            label = f" for '{visible(reason.label)}'" if reason.label is not None else ""
            return f"; {words.cells_marked(reason):,} of {math.prod(reason.shape):,} cells{label}"
        case Weights() as reason:
            return f"; {words.weights_text(reason)}"
        case Json() as reason:
            found = words.pills(reason)
            if found:
                return f", because of {listed([label_of(each, names) for each in found])}"
            return f"; {text_of(reason.value if reason.value is not None else 'null', 200)}"


def _attributed(reason: Attributions, value: Any, names: Names) -> str:
    direction = moved(reason, value)
    chart = words.bar_chart(reason, len(reason.features), names)
    bars = [bar for bar in chart.bars if bar.contribution and not math.isnan(bar.contribution)]
    for_it = [bar for bar in bars if bar.contribution * direction > 0]
    told = _largest([(f"{bar.text} ({bar.number})", abs(bar.contribution)) for bar in for_it or bars])
    untold = any(bar.untold for bar in chart.bars)
    if not told:
        return "; what counted is withheld" if untold else "; no feature contributed"
    if untold:  # one of them may have counted more
        return f"; of what is shown, {listed(told)} counted most"
    return f", mostly because {listed(told)}" if for_it else f"; what counted most: {listed(told)}"


def moved(reason: Attributions, value: Any) -> int:
    """1 where contributions above 0 spoke for the decision, -1 where those below did, 0 where that cannot be said."""
    if reason.label is not None and reason.label == str(value):
        return 1
    if reason.output is None or not words.from_average(reason):
        return 0
    move, total = reason.output - reason.base_value, sum(abs(each.contribution) for each in reason.features)
    if reason.output_space == "probability":
        # 0.78 instead of 0.90 on average may well be an acceptance: what lowered it is not why.
        far = abs(move) >= MOVED and (reason.output >= 0.5) == (move > 0)
    else:
        far = abs(move) >= MOVED_SHARE * total > 0
    return (1 if move > 0 else -1) if far else 0


def _spans(reason: TextSpans, value: Any) -> str:
    decided = str(value)
    for_it = [span for span in reason.spans if span.weight > 0 and (span.label or reason.label) == decided]
    shown = _once(reason, for_it or reason.spans)
    told = _largest([(f"{_part(reason, span)} ({brief(span.weight, sign=True)})", abs(span.weight)) for span in shown])
    if not told:
        return "; no part of the text"
    return f", mostly because of {listed(told)}" if for_it else f"; what counted most: {listed(told)}"


def _once(reason: TextSpans, spans: Sequence[Span]) -> list[Span]:
    """Each word once, the largest first."""
    ordered = sorted(spans, key=lambda span: -abs(span.weight) if math.isfinite(span.weight) else 0.0)
    return list({_part(reason, span): span for span in reversed(ordered)}.values())[::-1]


def _part(reason: TextSpans, span: Span) -> str:
    if reason.text is None:
        return f"characters {span.start}–{span.end}"
    return f"“{shortened(visible(reason.text[span.start : span.end]), 40)}”"


def _largest(told: Sequence[tuple[str, float]]) -> list[str]:
    """The first few texts, the largest first, as long as they are not much smaller than the first."""
    ordered = sorted(told, key=lambda each: -each[1])[:NAMED]
    return [text for text, size in ordered if size >= 0.25 * ordered[0][1] or math.isinf(ordered[0][1])]


def listed(texts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else ""
