"""Texts of SQL that a person wrote: where parameters stand in them, and what their parts are called. What they mean, DuckDB says."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from airflow_lineage_provider.shown import first_line

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class UnbalancedSql(ValueError):
    """A parenthesis is closed that was not opened, or the text is no SQL."""


def with_dollar_parameters(text: str) -> str:
    """``:name`` as ``$name``, which is how DuckDB writes it.

    A colon is SQL's own after a name (a lambda, an alias before its expression), and in brackets and braces (a slice, a struct).

    >>> with_dollar_parameters("a = :p1 AND b::int > 1 AND c = ':p2' AND d[1:n] IS NULL")
    "a = $p1 AND b::int > 1 AND c = ':p2' AND d[1:n] IS NULL"

    :raises UnbalancedSql: it cannot be read.
    """
    tokens, inside, colons = _tokens(text), 0, []
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        inside += (token.text in "[{") - (token.text in "]}") if _is_sign(token, text) else 0
        is_colon = token.text == ":" and _is_sign(token, text) and not inside
        if is_colon and after.start == token.end + 1 and text[after.start : after.end + 1].isidentifier() and not _is_name(before):
            colons.append(token.start)
    return "".join("$" if at in colons else sign for at, sign in enumerate(text)) if colons else text


def named_expression(text: str) -> tuple[str, str]:
    """An expression, and the name that it gives itself (``… AS name``) or, without one, its text.

    >>> named_expression("cast(sum(x) AS int) AS total"), named_expression("count(*)")
    (('cast(sum(x) AS int)', 'total'), ('count(*)', 'count(*)'))

    :raises UnbalancedSql: a parenthesis is closed that was not opened, or the other way round.
    """
    tokens = balanced(text)
    if len(tokens) > 2 and tokens[-2].text.upper() == "AS" and _is_sign(tokens[-2], text):
        return text[: tokens[-2].start].strip(), tokens[-1].text
    return text.strip(), text.strip()


def balanced(text: str) -> tuple[Token, ...]:
    """The tokens of a text that stays what it is between parentheses.

    :raises UnbalancedSql: it does not.
    """
    tokens, depth = _tokens(text), 0
    for token in tokens:
        if _is_sign(token, text):
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth < 0:
            raise UnbalancedSql("a parenthesis is closed that was not opened")
    if depth:
        raise UnbalancedSql("a parenthesis is not closed")
    return tokens


def statements_of(text: str) -> list[str]:
    """The statements of a text, parted at semicolons outside of quotes and comments, as Spark parts them.

    >>> statements_of("SELECT ';' -- one; really\\n; /* two; /* nested; */ */ SELECT `;`")
    ["SELECT ';' -- one; really\\n", ' /* two; /* nested; */ */ SELECT `;`']
    """
    found, begun, at = list[str](), 0, 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"`":
            at = _end_of_quote(text, at)
        elif text.startswith("--", at):
            at = len(text) if (end := text.find("\n", at)) < 0 else end
        elif text.startswith("/*", at):
            at = _end_of_comment(text, at)
        elif sign == ";":
            found.append(text[begun:at])
            begun = at = at + 1
        else:
            at += 1
    return [*found, text[begun:]]


def _end_of_quote(text: str, at: int) -> int:
    """The place behind a quoted text that begins here; a backslash there is no sign's last."""
    quote, at = text[at], at + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" and quote != "`" else 1
    return at + 1


def _end_of_comment(text: str, at: int) -> int:
    """The place behind a comment that begins here, which may have others in it."""
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    return at


def words_of(text: str) -> set[str]:
    """All words that an expression has, in lower case, quoted names among them: each of its columns is one.

    >>> sorted(words_of("floor(delay / 10) = 'a text'"))
    ['delay', 'floor']

    :raises UnbalancedSql: it cannot be read.
    """
    return {one.text.casefold() for one in _tokens(text) if one.token_type.name in ("VAR", "IDENTIFIER") or one.text.isidentifier()}


def has_named_columns_only(text: str) -> bool:
    """Whether an expression of DuckDB's SQL takes columns by their names alone, of one row: none by a pattern or a number, and no query.

    >>> [has_named_columns_only(one) for one in ("a + b", "COLUMNS('a.*')", "#1", "(SELECT t FROM 'a.parquet' t)", "(TABLE 'a.parquet')")]
    [True, False, False, False, False]
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        (found,) = parse_one(f"SELECT ({text}\n)", dialect="duckdb").expressions
    except (SqlglotError, ValueError, RecursionError):
        return False
    others = (exp.Star, exp.Columns, exp.PositionalColumn, exp.Query, exp.Table, exp.Describe, exp.Summarize)
    return not any(isinstance(node, others) for node in found.walk())


def is_comment(text: str) -> bool:
    """Whether a text of Spark's SQL has comments alone, or nothing. What cannot be read says something.

    >>> is_comment("-- done"), is_comment("SELECT 1 -- done"), is_comment("/* done; */"), is_comment("")
    (True, False, True, True)
    """
    try:
        return not _tokens(text, "spark")
    except UnbalancedSql:
        return False


@lru_cache(maxsize=1024)
def _tokens(text: str, dialect: str = "duckdb") -> tuple[Token, ...]:
    """The tokens of a text; of a question that is asked again and again they are known."""
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import TokenError

    try:
        return tuple(Dialect.get_or_raise(dialect).tokenize(text))
    except TokenError as problem:
        raise UnbalancedSql(first_line(problem)) from problem


def _is_sign(token: Token, text: str) -> bool:
    """Not within quotes."""
    return text[token.start : token.end + 1] == token.text


def _is_name(token: Token | None) -> bool:
    return token is not None and token.token_type.name in ("VAR", "IDENTIFIER")
