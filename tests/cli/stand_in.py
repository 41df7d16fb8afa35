"""A small stand-in for the facade, whose calls are recorded."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from airflow_lineage_provider.answers.batches import Batch, ExplainedBatch, ExplainedBatches
from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.explanation_stream import ExplanationStream
from airflow_lineage_provider.answers.impact import Impact
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.storage import RecordedUdf, SegmentNotStored, StoredTable
from airflow_lineage_provider.answers.tables import SourceTable
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.records.batches import BatchSpan, NotAsked
from airflow_lineage_provider.records.sketches import SketchUse
from tests.deriving import kept_examples
from tests.render import explanation_examples as examples

if TYPE_CHECKING:
    pass


SUMMARY = RunSummary(
    id="run-1", pipeline="examination", status="complete", started="2025-12-31T06:00:00+00:00", seconds=1.5,
    strategy="function_materialization", reasons="lazy", rows=2, error="",
)  # fmt: skip


def explanation() -> Explanation:
    client = pa.table({"id": ["0002"], "name": ["Joa"]})
    return Explanation(
        id="derivation-1", run=SUMMARY, asked="judge = 'Reject'", target=pa.table({"judge": ["Reject"]}), result_rows=2,
        sources={"client": SourceTable(client, guarantee=EXACT)}, reasons={}, target_links=examples.links(),
    )  # fmt: skip


def lineage_rows(run: RunSummary, table: str) -> LineageRows:
    """One row of a table, with a column that may be withheld."""
    return LineageRows(
        run=run, asked="name = 'Joa'", table=table, rows=pa.table({"id": ["0002"], "name": ["Joa"]}),
        links=pa.table({"asked": [0], "row": [0]}), guarantee=EXACT, engine="lazy: duckdb", asked_rows=1, numbers=(7,),
    )  # fmt: skip


class FakeRun:
    def __init__(self, lineage: FakeLineage, run_id: str) -> None:
        self.lineage = lineage
        self.id = run_id
        self.summary = RunSummary(**{**vars(SUMMARY), "id": run_id, **FakeLineage.changes})

    stored: ClassVar[tuple[StoredTable, ...]] = (
        StoredTable(
            segment=0,
            kind="non_d",
            name="result",
            operator="φ credit_exam(income) → judge",
            rows=2,
            bytes=16384,
            because="it is the result",
        ),
    )
    not_stored: ClassVar[tuple[SegmentNotStored, ...]] = (SegmentNotStored(segment=1, kind="d", operator="▷ (id = id_2)", because=""),)

    udfs: ClassVar[tuple[RecordedUdf, ...]] = (RecordedUdf(name="credit_exam", version="1", module="udfs.credit", found_in="module"),)

    lineage_lost = ""
    sketches: ClassVar[tuple[SketchUse, ...]] = ()

    def result_table(self, limit: int | None = None) -> pa.Table:
        return pa.table({"judge": ["Accept", "Reject"]}).slice(0, limit)

    def explain(
        self,
        target: Any = None,
        *,
        at: Any = None,
        since: str | None = None,
        max_rows: int | None = None,
        verify: bool = False,
        difference: str = "control",
        subqueries: str = "partners",
        across: bool = True,
        save: bool = True,
        progress: Any = None,
    ) -> Explanation:
        FakeLineage.calls.append(("explain", self.id, target, max_rows, verify, self.lineage.spark))
        FakeLineage.calls.append(("difference", difference))
        FakeLineage.calls.append(("subqueries", subqueries))
        FakeLineage.calls.append(("at", at))
        FakeLineage.calls.append(("since", since))
        progress("tracing")
        needs_spark = FakeLineage.on_explain(self.lineage.spark)
        if needs_spark:
            FakeLineage.calls.append(("goes on with", self.lineage.start_spark(needs_spark)))
        return explanation()

    def explain_stream(self, target: Any = None, *, progress: Any = None, **options: Any) -> ExplanationStream:
        FakeLineage.calls.append(("explain_stream", self.id, target, options))
        parts = (replace(explanation(), asked=f"judge = 'Reject': rows {row} to {row} of 2") for row in (1, 2))
        return ExplanationStream(asked="judge = 'Reject'", parts=parts)

    index: ClassVar[None] = None

    def capture(self, direction: str = "both", *, progress: Any = None, **options: Any) -> None:
        FakeLineage.calls.append(("capture", self.id, direction, options))

    def forget_captured(self) -> None:
        FakeLineage.calls.append(("forget_captured", self.id))

    def backward(self, rows: Any = None, table: str | None = None, *, progress: Any = None, **options: Any) -> Any:
        FakeLineage.calls.append(("backward", self.id, rows, table, options))
        if progress is not None:
            progress("tracing")
        found = {name: lineage_rows(self.summary, name) for name in ("client", "loans") if table in (None, name)}
        return found if table is None else found[table]

    def forward(self, rows: Any = None, table: str | None = None, *, across: bool = False, progress: Any = None, **options: Any) -> Any:
        FakeLineage.calls.append(("forward", self.id, rows, table, across, options))
        progress("following")
        here = lineage_rows(self.summary, "result")
        later = {"run-2": lineage_rows(RunSummary(**{**vars(SUMMARY), "id": "run-2", "pipeline": "letters"}), "result")}
        remark = Guarantee(level="unavailable", cause="run run-3 of quarterly, which may have read rows of it, is withheld")
        return Descendants(here=here, later=later, deciding=frozenset({"run-2"}), remarks=(remark,)) if across else here

    def why_not(self, rows: Any = None, *, progress: Any = None, save: bool = False, **options: Any) -> WhyNot:
        FakeLineage.calls.append(("why_not", self.id, rows, save, options))
        return kept_examples.why_not(id="why-not-1" if save else "")

    def linked(self, rows: Any, other: FakeRun, table: str | None = None, *, progress: Any = None, **options: Any) -> Any:
        FakeLineage.calls.append(("linked", self.id, rows, other.id, table, options))
        return lineage_rows(other.summary, "result")

    def impact(self, rows: Any = None, table: str | None = None, *, revised: Any, progress: Any = None, **options: Any) -> Any:
        FakeLineage.calls.append(("impact", self.id, rows, table, revised, options))
        found = lineage_rows(self.summary, "result")
        return Impact(touched=found, gone=found, may_appear=found, unchanged=found, revised=repr(revised))

    def close(self) -> None:
        FakeLineage.calls.append(("close", self.id))


class FakeLineage:
    """The facade's calls, recorded."""

    calls: ClassVar[list[tuple[Any, ...]]] = []
    changes: ClassVar[dict[str, Any]] = {}
    on_explain: ClassVar[Any]
    on_run: ClassVar[Any]

    def __init__(self, spark: Any = None, *, store: str | None = None, on_store_failure: str = "fail", start_spark: Any = None) -> None:
        self.spark = spark
        self.start_spark = start_spark
        self.calls.append(("open", spark, store))

    def __enter__(self) -> FakeLineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls.append(("closed",))

    def run(self, pipeline: Any, *, progress: Any, **options: Any) -> FakeRun:
        progress("computing")
        self.calls.append(("run", pipeline, options))
        type(self).on_run(pipeline)
        return FakeRun(self, "run-1")

    def runs(self, pipeline: str | None = None, limit: int = 50) -> list[RunSummary]:
        self.calls.append(("runs", pipeline, limit))
        return [SUMMARY][:limit]

    def batches(self, pipeline: str, *, query: str | None = None, limit: int | None = 50) -> list[Batch]:
        self.calls.append(("batches", pipeline, query, limit))
        return [Batch(query="q-1", batch=number, run=SUMMARY) for number in (7, 8)]

    def explain_batches(self, pipeline: str, target: Any, **options: Any) -> ExplainedBatches:
        self.calls.append(("explain_batches", pipeline, target, options))
        lost = NotAsked(status="failed", count=3, spans=(BatchSpan(query="q-1", first=2, last=4),))
        explained = [ExplainedBatch(query="q-1", batch=number, explanation=explanation()) for number in (7, 8)]
        return ExplainedBatches(explained, not_asked={"failed": lost})

    def latest(self, pipeline: str | None = None) -> FakeRun:
        return FakeRun(self, "latest")

    def get_run(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> FakeRun:
        if run_id.startswith("no") or (whole and not re.fullmatch(r"run-\d", run_id)):
            raise RunNotFound(f"there is no run {run_id!r}")
        return FakeRun(self, run_id)

    def summary(self, run_id: str, pipeline: str | None = None, *, whole: bool = False) -> RunSummary:
        return self.get_run(run_id, pipeline, whole=whole).summary

    def derivation(self, derivation_id: str) -> Explanation:
        self.calls.append(("derivation", derivation_id))
        return explanation()

    def answer(self, derivation_id: str) -> Explanation | WhyNot | Descendants:
        self.calls.append(("answer", derivation_id))
        if derivation_id == "why-not-1":
            return kept_examples.why_not(id=derivation_id)
        return kept_examples.descendants(id=derivation_id) if derivation_id == "forward-1" else explanation()

    def drop(self, run_id: str) -> None:
        self.calls.append(("drop", run_id))


def named(calls: list[tuple[Any, ...]], name: str) -> list[tuple[Any, ...]]:
    return [call for call in calls if call[0] == name]
