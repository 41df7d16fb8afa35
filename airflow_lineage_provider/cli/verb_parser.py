"""The parser of one verb's arguments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


class VerbParser(argparse.ArgumentParser):
    """Takes options anywhere: ``explain latest --pipeline NAME TARGET`` as well as ``explain latest TARGET --pipeline NAME``.

    By itself argparse takes a verb's optional argument for left out where an option stands before it, and refuses it when it comes.
    """

    _is_mixing = False

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """The options, and what is none."""
        if self._is_mixing:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False
