"""Columns that are not to be shown: hidden ones are left out, of masked ones the names are told and the values are not.

Patterns are those of a shell (``*``, ``?``), of a column's name or ``table.column``, whatever the case. What is shown to people is kept
back: pages, terminals, documents, messages of errors. What is stored, and what a program reads of an answer, is as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from airflow_lineage_provider import settings
from airflow_lineage_provider.reasons.masking_hook import Hook, masking_hook

MASK = "•••"

Carried: TypeAlias = Mapping[tuple[str, str], frozenset[tuple[str, str]]]
"""Columns by their tables (of a result: no table) that carry values of others, by theirs."""

UNTOLD = ("*", "*")
"""In place of columns that nobody can tell: what carries it may carry any column of any table, and, as a key, is of whatever table."""
ALL_UNTOLD: Carried = {UNTOLD: frozenset({UNTOLD})}

WITHIN = "(within)"
"""In place of a table: that of columns which a plan has on the way to its result."""

_NUMBER = re.compile(r"_\d+$")
_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|(?<![\w•])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)")


@dataclass(frozen=True)
class Discretion:
    """Patterns of columns to hide and to mask; and of one answer, or run, the columns (table, name) that carry values of such columns."""

    hide: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    hook: Hook | None = None
    hidden: frozenset[tuple[str, str]] = frozenset()
    masked: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> Discretion:
        """These patterns, and those of the settings, which no argument takes back."""
        hidden, masked = [*settings.hidden_columns(), *_listed(hide)], [*settings.masked_columns(), *_listed(mask)]
        return cls(_patterns(hidden), _patterns(masked), masking_hook())

    def __bool__(self) -> bool:
        return bool(self.hide or self.mask or self.hook)

    @property
    def may_ask_tables(self) -> bool:
        """Whether a column may be withheld for its table, so that what is of an unknown one may be, too."""
        return self.hook is not None or _ask_tables(self.hide) or _ask_tables(self.mask)

    def __or__(self, other: Discretion) -> Discretion:
        return Discretion(
            _patterns([*self.hide, *other.hide]), _patterns([*self.mask, *other.mask]), self.hook or other.hook,
            self.hidden | other.hidden, self.masked | other.masked,
        )  # fmt: skip

    def following(self, carried: Carried) -> Discretion:
        """The same, and what withholds a column withholds those that carry its values.

        >>> made = Discretion(mask=("client.ssn",)).following({("", "number"): frozenset({("client", "ssn")})})
        >>> made.masks("number"), made.masks("number", "client")
        (True, False)

        Of what carries `UNTOLD` anything may be withheld that is withheld for its table.

        >>> made = Discretion(mask=("client.ssn",)).following({("", "number"): frozenset({UNTOLD})})
        >>> made.masks("number"), made.masks("age")
        (True, False)
        """
        hidden = frozenset(_key(*one) for one, of in carried.items() if any(self._hides_behind(*each) for each in of))
        masked = frozenset(_key(*one) for one, of in carried.items() if any(self._masks_behind(*each) for each in of))
        return replace(self, hidden=self.hidden | hidden, masked=self.masked | masked) if hidden or masked else self

    def _hides_behind(self, table: str, column: str) -> bool:
        return _ask_tables(self.hide) if (table, column) == UNTOLD else self.hides(column, table)

    def _masks_behind(self, table: str, column: str) -> bool:
        return self.may_ask_tables and not _ask_tables(self.hide) if (table, column) == UNTOLD else self.masks(column, table)

    def hides(self, column: str, table: str = "") -> bool:
        """Is the column to be left out?"""
        return _matches(self.hide, column, table) or _among(self.hidden, table, column) or self._asked(column, table) == "hide"

    def masks(self, column: str, table: str = "") -> bool:
        """Are the column's values not to be told? (A hidden one is not masked.)"""
        if self.hides(column, table):
            return False
        return _matches(self.mask, column, table) or _among(self.masked, table, column) or self._asked(column, table) == "mask"

    def _asked(self, column: str, table: str) -> str | None:
        if self.hook is None or table == WITHIN:
            return None
        return self.hook(table, column) or (self.hook(plain(table), column) if plain(table) != table else None)

    def withholds(self, column: str, table: str = "") -> bool:
        """Are the column's values to be told to nobody?"""
        return self.hides(column, table) or self.masks(column, table)

    def without_values(self, text: str, withheld: Iterable[tuple[str, Any]]) -> str:
        """A message without the values of columns that are withheld: ``withheld`` are arguments with their values."""
        for name, value in withheld:
            if self.withholds(name) and value is not None and str(value):
                for told in sorted({str(value), repr(value)}, key=len, reverse=True):
                    text = re.sub(rf"(?<!\w){re.escape(told)}(?!\w)", MASK, text)
        return text


NO_DISCRETION = Discretion()


@dataclass(frozen=True)
class Redaction:
    """The names of columns that an answer's tables were shown without, or without values."""

    hidden: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hidden or self.masked)

    def text(self, text: str) -> str:
        """SQL, an operator or a message: where it names such a column, without the names of hidden ones and without all literals."""
        if not self or _named(self.hidden | self.masked).search(text) is None:
            return text
        shown = _named(self.hidden).sub(MASK, text) if self.hidden else text
        return _LITERAL.sub(MASK, shown)


NOTHING_WITHHELD = Redaction()


def _named(names: frozenset[str]) -> re.Pattern[str]:
    # Plans tell columns of the same name apart by a number.
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?:_\d+)?(?!\w)", re.IGNORECASE)


def _key(table: str, column: str) -> tuple[str, str]:
    return table.casefold(), column.casefold()


def plain(table: str) -> str:
    """A table's name without the number that tells tables of one name apart."""
    return _NUMBER.sub("", table)


def _among(columns: frozenset[tuple[str, str]], table: str, column: str) -> bool:
    """Whether a column is one of these, or of a table of which all are; a table's number may be that of another answer."""
    if not columns:
        return False
    return UNTOLD in columns or any(_key(one, name) in columns for one in (table, plain(table)) for name in (column, "*"))


def _ask_tables(patterns: tuple[str, ...]) -> bool:
    return any(set(".*?[") & set(one) for one in patterns)


def _listed(given: Sequence[str]) -> list[str]:
    return given.split(",") if isinstance(given, str) else list(given)


def _patterns(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip().casefold() for each in given if each.strip()))


def _matches(patterns: tuple[str, ...], column: str, table: str) -> bool:
    # Tables of one name are told apart by a number. (One that really is called so is withheld as well: the safe side.)
    names = (column.casefold(), *(f"{one}.{column}".casefold() for one in {table, plain(table)}))
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)
