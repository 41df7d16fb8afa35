"""The parameters of a run, as its record has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import ParameterError
from airflow_lineage_provider.secrecy.digests import digest, is_digest

WITHHELD, SECRET = "withheld:", "secret:"
_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?")


@dataclass(frozen=True)
class Secret:
    """A parameter that is never stored: ``lineage.run(pipeline, params={"key": Secret("…")})``.

    The pipeline gets the value itself. Where it became a literal of the plan, the recorded plan has the parameter's name in its place, and
    a derivation is given the value again: ``run.explain(…, params={"key": "…"})``.
    """

    value: Any = field(repr=False)

    def __str__(self) -> str:
        return "Secret(***)"


def recorded_params(params: Mapping[str, Any], clear: Iterable[str] = (), secret: Iterable[str] = ()) -> dict[str, Any]:
    """The parameters as a record has them, JSON-able: what is known to be harmless (None, truth values, dates) and those that ``clear`` or
    ``AIRFLOW_LINEAGE_CLEAR_PARAMS`` names (``*`` stands for any letters) as they are; a keyed digest of the rest. ``secret`` are those of
    which nothing else is stored either.

    :raises ParameterError: ``clear`` names none of the parameters, or one that is secret.
    """
    _check(params, list(clear), set(secret))
    patterns = [*clear, *settings.clear_params()]
    return {name: _recorded(name, value, patterns, name in set(secret)) for name, value in params.items()}


def _check(params: Mapping[str, Any], clear: list[str], secret: set[str]) -> None:
    for pattern in clear:
        if not any(fnmatchcase(name, pattern) for name in params):
            known = ", ".join(params) or "none"
            raise ParameterError(f"clear_params names {pattern!r}, which is not a parameter; the run's parameters are {known}")
        both = sorted(name for name in secret if fnmatchcase(name, pattern))
        if both:
            raise ParameterError(f"parameter {', '.join(both)} cannot be both secret and recorded in clear")


def _recorded(name: str, value: Any, patterns: Iterable[str], is_secret: bool) -> Any:
    if is_secret:
        return SECRET + digest(value)
    if is_harmless(value) or any(fnmatchcase(name, pattern) for pattern in patterns):
        return _jsonable(value)
    return WITHHELD + digest(value)


def recorded_value(value: Any) -> Any:
    """A value that nobody named, as a record has it."""
    return _recorded("", value, (), False)


def is_harmless(value: Any) -> bool:
    """None, truth values, dates and times (as objects, and as ISO 8601 writes them). A number is not: it may be a PIN."""
    return value is None or isinstance(value, bool | date | datetime) or (isinstance(value, str) and _DATE.fullmatch(value) is not None)


def shown_param(recorded: Any) -> str:
    """A recorded parameter for people."""
    if is_withheld(recorded) or is_secret(recorded):
        kind, _, of = recorded.partition(":")
        return f"{kind}, digest {of.rpartition(':')[2][:12]}"
    return recorded if isinstance(recorded, str) else json.dumps(recorded, ensure_ascii=False)


def is_withheld(recorded: Any) -> bool:
    """Whether a recorded parameter is a digest."""
    return isinstance(recorded, str) and is_digest(recorded.removeprefix(WITHHELD)) and recorded.startswith(WITHHELD)


def is_secret(recorded: Any) -> bool:
    """Whether a recorded parameter is one that is never stored."""
    return isinstance(recorded, str) and is_digest(recorded.removeprefix(SECRET)) and recorded.startswith(SECRET)


def texts_of(value: Any) -> tuple[str, ...]:
    """The texts by which a parameter's value may turn up in a message: every value in it, at any depth, but for harmless ones."""
    if isinstance(value, Secret):
        return texts_of(value.value)
    if isinstance(value, Mapping):
        return tuple(text for pair in value.items() for each in pair for text in texts_of(each))
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(text for each in value for text in texts_of(each))
    if is_harmless(value):
        return ()
    if isinstance(value, bytes | bytearray):
        return (bytes(value).hex().upper(), value.decode("utf-8", "replace"))
    return (value, *_inside(value)) if isinstance(value, str) else _written(value)


def _written(value: Any) -> tuple[str, ...]:
    try:
        return (str(value),)
    except ValueError:  # a number of so many digits that Python writes it nowhere, and so in no message
        return ()


def _inside(text: str) -> tuple[str, ...]:
    """The texts within a JSON text."""
    if not text.lstrip().startswith(("{", "[")):
        return ()
    try:
        return texts_of(json.loads(text))
    except ValueError:
        return ()


def _jsonable(value: Any) -> Any:
    """A value as it is where JSON has it, else its text."""
    if isinstance(value, Mapping):
        return {str(name): _jsonable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    return value if isinstance(value, int | float | bool | None | str) else str(value)
