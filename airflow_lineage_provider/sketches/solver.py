"""Asking z3: whether what is assumed implies what is claimed, within a limit of time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
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


def terms() -> Any:
    """z3's constructors, by their names, of terms in a context that is this thread's own.

    z3 has one context where none is said, which two threads must not use at once. Nor may one give back what another has made: Python
    collects garbage in whatever thread it happens to be, so contexts take that from all.

    :raises EnvironmentProblem: z3 is not installed.
    """
    z3, found = z3_module(), getattr(_OF_THREAD, "terms", None)
    if found is None:
        found = _OF_THREAD.terms = _terms_of(z3)
    return found


_OF_THREAD = threading.local()


def _terms_of(z3: Any) -> Any:
    context = z3.Context()
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    named = {name: partial(getattr(z3, name), ctx=context) for name in _OF_A_CONTEXT}
    several = {name: partial(_of_several, getattr(z3, name), context) for name in ("And", "Or")}
    return SimpleNamespace(**named, **several, **{name: getattr(z3, name) for name in _OF_OTHERS})


_OF_A_CONTEXT = ("Bool", "BoolVal", "BoolSort", "RealSort", "RealVal", "DeclareSort", "Not", "Implies", "If", "SimpleSolver")
_OF_OTHERS = ("Const", "Function", "is_true", "sat", "unsat", "Z3Exception")
"""Their sorts have the context."""


def _of_several(make: Callable[..., Any], context: Any, *terms: Any) -> Any:
    return make(*terms, context)


@dataclass(frozen=True)
class Answer:
    """What z3 says; ``model`` is a counter-model where the claim is refuted."""

    kind: OneOf["proved", "refuted", "unknown"]
    model: Any = None


def implied(assumed: Iterable[Any], claim: Any, timeout_ms: int = TIMEOUT_MS) -> Answer:
    """Whether the claim holds wherever all that is assumed holds. No answer in time is ``unknown``, never a proof.

    :raises EnvironmentProblem: z3 is not installed.
    """
    z3 = terms()
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
