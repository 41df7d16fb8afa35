"""Lineage across pipelines: source rows that another recorded run wrote are traced on, through any number of runs, to the real sources.

The version that was read decides which run it was (`made_by`). A run that is reached on several ways (a diamond) is derived once, with
all the rows that were read of it: the newest run that is still to be derived comes first, and what it read is older than itself, so
that nobody can ask for more of it later. That is also why a table that feeds its own next version is followed to its beginning, and ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.merge import merged
from airflow_lineage_provider.deriving.across.output_rows import OutputRows, ReadBack
from airflow_lineage_provider.deriving.across.stored_outputs import written_rows
from airflow_lineage_provider.deriving.across.writers import MadeBy, made_by
from airflow_lineage_provider.deriving.derive import derive_rows
from airflow_lineage_provider.errors import LineageError, SparkRequired, StoreUnavailable
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derive import Derived
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.sources import SourceRows
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.store import WrittenPlace

_NOBODYS = RunRecord(pipeline="")
MOST_ROWS = 100_000
"""More rows of one run's output than these are not traced on, and that is said."""


@dataclass(kw_only=True)
class Crossing:
    """One source table of a derived run, of which recorded runs wrote what was read.

    ``onward`` has for each row where it went on: runs, and row numbers among the rows of theirs that were derived. ``ways`` says what the
    way to each run is worth. ``remarks`` are for rows that ended here: whether they should not have (a guarantee's level) and why.
    ``withheld``: its rows are not to be shown.
    """

    made: MadeBy
    candidates: dict[int, list[tuple[str, int | None]]] = field(default_factory=dict)
    onward: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    ways: dict[str, list[Guarantee]] = field(default_factory=dict)
    remarks: list[Guarantee] = field(default_factory=list)
    withheld: bool = False


@dataclass(kw_only=True)
class Step:
    """A run that was derived on the way, with its source tables that other runs wrote; ``table`` is its output, as a reader calls it."""

    derived: Derived
    table: str
    crossings: dict[str, Crossing] = field(default_factory=dict)


class Across:
    """Traces a derivation on, through the runs behind its sources.

    ``open_run`` gives a run to be asked, ``describe`` what a person wants to know of its record. ``may_read`` says whether the rows that a
    run wrote may be in the answer; where not, it says that they are withheld.
    """

    def __init__(
        self,
        runs: KnownRuns,
        open_run: Callable[[str], AskedRun],
        describe: Callable[[RunRecord], RunSummary],
        difference: Difference,
        limit: int,
        may_read: Callable[[RunRecord], bool] = lambda _: True,
    ) -> None:
        self._runs = runs
        self._may_read = may_read
        self._open = open_run
        self._describe = describe
        self._difference = difference
        self._limit = max(limit, MOST_ROWS)
        self._steps: dict[str, Step] = {}
        self._pending: dict[str, list[ReadBack]] = {}

    def trace(self, derived: Derived, explanation: Explanation) -> Explanation:
        """The explanation with the real sources.

        :raises SparkRequired: a part of the answer needs a Spark session, and there is none.
        """
        self._enter(explanation.run.id, Step(derived=derived, table=""))
        while self._pending:
            run_id = max(self._pending)
            self._derive(run_id, self._pending.pop(run_id))
        for step in self._steps.values():
            for table, crossing in step.crossings.items():
                _judge(table, crossing, step.derived.sources.rows[table])
        summaries = {run_id: self._describe(self._runs.run(run_id)) for run_id in self._unread()}
        return merged(explanation, self._steps, summaries)

    def _enter(self, run_id: str, step: Step) -> None:
        self._steps[run_id] = step
        for table, recorded in step.derived.sources.tables.items():
            made = made_by(self._runs, recorded, run_id)
            if not made.runs:
                continue
            rows = step.derived.sources.rows[table]
            secret = next((one for one in made.runs.values() if not self._shows(one.run_id)), None)
            if secret is not None:
                step.crossings[table] = _withheld(table, made, secret)
                continue
            crossing = step.crossings[table] = Crossing(made=made, candidates=_candidates(recorded, rows, made))
            for wanted in made.runs.values():
                self._ask(run_id, table, crossing, wanted.run_id, rows)

    def _shows(self, run_id: str) -> bool:
        """Whether the rows that a run wrote may be shown; not where its record cannot be read, so that nobody knows whose they are."""
        try:
            return self._may_read(self._runs.run(run_id))
        except StoreUnavailable:
            raise
        except LineageError:
            return self._may_read(_NOBODYS)

    def _ask(self, reader: str, table: str, crossing: Crossing, run_id: str, rows: SourceRows) -> None:
        """Put the rows that may be of a run down for its derivation; the rows of a run that is gone end here."""
        import pyarrow as pa

        asked = [(at, number) for at, of in crossing.candidates.items() for candidate, number in of if candidate == run_id]
        if not asked:
            return
        made = crossing.made.runs[run_id]
        if made.status != "complete":
            text = f"written by run {run_id} of {made.pipeline}, which is {made.status}: not traced further"
            crossing.remarks.append(Guarantee(level="exact", cause=text))
            return
        chosen = rows.table.take(pa.array([at for at, _ in asked], pa.int64()))
        places, numbers = tuple(at for at, _ in asked), tuple(number for _, number in asked)
        self._pending.setdefault(run_id, []).append(ReadBack(reader=reader, table=table, rows=chosen, at=places, numbers=numbers))

    def _derive(self, run_id: str, batches: list[ReadBack]) -> None:
        rows = sum(len(batch.at) for batch in batches)
        pipeline = self._made(run_id, batches[0]).pipeline
        try:
            if rows > self._limit:
                raise LineageError(f"{rows:,} of its rows were read, more than {self._limit:,}")
            run = self._open(run_id)
            target = OutputRows(batches, run.recorded)
            derived = derive_rows(run, target, summary=self._describe(run.record), difference=self._difference)
        except SparkRequired as needed:
            raise SparkRequired(f"run {run_id} of {pipeline}, which wrote {batches[0].table}: {needed}") from needed
        except StoreUnavailable:
            raise
        except LineageError as problem:
            text = f"written by run {run_id} of {pipeline}, which could not be traced: {problem}"
            for batch in batches:
                self._steps[batch.reader].crossings[batch.table].remarks.append(Guarantee(level="unavailable", cause=text))
            return
        position = {number: at for at, number in enumerate(derived.numbers)}
        for batch, matches in zip(batches, target.matches, strict=True):
            crossing = self._steps[batch.reader].crossings[batch.table]
            for at, numbers in zip(batch.at, matches, strict=True):
                if numbers:
                    crossing.onward.setdefault(at, []).extend((run_id, position[number]) for number in numbers)
        self._enter(run_id, Step(derived=derived, table=batches[0].table))

    def _made(self, run_id: str, batch: ReadBack) -> WrittenPlace:
        return self._steps[batch.reader].crossings[batch.table].made.runs[run_id]

    def _unread(self) -> list[str]:
        """The runs behind tables of which no row was reached: one for each table, the newest."""
        crossings = [crossing for step in self._steps.values() for crossing in step.crossings.values()]
        return [next(iter(crossing.made.runs)) for crossing in crossings if not crossing.candidates]


