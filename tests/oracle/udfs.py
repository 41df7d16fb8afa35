"""The UDFs of the oracle's queries: plain functions for the evaluator, the same functions declared with reasons for the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from airflow_lineage_provider import reasoned_udf


@reasoned_udf("string")
def level(x: int | None) -> str:
    return "none" if x is None else "high" if x > 1 else "low"


@level.with_reason
def _(x: int | None) -> tuple[str, Any]:
    return level.main(x), {"x": x}


@reasoned_udf("int")
def blend(x: int | None, s: str | None) -> int | None:
    return None if s is None else (x or 0) % 3 + len(s)


@blend.with_reason
def _(x: int | None, s: str | None) -> tuple[int | None, Any]:
    return blend.main(x, s), {"length": s and len(s), "x": x}


@reasoned_udf("boolean")
def likes(s: str | None) -> bool | None:
    return None if s is None else s.lower() < "b"


@likes.with_reason
def _(s: str | None) -> tuple[bool | None, Any]:
    return likes.main(s), {"lower": s and s.lower()}


@reasoned_udf("string")
def tag(s: str | None) -> str:
    """Declares no reason."""
    return "<null>" if s is None else f"<{s}>"


REASONED = (level, blend, likes, tag)

MAINS: Mapping[str, Callable[..., Any]] = {udf.name: udf.main for udf in REASONED}


def reason(name: str, arguments: tuple[Any, ...]) -> str | None:
    """The reason as it should be stored: what the reasoning mode gives, in the payload's JSON; None where there is none."""
    udf = next(one for one in REASONED if one.name == name)
    if udf.main_with_reason is None:
        return None
    value = udf.main_with_reason(*arguments)[1]
    return json.dumps({"kind": "json", "value": value, "version": 1}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
