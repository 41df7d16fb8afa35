"""SHAP's own functions that Numba compiles, kept on the disk: else every process that explains compiles them for seconds.

They are kept where Numba keeps what its users ask it to keep: in ``NUMBA_CACHE_DIR``, else beside SHAP's code, else among the user's
caches. It sees that they are of this code, this processor and this release of its own. No explanation depends on them: what cannot be read
is compiled, and what cannot be written is not kept.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

log = logging.getLogger(__name__)

_COMPILED = {
    "shap.explainers._exact": ("_compute_grey_code_row_values", "_compute_grey_code_row_values_st"),
    "shap.links": ("identity", "logit"),
    "shap.maskers._tabular": ("_single_delta_mask", "_delta_masking"),
}
"""Functions of plain arrays. (Those that are given a link function have a signature that another process does not know again: what is
kept of them would never be found, and grow with every process.)"""
_done: set[str] = set()


def keep_compiled() -> None:
    """Have what is compiled from now on kept, and what is kept taken. A release without these functions is left as it is."""
    for module in _COMPILED.keys() - _done:
        _done.add(module)
        try:
            for name in _COMPILED[module]:
                _keep(vars(import_module(module)).get(name))
        except Exception as problem:  # of the private parts of two libraries nothing is promised
            log.debug("what Numba compiles of %s is not kept: %s", module, problem)


def _keep(function: Any) -> None:
    base: Any = import_module("numba.core.caching").FunctionCache

    class Kept(base):  # type: ignore[misc]
        """One whose files may be damaged, or on a disk that is full or read-only."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception as problem:
                log.debug("what Numba kept of %s cannot be read: %s", sig, problem)
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except Exception as problem:
                log.debug("what Numba compiled for %s cannot be kept: %s", sig, problem)

    if hasattr(function, "_cache") and not function.signatures:
        function._cache = Kept(function.py_func)
