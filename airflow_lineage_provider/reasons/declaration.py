"""Checks of what a user declares: signatures, and the versions of the libraries that matter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence, Set
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from airflow_lineage_provider.errors import UdfDeclarationError
from airflow_lineage_provider.shown import shown

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameter_names(main: Callable[..., Any], name: str) -> tuple[str, ...]:
    """Names of the positional parameters; empty for ``*args``.

    :raises UdfDeclarationError: it cannot be called with the values of a row, in order.
    """
    if not callable(main):
        raise UdfDeclarationError(f"UDF {name!r}: {shown(main)} is not callable")
    found = _parameters(main)
    takes_many = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in found)
    wrong = [each.name for each in found if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is inspect.Parameter.empty]
    if wrong:
        raise UdfDeclarationError(f"UDF {name!r} has keyword-only parameters {wrong}: Spark passes a row's values by position")
    names = tuple(each.name for each in found if each.kind in _POSITIONAL)
    if not names and not takes_many:
        raise UdfDeclarationError(f"UDF {name!r} takes no argument: Spark applies it to the values of a row, so it needs at least one")
    return names


def same_parameters(main: Callable[..., Any], main_with_reason: Callable[..., Any], name: str) -> None:
    """main_with_reason must take what main takes.

    :raises UdfDeclarationError: the numbers of positional parameters differ.
    """
    first, second = (_counts(each, name) for each in (main, main_with_reason))
    if first[0] != second[0] and not (first[1] or second[1]):
        raise UdfDeclarationError(f"UDF {name!r}: main takes {first[0]} arguments, main_with_reason {second[0]}; both must take the same")


def installed_versions(libraries: Sequence[str]) -> dict[str, str]:
    """The installed version of each distribution.

    :raises UdfDeclarationError: one is not installed.
    """
    listed = isinstance(libraries, Sequence | Set) and not isinstance(libraries, str | bytes)
    if not listed or not all(isinstance(each, str) and each for each in libraries):
        raise UdfDeclarationError(f"the libraries of a UDF are {shown(libraries)}; they can be a list of the names of distributions")
    try:
        return {each: version(each) for each in sorted(libraries)}
    except (PackageNotFoundError, ValueError) as error:
        missing = shown(getattr(error, "name", None) or str(error))
        raise UdfDeclarationError(f"the library {missing}, which a UDF names in libraries=…, is not installed: install it") from error


def calling_module() -> str:
    """The name of the module that called this package: where a UDF made by an adapter is declared."""
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("airflow_lineage_provider.reasons"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")) if frame is not None else ""


def _counts(function: Callable[..., Any], name: str) -> tuple[int, bool]:
    takes_many = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in _parameters(function))
    return len(parameter_names(function, name)), takes_many


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature takes whatever it takes
        return [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
