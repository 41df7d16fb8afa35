"""The reasoned UDFs declared in this process, by name, and how one is found again months later."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UdfUnavailable, UdfVersionMismatch
from airflow_lineage_provider.named_modules import named_module

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons.description import UdfDescription
    from airflow_lineage_provider.reasons.udf import ReasonedUdf

_DECLARED: dict[str, ReasonedUdf] = {}


def add(udf: ReasonedUdf, name: str | None = None) -> None:
    """Declare a UDF under its own name, or under another that SQL knows it by. The latest declaration of a name wins."""
    _DECLARED[name or udf.name] = udf


def names() -> tuple[str, ...]:
    """The names that are declared, sorted."""
    return tuple(sorted(_DECLARED))


def get(name: str) -> ReasonedUdf:
    """The UDF last declared under this name.

    :raises UdfUnavailable: there is none in this process.
    """
    if name in _DECLARED:
        return _DECLARED[name]
    known = ", ".join(names()) or "none"
    raise UdfUnavailable(f"no reasoned UDF named {name!r} is declared in this process (declared: {known}); import its module first")


def find(description: UdfDescription) -> ReasonedUdf:
    """The UDF that a stored description is of, whatever its version.

    Looks among the declared ones, then imports its module. A module whose UDFs exist only once a model is
    loaded may define ``find_udf(description) -> ReasonedUdf``, which is then asked.

    :raises UdfUnavailable: naming what was tried and what to do.
    """
    name, module = description.name, description.module
    if name in _DECLARED:
        return _DECLARED[name]
    if not module or module == "__main__":
        raise _unavailable(name, f"it was declared in {module or 'no module'}, a script or notebook that cannot be imported")
    found = _ask(_imported(name, module), description)
    if found is not None:
        add(found)
    if name not in _DECLARED:
        raise _unavailable(name, f"module {module!r} was imported, and neither declares it nor offers find_udf(description)")
    return _DECLARED[name]


def check_version(udf: ReasonedUdf, description: UdfDescription) -> None:
    """Is this the very UDF that made the decision?

    :raises UdfVersionMismatch: its code, model, background, seed or libraries are not those of the description, as they are now.
    """
    if (now := udf.current_version(description.scheme)) == description.version:
        return
    changed = _differences(udf.describe(), description)
    raise UdfVersionMismatch(
        f"UDF {udf.name!r} has version {now}, the decision was made by version {description.version}"
        f"{f' (changed: {changed})' if changed else ' (its code, model or constants changed)'}; explaining it now would explain a decision "
        "that was never made. Load the code and model of that time, or run the pipeline again."
    )


def check_pickled(udf: ReasonedUdf) -> None:
    """Is this still the UDF that was pickled last, which Spark calls?

    :raises UdfVersionMismatch: its model, background or constants are others now.
    """
    pickled = udf.pickled_version
    if pickled is not None and udf.current_version() != pickled:
        raise UdfVersionMismatch(
            f"UDF {udf.name!r} has changed since it was registered (its model, constants or helper functions): Spark calls what it was "
            "then, and its reasons would be those of what it is now. Register it again"
        )


def _imported(name: str, module: str) -> ModuleType:
    try:
        return sys.modules.get(module) or named_module(module)
    except Exception as error:
        raise _unavailable(name, f"importing its module {module!r} failed with {type(error).__name__}: {error}") from error


def _ask(module: ModuleType, description: UdfDescription) -> ReasonedUdf | None:
    offered = getattr(module, "find_udf", None)
    if description.name in _DECLARED or offered is None:
        return None
    try:
        found: ReasonedUdf = offered(description.document())
    except Exception as error:
        what = f"{module.__name__}.find_udf failed with {type(error).__name__}: {error}"
        raise _unavailable(description.name, what) from error
    return found


def _unavailable(name: str, what: str) -> UdfUnavailable:
    return UdfUnavailable(f"reasoned UDF {name!r} cannot be found: {what}. Declare it in this process before asking for its reasons.")


def _differences(now: Mapping[str, object], then: UdfDescription) -> str:
    if not then.version:
        return ""
    shown = ("libraries", "seed", "background_hash", "returns", "vectorized", "has_reason")
    pairs = [(key, getattr(then, key), now[key]) for key in shown if getattr(then, key) != now[key]]
    return ", ".join(f"{key} {old!r} → {new!r}" for key, old, new in pairs)
