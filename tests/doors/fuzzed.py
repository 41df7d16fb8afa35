"""How doors are tried, and what they may do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from airflow_lineage_provider.errors import LineageError
from tests.in_turn import few

LONG = "FUZZ_INPUTS" in os.environ
EXAMPLES = int(os.environ.get("FUZZ_INPUTS", few(12)))
SEED = int(os.environ.get("FUZZ_SEED", "20261122"))


def fuzzed(*, share: int = 1, **drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property over drawn inputs: a few examples always the same, or many from a seed that is told.

    ``share``: one in so many, for doors behind which Spark works.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large, HealthCheck.filter_too_much]
        chosen = settings(
            max_examples=max(1, EXAMPLES // share), deadline=None, database=None, suppress_health_check=checks, print_blob=True,
            phases=(Phase.explicit, Phase.generate, Phase.shrink) if LONG else (Phase.explicit, Phase.generate),
        )  # fmt: skip
        quiet = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of an input that is long, which it may be
        made: Callable[..., None] = quiet(seed(SEED)(chosen(given(**drawn)(test))))
        return made

    return decorate


def answers(ask: Callable[[], Any]) -> None:
    """It answers, or refuses by name and in few words."""
    refused = ""
    try:
        ask()
    except LineageError as error:
        refused = str(error)
    assert len(refused) < 5_000
