"""Asking z3: whether what is assumed implies what is claimed, within a limit of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from airflow_lineage_provider.extras import require

TIMEOUT_MS = 1000
"""So long one question may take; what is not answered then counts as not proved."""


def z3_module() -> Any:
    """z3, imported when it is first needed.

    :raises EnvironmentProblem: it is not installed; names the extra that has it.
    """
    return require("z3", "sketches", "proving which columns a sketch may be of")


@dataclass(frozen=True)
class Answer:
    """What z3 says; ``model`` is a counter-model where the claim is refuted."""

    kind: OneOf["proved", "refuted", "unknown"]
    model: Any = None


def implied(assumed: Iterable[Any], claim: Any, timeout_ms: int = TIMEOUT_MS) -> Answer:
    """Whether the claim holds wherever all that is assumed holds. No answer in time is ``unknown``, never a proof.

    :raises EnvironmentProblem: z3 is not installed.
    """
    z3 = z3_module()
    if z3.is_true(claim):
        return Answer("proved")
    solver = z3.SimpleSolver()
    solver.set("timeout", timeout_ms)
    solver.add(*assumed, z3.Not(claim))
    try:
        found = solver.check()
    except z3.Z3Exception:
        return Answer("unknown")
    if found == z3.unsat:
        return Answer("proved")
    return Answer("refuted", solver.model()) if found == z3.sat else Answer("unknown")
