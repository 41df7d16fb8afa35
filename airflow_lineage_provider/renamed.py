"""Old names of parameters: they work for one release more, and say what to write."""

from __future__ import annotations

import warnings
from typing import TypeVar

from airflow_lineage_provider.errors import InvalidOption

T = TypeVar("T")


def renamed(new: str, value: T | None, old: str, given: T | None, *, stacklevel: int = 3) -> T | None:
    """The value of a parameter that is ``new`` now and was ``old``.

    :raises InvalidOption: both are given.
    """
    if given is None:
        return value
    if value is not None:
        raise InvalidOption(f"{old} is the old name of {new}: give {new} alone")
    warnings.warn(f"{old} is called {new} now; the old name will be gone in the next release", DeprecationWarning, stacklevel=stacklevel)
    return given
