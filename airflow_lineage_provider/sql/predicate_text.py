"""The text of a target, as far as a sqlglot tree of one expression.

sqlglot's Spark parser rewrites functions that it knows; here none is known, so that a call stays what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from airflow_lineage_provider.errors import InvalidTarget

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([01][0-7]{2})|\\(.)", re.DOTALL)
_SIZED_TEXT = re.compile(r"(?i)(var)?char(acter)?")


_COMPARISONS = frozenset({
    *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ),
    TokenType.DISTINCT,
})  # fmt: skip
_SEPARATORS = frozenset({
    *(TokenType.AND, TokenType.OR, TokenType.COMMA, TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END),
})  # fmt: skip
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


class _CallsAsWritten(SparkParser):
    FUNCTIONS = {}  # noqa: RUF012 - as in the base class
    FUNCTION_PARSERS = {name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")}  # noqa: RUF012


def parse_expression(text: str) -> exp.Expr:
    """The tree of a text that is one expression of Spark's.

    :raises InvalidTarget: it is not; the message shows the place.
    """
    if not text.strip():
        raise InvalidTarget("the target is empty; write a condition over the result's columns, such as id = 7")
    try:
        tokens = _tokens(text)
        trees = _CallsAsWritten(dialect=Dialect.get_or_raise("spark")).parse(tokens, text)
    except ParseError as error:
        raise InvalidTarget(_parse_message(text, error)) from None
    except RecursionError:
        raise InvalidTarget("the target is nested too deeply to be read; use IN (…) or split it") from None
    if len(trees) != 1 or trees[0] is None:
        raise InvalidTarget(f"the target is not one condition: {_shortened(text)}")
    return trees[0]


def show(text: str, start: int, end: int) -> str:
    """A place in a text for a message: ``at character 5: …``."""
    return f"at character {start + 1}: {_shortened(text[max(0, start - 20) : end + 21])}"


def _tokens(text: str) -> list[Token]:
    try:
        tokens = list(Dialect.get_or_raise("spark").tokenize(text))
    except TokenError:
        raise InvalidTarget(f"the target cannot be read: a quote or comment is not closed in {_shortened(text)}") from None
    if not tokens:
        raise InvalidTarget("the target is empty but for comments; write a condition over the result's columns, such as id = 7")
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.token_type == TokenType.SEMICOLON:
            raise InvalidTarget(f"a target is one condition, without ';', {show(text, token.start, token.end)}")
        is_cast = before is not None and before.token_type in (TokenType.ALIAS, TokenType.DCOLON)
        if is_cast and _SIZED_TEXT.fullmatch(token.text):
            raise InvalidTarget(f"cast to string instead of {token.text}, {show(text, token.start, token.end)}")
    _check_chains(tokens, text)
    return list(_with_spark_strings(tokens, text))


def _check_chains(tokens: list[Token], text: str) -> None:
    """``a = b < c`` is refused: sqlglot and Spark read it differently."""
    compared = [False]
    for token in tokens:
        if token.token_type in _OPENING:
            compared.append(False)
        elif token.token_type in _CLOSING:
            compared = compared[:-1] or [False]
        elif token.token_type in _SEPARATORS:
            compared[-1] = False
        elif token.token_type in _COMPARISONS:
            if compared[-1]:
                raise InvalidTarget(
                    f"the target compares a comparison; put parentheses around the inner one, {show(text, token.start, token.end)}"
                )
            compared[-1] = True


def _with_spark_strings(tokens: list[Token], text: str) -> Iterator[Token]:
    """String tokens as Spark reads them: ``'it''s'`` is one string, and ``'a' 'b'`` is ``'ab'``."""
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end].token_type == TokenType.STRING:
            end += 1
        if end > at:
            yield _merged(tokens[at:end], text)
        else:
            yield tokens[at]
            end = at + 1
        at = end


def _merged(strings: list[Token], text: str) -> Token:
    raw: list[str] = []
    for before, token in zip([None, *strings], strings, strict=False):
        source = text[token.start : token.end + 1]
        if before is not None and before.end + 1 == token.start and text[before.end] == source[0]:
            raw[-1] += source
        else:
            raw.append(source)
    first, last = strings[0], strings[-1]
    value = "".join(_unescaped(source) for source in raw)
    comments = [comment for token in strings for comment in token.comments]
    return Token(TokenType.STRING, value, first.line, first.col, first.start, last.end, comments)


def _unescaped(source: str) -> str:
    """What Spark makes of a quoted string (``unescapeSQLString``)."""
    mark = source[0]
    parts = re.split(r"(\\.)", source[1:-1], flags=re.DOTALL)
    inner = "".join(part if part.startswith("\\") else part.replace(mark * 2, mark) for part in parts)
    return _ESCAPE.sub(_escaped_character, inner)


def _escaped_character(match: re.Match[str]) -> str:
    short, long, octal, other = match.groups()
    if other is not None:
        return _ESCAPES.get(other, other)
    code = int(octal, 8) if octal else int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise InvalidTarget(f"the target's string has {match[0]}, which is not a character")
    return chr(code)


def _parse_message(text: str, error: ParseError) -> str:
    found = error.errors[0] if error.errors else {}
    place = f"{found.get('start_context', '')}{found.get('highlight', '')}" or text
    reason = str(found.get("description") or "it cannot be read").rstrip(". ")
    return f"the target is not a SQL condition: {reason}, after: {place[-60:]}"


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}…"
