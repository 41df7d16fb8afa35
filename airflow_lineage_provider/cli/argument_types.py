"""What the texts of arguments are read as."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any


def pair(read: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """``NAME=VALUE``, the value as ``read`` has it."""

    def read_pair(text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
        return name, read(value)

    return read_pair


def json_or_text(text: str) -> Any:
    """A JSON value, else the text as it is."""
    try:
        # NaN is no JSON, and "NaN" may well be somebody's text.
        return json.loads(text, parse_constant=lambda constant: _refuse(constant))
    except ValueError:
        return text


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def columns(text: str) -> tuple[str, ...]:
    """``COLUMN[,COLUMN]``."""
    found = tuple(each.strip() for each in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of columns: COLUMN[,COLUMN]")
    return found


def natural(text: str) -> int:
    """A whole number from 0 up."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return value
