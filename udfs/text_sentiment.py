"""Is the review positive? The text sentiment classifier of the paper's CDA workload (section 7.2.2), with VADER's lexicon.

The paper uses BERT, whose weights are a download of their own. VADER (C.J. Hutto and E. Gilbert, 2014) is a lexicon with rules for
negation, emphasis and punctuation; its wheel (``vaderSentiment``) carries all of it::

    from udfs.text_sentiment import text_sentiment

    text_sentiment.register(spark)
    lineage.run("SELECT l_orderkey FROM lineitem WHERE text_sentiment(l_comment) = 'Positive'")

The reason is what the words contribute: how much the text's score (from -1 to 1) falls when a word is left out, for every word
where it changes. The score and the likelihoods of the sentiments are in the reason's ``method``.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from airflow_lineage_provider.reasons import reasoned_udf
from airflow_lineage_provider.reasons.payload import Span, TextSpans

POSITIVE_FROM = 0.05
"""The score from which a text is positive: what VADER's authors recommend. Everything else is Negative, as the paper knows two values."""

_WORD = re.compile(r"\S+")


@reasoned_udf("string", libraries=["vaderSentiment"])
def text_sentiment(l_comment: str | None) -> str | None:
    """'Positive' or 'Negative'; None for no text."""
    return None if l_comment is None else _judged(_score(l_comment))


@text_sentiment.with_reason
def _(l_comment: str | None) -> tuple[str | None, TextSpans | None]:
    if l_comment is None:
        return None, None
    scores = _scores(l_comment)
    likelihood = {"positive": scores["pos"], "neutral": scores["neu"], "negative": scores["neg"]}
    method = {"name": "leave one word out", "score": scores["compound"], "likelihood": likelihood}
    return _judged(scores["compound"]), TextSpans(_contributions(l_comment, scores["compound"]), text=l_comment, method=method)


def _judged(score: float) -> str:
    return "Positive" if score >= POSITIVE_FROM else "Negative"


def _contributions(text: str, score: float) -> tuple[Span, ...]:
    """What the score loses without each of the words; those that do not matter are left out."""
    spans = []
    for word in _WORD.finditer(text):
        weight = round(score - _score(text[: word.start()] + text[word.end() :]), 4)
        if weight:
            spans.append(Span(word.start(), word.end(), weight, "Positive" if weight > 0 else "Negative"))
    return tuple(spans)


def _score(text: str) -> float:
    return _scores(text)["compound"]


def _scores(text: str) -> dict[str, float]:
    scores: dict[str, float] = _analyzer().polarity_scores(text)
    return scores


@lru_cache(maxsize=1)
def _analyzer() -> Any:
    with warnings.catch_warnings():
        # It opens its lexicon in a way that Python 3.14 calls old.
        warnings.simplefilter("ignore", DeprecationWarning)
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        return SentimentIntensityAnalyzer()
