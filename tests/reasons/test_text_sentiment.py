"""The trained sentiment model: its coefficients are what training gives, its answers scikit-learn's, and it judges what it has not seen."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from tests.tpch import sentiment_training
from tests.tpch.reviews import review

sentiment: Any = import_module("udfs.text_sentiment")  # the module, whose function has its name
HELD_OUT = {
    True: (
        "Honestly the best purchase of the year, my kids love it!", "Great value and quick shipping.", "Very comfortable and sturdy.",
        "I was skeptical but it works great.", "Never had any problems, would recommend.", "Excellent support, thank you so much!",
        "It's not bad, I like it.", "The sound is amazing and the design is beautiful.", "Happy with this, five stars from me.",
        "Fast delivery, nice packaging, friendly people.", "Not disappointed at all: reliable and easy to clean.", "Perfect gift.",
    ),
    False: (
        "Total waste of money.", "It stopped working after two days and support was useless.", "Not comfortable, not worth it.",
        "The zipper broke the first time I used it.", "Terrible smell, I sent it back.", "Looks nice but it broke.",
        "I would not buy this again.", "Poor quality, very disappointed.", "It came in a box with a manual.", "The worst hotel ever.",
        "Ugly colour and it does not fit.", "I ordered two of them in June.",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Any:
    return sentiment_training.trained()


def test_the_coefficients_are_those_of_training(model: Any) -> None:
    """(To the last digit but one: libraries of linear algebra differ in the rest.)"""
    again = sentiment_training.coefficients(model)
    assert again["intercept"] == pytest.approx(sentiment.MODEL["intercept"], abs=0.01)
    for name in again["weights"].keys() | sentiment.MODEL["weights"].keys():
        assert again["weights"].get(name, 0.0) == pytest.approx(sentiment.MODEL["weights"].get(name, 0.0), abs=0.06), name


def test_it_says_what_scikit_learn_says(model: Any) -> None:
    texts = [*map(review, range(56)), *HELD_OUT[True], *HELD_OUT[False], "", "İstanbul is GREAT", "not  good?! :)"]
    for text, (_, positive) in zip(texts, model.predict_proba(texts), strict=True):
        assert sentiment.probability(text) == pytest.approx(positive, abs=0.03), text


def test_it_judges_what_it_was_not_trained_on() -> None:
    seen = {text for text, _ in sentiment_training.sentences()}
    judged = [(text, positive) for positive, texts in HELD_OUT.items() for text in texts]
    assert not seen & {text.lower() for text, _ in judged}
    wrong = [text for text, positive in judged if (sentiment.text_sentiment(text) == "Positive") is not positive]
    assert len(wrong) <= 2, wrong


def test_it_mostly_agrees_with_a_lexicon() -> None:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    lexicon = SentimentIntensityAnalyzer()
    texts = [review(number) for number in range(56)]
    both = [(sentiment.probability(text) > 0.5, lexicon.polarity_scores(text)["compound"] >= 0.05) for text in texts]
    assert sum(ours == theirs for ours, theirs in both) >= 42


@pytest.mark.parametrize("text", [*map(review, range(8)), *HELD_OUT[True], "", "no known words whatsoever, ĿİĂ"])
def test_the_reason_adds_up_to_the_decision(text: str) -> None:
    value, reason = sentiment.text_sentiment.main_with_reason(text)
    assert reason.output == pytest.approx(sentiment.MODEL["intercept"] + sum(span.weight for span in reason.spans), abs=1e-9)
    assert value == ("Positive" if reason.output > 0 else "Negative")
    assert all(text[span.start : span.end].lower() in json.dumps(list(sentiment.MODEL["weights"])) for span in reason.spans)
