"""Lineage of a run's rows as rows: backward to the sources, and forward to the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.rows_behind import RowsBehind, asked_so
from airflow_lineage_provider.words import Difference, Subqueries

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.descendants import Descendants
    from airflow_lineage_provider.answers.impact import Impact
    from airflow_lineage_provider.answers.lineage_rows import LineageRows
    from airflow_lineage_provider.deriving.across.onward import Onward
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.explained_run import Target
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Run


class LineageOfRows(RowsBehind):
    """The part of `Run` that asks the maps between its row sets, in both directions."""

    @overload
    def forward(
        self,
        rows: Target | None = ...,
        table: str | None = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        lazy: bool = ...,
        subqueries: Subqueries = ...,
        difference: Difference = ...,
        across: Literal[False] = ...,
        to: str | None = ...,
        save: bool = ...,
        context: Mapping[str, Any] | None = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> LineageRows: ...

    @overload
    def forward(
        self,
        rows: Target | None = ...,
        table: str | None = ...,
        *,
        at: int | Sequence[int] | str | None = ...,
        max_rows: int | None = ...,
        lazy: bool = ...,
        subqueries: Subqueries = ...,
        difference: Difference = ...,
        across: Literal[True],
        to: str | None = ...,
        save: bool = ...,
        context: Mapping[str, Any] | None = ...,
        params: Mapping[str, Any] | None = ...,
        progress: Progress | bool | None = ...,
    ) -> Descendants: ...

    def forward(
        self,
        rows: Target | None = None,
        table: str | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        lazy: bool = True,
        subqueries: Subqueries = "partners",
        difference: Difference = "control",
        across: bool = False,
        to: str | None = None,
        save: bool = False,
        context: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageRows | Descendants:
        """The rows of the result that descend from rows of a source table: the inverse of `backward`, and nothing else.

        ``rows``, ``at`` and ``table`` say which source rows are meant, as `why_not` takes them, at most ``max_rows``
        (`settings.target_limit`), and ``subqueries`` and ``difference`` are as of `backward`. A row of the result descends from a source
        row when the source row is among those that stand behind it; what would be in the result if the source row were another is a
        different question. As of `backward`, ``table`` may name a segment that the run stored, whose rows are meant then; ``to`` asks for
        the rows of one in place of the result's.

        With ``across`` the rows are followed on, into the results of all later recorded runs that read them in the version that this run
        wrote, and so on: the other direction of what `explain` does. Without ``lazy`` captured lineage answers, as from `backward`.
        ``save`` keeps the answer in the store: its ``id`` finds it again (`Lineage.answer`), and ``context`` is kept with it, as of
        `explain`. ``params`` gives secret parameters of the run (and of the others) again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows cannot be meant so.
        :raises AnswerTooLarge: more rows of a result descend from them than `settings.source_limit`.
        :raises NotCaptured: without ``lazy``, what was not captured. :raises InvalidOption: ``across`` without ``lazy``, or with
            ``subqueries`` or ``difference``; rows of a stored segment, or ``to`` one, with ``across`` or ``save``.
        :raises StoreNotPermitted: the answer is to be kept, and the store's user may only read.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished.
        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it. (Of a
            later run the answer's ``remarks`` say it.)
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.answers.lineage_rows import LineageRows
        from airflow_lineage_provider.answers.linked_later import LinkedLater
        from airflow_lineage_provider.deriving.lineage_rows import rows_from
        from airflow_lineage_provider.deriving.numbering import stored_numbering
        from airflow_lineage_provider.deriving.stored_ends import named_end, segment_named

        check_options({"table": table, "max_rows": max_rows, "across": across, "lazy": lazy, "subqueries": subqueries})
        check_options({"difference": difference, "params": params, "save": save, "context": context, "to": to})
        if across and not lazy:
            raise InvalidOption("lazy=False asks what was captured of one run, and across=True asks other runs: take one of them")
        for option, value, other in (("subqueries", subqueries, "partners"), ("difference", difference, "control")):
            if across and value != other:
                raise InvalidOption(f"{option}={value!r} is asked of one run, and across=True asks other runs: take one of them")
        most, end = settings.target_limit() if max_rows is None else max_rows, named_end(self.plan, to)
        if (across or save) and not (end.is_result and segment_named(self.plan, table) is None):
            option = "across=True follows rows of the result on" if across else "save=True keeps rows of the result"
            raise InvalidOption(f"{option}, from rows of a source table: leave {'to' if not end.is_result else 'table'}=… of a segment out")

        def followed(run: AskedRun, onward: Onward) -> LineageRows | Descendants:
            # (Rows are followed on by the numbers that runs give them, and not by those of an output.)
            here = asked(run, by_value=not (across or save), written=not across)
            return onward.follow(here) if across else here

        def asked(run: AskedRun, by_value: bool, written: bool = True) -> LineageRows:
            run = asked_so(run, subqueries, difference)
            return rows_from(
                run, rows, table, at=at, summary=self.summary, limit=most, lazy=lazy, by_value=by_value, written=written, to=end
            )

        def linked() -> LineageRows:
            return self._asking.answered("forward,", params, progress, lambda run: asked(run, by_value=False))

        if save:
            self._asking.check_may_keep()
        found = self._asking.answered_onward("forward,", params, progress, followed)
        if save:
            return self._asking.kept(found, context)
        if isinstance(found, LineageRows):
            found = found.replaced(numbering=stored_numbering(partial(self._asking.answered, "forward,", params, progress), end.name))
        return LinkedLater.of(found, linked) if isinstance(found, LineageRows) and not found.is_linked else found

    def linked(
        self,
        rows: Target | None,
        other: Run,
        table: str | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        lazy: bool = True,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> LineageRows:
        """The rows of another run's result that were made of the source rows behind rows of this run's: a linked brush.

        ``rows``, ``at`` and ``max_rows`` are as of `backward`; both runs have read one table in the same version, which ``table`` names
        where they share several. It is the backward lineage of the rows, and in the ``other`` run the forward lineage of that (Smoke,
        Sec. 2.1). No source row is read, and without ``lazy`` captured lineage of both runs answers, or nobody. ``links`` say which row
        descends from a source row behind which of those that were asked about. ``params`` gives secret parameters of both again.

        :raises InvalidTarget: the runs share no table of one version (says in which files they differ), or several; and as `backward`.
        :raises EmptyTarget, TargetTooLarge, ResultNotStored, AnswerTooLarge, NotCaptured: as `backward`, and `forward`.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises UnsupportedOperator, TracingError: as `forward`. :raises RunNotComplete: one failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.linked import linked_rows, shared_table
        from airflow_lineage_provider.deriving.numbering import stored_numbering

        check_options({"table": table, "max_rows": max_rows, "lazy": lazy, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        shared = shared_table(self.plan, other.plan, table)
        ask, ask_other = (partial(one._asking.answered, "linking", params, progress) for one in (self, other))
        found = linked_rows(ask, ask_other, shared, rows, at=at, summary=other.summary, limit=most, lazy=lazy)
        return found.replaced(numbering=stored_numbering(ask_other))

    def impact(
        self,
        rows: Target | None = None,
        table: str | None = None,
        *,
        revised: Any,
        at: int | Sequence[int] | str | None = None,
        max_rows: int | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> Impact:
        """What it does to the result that source rows are others: what descends from them, what would be gone, and what may appear.

        ``rows``, ``at`` and ``table`` say which source rows are meant, as of `forward`. ``revised`` says what they would be: a dict of
        columns and values that are other in each of them, whole rows in their place (dicts, a pandas frame, an Arrow table), or ``[]``:
        they are removed. The rows that descend from them are those of `forward`; what is gone, and what appears instead (in another
        group, say, or by passing a HAVING, or since nothing takes it away any more), is computed by Spark, of the groups and partitions
        alone that the old and the new rows touch, over the sources as they are now, with the UDFs of the run. Nothing is written.
        ``params`` gives secret parameters again.

        >>> run.impact("client_id = 8", "loans", revised={"amount": 5000.0}).may_appear         # doctest: +SKIP

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the rows, or what they would be, cannot be meant so.
        :raises TracingError: the pipeline has a limit, a random function or one that depends on the order of rows.
        :raises AnswerTooLarge: more rows of the result hang on them than `settings.source_limit`.
        :raises SparkRequired: there is no session. :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.impact import impact_of

        check_options({"table": table, "max_rows": max_rows, "params": params})
        most = settings.target_limit() if max_rows is None else max_rows
        return self._asking.answered(
            "impact,", params, progress, lambda run: impact_of(run, rows, table, at=at, revised=revised, summary=self.summary, limit=most)
        )
