"""Answers that know which columns of theirs carry values of others (`Discretion.following`), for who is shown them later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.impact import Impact
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons.discretion import Carried

T = TypeVar("T")


def with_carried(answer: T, carried: Callable[[str], Carried]) -> T:
    """The same answer; ``carried`` says of a run, by its id, what the columns of its result and of its sources carry."""
    return _with(answer, carried)  # type: ignore[no-any-return]


def _with(answer: Any, carried: Callable[[str], Carried]) -> Any:
    match answer:
        case Explanation():
            return replace(answer, carried=_of_explanation(answer, carried))
        case LineageRows():
            return answer.replaced(carried=carried(answer.run.id))
        case WhyNot():
            return replace(answer, carried=carried(answer.run.id))
        case Descendants():
            later = {run_id: _with(one, carried) for run_id, one in answer.later.items()}
            return replace(answer, here=_with(answer.here, carried), later=later)
        case Impact():
            return replace(
                answer, **{name: _with(getattr(answer, name), carried) for name in ("touched", "gone", "may_appear", "unchanged")}
            )
        case dict():
            return {name: _with(one, carried) for name, one in answer.items()}
    return answer


def _of_explanation(answer: Explanation, carried: Callable[[str], Carried]) -> Carried:
    """Of its own run; and of the tables between, which are results of other runs."""
    between = {
        (name, column): of for name, one in answer.intermediate.items() for (table, column), of in carried(one.run.id).items() if not table
    }
    # (A source table that another run read is called as that run called it.)
    further = {key: of for one in answer.intermediate.values() for key, of in carried(one.run.id).items() if key[0]}
    return {**further, **between, **carried(answer.run.id)}
