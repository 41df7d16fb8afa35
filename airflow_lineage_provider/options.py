"""What the options of a run and of a question can be. The library, the operators and the command check them here, before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from airflow_lineage_provider.capture.wanted import Capture
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.running.wanted_index import index_of
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches.wanted import SketchOn
from airflow_lineage_provider.words import OPTIONS, check_word

_LONGEST_NAME = 1_000


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse what an option cannot be, before anything is done with it; options that are not known here are left alone.

    :raises InvalidOption: naming the option, its value and what it can be. :raises InvalidOutput: for the option ``output``.
    """
    for name, value in options.items():
        if name in _CHECKS:
            _CHECKS[name](name, value)


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise InvalidOption(f"{name}={shown(value)} is not known; it can be True, False")


def _flag_or_none(name: str, value: Any) -> None:
    if value is not None:
        _flag(name, value)


def _count(name: str, value: Any, of: str = "rows") -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidOption(f"{name}={shown(value)} is not a number of {of}; it can be a whole number, 1 or more")


def _keys(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InvalidOption(f"{name}={shown(value)} is not understood; it can be {{table: [column, …]}}")
    for table, columns in value.items():
        names = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str | bytes) else []
        if not isinstance(table, str) or not names or not all(isinstance(each, str) and each for each in names):
            given = f"{name}: the key of table {shown(table)} is {shown(columns)}"
            raise InvalidOption(f"{given}; it can be a list of the names of its columns")
        if len(set(names)) < len(names):
            raise InvalidOption(f"{name}: the key of table {shown(table)} names a column twice: {shown(columns)}")


def _params(name: str, value: Any) -> None:
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(each, str) for each in value)):
        # The values are not told: they may be secret.
        raise InvalidOption(f"{name} is of type {type(value).__name__}; it can be a mapping of names to values")


def _mapping(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidOption(f"{name} is of type {type(value).__name__}; it can be a mapping of names to values")


def _views(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidOption(f"{name} is of type {type(value).__name__}; it can be a mapping of names to expressions, or runs")


def _names(name: str, value: Any) -> None:
    if value is not None and not (isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in value)):
        raise InvalidOption(f"{name}={shown(value)} is not understood; it can be a list of names")


def _text(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or not _is_text(value):
        raise InvalidOption(f"{name}={shown(value)} is no name; it can be a text of up to {_LONGEST_NAME:,} characters")


def _is_text(value: str) -> bool:
    """Whether a store can hold the text: NUL and halves of pairs are no characters."""
    return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _natural(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InvalidOption(f"{name}={shown(value)} is no number of rows; it can be a whole number from 0 up")


def _output(_name: str, value: Any) -> None:
    if value is not None:
        Output.parse(value)


def _index(_name: str, value: Any) -> None:
    index_of(value)


def _capture(_name: str, value: Any) -> None:
    Capture.of(value)


def _sketch_on(_name: str, value: Any) -> None:
    SketchOn.of(value)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    **{name: partial(check_word, kind=kind) for name, kind in OPTIONS.items()},
    "name": _text,
    "table": _text,
    "of": _text,
    "to": _text,
    "append_key": _text,
    "rows": _natural,
    "output": _output,
    "keys": _keys,
    "index": _index,
    "params": _params,
    "clear_params": _names,
    "secret_params": _names,
    "context": _mapping,
    "capture": _capture,
    "sketch_on": _sketch_on,
    "verify_sketches": _flag,
    "witness": _flag,
    "across": _flag,
    "by_leaf": _flag,
    "check": _flag,
    "lazy": _flag,
    "witnesses": _flag,
    "lineage": _flag_or_none,
    "verify": _flag,
    "save": _flag,
    "max_rows": _count,
    "chunk_rows": _count,
    "batch_rows": _count,
    "max_batches": partial(_count, of="batches"),
    "query": _text,
    "since": _text,
    "views": _views,
    "limit": _count,  # the old name of max_rows
}
