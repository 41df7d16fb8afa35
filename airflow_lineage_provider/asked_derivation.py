"""A question about a recorded run whose answer is kept, as data: a task asks it by itself, or has a driver ask it that it submits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import EmptyTarget, NothingChanged
from airflow_lineage_provider.words import Difference, QuestionKind, Subqueries

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.answers.explanation_set import ExplanationSet
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.why_not import WhyNot
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Run


@dataclass(frozen=True, kw_only=True)
class AskedDerivation:
    """What `Run.explain`, `Run.explain_in_chunks`, `Run.why_not` or `Run.forward` are asked with.

    :ivar run_id: the recorded run, by its whole id.
    :ivar target, rows, at: the rows that are meant: a predicate, rows as mappings, or positions as a text.
    :ivar table: the source table that they are of, where they are source rows.
    :ivar in_chunks: so many rows (``chunk_rows``) have an answer of their own; ``asked_by`` and ``occasion`` as of `Run.explain_in_chunks`.
    :ivar is_onward: with ``forward``, into later runs. :ivar across: with ``explain``, through the runs that wrote what was read.
    :ivar allow_empty: that no row is meant is an answer.
    """

    run_id: str
    question: QuestionKind = "explain"
    target: str | None = None
    rows: tuple[Mapping[str, object], ...] | None = None
    at: str | None = None
    table: str | None = None
    since: str | None = None
    in_chunks: bool = False
    chunk_rows: int | None = None
    asked_by: str = ""
    occasion: str = ""
    max_rows: int | None = None
    verify: bool = False
    difference: Difference = "control"
    subqueries: Subqueries = "partners"
    across: bool = True
    is_onward: bool = False
    allow_empty: bool = False

    def answered(
        self, run: Run, *, params: Mapping[str, Any] | None, context: Mapping[str, Any], progress: Progress
    ) -> Explanation | ExplanationSet | WhyNot | LineageRows | Descendants:
        """The answer, which is kept, with the ``context`` of who asked.

        :raises LineageError: as the methods of `Run` do.
        """
        target: Any = list(self.rows) if self.rows is not None else self.target
        asked: dict[str, Any] = {"at": self.at, "max_rows": self.max_rows, "params": params, "context": context, "progress": progress}
        if self.question == "why_not":
            return run.why_not(target, table=self.table, save=True, **asked)
        if self.question == "forward":
            follow: Any = run.forward
            found: LineageRows | Descendants = follow(target, table=self.table, save=True, across=self.is_onward, **asked)
            return found
        asked |= {name: getattr(self, name) for name in ("since", "verify", "difference", "subqueries", "across")}
        if self.in_chunks:
            return run.explain_in_chunks(target, chunk_rows=self.chunk_rows, asked_by=self.asked_by, occasion=self.occasion, **asked)
        return run.explain(target, **asked)

    def may_be_empty(self, nothing: EmptyTarget) -> bool:
        """Whether it is an answer that no row is meant: always where none is new or has changed."""
        return self.allow_empty or isinstance(nothing, NothingChanged)


def kept_answer(
    lineage: Lineage, run_id: str, context: Mapping[str, Any]
) -> Explanation | ExplanationSet | WhyNot | LineageRows | Descendants | None:
    """The answer about a run that one try of a task instance has kept, the newest; None where there is none."""
    found = [one for one in lineage.lasting(lambda: lineage.store.derivations(run_id)) if _try(one.airflow or {}) == _try(context)]
    if not found:
        return None
    place = found[0].place
    return lineage.answer(found[0].id) if place is None else lineage.explanation_set(place.set_id)


def _try(context: Mapping[str, Any]) -> list[Any]:
    return [context.get(name) for name in ("dag_id", "run_id", "task_id", "map_index", "try_number")]
