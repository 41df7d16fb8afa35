"""Every option with a closed set of words, found in the signatures of what users call."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin

from airflow_lineage_provider import words


def options_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The options of a function that have a `Literal`, with it."""
    signature = inspect.signature(function)
    around = {**vars(words), **getattr(inspect.unwrap(function), "__globals__", {})}
    for name, parameter in signature.parameters.items():
        written = parameter.annotation
        parts = re.findall(r"[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?", written) if isinstance(written, str) else [written]
        for part in parts:
            found = _literal(_evaluated(part, around) if isinstance(part, str) else part)
            if found is not None:
                yield name, found
                break


def functions_of(name: str, public: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A public function, or the constructor and the public methods of a public class."""
    if not inspect.isclass(public):
        yield name, public
        return
    for each, member in inspect.getmembers(public, callable):
        inherited = not any(each in vars(base) for base in public.__mro__ if base.__module__.startswith("airflow_lineage_provider"))
        if not inherited and (each == "__init__" or not each.startswith("_")):
            yield f"{name}.{each}", member


def _evaluated(text: str, around: dict[str, Any]) -> Any:
    try:
        return eval(text, around)  # an annotation of this package's own
    except (NameError, AttributeError, TypeError, SyntaxError):  # a name for type checkers alone; words are imported for good
        return None


def _literal(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return annotation
    return next((found for found in map(_literal, get_args(annotation)) if found is not None), None)
