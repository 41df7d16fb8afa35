"""Features and values as people know them: by the names that the UDF's author gave, numbers rounded, the exact ones beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.answers.values import rounded_text, text_of, visible
from airflow_lineage_provider.reasons.features import NOTHING_SAID, Feature, Names

DIGITS = 4
"""Digits of a number in a sentence or beside a bar."""

_BEFORE = frozenset("$€£¥₹")
"""Units that stand before the number."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A feature with its value. ``exact`` is what is told on hovering: the argument's own name and value, where something else is shown."""

    feature: str
    value: str
    exact: str = ""

    @property
    def text(self) -> str:
        """``credit history = bad``."""
        return f"{self.feature} = {self.value}"


def named(name: str, value: Any, said: Feature | None, limit: int = 80) -> Named:
    """A feature of this name, with what its UDF's author said of it."""
    label = visible(said.label) if said is not None and said.label else visible(name)
    shown = value_text(value, said, limit)
    own = f"{visible(name)} = {text_of(value, 4000)}"
    return Named(feature=label, value=shown, exact=own if own != f"{label} = {shown}" else "")


def value_text(value: Any, said: Feature | None = None, limit: int = 80) -> str:
    """A value: by its name, or rounded, with its unit."""
    name = said.name_of(value) if said is not None else None
    if name is not None:
        return visible(name)
    rounded = rounded_text(value, DIGITS)
    text = text_of(value, limit) if rounded is None else rounded
    if said is None or not said.unit or value is None:
        return text
    unit = visible(said.unit)
    return f"{unit}{text}" if unit in _BEFORE else f"{text} {unit}"


def feature_of(names: Names, name: str) -> Feature | None:
    """What is said of a feature."""
    return names.features.get(name)


def label_of(name: str, names: Names) -> str:
    """What people call a feature."""
    said = feature_of(names, name)
    return visible(said.label) if said is not None and said.label else visible(name)


def outcome_text(value: Any, names: Names = NOTHING_SAID, limit: int = 60) -> str:
    """What was decided."""
    return value_text(value, names.outcome, limit)


def outcome_exact(value: Any, names: Names = NOTHING_SAID) -> str:
    """What was decided as it is, where something else is shown."""
    own = text_of(value, 4000)
    return own if own != outcome_text(value, names) else ""
