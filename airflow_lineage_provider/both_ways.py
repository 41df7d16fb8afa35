"""Lineage of a run's rows as rows: backward to the sources, and forward to the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from airflow_lineage_provider import settings
from airflow_lineage_provider.options import check_options

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Target

Answer = TypeVar("Answer")


class LineageOfRows(ABC):
    """The part of `Run` that asks the maps between its row sets (`tracing.maps`)."""

    @property
    @abstractmethod
    def summary(self) -> RunSummary: ...

    @abstractmethod
    def _answered(
        self, what: str, params: Mapping[str, Any] | None, progress: Progress | bool | None, question: Callable[[AskedRun], Answer]
    ) -> Answer: ...

    @overload
    def backward(
        self,
        rows: Target | None = ...,
        table: None = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> dict[str, LineageRows]: ...

    @overload
    def backward(
        self,
        rows: Target | None = ...,
        table: str = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> LineageRows: ...

    def backward(
        self,
        rows: Target | None = None,
        table: str | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageRows | dict[str, LineageRows]:
        """The rows of a source table that stand behind rows of the result: the source rows of `explain`, and nothing else.

        ``rows``, or ``at``, are rows of the result as `explain` takes them, at most ``max_rows`` (`settings.target_limit`). ``table`` names
        a source table of this run, as `why_not` does; without it the answer has every one, by name. Other runs are not traced through,
        reasons are not read, and nothing is written into the store. ``params`` gives secret parameters of the run again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows, or the table, cannot be meant so.
        :raises AnswerTooLarge: there are more source rows than `settings.source_limit`.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.lineage_rows import rows_behind

        check_options({"table": table, "max_rows": max_rows, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        found = self._answered(
            "backward,", params, progress, lambda run: rows_behind(run, rows, table, at=at, summary=self.summary, limit=most)
        )
        return found if table is None else next(iter(found.values()))

    def forward(
        self,
        rows: Target | None = None,
        table: str | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageRows:
        """The rows of the result that descend from rows of a source table: the inverse of `backward`, and nothing else.

        ``rows``, ``at`` and ``table`` say which source rows are meant, as `why_not` takes them, at most ``max_rows``
        (`settings.target_limit`). A row of the result descends from a source row when the source row is among those that stand behind
        it; what would be in the result if the source row were another is a different question. ``params`` gives secret parameters of the
        run again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows cannot be meant so.
        :raises AnswerTooLarge: more rows of the result descend from them than `settings.source_limit`.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished.
        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.lineage_rows import rows_from

        check_options({"table": table, "max_rows": max_rows, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        return self._answered(
            "forward,", params, progress, lambda run: rows_from(run, rows, table, at=at, summary=self.summary, limit=most)
        )
