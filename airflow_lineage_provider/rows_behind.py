"""Rows behind rows of a run's result: the part of `Run` that asks backward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.recording import places_of
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import Difference, Subqueries

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.answers.lineage_stream import LineageStream
    from airflow_lineage_provider.answers.refreshed import Refreshed
    from airflow_lineage_provider.answers.witnesses import Witnesses
    from airflow_lineage_provider.asking import Asking
    from airflow_lineage_provider.deriving.across.onward import Onward
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.explained_run import Target
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recording import RecordedPlan

    Ask: TypeAlias = Callable[[Callable[[AskedRun], Any]], Any]


class RowsBehind(ABC):
    """Asks the maps between a run's row sets (`tracing.maps`) backward."""

    _asking: Asking

    @property
    @abstractmethod
    def summary(self) -> RunSummary: ...

    @property
    @abstractmethod
    def plan(self) -> RecordedPlan: ...

    @overload
    def backward(
        self,
        rows: Target | None = ...,
        table: None = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        lazy: bool = ...,
        subqueries: Subqueries = ...,
        difference: Difference = ...,
        by_leaf: bool = ...,
        of: str | None = ...,
        across: bool = ...,
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
        lazy: bool = ...,
        subqueries: Subqueries = ...,
        difference: Difference = ...,
        by_leaf: Literal[False] = ...,
        of: str | None = ...,
        across: bool = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> LineageRows: ...

    @overload
    def backward(
        self,
        rows: Target | None = ...,
        table: str = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        lazy: bool = ...,
        subqueries: Subqueries = ...,
        difference: Difference = ...,
        by_leaf: Literal[True],
        of: str | None = ...,
        across: bool = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> dict[str, LineageRows]: ...

    def backward(
        self,
        rows: Target | None = None,
        table: str | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        lazy: bool = True,
        subqueries: Subqueries = "partners",
        difference: Difference = "control",
        by_leaf: bool = False,
        of: str | None = None,
        across: bool = False,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageRows | dict[str, LineageRows]:
        """The rows of a source table that stand behind rows of the result: the source rows of `explain`, and nothing else.

        ``rows``, or ``at``, are rows of the result as `explain` takes them, at most ``max_rows`` (`settings.target_limit`). ``table`` names
        a source table of this run, as `why_not` does; without it the answer has every one, by name. Other runs are not traced through,
        reasons are not read, and nothing is written into the store. ``subqueries`` is as of `explain`, and so is ``difference``: with
        ``rows`` all rows of the right sides of differences that they passed stand behind them, and else none, since an answer of rows has
        no entries for whole tables. Without ``lazy`` captured lineage answers (`Run.capture`), or nobody. ``params`` gives secret
        parameters of the run again.

        The source rows are known by their keys then, which tell how many there are (`LineageRows.count`) and which (`rids`, `per_target`).
        They are read when they are first needed, and what is raised for reading them is raised then. Of a table that was captured in part,
        or class by class (`CaptureTable`), it is not even found which rows of the result are meant before something is asked of those
        behind them: both is one question then.

        A table that the plan reads at several places is one table; ``by_leaf`` tells the places apart: the answer has the rows of each by a
        name of its own, where a table is named, too.

        Both ends may be a segment that the run stored on the way to its result (`Run.stored`): ``of="segment_1"`` asks about rows of that
        one, with conditions on its columns, and ``table="segment_1"`` for those of its rows that stand behind. Of a source table that is
        called so ``table`` means the source table.

        With ``across`` source rows that other recorded runs wrote are traced on through these runs, as by `explain`: the answer has the
        rows of the tables that no recorded run wrote, which ``table`` names then, and is read at once.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: the rows, or the table, cannot be meant so.
        :raises AnswerTooLarge: when they are read: there are more source rows than `settings.source_limit`.
        :raises NotCaptured: without ``lazy``, what was not captured. (Which rows are meant is found all the same.)
        :raises InvalidOption: ``across`` with ``by_leaf`` or ``of``, or without ``lazy``: these are asked of one run.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.across.behind import named_rows, rows_behind_all
        from airflow_lineage_provider.deriving.numbering import source_numbering

        check_options({"table": table, "max_rows": max_rows, "lazy": lazy, "subqueries": subqueries, "difference": difference})
        check_options({"params": params, "by_leaf": by_leaf, "of": of, "across": across})
        most = settings.target_limit() if max_rows is None else max_rows

        def ask(question: Callable[[AskedRun], Any]) -> Any:
            return self._asking.answered("backward,", params, progress, lambda run: question(asked_so(run, subqueries, difference)))

        if not across:
            return self._behind(ask, rows, table, at=at, of=of, by_leaf=by_leaf, most=most, lazy=lazy)
        if not lazy or by_leaf or of is not None:
            option = "lazy=False" if not lazy else "by_leaf=True" if by_leaf else f"of={of!r}"
            raise InvalidOption(f"{option} is asked of one run, and across=True asks the runs behind it, too: take one of them")
        whole = difference == "rows"

        def question(run: AskedRun, onward: Onward) -> dict[str, LineageRows]:
            asked = replace(run, subqueries=subqueries, difference="control" if whole else "data")
            return rows_behind_all(asked, rows, at=at, limit=most, whole_sides=whole, onward=onward)

        every = self._asking.answered_onward("backward,", params, progress, question)
        found = {name: one if one.keys is None else one.replaced(numbering=source_numbering(ask, name)) for name, one in every.items()}
        return found if table is None else named_rows(found, table)

    def _behind(
        self, ask: Ask, rows: Target | None, table: str | None, *, at: Any, of: str | None, by_leaf: bool, most: int, lazy: bool
    ) -> LineageRows | dict[str, LineageRows]:
        """What stands behind rows of this run's result, or of a segment that it stored: what `backward` gives without ``across``."""
        from airflow_lineage_provider.deriving.lineage_rows import stored_behind
        from airflow_lineage_provider.deriving.numbering import stored_numbering
        from airflow_lineage_provider.deriving.stored_ends import check_behind, named_end, segment_named, tables_behind
        from airflow_lineage_provider.deriving.unread import UnreadBehind, divided_tables

        end, behind = named_end(self.plan, of), segment_named(self.plan, table)
        if behind is not None:
            if by_leaf:
                raise InvalidOption(f"by_leaf=True tells the places apart at which a source table is read, and {table} is no source table")
            check_behind(self.plan, end, behind)
            stored: LineageRows = ask(
                lambda run: stored_behind(run, rows, behind, end=end, at=at, summary=self.summary, limit=most, lazy=lazy)
            )
            return stored.replaced(numbering=stored_numbering(ask, behind.name))
        places = places_of(self.plan, table, by_leaf=by_leaf)
        if not end.is_result:
            own = tables_behind(self.plan, end)
            if table is not None:
                check_behind(self.plan, end, next(iter(places.values())).table)
            places = {name: one for name, one in places.items() if one.table in own}
        divided = frozenset() if by_leaf or not end.is_result else divided_tables(self._asking.record, self.plan, table)
        unread = UnreadBehind(ask=ask, divided=divided, plan=self.plan, summary=self.summary, limit=most, lazy=lazy, end=end)
        here = unread.of(rows, at, places)
        return here if table is None or by_leaf else next(iter(here.values()))

    def witnesses(
        self,
        rows: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        lazy: bool = True,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Witnesses:
        """Which source rows *together* made rows of the result: why-provenance, where `backward` gives the rows table by table.

        ``rows``, ``at``, ``max_rows`` and ``params`` as of `backward`. A row that a join made goes back to one combination of
        rows, a group to one for each row that went into it, a row that IN or EXISTS let pass to one for each partner. Without ``lazy`` what
        was captured answers (``Run.capture(witnesses=True)``), or nobody. Nothing is written.

        :raises UnsupportedOperator: a window function, or a Python function of groups or batches, makes rows of sets of rows as a whole.
        :raises NotCaptured: without ``lazy``, they were not captured. :raises SourceUnavailable: source rows are not there any more.
        :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, AnswerTooLarge, SparkRequired, RunNotComplete: as `backward`.
        """
        from airflow_lineage_provider.deriving.witnesses import witnesses_of

        check_options({"max_rows": max_rows, "lazy": lazy, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        return self._asking.answered(
            "witnesses,", params, progress, lambda run: witnesses_of(run, rows, at=at, summary=self.summary, limit=most, lazy=lazy)
        )

    def refresh(
        self,
        rows: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        lazy: bool = True,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Refreshed:
        """Rows of the result computed anew from the source rows behind them, and whether they are those that are stored.

        ``rows``, ``at``, ``max_rows``, ``lazy`` and ``params`` as of `backward`. The pipeline runs over these source rows alone, with the
        UDFs of the run, in Spark; nothing is written. Rows on the right side of a difference are not among them, so that other rows may
        come out, too.

        :raises TracingError: the pipeline has a limit, a random function or one that depends on the order of rows.
        :raises SparkRequired: there is no session. :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
        :raises NotCaptured: without ``lazy``, the source rows behind them were not captured.
        :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, AnswerTooLarge, RunNotComplete: as `backward`.
        """
        from airflow_lineage_provider.deriving.refresh import refreshed

        check_options({"max_rows": max_rows, "lazy": lazy, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        return self._asking.answered(
            "refresh,", params, progress, lambda run: refreshed(run, rows, at=at, summary=self.summary, limit=most, lazy=lazy)
        )

    def backward_batches(
        self,
        rows: Target | None = None,
        *,
        table: str,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        batch_rows: int = 100_000,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageStream:
        """The rows of `backward` as a stream of Arrow record batches, for answers that are too large to be held.

        The rows of the result are asked about part by part, so that memory hangs on ``batch_rows`` and on what stands behind one row of the
        result, not on their number: `settings.source_limit` holds for each part. Every batch has at most ``batch_rows`` rows: first a
        column ``asked`` (the row of the result, counted from 0 among those asked about; ``asked_2`` where the source table has a column
        that is called so), and then the columns of the source table. Nothing is read before the first batch is asked for.

        :raises InvalidOption: an option is wrong. :raises InvalidTarget: the table cannot be meant so.
        :raises RunNotComplete: the run failed, was dropped, or is still going.

        What else `backward` raises the first batch does, and any batch raises `SourceUnavailable` where rows are not there any more.
        """
        from airflow_lineage_provider.deriving.lineage_stream import parts_behind, stream_behind

        check_options({"table": table, "max_rows": max_rows, "batch_rows": batch_rows, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        parts = self._asking.streamed(
            "backward,", params, progress, lambda run, *_: parts_behind(run, rows, table, at=at, limit=most, batch_rows=batch_rows)
        )
        return stream_behind(self.plan, shown(rows if at is None else at), table, parts)


def asked_so(run: AskedRun, subqueries: Subqueries, difference: Difference) -> AskedRun:
    """A run that is asked for rows: where those of right sides of differences are not among them, nothing is asked of these sides."""
    return replace(run, subqueries=subqueries, difference="rows" if difference == "rows" else "data")
