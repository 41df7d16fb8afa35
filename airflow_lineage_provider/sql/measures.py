"""Aggregates that a person wrote, which can be computed of parts: from what each part of the rows gives follows what all of them give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced
from airflow_lineage_provider.sql.conditions import Meaning, is_one_call, meaning

FUNCTIONS = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class Measure:
    """One of `FUNCTIONS` of an expression; of count it may be ``*``."""

    function: str
    argument: str

    @property
    def meaning(self) -> tuple[str, Meaning]:
        """What makes two measures the same."""
        return self.function, meaning(self.argument)

    @property
    def parts(self) -> tuple[Measure, ...]:
        """What is kept of each part of the rows. An average is a sum and a count."""
        return (Measure("sum", self.argument), Measure("count", self.argument)) if self.function == "avg" else (self,)

    @property
    def overlaps(self) -> bool:
        """Whether parts may have rows in common."""
        return self.function in ("min", "max")

    def of_parts(self, columns: Mapping[tuple[str, Meaning], str]) -> str:
        """The aggregate of all rows from the columns that have it of each part."""
        own = [columns[one.meaning] for one in self.parts]
        if self.function == "avg":
            return f"CAST(sum({own[0]}) AS DOUBLE) / nullif(sum({own[1]}), 0)"
        if self.function == "count":
            return f"coalesce(sum({own[0]}), 0)"
        return f"{self.function}({own[0]})"


@lru_cache(maxsize=1024)
def measure_of(text: str) -> Measure | None:
    """The measure that a text is; None where it is none that can be computed of parts.

    >>> measure_of("Sum( price * 2 )"), measure_of("count(*)"), measure_of("count(DISTINCT price)"), measure_of("sum(a) / 2")
    (Measure(function='sum', argument='price * 2'), Measure(function='count', argument='*'), None, None)

    :raises UnbalancedSql: it cannot be read.
    """
    tokens, words = balanced(text), meaning(text)
    if len(tokens) < 4 or not is_one_call(words) or words[0][1] not in FUNCTIONS or words[1][1] != "(":
        return None
    argument = text[tokens[2].start : tokens[-2].end + 1]
    if words[2] in ((False, "distinct"), (False, "all")) or any(word.split(" ")[0] in ("order", ",") for _, word in _outer(words[2:-1])):
        return None
    return None if argument == "*" and words[0][1] != "count" else Measure(words[0][1], argument)


def is_of_values(text: str) -> bool:
    """Whether an aggregate is the same of the different values of its expression: how often there is one does not count.

    >>> is_of_values("max(price)"), is_of_values("count(DISTINCT price)"), is_of_values("count(price)"), is_of_values("max(DISTINCT a, b)")
    (True, True, False, False)

    :raises UnbalancedSql: it cannot be read.
    """
    words = meaning(text)
    if len(words) > 4 and is_one_call(words) and words[2] == (False, "distinct"):
        text = "".join((text[: (at := balanced(text)[2]).start], text[at.end + 1 :]))
        found = measure_of(text)
        return found is not None and found.function in ("count", "min", "max") and found.argument != "*"
    found = measure_of(text)
    return found is not None and found.overlaps


def kept_parts(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """What is kept of each part of the rows, each once, so that all of the measures follow."""
    return tuple({part.meaning: part for one in measures for part in one.parts}.values())


def measures_of(texts: Sequence[str]) -> list[Measure]:
    """The measures that texts are, all of which are some.

    :raises UnbalancedSql: one is none.
    """
    found = [measure_of(one) for one in texts]
    if None in found:
        raise UnbalancedSql(f"{texts[found.index(None)]} is none of {', '.join(FUNCTIONS)}")
    return [one for one in found if one is not None]


def _outer(words: Meaning) -> Meaning:
    """The words that stand in no parentheses."""
    depth, found = 0, []
    for is_text, word in words:
        depth -= not is_text and word in (")", "]", "}")
        if not depth and not is_text:
            found.append((is_text, word))
        depth += not is_text and word in ("(", "[", "{")
    return tuple(found)
