"""How the fragments of a group's rows are united while it is made: an algebra each, and nothing else tells them apart.

``set`` collects the numbers that there are, and ``words`` are bits in as many whole numbers as there are fragments by 64. Spark aggregates
by hashing as long as the state of a function is of fixed size, as ``words`` have it: with sets the groups come out in another order, and so
do a group's rows. Sets take next to nothing with few groups, and a third of a bare aggregation with many, of which two thirds are that
Spark sorts a task's rows from its 129th group on (``spark.sql.objectHashAggregate.sortBased.fallbackThreshold``: it is left to the session,
as nobody else knows whether there is memory for more); a word takes its time for each row, however many groups there are. (Bitmaps of
Spark's, of 4 KB a group, save a tenth with one group, and take half as much again with many. Lists of different numbers, of which Spark
makes one row each before it collects them, take more than sets with few groups and many.)

A united set is united again by further aggregations: sets of sets, and bits of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from airflow_lineage_provider.plan.expressions import AggregateCall, Attribute, Call, Expression, Literal

Union: TypeAlias = OneOf["set", "words"]

BITS = 64
_LOG = 6
FEW = 256
"""So many fragments are cheaper as words than as a set, where there are many groups; with sixteen words it is the other way round."""
MOST_WORDS = 16
"""So many are compiled. With 157 of them, of 10,000 fragments, an aggregation takes 30 times as long."""


def keeps_order(union: Union) -> bool:
    """Whether groups come out in the order in which they come without it."""
    return union == "words"


def is_for(union: Union, count: int) -> bool:
    """Whether it can unite so many fragments."""
    return union == "set" or count <= BITS * MOST_WORDS


@dataclass(frozen=True, kw_only=True)
class Column:
    """What one column of a union holds: the ``call`` that makes it, and its ``type``."""

    call: AggregateCall
    type: str


def of_numbers(union: Union, number: Attribute, count: int) -> list[Column]:
    """The columns that unite the ``number`` of each row; a row without one (NULL) adds none."""
    if union == "set":
        return [_column("collect_set", number, "array<int>")]
    return [_column("bit_or", _word(number, at), "bigint") for at in range(words_of(count))]


def of_unions(union: Union, columns: Sequence[Attribute]) -> list[Column]:
    """The columns that unite what earlier unions made."""
    if union == "set":
        return [_column("collect_set", one, f"array<{one.type}>") for one in columns]
    return [_column("bit_or", one, "bigint") for one in columns]


def words_of(count: int) -> int:
    """How many words have a bit for each fragment."""
    return -(-count // BITS)


def from_words(words: Sequence[int | None]) -> frozenset[int]:
    """The fragments whose bits are set."""
    return frozenset(at * BITS + bit for at, word in enumerate(words) for bit in range(BITS) if (word or 0) >> bit & 1)


def _column(function: str, argument: Expression, type_: str) -> Column:
    return Column(call=AggregateCall(function=function, arguments=(argument,), type=type_), type=type_)


def _word(number: Attribute, at: int) -> Expression:
    """``CASE WHEN shiftright(number, 6) = at THEN shiftleft(1L, number - 64 at) ELSE 0L END``: the place is the same in all of them, and
    none of them is NULL, which Spark would ask for each row and word."""
    place = Call(function="shiftright", arguments=(number, _int(_LOG)), type="int")
    within = Call(function="=", arguments=(place, _int(at)), type="boolean")
    bit = Call(function="-", arguments=(number, _int(at * BITS)), type="int")
    shifted = Call(function="shiftleft", arguments=(Literal(value="1", type="bigint"), bit), type="bigint")
    return Call(function="when", arguments=(within, shifted, Literal(value="0", type="bigint")), type="bigint")


def _int(value: int) -> Literal:
    return Literal(value=str(value), type="int")
