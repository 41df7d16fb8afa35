"""Which parts of an experiment are measured: all of them, or those that were asked for (``--part``), since some take hours."""

from __future__ import annotations

import re
from collections.abc import Sequence


class Parts:
    """Those that an expression is found in the names of; an empty one is in all."""

    def __init__(self, asked: str = "") -> None:
        """:raises re.error: it is no expression."""
        self._asked = re.compile(asked)
        self._known: dict[str, bool] = {}

    def wanted(self, name: str) -> bool:
        """Whether it is to be measured. Of an experiment's part its name; of other ones nobody needs to ask: they always are.

        >>> Parts("SHAP").wanted("reasons by SHAP"), Parts("SHAP").wanted("reasons by LIME"), Parts().wanted("reasons by LIME")
        (True, False, True)
        """
        self._known[name] = self._asked.search(name) is not None
        return self._known[name]

    def check(self, experiment: str) -> None:
        """At an experiment's end: some part of it was asked for.

        :raises LookupError: there is none such; its parts are named.
        """
        if self._asked.pattern and not any(self._known.values()):
            known = ", ".join(map(repr, self._known)) or "none: it is measured whole"
            raise LookupError(f"no part of {experiment!r} is like {self._asked.pattern!r}; its parts: {known}")


def asked_parts(part: str, scale_factors: Sequence[str]) -> str:
    """Which parts of an experiment were asked for, in words; nothing where it is the whole.

    >>> asked_parts("q0[1-6]", ["0.1"])
    'q0[1-6], scale factor 0.1'
    """
    return ", ".join([*([part] if part else []), *(f"scale factor {factor}" for factor in scale_factors)])
