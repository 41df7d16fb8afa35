"""Conditions that a person wrote, by their tokens: what has to hold together, and what of it another expression says already.

No text is written anew: a part of a condition is the text that it was, so that DuckDB reads it as it would have in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.names import folded_name
from airflow_lineage_provider.sql.asked_sql import balanced

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

Meaning = tuple[tuple[bool, str], ...]
"""The tokens of a text, each with whether it is a string: names and words are the same in any case, strings are not."""

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_NOT_OF_A_ROW = frozenset({"select", "over", "columns"})
_BEGIN_QUERIES = frozenset({"from", "with", "values", "table"})
_CONSTANTS = frozenset({"true", "false", "null"})
# After other words, what is in parentheses are the arguments of a call, or a list (IN).
_BEFORE_PARENTHESES = frozenset({"and", "or", "not", "between", "case", "when", "then", "else", "is", "from", "like", "ilike"})


@lru_cache(maxsize=1024)
def meaning(text: str) -> Meaning:
    """What makes two texts the same expression: not their spaces, comments, and letters' case.

    >>> meaning("Year( day )") == meaning('year("DAY")'), meaning("a = 'X'") == meaning("a = 'x'"), meaning('"true"') == meaning("true")
    (True, False, False)

    :raises UnbalancedSql: it cannot be read.
    """
    return _meaning(balanced(text))


def parts(condition: str) -> tuple[str, ...]:
    """The conditions that all have to hold, where they are joined by AND alone.

    >>> parts("a BETWEEN 1 AND 2 AND (b OR c) AND CASE WHEN d AND e THEN f END"), parts("a AND b OR c")
    (('a BETWEEN 1 AND 2', '(b OR c)', 'CASE WHEN d AND e THEN f END'), ('a AND b OR c',))

    :raises UnbalancedSql: it cannot be read.
    """
    tokens = balanced(condition)
    if not tokens or any(depth == 0 and _word(token) == "or" for token, depth in _depths(tokens)):
        return (condition,) if tokens else ()
    begins, ends, open_ranges = [tokens[0].start], [], 0
    for before, (token, depth) in zip([None, *tokens], _depths(tokens), strict=False):
        if depth or token.token_type.name == "STRING":
            continue
        open_ranges += _word(token) == "between"
        if _word(token) == "and" and before is not None:
            if open_ranges:
                open_ranges -= 1
            else:
                ends.append(before.end + 1)
                begins.append(token.end + 1)
    pieces = zip(begins, [*ends, tokens[-1].end + 1], strict=True)
    return tuple(condition[begin:end].strip() for begin, end in pieces)


def implies(condition: str, other: str) -> bool:
    """Whether it is seen that one condition holds only where the other does: it has all parts of the other among its own.

    >>> implies("a > 0 AND b = 'x'", "A > 0"), implies("a > 1", "a > 0")
    (True, False)

    :raises UnbalancedSql: one cannot be read.
    """
    return {meaning(one) for one in parts(other)} <= {meaning(one) for one in parts(condition)}


def parts_beyond(condition: str, other: str) -> tuple[str, ...]:
    """The parts of a condition that another one (empty: none) does not have among its own.

    >>> parts_beyond("a > 0 AND b = 'x'", "A > 0"), parts_beyond("a > 0", "")
    (("b = 'x'",), ('a > 0',))

    :raises UnbalancedSql: one cannot be read.
    """
    known = {meaning(one) for one in parts(other)}
    return tuple(one for one in parts(condition) if meaning(one) not in known)


def is_of_each_row(text: str) -> bool:
    """Whether a text is about single rows, as far as its words tell: it has no query of its own, no window, and is not about all columns.

    :raises UnbalancedSql: it cannot be read.
    """
    words = [_word(token) for token in balanced(text)]
    begun = {after for before, after in pairwise(words) if before == "("}
    return _NOT_OF_A_ROW.isdisjoint(words) and _BEGIN_QUERIES.isdisjoint(begun)


def with_columns(text: str, columns: Mapping[str, str]) -> str:
    """The text with a quoted name of a column in the place of each expression that is a call, or in parentheses (which stay).

    >>> with_columns("year(day) = 2013 AND x.year(day) > 1", {"year(day)": "c"})
    '"c" = 2013 AND x.year(day) > 1'

    :raises UnbalancedSql: one cannot be read.
    """
    for expression, column in columns.items():
        wanted = _meaning(balanced(expression))
        if is_one_call(wanted):
            name = '"' + column.replace('"', '""') + '"'
            text = _replaced(text, wanted, f"({name})" if wanted[0] == (False, "(") else name)
    return text


def is_one_call(tokens: Meaning) -> bool:
    """Whether tokens are one call, or in one pair of parentheses."""
    opens = len(tokens) > 1 and ((False, "(") in (tokens[0], tokens[1])) and tokens[-1] == (False, ")")
    return opens and _closes_at_the_end(tokens)


def _replaced(text: str, wanted: Meaning, name: str) -> str:
    tokens = balanced(text)
    own, size, at, made, end = _meaning(tokens), len(wanted), 0, "", 0
    while at + size <= len(own):
        if own[at : at + size] == wanted and (not at or _is_an_end(own[at - 1], wanted)):
            made += text[end : tokens[at].start] + name
            end = tokens[at + size - 1].end + 1
            at += size
        else:
            at += 1
    return made + text[end:]


def _is_an_end(before: tuple[bool, str], wanted: Meaning) -> bool:
    """Whether an expression can begin after a token."""
    is_text, word = before
    if is_text or wanted[0] != (False, "("):
        return is_text or word not in (".", "::")
    return word not in (".", "::") and not word.endswith('"') and (not word.isidentifier() or word in _BEFORE_PARENTHESES)


def _closes_at_the_end(tokens: Meaning) -> bool:
    """Whether what the first parenthesis opens is closed by the last token, and not before."""
    depth = 0
    for at, (is_text, word) in enumerate(tokens):
        if not is_text:
            depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0 and word in _CLOSING:
            return at == len(tokens) - 1
    return False


def column_of(expression: str) -> str:
    """The folded name of the column that an expression is; empty where it is more than a name.

    >>> [column_of(one) for one in ('Day', '"Day" ', '"a""B"', "date", "year(day)", "'day'", "7", "true")]
    ['day', 'day', 'a"b', 'date', '', '', '', '']

    :raises UnbalancedSql: it cannot be read.
    """
    tokens = balanced(expression)
    if len(tokens) != 1 or _is_text(tokens[0]):
        return ""
    name, is_quoted = folded_name(tokens[0].text), tokens[0].token_type.name == "IDENTIFIER"
    return name if is_quoted or (name.isidentifier() and name not in _CONSTANTS) else ""


def _meaning(tokens: Sequence[Token]) -> Meaning:
    return tuple((_is_text(token), token.text if _is_text(token) else _folded(token)) for token in tokens)


def _folded(token: Token) -> str:
    """A name is the same with and without quotes, but for words of SQL: ``"true"`` is a column, and ``true`` is none. It is the same in
    any case of ASCII's letters, and of no others, as for DuckDB: ``maße`` is not ``masse``."""
    name = folded_name(token.text)
    return f'"{name}"' if token.token_type.name == "IDENTIFIER" and not _is_plain_name(token.text) else name


@cache
def _is_plain_name(text: str) -> bool:
    return text.isidentifier() and [one.token_type.name for one in balanced(text)] == ["VAR"]


def _depths(tokens: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Each token with how deep it stands in parentheses, brackets and ``CASE … END``."""
    depth, before = 0, ""
    for token in tokens:
        word = "" if before == "." else _word(token)  # a field may be called like a word
        before = _word(token)
        if word in _CLOSING or word == "end":
            depth -= 1
        yield token, depth
        if word in _OPENING or word == "case":
            depth += 1


def _word(token: Token) -> str:
    """A token that is no string and no quoted name, in small letters."""
    return "" if _is_text(token) or token.token_type.name == "IDENTIFIER" else folded_name(token.text)


def _is_text(token: Token) -> bool:
    return token.token_type.name.endswith("STRING")
