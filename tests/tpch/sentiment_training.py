"""How the model of `udfs.text_sentiment` was trained: a logistic regression over sentences that were written for it.

    python -m tests.tpch.sentiment_training

writes its coefficients beside the function. The sentences are frames with words in them; what they say of a thing is their label, and
what says nothing of it is not positive.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from udfs import text_sentiment


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GOOD = _words(
    "good great excellent fantastic wonderful perfect superb lovely beautiful brilliant amazing awesome reliable sturdy comfortable useful "
    "friendly helpful quick fast delicious charming pleasant solid outstanding impressive elegant handy gorgeous best happy pleased glad "
    "satisfied delighted nice fine"
)
BAD = _words(
    "bad awful terrible horrible poor useless broken damaged cheap ugly uncomfortable unreliable flimsy faulty rude slow late dirty "
    "disappointing annoying worst defective noisy worthless dreadful sad angry unhappy disappointed dissatisfied wrong missing torn boring"
)
PLAIN = _words("green blue round small large metal wooden square heavy red black white plastic long short new")
THINGS = _words(
    "product quality seller delivery packaging part pump service support colour box handle manual price item engine lid screw book phone"
)
FRAMES = (
    "the {thing} is {word}", "{word} {thing}", "what a {word} {thing}", "this is {word}", "the {thing} was {word} and the {thing} {word}",
    "very {word}", "it is really {word}", "it looks {word} and works {word}", "i am {word} with the {thing}", "so {word} !", "{word} ! !",
    "the {word} {thing} that i have ever bought", "a {word} {thing} , truly", "my {thing} arrived and it is {word}",
)  # fmt: skip
NOT = (
    "the {thing} is not {word}", "not {word}", "this is not {word}", "it isn't {word}", "the {thing} wasn't {word} at all",
    "never {word}",
)  # fmt: skip
SAYINGS = {
    True: (
        "i love it", "i love this {thing}", "works great", "works like a charm", "would buy again", "highly recommended",
        "i recommend this {thing}", "exceeded my expectations", "my whole family enjoys it", "worth every penny", "five stars",
        "could not be better", "it does what it should", "thank you :)", "my neighbour is jealous :)", "no complaints",
        "it fits perfectly", "i like the {thing}", "no problems at all", "never had a better {thing}", "it never fails", "nothing broke",
    ),
    False: (
        "i hate it", "i hate this {thing}", "what a disappointment", "it broke after a week", "the {thing} broke", "i want my money back",
        "waste of money", "do not buy this", "would not buy again", "never again", "it does not fit", "it does not work", "stopped working",
        "the {thing} fell apart", "not worth the price", "i regret it", "it failed after a day", "sadly it leaks", "one star",
        "i do not recommend this {thing}", "the {thing} is a joke :(", "it did not arrive", "i do not like the {thing}", "i sent it back",
    ),
}  # fmt: skip
NEITHER = (
    "arrived on tuesday", "the {thing} is {plain}", "it is a {thing}", "i bought it for my brother", "it has two {plain} {thing}s",
    "see the manual", "a {plain} {thing}", "the box has a {thing} in it", "i ordered it in may", "the colour is {plain}",
    "it weighs two kilos", "", "",
)  # fmt: skip


def sentences() -> Iterator[tuple[str, bool]]:
    """Sentences, and pairs of them, each with whether it is positive."""
    judging, plain = list(dict.fromkeys(_judging())), list(_plain())
    yield from judging
    yield from ((text, False) for text in plain)
    for at, (text, positive) in enumerate(judging):
        other, same = judging[(at * 31 + 7) % len(judging)]
        if positive == same:
            yield f"{text} . {other}", positive
        elif positive:
            yield f"{text} , but {other}", False  # what comes last counts
        # What says something outweighs what says nothing.
        yield f"{text} . {plain[at % len(plain)]}", positive
        yield f"{plain[(at * 7) % len(plain)]} . {text}", positive


def _judging() -> Iterator[tuple[str, bool]]:
    things = itertools.cycle(THINGS)
    for positive, words in ((True, GOOD), (False, BAD)):
        for word, frame in itertools.product(words, FRAMES):
            yield frame.format(word=word, thing=next(things)), positive
        for word, frame in itertools.product(words, NOT):
            yield frame.format(word=word, thing=next(things)), not positive
        for frame in SAYINGS[positive] * 25:
            yield frame.format(thing=next(things)), positive


def _plain() -> Iterator[str]:
    things = itertools.cycle(THINGS)
    for frame, word in itertools.product(NEITHER, PLAIN):
        yield frame.format(thing=next(things), plain=word)


def trained() -> Any:
    """The model: scikit-learn's counts of words and pairs, and the regression over them."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    counts = CountVectorizer(token_pattern=text_sentiment.WORD, ngram_range=(1, 2), min_df=3)
    texts, labels = zip(*sentences(), strict=True)
    return make_pipeline(counts, LogisticRegression(C=10.0, max_iter=2_000, tol=1e-8)).fit(texts, labels)


def coefficients(model: Any) -> dict[str, Any]:
    """As the function reads them: rounded, those that say something."""
    counts, regression = (step for _, step in model.steps)
    pairs = zip(counts.get_feature_names_out(), regression.coef_[0], strict=True)
    weights = {str(name): round(float(value), 3) for name, value in pairs if abs(value) >= 0.05}
    return {"intercept": round(float(regression.intercept_[0]), 3), "weights": dict(sorted(weights.items()))}


if __name__ == "__main__":
    place = Path(text_sentiment.__file__).with_suffix(".json")
    place.write_text(json.dumps(coefficients(trained()), indent=0) + "\n", encoding="utf-8")
