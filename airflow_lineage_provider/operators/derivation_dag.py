"""The DAG that answers questions which need Spark: the lineage tab triggers it, with the rights of the person who asks.

It is there where a file in the DAG folder makes it (``dags/lineage_derivation.py`` is one to be copied), and paused until somebody unpauses
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from airflow.sdk import DAG, Param

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.words import QuestionKind, check_word

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.asked_derivation import AskedDerivation
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run

DAG_ID = "lineage_derivation"
_OF_ROWS = ("target", "counts")
"""What of a derivation's XCom result tells of rows: who reads a DAG's tasks need not be one who may read the rows."""


class AskedDerivationOperator(DeriveAugmentedLineageOperator):
    """A derivation whose question are the parameters of the DAG run: ``question``, ``lineage_run_id``, and ``target``, ``at`` or ``row``.

    These name rows of the result to be explained; or, where the question is ``why_not`` or ``forward``, rows of the source ``table``, which
    are asked about as `Run.why_not` and `Run.forward` do it: with ``across``, also in later runs. One of these may be named by its place in
    an explanation (`RowPlace`): no value of it stands in the DAG run then, whose readers need not be those who may read the rows. Its XCom
    has none, either: what was asked, and how many rows there were, is in the stored answer alone.

    With ``chunk_rows`` an explanation comes in chunks, but about a run that did not store its result: rows that are made again have no
    lasting order, and are one answer. So are the answers to the other questions.

    The question is no template. What `AIRFLOW_LINEAGE_HIDE` and the settings beside it withhold may be in none.

    :raises InvalidOption: there is no such question, or a parameter is not one of this question's.
    :raises InvalidTarget: the target reads a column that is withheld, or not exactly one of ``target``, ``at`` and ``row`` is given; the
        table of source rows is not named, or not the run's; another row stands at the place, or none.
    """

    question: QuestionKind = "explain"
    table: str | None = None
    row: Mapping[str, Any] | None = None
    is_onward = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(target="true", lineage_run_id="{{ params.lineage_run_id }}", **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        """Derive what the parameters ask, store it, and give the XCom result."""
        params = context["params"]
        self.target, self.at = params["target"] or None, params["at"] or None
        self.question, self.table, self.is_onward = params["question"], params["table"] or None, params["across"]
        self.row = params["row"] or None
        return super().execute(context)

    def _handed_on(self, found: dict[str, Any], context: Context) -> dict[str, Any]:
        return super()._handed_on({name: value for name, value in found.items() if name not in _OF_ROWS}, context)

    def _derived(self, lineage: Lineage, context: Context) -> dict[str, Any]:
        from airflow_lineage_provider.errors import InvalidTarget, TargetError

        try:
            return super()._derived(lineage, context)
        except TargetError as problem:
            if self.row is None or isinstance(problem, InvalidTarget):
                raise
            # Its message has the values by which the row was asked about.
            told = f"the row that the DAG run names is not to be followed in {self.table} ({type(problem).__name__})"
            raise InvalidTarget(f"{told}: open the explanation anew, and ask from there") from None

    def _is_in_chunks(self, run: Run) -> bool:
        return super()._is_in_chunks(run) and 0 in run.plan.materialized

    def _question_about(self, run: Run, context: Context) -> AskedDerivation:
        return replace(super()._question_about(run, context), question=self.question, table=self.table, is_onward=self.is_onward)

    def _named_run(self, lineage: Lineage) -> Run:
        from airflow_lineage_provider.deriving.target import target_columns
        from airflow_lineage_provider.errors import InvalidTarget
        from airflow_lineage_provider.render.askable import check_askable

        self._check_question()
        if sum(one is not None for one in (self.target, self.at, self.row)) != 1:
            raise InvalidTarget("the DAG run must name the rows that are meant in exactly one way: by its parameter target, at, or row")
        run = lineage.get_run(str(self.lineage_run_id), whole=True)
        if self.row is not None:
            self.target = self._row_meant(lineage, self.row)
        if self.question != "explain":
            self._check_source_rows(run)
        elif isinstance(self.target, str):
            check_askable(target_columns(self.target, run.plan), run.plan)
        return run

    def _row_meant(self, lineage: Lineage, place: Mapping[str, Any]) -> str:
        """The predicate of the row at a place in an explanation, which is made again for it, without reasons."""
        from airflow_lineage_provider.answers.explanation import Explanation
        from airflow_lineage_provider.errors import InvalidTarget
        from airflow_lineage_provider.render.source_row import RowPlace, row_again

        at = RowPlace.read(place)
        run, calls_udfs = lineage.get_run(at.run_id, whole=True), lineage.calls_udfs
        if at.derivation is not None:
            found = lineage.answer(at.derivation)
            if not isinstance(found, Explanation) or found.run.id != run.id:
                raise InvalidTarget(f"the stored answer {at.derivation} is no explanation of rows of run {run.id}")
            return row_again(found, at, run.record)
        lineage.calls_udfs = False
        try:
            return row_again(run.explain(at.where, at=at.at, save=False), at, run.record)
        finally:
            lineage.calls_udfs = calls_udfs

    def _check_question(self) -> None:
        from airflow_lineage_provider.errors import InvalidOption, InvalidTarget

        check_word("question", self.question, QuestionKind)
        if self.is_onward and self.question != "forward":
            raise InvalidOption(f"across is a parameter of the question forward, which follows rows on, and not of {self.question}")
        if self.question == "explain" and (self.table is not None or self.row is not None):
            raise InvalidOption("table and row are parameters of the questions why_not and forward, about source rows, and not of explain")
        if self.question != "explain" and self.table is None:
            raise InvalidTarget(f"{self.question} is asked of source rows: the DAG run must name their table by its parameter table")

    def _check_source_rows(self, run: Run) -> None:
        from airflow_lineage_provider.deriving.why_not.question import asked_of, columns_read
        from airflow_lineage_provider.render.askable import check_source_askable

        asked = asked_of(self.target, self.table, run.plan, at=self.at)
        check_source_askable(columns_read(asked), asked.table, run.plan)


def derivation_dag(
    dag_id: str = DAG_ID,
    *,
    store_conn_id: str | None = None,
    conn_id: str | None = None,
    config_kwargs: dict[str, Any] | None = None,
    max_rows: int | None = 100_000,
    chunk_rows: int | None = 1_000,
    deferrable: bool | None = None,
    **options: Any,
) -> DAG:
    """The DAG. ``options`` are those of any DAG.

    :param dag_id: its id; the tab looks for that of ``AIRFLOW_LINEAGE_DERIVATION_DAG``.
    :param store_conn_id, conn_id, config_kwargs, max_rows: as of `DeriveAugmentedLineageOperator`.
    :param chunk_rows: so many rows have an explanation of their own, which can be opened while the others are derived; with None all have
        one.
    :param deferrable: as of `DeriveAugmentedLineageOperator`.
    """
    given = {
        "schedule": None,
        "catchup": False,
        "is_paused_upon_creation": True,
        "tags": ["lineage"],
        "doc_md": "Answers questions of the lineage tab that need Spark, and keeps the answers in the results store.",
        "params": _params(),
    }
    with DAG(dag_id, **{**given, **options}) as dag:
        AskedDerivationOperator(
            task_id="derive", store_conn_id=store_conn_id, conn_id=conn_id, config_kwargs=config_kwargs, max_rows=max_rows,
            chunk_rows=chunk_rows, deferrable=deferrable,
        )  # fmt: skip
    return dag


def _params() -> dict[str, Param]:
    of = "a predicate over the columns of the result, or of the source table"
    return {
        "question": Param(
            "explain", type="string", enum=list(get_args(QuestionKind)),
            description="why rows of the result are as they are, why source rows are not in it, or what they touched",
        ),
        "lineage_run_id": Param(type="string", minLength=1, description="the recorded run that is asked about: its whole id"),
        "target": Param(None, type=["null", "string"], maxLength=20_000, description=of),
        "at": Param(None, type=["null", "string"], maxLength=2_000, description="or positions of rows there: 0,3"),
        "table": Param(None, type=["null", "string"], maxLength=500, description="the source table, where its rows are asked about"),
        "row": Param(None, type=["null", "object"], description="or one of them, by its place in an explanation, as the tab names it"),
        "across": Param(False, type="boolean", description="with forward: what they touched in later runs, too"),
    }  # fmt: skip
