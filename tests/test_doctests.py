"""The examples in docstrings, run: what a pass makes of a plan, what a function makes of a value."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import airflow_lineage_provider
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.rewrite.drop_pruning_projections import drop_pruning_projections
from airflow_lineage_provider.rewrite.pipeline import PASSES
from airflow_lineage_provider.rewrite.segment import segment
from tests.plan import shorthand

ROOT = Path(airflow_lineage_provider.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.py") if ">>> " in path.read_text("utf-8")
)


def examples(module: ModuleType) -> list[doctest.DocTest]:
    """Each docstring with examples; the plans in it are numbered from 0."""
    found = [one for one in doctest.DocTestFinder().find(module) if one.examples]
    for one in found:
        one.globs.update(shorthand.names())
    return found


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    found = examples(import_module(name))
    assert found, f"{name} has >>> where no docstring is"
    told: list[str] = []
    for one in found:
        assert doctest.DocTestRunner().run(one, out=told.append).failed == 0, "".join(told)


@pytest.mark.parametrize("rewrite", [*PASSES, drop_pruning_projections, segment])
def test_every_pass_shows_what_it_makes(rewrite: Callable[..., o.Plan]) -> None:
    module = inspect.getmodule(rewrite)
    assert module is not None
    calls = [example.source for one in examples(module) for example in one.examples]
    assert any(f"{rewrite.__name__}(" in call for call in calls), f"{module.__name__} has no example of {rewrite.__name__}"
