"""The version of a UDF follows what decides by whatever way the function comes to it, within its own package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_lineage_provider.errors import UdfVersionMismatch
from airflow_lineage_provider.reasons import ReasonedUdf, registry
from airflow_lineage_provider.reasons.code import BEFORE
from airflow_lineage_provider.reasons.description import UdfDescription

RULES = """
import functools
W = 1
lower = [1]

def f(x):
    return x * 1 + W

@functools.cache
def cached(x):
    return f(x)

class Base:
    LIMIT = 1
    factor = 1

    def called(self, x):
        return f(x) + self.factor

class Rule(Base):
    static = staticmethod(f)

    def __call__(self, x):
        return self.called(x)

rule = Rule()
bound = rule.called

def doubled(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given) * 1
    return wrapper
"""
JUDGE = """
from airflow_lineage_provider.reasons import reasoned_udf
{imports}

@reasoned_udf("double", name="judged")
{decorated}
def judged(x):
    {inside}
    return {value}
"""
WAYS = {
    "a module's function": ("from acme_rules import rules", "", "pass", "rules.f(x)"),
    "a module's constant": ("from acme_rules import rules", "", "pass", "x + rules.W"),
    "a whole path": ("import acme_rules.rules", "", "pass", "acme_rules.rules.f(x)"),
    "a method's helper": ("from acme_rules.rules import Rule", "", "pass", "Rule()(x)"),
    "an instance's base class": ("from acme_rules.rules import rule", "", "pass", "rule(x)"),
    "a bound method": ("from acme_rules.rules import bound", "", "pass", "bound(x)"),
    "a cache": ("from acme_rules.rules import cached", "", "pass", "cached(x)"),
    "a decorator": ("from acme_rules.rules import doubled", "@doubled", "pass", "x"),
    "an import inside": ("", "", "from . import rules", "rules.f(x)"),
    "an import of a name inside": ("", "", "from acme_rules.rules import f", "f(x)"),
}
CHANGED = {"a module's constant": ("W = 1", "W = 2"), "a decorator": ("(*given) * 1", "(*given) * 2")}


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ReasonedUdf]]:
    """The UDF of a package with these rules, which it comes to in one of the ways."""
    package = tmp_path / "acme_rules"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(way: str, rules: str) -> ReasonedUdf:
        imports, decorated, inside, value = WAYS[way]
        (package / "rules.py").write_text(rules)
        (package / "judge.py").write_text(JUDGE.format(imports=imports, decorated=decorated, inside=inside, value=value))
        forget()
        found: ReasonedUdf = importlib.import_module("acme_rules.judge").judged
        return found

    def forget() -> None:
        for name in [one for one in sys.modules if one.split(".")[0] == "acme_rules"]:
            del sys.modules[name]
        importlib.invalidate_caches()

    yield make
    forget()


@pytest.mark.parametrize("way", WAYS)
def test_what_decides_is_part_of_the_version(way: str, judged: Callable[[str, str], ReasonedUdf]) -> None:
    old, new = CHANGED.get(way, ("x * 1", "x * 2"))
    before = judged(way, RULES)
    version, said = before.version, UdfDescription.of(before.describe())
    assert judged(way, f"# a comment\n{RULES.replace('lower = [1]', 'lower = [2]')}").version == version or "import" in way
    assert judged(way, RULES).version == version
    after = judged(way, RULES.replace(old, new))
    assert after.version != version
    with pytest.raises(UdfVersionMismatch):
        registry.check_version(after, said)


@pytest.mark.parametrize(
    ("old", "new"), [("LIMIT = 1", "LIMIT = 2"), ("factor = 1", "factor = 2"), ("staticmethod(f)", "staticmethod(cached)")]
)
def test_so_is_what_its_classes_have(old: str, new: str, judged: Callable[[str, str], ReasonedUdf]) -> None:
    version = judged("an instance's base class", RULES).version
    assert judged("an instance's base class", RULES.replace(old, new)).version != version


def test_what_earlier_releases_recorded_is_held_against_what_they_would_have_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions that those of this module had before more was followed."""
    (tmp_path / "decided_before.py").write_text(DECIDED_BEFORE)
    monkeypatch.syspath_prepend(tmp_path)
    udf = importlib.import_module("decided_before").main
    described = {name: value for name, value in udf.describe().items() if name != "scheme"}
    said = UdfDescription.of(described | {"version": "2dc312cf90daa298f6738cd22cb6b1b2fdbf1de1a1d09a917cb2b6f883d01d8f"})
    assert said.scheme == BEFORE
    assert udf.version != said.version
    registry.check_version(udf, said)
    monkeypatch.setattr(sys.modules["decided_before"], "LIMIT", 0.75)
    with pytest.raises(UdfVersionMismatch, match="has version"):
        registry.check_version(udf, said)


DECIDED_BEFORE = """
from airflow_lineage_provider.reasons import reasoned_udf

LIMIT = 0.5

class Scale:
    factor = 2

    def times(self, x):
        return helper(x) * self.factor

scale = Scale()

@reasoned_udf("double", name="u", seed=3, background=[1, 2])
def main(x):
    return scale.times(x) * LIMIT

@main.with_reason
def _(x):
    return main.main(x), {"x"}

def helper(x):
    return x + 1
"""
