"""Functions of regular expressions that give in DuckDB what they give in Spark.

Spark has Java's expressions, DuckDB RE2's. What both have and take alike is checked of each constant pattern: letters, classes of letters,
groups, alternatives and greedy repetitions, all of which the first match is the same of, since both try them in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import Writer, constant_number, constant_text, problem
from airflow_lineage_provider.sql.nodes import Scope

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

_LITERAL = re.compile(r"[^\\^$.|?*+()\[\]{}]")
_ESCAPED = re.compile(r"\\(?:[dw]|[!-/:-@\[-`{-~])")
_CLASS = re.compile(r"\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|\\[dw]|\\[!-/:-@\[-`{-~]|[^\\\[\]^&-])+-?\]")
_REPEATED = re.compile(r"[*+?]|\{(0|[1-9]\d?)(,(?:0|[1-9]\d?)?)?\}")
"""(RE2 takes a number that begins with 0 for no number, and the braces for themselves.)"""


class _Otherwise(Exception):
    """The pattern may mean something else there."""


@dataclass(frozen=True)
class Pattern:
    """What a pattern is worth that means the same in both: how many groups it has, and whether it may match nothing."""

    groups: int
    may_be_empty: bool


def pattern_in_both(text: str) -> Pattern | None:
    """What is known of a pattern; None where it may mean something else to DuckDB.

    >>> pattern_in_both("([a-z]+)-([0-9]{2,})")
    Pattern(groups=2, may_be_empty=False)
    >>> pattern_in_both("a$"), pattern_in_both("a*?"), pattern_in_both("(?i)a")
    (None, None, None)
    """
    if not text.isprintable():
        return None
    try:
        reader = _Reader(text, 1 if text.startswith("^") else 0)
        empty = reader.alternatives(anchored=text.startswith("^"))
    except _Otherwise:
        return None
    return Pattern(reader.groups, empty) if reader.at == len(text) else None


@dataclass
class _Reader:
    """Reads a pattern from left to right. What reads a part says whether that may match nothing."""

    text: str
    at: int
    groups: int = field(default=0, init=False)

    def alternatives(self, *, anchored: bool = False) -> bool:
        found = [self._sequence()]
        while self._next("|"):
            found.append(self._sequence())
        if len(found) > 1 and anchored:  # which is the first of them alone, and not told here
            raise _Otherwise
        return any(found)

    def _sequence(self) -> bool:
        empty = True
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            groups, own = self.groups, self._one()
            repeated = _REPEATED.match(self.text, self.at)
            if repeated:
                # What a group has matched last, or what a repetition of nothing does, is told in other ways.
                if own or self.groups > groups:
                    raise _Otherwise
                self.at = repeated.end()
                if self.text[self.at : self.at + 1] in ("?", "+", "*", "{"):
                    raise _Otherwise
                own = repeated[0] in "*?" or repeated[1] == "0"
                if repeated[2] and len(repeated[2]) > 1 and int(repeated[2][1:]) < int(repeated[1]):
                    raise _Otherwise
            empty = empty and own
        return empty

    def _one(self) -> bool:
        if self._next("("):
            if self._next("?"):
                self._must(":")
            else:
                self.groups += 1
            empty = self.alternatives()
            self._must(")")
            return empty
        for kind in (_CLASS, _ESCAPED, _LITERAL):
            if found := kind.match(self.text, self.at):
                self.at = found.end()
                return False
        raise _Otherwise

    def _next(self, letter: str) -> bool:
        if not self.text.startswith(letter, self.at):
            return False
        self.at += 1
        return True

    def _must(self, letter: str) -> None:
        if not self._next(letter):
            raise _Otherwise


def _known(call: e.Call) -> Pattern:
    """The constant pattern of a call, whose first argument is a text."""
    given = constant_text(call.arguments[1])
    known = None if given is None else pattern_in_both(given)
    if known is None or call.arguments[0].type != "string":
        raise problem(call, "the pattern is not one of those that certainly mean the same to Java and to RE2")
    return known


def _matches(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    _known(call)
    return nodes.function("REGEXP_MATCHES", [writer.write(one, scope) for one in call.arguments])


def _extracted(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """The first match, or a group of it; empty where there is none."""
    text, pattern, *rest = call.arguments
    group = constant_number(rest[0]) if rest else 1
    if group is None or not 0 <= group <= _known(call).groups:
        raise problem(call, "regexp_extract means the same there for a constant group that the pattern has alone")
    return nodes.function("REGEXP_EXTRACT", [writer.write(text, scope), writer.write(pattern, scope), exp.Literal.number(group)])


def _replaced(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Every match."""
    text, pattern, by, *rest = call.arguments
    known, new = _known(call), constant_text(by)
    if known.may_be_empty or new is None or not {"$", "\\"}.isdisjoint(new) or [constant_number(one) for one in rest] not in ([], [1]):
        raise problem(call, "regexp_replace means the same there for matches of something, and a constant without groups, alone")
    return nodes.function("REGEXP_REPLACE", [*(writer.write(one, scope) for one in (text, pattern, by)), exp.Literal.string("g")])


PATTERN_FUNCTIONS: Mapping[str, Writer] = {
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), _matches),
    "regexp_extract": _extracted,
    "regexp_replace": _replaced,
}
