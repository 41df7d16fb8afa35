"""Importing what a person or a record names: from where Python looks, else from a folder, which then stands last on the path.

Last, so that no file in it stands in for a library; and only once something named was found in it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

WORKERS_PATH = "AIRFLOW_LINEAGE_WORKERS_PATH"
"""The variable that gives Spark's Python workers, where this package starts them, the folders that stand last on their path."""

_FOLDERS: list[str] = []


def look_in(folder: str) -> None:
    """Modules that a record names may from now on come from this folder."""
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)


def named_module(name: str, folder: str | None = None) -> ModuleType:
    """The module of this name.

    :raises ModuleNotFoundError: it is neither where Python looks nor in ``folder`` (without one: in those of `look_in`).
    :raises Exception: what the module itself raises.
    """
    top = name.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        folders = _FOLDERS if folder is None else [folder]
        found = next((one for one in folders if PathFinder.find_spec(top, [one]) is not None), None)
        if found is not None:
            put_last(found)
    return import_module(name)


def hidden_by(name: str, folder: str) -> str | None:
    """Where another module of this name comes from, which would be imported in place of the one in ``folder``."""
    top = name.partition(".")[0]
    wanted = PathFinder.find_spec(top, [folder])
    found = find_spec(top) if wanted is not None else None
    if found is None or _places(found) & _places(wanted):
        return None
    return min(_places(found), default="Python itself")


def _places(spec: ModuleSpec | None) -> set[str]:
    if spec is None:
        return set()
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location and spec.origin else [])]
    return {os.path.realpath(place) for place in places}


def put_last(folder: str) -> None:
    """Last on the path of this process, and of the Python workers that its Spark session starts from now on."""
    if folder not in sys.path:
        sys.path.append(folder)
    pyspark = sys.modules.get("pyspark")
    context = pyspark.SparkContext._active_spark_context if pyspark is not None else None
    if context is not None and WORKERS_PATH in context.environment:
        context.environment[WORKERS_PATH] = workers_path()


def workers_path() -> str:
    """This process's path, as `WORKERS_PATH` has it; what a worker has by itself stays where that has it."""
    return os.pathsep.join(folder for folder in sys.path if os.path.isabs(folder))
