"""The values of a file of JSON lines as texts, where each line is one object as the standard has it (RFC 8259): all else is left to Spark.

Spark's parser (Jackson) takes more than the standard, and makes texts of numbers, numbers of texts and NULL of what does not fit. What is
taken here is a text where the table has texts or dates, a number where it has numbers, true or false where it has these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.reader_options import OF_FILES, given_options

if TYPE_CHECKING:
    import pyarrow as pa

# They say how types are inferred, what is taken beyond the standard, or what becomes of values that are not read here at all.
_OF_NO_EFFECT = OF_FILES | {
    "samplingratio", "primitivesasstring", "prefersdecimal", "prefertimestampntz", "dropfieldifallnull", "mode", "compression",
    "allowcomments", "allowunquotedfieldnames", "allowsinglequotes", "allownumericleadingzeros", "allownonnumericnumbers",
    "allowbackslashescapinganycharacter", "allowunquotedcontrolchars",
}  # fmt: skip
_ONLY = {"multiline": "false", "encoding": "utf-8", "charset": "utf-8", "dateformat": "yyyy-mm-dd", "locale": "en-us"}
_TEXTS = frozenset({"string", "date", "timestamp", "timestamp_ntz"})


class _Number(str):
    """A number as it is written."""


def check_options(relation: Relation, time_zone: str) -> None:
    """What the reader options of a JSON source say. ``time_zone`` is the session's.

    :raises CannotReadHere: one says what is left to Spark, or is not known.
    """
    for key, value in given_options(relation).items():
        known = key in _OF_NO_EFFECT or _ONLY.get(key) == value.lower() or (key == "timezone" and value == time_zone)
        if not known or (key == "dateformat" and value != "yyyy-MM-dd"):
            raise CannotReadHere(f"{relation.name} is read with the option {key}")


def texts_of(data: bytes, columns: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    """The texts of each of these columns (types by name), NULL where a line has none.

    :raises CannotReadHere: a line is no such object, or has a value of another kind than its column.
    """
    import pyarrow as pa

    rows = [_object(line) for line in data.splitlines()]
    _check_names({name for row in rows for name in row}, columns)
    try:
        texts = {name: pa.array([_text(row.get(name), name, kind) for row in rows], pa.string()) for name, kind in columns.items()}
    except UnicodeError as problem:
        raise CannotReadHere(f"it has half of a letter: {first_line(problem)}") from problem
    return {name: pa.chunked_array([values]) for name, values in texts.items()}


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode(), object_pairs_hook=_pairs, parse_int=_Number, parse_float=_Number, parse_constant=_refused)
    except (ValueError, RecursionError) as problem:
        raise CannotReadHere(f"a line is not read as JSON: {first_line(problem)}") from problem
    if not isinstance(found, dict):
        raise CannotReadHere("a line is no object")
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CannotReadHere("an object has a name twice")
    return found


def _refused(constant: str) -> Any:
    raise CannotReadHere(f"it has {constant}, which the standard has not")


def _check_names(names: set[str], columns: Mapping[str, str]) -> None:
    """:raises CannotReadHere: a name differs from a column's in case alone."""
    own = {one.lower(): one for one in columns}
    for name in names:
        if own.get(name.lower(), name) != name:
            raise CannotReadHere(f"it has {name}, which differs from a column's name in case alone")


def _text(value: Any, name: str, kind: str) -> str | None:
    """:raises CannotReadHere: the value is of another kind than the column's type."""
    match value:
        case None:
            return None
        case bool() if kind == "boolean":
            return "true" if value else "false"
        case _Number() if kind not in _TEXTS and kind != "boolean":
            return str(value)
        case str() if kind in _TEXTS and not isinstance(value, _Number):
            return value
    raise CannotReadHere(f"column {name} of type {kind} has {type(value).__name__.lstrip('_').lower()} values")
