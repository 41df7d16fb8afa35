"""Parts of texts between marks, and words, that are in DuckDB what they are in Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import Writer, arguments_of, constant_number, constant_text, known_to_be, of_ascii, problem
from airflow_lineage_provider.sql.literals import composed
from airflow_lineage_provider.sql.nodes import Scope

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

_LETTER = re.compile(r"(?P<plain>[^\\^$.|?*+()\[\]{}])|\\(?P<escaped>[!-/:-@\[-`{-~])|\[(?P<single>[^\\^\[\]&-])\]")


def text_of_pattern(pattern: str) -> str | None:
    r"""The one text that a regular expression of Java's matches; None where it may match others.

    >>> text_of_pattern("a, "), text_of_pattern(r"\|[.]"), text_of_pattern("a+"), text_of_pattern("")
    ('a, ', '|.', None, None)
    """
    letters, at = [], 0
    while found := _LETTER.match(pattern, at):
        letters.append(found["plain"] or found["escaped"] or found["single"])
        at = found.end()
    return "".join(letters) if letters and at == len(pattern) else None


def item_of(writer: PortableWriter, item: e.GetItem, scope: Scope) -> exp.Expr:
    """``split(text, ', ')[0]``: under ANSI Spark fails where there is no such part.

    :raises PortabilityProblem: it is another item, or of another array.
    """
    place = constant_number(item.key)
    return _part(writer, item, item.child, None if place is None else place + 1, scope)


def _element(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``element_at(split(text, ', '), 1)``."""
    return _part(writer, call, call.arguments[0], constant_number(call.arguments[1]), scope)


def _part(writer: PortableWriter, whole: e.Expression, parts: e.Expression, place: int | None, scope: Scope) -> exp.Expr:
    """The part at a place, counted from 1."""
    if not isinstance(parts, e.Call) or parts.function != "split":
        raise problem(whole, "of arrays the parts of a text alone are known there")
    text, pattern, *rest = parts.arguments
    given = constant_text(pattern)
    mark = None if given is None else text_of_pattern(given)
    limit = constant_number(rest[0]) if rest else -1
    if text.type != "string" or mark is None or limit is None or place is None or place < 1 or 0 < limit <= place:
        raise problem(whole, "a part of a text means the same there at a constant place, between texts that no other pattern is, alone")
    written = writer.write(text, scope)
    split = nodes.function("STRING_SPLIT", [written, exp.Literal.string(mark)])
    part = nodes.function("LIST_EXTRACT", [split, exp.Literal.number(place)])
    if not writer.ansi:
        return part
    enough = nodes.binary(exp.GTE, nodes.function("LEN", [split.copy()]), exp.Literal.number(place))
    return known_to_be(enough, part, written, "no such part: ")


def _part_between(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``split_part``: empty where there is no such part; below zero counted from the last."""
    text, mark, number = call.arguments
    place = constant_number(number)
    if text.type != "string" or not constant_text(mark) or not place:
        raise problem(call, "split_part means the same there for a constant that is not empty and a constant place alone")
    return nodes.function("SPLIT_PART", [writer.write(text, scope), writer.write(mark, scope), exp.Literal.number(place)])


def _words(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``initcap``: what is between blanks begins with a capital. Of ASCII texts, as ``upper``."""
    (text,) = arguments_of(writer, call, scope, "string")
    lower = nodes.to_text(nodes.function("LOWER", [text.copy()]), "duckdb", pretty=False)
    capital = "LAMBDA word : UPPER(word[1]) || word[2:]"
    return of_ascii(text, composed(f"ARRAY_TO_STRING(LIST_TRANSFORM(STRING_SPLIT({lower}, ' '), {capital}), ' ')"))


def _reversed(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Spark turns code points round, DuckDB what people take for one letter."""
    (text,) = arguments_of(writer, call, scope, "string")
    return of_ascii(text, nodes.function("REVERSE", [text.copy()]))


def _joined(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``concat_ws``: without those that are NULL, and NULL where the separator is."""
    if len(call.arguments) < 2 or any(one.type != "string" for one in call.arguments):
        raise problem(call, "concat_ws means the same there for texts alone")
    return nodes.function("CONCAT_WS", [writer.write(one, scope) for one in call.arguments])


def _first_letter(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``ascii``: the first code point, 0 where there is none."""
    return nodes.function("ASCII", arguments_of(writer, call, scope, "string"))


PART_FUNCTIONS: Mapping[str, Writer] = {
    "element_at": _element,
    "split_part": _part_between,
    "initcap": _words,
    "reverse": _reversed,
    "concat_ws": _joined,
    "ascii": _first_letter,
}
