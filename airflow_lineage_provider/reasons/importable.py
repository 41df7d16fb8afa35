"""Whether another process could import a module, whatever this one has loaded."""

from __future__ import annotations

import sys


def is_importable(module: str) -> bool:
    """Whether an import would find the module, had this process not loaded it already: a script, a notebook's cells and DAG files (which
    Airflow loads under names of its own) are found by none."""
    if module in ("", "__main__"):
        return False
    parent = module.rpartition(".")[0]
    if parent and not is_importable(parent):
        return False
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    try:
        return any(finder.find_spec(module, path) is not None for finder in sys.meta_path)
    except (ImportError, ValueError, AttributeError):
        return False
