"""Is the review positive? The text sentiment classifier of the paper's CDA workload (section 7.2.2), as a small trained model.

The paper uses BERT, whose weights are a download of their own. This is a logistic regression over words and pairs of words, so that "not
good" is not good; its coefficients are beside it, in ``text_sentiment.json``::

    from udfs.text_sentiment import text_sentiment

    text_sentiment.register(spark)
    lineage.run("SELECT l_orderkey FROM lineitem WHERE text_sentiment(l_comment) = 'Positive'")

The reason is what the words contribute to the model's log-odds: a word's own coefficient, and that of the pair that it ends. With the
intercept, which is in the reason's ``method``, they add up to the output: nothing is approximated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from airflow_lineage_provider.reasons import reasoned_udf
from airflow_lineage_provider.reasons.payload import Span, TextSpans

MODEL: Mapping[str, Any] = json.loads(files("udfs").joinpath("text_sentiment.json").read_text(encoding="utf-8"))
"""``intercept``, and ``weights`` by word, or by two words with a space between; learned by ``tests.tpch.sentiment_training``."""
WORD = r"[a-z]+(?:'[a-z]+)?|[!?]|:\)|:\("
"""What counts as a word, in small letters."""
_WORD = re.compile(WORD)


@reasoned_udf("string", model=MODEL)
def text_sentiment(l_comment: str | None) -> str | None:
    """'Positive' or 'Negative', as the paper knows two values: what is neither is Negative; None for no text."""
    return None if l_comment is None else _judged(_log_odds(l_comment))


@text_sentiment.with_reason
def _(l_comment: str | None) -> tuple[str | None, TextSpans | None]:
    if l_comment is None:
        return None, None
    output, spans = _log_odds(l_comment), []
    for start, end, weight in _contributions(l_comment):
        if weight:
            spans.append(Span(start, end, weight, "Positive" if weight > 0 else "Negative"))
    positive = round(probability(l_comment), 4)
    likelihood = {"positive": positive, "negative": round(1 - positive, 4)}
    method = {"name": "coefficients", "intercept": MODEL["intercept"], "likelihood": likelihood}
    reason = TextSpans(tuple(spans), text=l_comment, method=method, label="Positive", output=output, output_space="log-odds")
    return _judged(output), reason


def probability(text: str) -> float:
    """That the text is positive, as the model has it."""
    return 1 / (1 + math.exp(-_log_odds(text)))


def _judged(log_odds: float) -> str:
    return "Positive" if log_odds > 0 else "Negative"


def _log_odds(text: str) -> float:
    return math.fsum([MODEL["intercept"], *(weight for _, _, weight in _contributions(text))])


def _contributions(text: str) -> Iterator[tuple[int, int, float]]:
    """Where each word stands, and what it contributes: with the word before it, where the pair has a coefficient."""
    weights, before = MODEL["weights"], ""
    # As far as letters are told apart here; other scripts' small letters may be longer.
    for word in _WORD.finditer("".join(letter.lower() if letter.isascii() else letter for letter in text)):
        yield word.start(), word.end(), weights.get(word.group(), 0.0) + weights.get(f"{before} {word.group()}", 0.0)
        before = word.group()
