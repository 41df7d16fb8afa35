"""Review texts for the lines of orders."""

from __future__ import annotations

_OPENINGS = (
    "I love it.",
    "What a disappointment!",
    "Works great, very happy.",
    "It broke after a week.",
    "Arrived on Tuesday.",
    "Not bad at all.",
    "Terrible quality, I want my money back.",
    "The best I have ever bought!!!",
)
_DETAILS = (
    "The packaging was damaged.",
    "Delivery was fast and the seller friendly.",
    "The colour is green.",
    "Would buy again.",
    "It does not fit, sadly.",
    "My neighbour is jealous :)",
    "Support was rude and useless.",
)


def review(number: int) -> str:
    """A review; there are 56."""
    return f"{_OPENINGS[number % len(_OPENINGS)]} {_DETAILS[number % len(_DETAILS)]}"
