"""How a CSV source was read: Spark's reader options, as far as what they mean is certain here."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.reader_options import OF_FILES, given_options

# They say how types are inferred, how much is logged or what becomes of values that are not read here at all.
_OF_NO_EFFECT = frozenset({"inferschema", "samplingratio", "prefersdate", "preferdate", "maxmalformedlogperpartition", "mode"})
_ONLY = {
    "enforceschema": ("true",),
    "emptyvalue": ("",),
    "dateformat": ("yyyy-MM-dd",),
    "locale": ("en-US",),
    "unescapedquotehandling": ("STOP_AT_DELIMITER",),
}
_FLAGS = {"header", "multiline", "ignoreleadingwhitespace", "ignoretrailingwhitespace"}
_TEXTS = {"sep", "delimiter", "quote", "escape", "comment", "nullvalue", "encoding", "charset", "timezone"}
_SEPARATORS = frozenset(string.punctuation + "\t \x01") - {"\\"}
_ASCII_BASED = frozenset({"us-ascii", "iso-8859-1", "latin1", "windows-1252", "cp1252", "iso-8859-15"})


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """How lines become values. An empty ``quote``, ``escape`` or ``comment``: there is none.

    ``only_ascii``: bytes mean the same in the file's encoding as in UTF-8 as long as they are ASCII.
    """

    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    header: bool = False
    multi_line: bool = False
    trimmed: bool = False
    null_value: str = ""
    only_ascii: bool = False


def csv_format(relation: Relation, time_zone: str) -> CsvFormat:
    """What the reader options of a CSV source say. ``time_zone`` is the session's.

    :raises CannotReadHere: the options are not known, or one says what is left to Spark.
    """
    given = given_options(relation)
    for key, value in given.items():
        _check(relation, key, value)
    if given.get("timezone", time_zone) != time_zone:
        raise CannotReadHere(f"{relation.name} is read in a time zone of its own")
    sep, quote, escape = _separator(relation, given), _letter(relation, given, "quote", '"'), _letter(relation, given, "escape", "\\")
    comment = _letter(relation, given, "comment", "")
    if len({sep, quote or "none", comment or "no comment"}) < 3 or escape in (sep, comment or None):
        raise CannotReadHere(f"{relation.name} is read with one letter for two purposes")
    encoding = given.get("encoding", given.get("charset", "UTF-8")).lower()
    if encoding not in {"utf-8", "utf8", *_ASCII_BASED}:
        raise CannotReadHere(f"{relation.name} is encoded in {encoding}")
    return CsvFormat(
        sep=sep,
        quote=quote,
        escape=escape,
        comment=comment,
        header=_flag(given, "header"),
        multi_line=_flag(given, "multiline"),
        trimmed=_flag(given, "ignoreleadingwhitespace") or _flag(given, "ignoretrailingwhitespace"),
        null_value=given.get("nullvalue", ""),
        only_ascii=encoding in _ASCII_BASED,
    )


def _check(relation: Relation, key: str, value: str) -> None:
    fine = key in _OF_NO_EFFECT or key in OF_FILES or key in _TEXTS
    fine = fine or (key in _FLAGS and value.lower() in ("true", "false"))
    if not fine and value not in _ONLY.get(key, ()):
        raise CannotReadHere(f"{relation.name} is read with the option {key}")


def _flag(given: Mapping[str, str], key: str) -> bool:
    return given.get(key, "false").lower() == "true"


def _separator(relation: Relation, given: Mapping[str, str]) -> str:
    found = given.get("sep", given.get("delimiter", ","))
    found = "\t" if found == "\\t" else found
    if found not in _SEPARATORS or given.get("delimiter", given.get("sep", ",")) != given.get("sep", given.get("delimiter", ",")):
        raise CannotReadHere(f"{relation.name} is read with the separator {found!r}")
    return found


def _letter(relation: Relation, given: Mapping[str, str], key: str, usual: str) -> str:
    found = given.get(key, usual)
    if found and (len(found) > 1 or found not in string.punctuation):
        raise CannotReadHere(f"{relation.name} is read with the {key} {found!r}")
    return found