def _withheld(table: str, made: MadeBy, writer: WrittenPlace) -> Crossing:
    text = f"the rows of {table} are withheld: run {writer.run_id} of {writer.pipeline} wrote them, whose rows may not be shown to who asks"
    return Crossing(made=made, remarks=[Guarantee(level="unavailable", cause=text)], withheld=True)


def _candidates(recorded: RecordedSource, rows: SourceRows, made: MadeBy) -> dict[int, list[tuple[str, int | None]]]:
    """For each row of a source table the runs that may have written it, with the row's number in the run's result where it is known."""
    if recorded.identity.kind != "file_position":
        return {at: [(run_id, None) for run_id in made.runs] for at in range(rows.table.num_rows)}
    return {at: [found] for at, found in enumerate(written_rows(recorded, rows.keys.keys, made)) if found is not None}


def _judge(table: str, crossing: Crossing, rows: SourceRows) -> None:
    """What the way from a source table to the runs behind it is worth."""
    lost = [at for at, of in crossing.candidates.items() if at not in crossing.onward and _should_be_found(crossing, of)]
    several = [at for at, found in crossing.onward.items() if len(found) > 1]
    foreign = [at for at in crossing.onward if len(crossing.candidates[at]) and not crossing.made.complete and not crossing.made.files]
    verdicts = [rows.guarantee]
    if lost:
        runs = ", ".join(dict.fromkeys(run_id for at in lost for run_id, _ in crossing.candidates[at]))
        text = f"{len(lost):,} rows of {table} are not in the result of run {runs} as they were read: they are not traced further"
        verdicts.append(Guarantee(level="unavailable", cause=text))
        crossing.remarks.append(verdicts[-1])
    if several:
        text = f"{len(several):,} rows of {table} are like several rows of the run that wrote them: all of these are traced"
        verdicts.append(Guarantee(level="superset", cause=text))
    if foreign:
        text = f"{table} also has rows that no recorded run wrote, which may be like the ones that are traced"
        verdicts.append(Guarantee(level="superset", cause=text))
    for run_id in dict.fromkeys(run_id for found in crossing.onward.values() for run_id, _ in found):
        crossing.ways[run_id] = [one for one in verdicts if one != EXACT]


def _should_be_found(crossing: Crossing, of: list[tuple[str, int | None]]) -> bool:
    """Whether a row is surely of a run that is there to be asked: of its file, or of a table that such runs alone have written."""
    if any(one.level == "unavailable" for one in crossing.remarks):  # its run could not be traced, which is said already
        return False
    alive = all(crossing.made.runs[run_id].status == "complete" for run_id, _ in of)
    return alive and (bool(crossing.made.files) or crossing.made.complete)
