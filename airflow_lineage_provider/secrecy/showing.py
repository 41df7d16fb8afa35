"""Answers without the secret parameters that they were derived with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from airflow_lineage_provider.secrecy.sealing import Secrets

T = TypeVar("T")


def without_secrets(answer: T, secrets: Secrets) -> T:
    """The same answer with every text of it (causes, operators, queries, its plan) as `Secrets.hidden` has it; rows stay."""
    found: T = _hidden(answer, secrets) if secrets.values else answer
    return found


def _hidden(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return secrets.hidden(value)
    if isinstance(value, tuple):
        return tuple(_hidden(each, secrets) for each in value)
    if isinstance(value, Mapping):
        return {name: _hidden(each, secrets) for name, each in value.items()}
    if type(value).__name__ == "Literal" and value.value is not None:
        return replace(value, value=secrets.sealed_literal(value.value, value.type))
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _hidden(getattr(value, f.name), secrets) for f in fields(value)}
        return type(value)(**changed)
    return value
