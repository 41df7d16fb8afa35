"""Answers that know which columns of theirs carry values of others (`Discretion.following`), for who is shown them later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.impact import Impact
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.reasons.discretion import UNTOLD, WITHIN, plain

if TYPE_CHECKING:
    from airflow_lineage_provider.reasons.discretion import Carried

T = TypeVar("T")


class WhenAsked(Mapping[tuple[str, str], frozenset[tuple[str, str]]]):
    """What columns carry, found when somebody is shown an answer without some of them: most answers nobody withholds anything of."""

    def __init__(self, find: Callable[[], Carried]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> Carried:
        return self._find()

    def __getitem__(self, column: tuple[str, str]) -> frozenset[tuple[str, str]]:
        return self._found[column]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def with_carried(answer: T, carried: Callable[[str], Carried]) -> T:
    """The same answer; ``carried`` says of a run, by its id, what the columns of its result and of its sources carry."""
    return _with(answer, carried)  # type: ignore[no-any-return]


def _with(answer: Any, carried: Callable[[str], Carried]) -> Any:
    match answer:
        case Explanation():
            return replace(answer, carried=_of_explanation(answer, carried))
        case LineageRows():
            known = carried(answer.run.id)
            return answer.replaced(carried=WhenAsked(partial(_of_segments, answer, known)) if answer.within else known)
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


def _of_segments(answer: LineageRows, known: Carried) -> Carried:
    """And of the segments that the run stored, what its plan's columns of that name carry; a number may tell columns of one name apart.
    One that the plan is not known to have may carry anything."""
    plan: dict[str, frozenset[tuple[str, str]]] = {}
    for (table, name), of in known.items():
        if table == WITHIN:
            plan[name.casefold()] = plan.get(name.casefold(), frozenset()) | of
    made = {(segment, name): of for segment in answer.within for name, of in plan.items()}
    if answer.table in answer.within:
        for name in answer.rows.column_names:
            own = [plan[one] for one in {name.casefold(), plain(name.casefold()), "*"} if one in plan]
            made[answer.table, name] = frozenset().union(*own) if own else frozenset({UNTOLD})
    return {**known, **made}


def _of_explanation(answer: Explanation, carried: Callable[[str], Carried]) -> Carried:
    """Of its own run; and of the tables between, which are results of other runs.

    Two runs may have different tables of one name, and number them in another way than the answer does: these are taken together.
    """
    made: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}

    def take(table: str, column: str, of: frozenset[tuple[str, str]]) -> None:
        made[table, column] = made.get((table, column), frozenset()) | of

    for name, one in answer.intermediate.items():
        for (table, column), of in carried(one.run.id).items():
            if (table, column) == UNTOLD:  # of its result, and of whatever it read
                for untold in (name, *answer.sources):
                    take(untold, "*", of)
            else:
                take(plain(table) or name, column, of)
    for (table, column), of in carried(answer.run.id).items():
        take(plain(table), column, of)
    return made
