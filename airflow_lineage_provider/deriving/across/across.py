"""Lineage across pipelines: source rows that another recorded run wrote are traced on, through any number of runs, to the real sources.

The version that was read decides which run it was (`made_by`). A run that is reached on several ways (a diamond) is derived once, with
all the rows that were read of it: the newest run that is still to be derived comes first, and what it read is older than itself, so
that nobody can ask for more of it later. That is also why a table that feeds its own next version is followed to its beginning, and ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.file_numbers import FileNumbers, file_numbers
from airflow_lineage_provider.deriving.across.merge import merged
from airflow_lineage_provider.deriving.across.output_rows import OutputRows, ReadBack
from airflow_lineage_provider.deriving.across.stored_outputs import UNKNOWN, WrittenAt, written_rows
from airflow_lineage_provider.deriving.across.writers import MadeBy, made_by
from airflow_lineage_provider.deriving.derive import derive_rows
from airflow_lineage_provider.deriving.links import joined, same
from airflow_lineage_provider.errors import EmptyTarget, IndexReplaced, LineageError, SparkRequired, StoreUnavailable
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derive import Derived
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.sources import SourceRows
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.store import WrittenPlace

_NOBODYS = RunRecord(pipeline="")
MOST_ROWS = 1_000_000
"""More rows of one run's output than these are not traced on, and that is said."""


@dataclass(kw_only=True)
class Crossing:
    """One source table of a derived run, of which recorded runs wrote what was read.

    ``by_file``: the file of a row says which run wrote it; else any of them may have, or whoever else wrote there. ``candidates`` has for
    each run which rows may be its. ``onward`` has for each run which rows went on to it, and to which of the rows of its that were derived.
    ``ways`` says what the way to each run is worth. ``untraced``: runs that wrote there and could not be asked. ``remarks`` are for rows
    that ended here: whether they should not have (a guarantee's level) and why. ``withheld``: its rows are not to be shown.
    """

    made: MadeBy
    by_file: bool = False
    candidates: dict[str, WrittenAt] = field(default_factory=dict)
    onward: dict[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    ways: dict[str, list[Guarantee]] = field(default_factory=dict)
    untraced: list[str] = field(default_factory=list)
    remarks: list[Guarantee] = field(default_factory=list)
    withheld: bool = False

    @property
    def may_be_others(self) -> bool:
        """Whether a row that went on, since it is like one of a run, may be somebody else's all the same: it ends here, too."""
        return not self.by_file and not self.withheld and (not self.made.complete or bool(self.untraced))

    def went_on(self, rows: int) -> npt.NDArray[np.int64]:
        """For each of so many rows, how many rows of other runs it went on to."""
        import numpy as np

        return np.bincount(joined([at for at, _ in self.onward.values()]), minlength=rows)


@dataclass(kw_only=True)
class Step:
    """A run that was derived on the way, with its source tables that other runs wrote; ``table`` is its output, as a reader calls it."""

    derived: Derived
    table: str
    crossings: dict[str, Crossing] = field(default_factory=dict)


class Across:
    """Traces a derivation on, through the runs behind its sources.

    ``open_run`` gives a run to be asked, ``describe`` what a person wants to know of its record. ``may_read`` says whether the rows that a
    run wrote may be in the answer; where not, it says that they are withheld. Without ``reasons`` nobody asks why functions decided as they
    did.
    """

    def __init__(
        self,
        runs: KnownRuns,
        open_run: Callable[[str], AskedRun],
        describe: Callable[[RunRecord], RunSummary],
        difference: Difference,
        limit: int,
        may_read: Callable[[RunRecord], bool] = lambda _: True,
        reasons: bool = True,
    ) -> None:
        self._runs = runs
        self._numbered = cache(partial(file_numbers, runs))
        self._may_read = may_read
        self._open = open_run
        self._describe = describe
        self._difference = difference
        self._limit = max(limit, MOST_ROWS)
        self._reasons = reasons
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
                _judge(table, crossing, step.derived)
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
            crossing = step.crossings[table] = Crossing(
                made=made,
                by_file=recorded.identity.kind == "file_position",
                candidates=_candidates(recorded, rows, made, self._numbered),
            )
            for wanted in made.runs.values():
                self._ask(run_id, table, recorded, crossing, wanted.run_id, rows)

    def _shows(self, run_id: str) -> bool:
        """Whether the rows that a run wrote may be shown; not where its record cannot be read, so that nobody knows whose they are."""
        try:
            return self._may_read(self._runs.run(run_id))
        except StoreUnavailable:
            raise
        except LineageError:
            return self._may_read(_NOBODYS)

    def _ask(self, reader: str, table: str, read: RecordedSource, crossing: Crossing, run_id: str, rows: SourceRows) -> None:
        """Put the rows that may be of a run down for its derivation; the rows of a run that is gone end here."""
        import pyarrow as pa

        asked = crossing.candidates.get(run_id)
        if asked is None:
            return
        made = crossing.made.runs[run_id]
        if made.status != "complete":
            text = f"written by run {run_id} of {made.pipeline}, which is {made.status}: not traced further"
            crossing.remarks.append(Guarantee(level="exact", cause=text))
            crossing.untraced.append(run_id)
            return
        chosen = rows.table.take(pa.array(asked.at))
        alone = crossing.by_file or (crossing.made.complete and len(crossing.made.runs) == 1)
        back = ReadBack(reader=reader, table=table, source=read.source, rows=chosen, at=asked.at, numbers=asked.number, alone=alone)
        self._pending.setdefault(run_id, []).append(back)

    def _derive(self, run_id: str, batches: list[ReadBack]) -> None:

        rows = sum(len(batch.at) for batch in batches)
        pipeline = self._made(run_id, batches[0]).pipeline
        try:
            if rows > self._limit:
                raise LineageError(f"{rows:,} of its rows were read, more than {self._limit:,}")
            run = self._open(run_id)
            target = OutputRows(batches, run.recorded)
            about = self._describe(run.record)
            derived = derive_rows(run, target, summary=about, difference=self._difference, reasons=self._reasons)
        except SparkRequired as needed:
            raise SparkRequired(f"run {run_id} of {pipeline}, which wrote {batches[0].table}: {needed}") from needed
        except (StoreUnavailable, IndexReplaced):
            raise
        except LineageError as problem:
            text = f"written by run {run_id} of {pipeline}, which could not be traced: {problem}"
            for batch in batches:
                crossing = self._steps[batch.reader].crossings[batch.table]
                is_anothers = isinstance(problem, EmptyTarget) and not crossing.by_file
                if is_anothers and (len(crossing.made.runs) > 1 or not crossing.made.complete):
                    continue
                crossing.remarks.append(Guarantee(level="unavailable", cause=text))
                if not is_anothers:
                    crossing.untraced.append(run_id)
            return
        for batch, matches in zip(batches, target.matches, strict=True):
            if len(matches.asked):
                place, position = same(matches.row, derived.numbers)
                crossing = self._steps[batch.reader].crossings[batch.table]
                crossing.onward[run_id] = batch.at[matches.asked[place]], position
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


def _candidates(recorded: RecordedSource, rows: SourceRows, made: MadeBy, numbered: Callable[[str], FileNumbers]) -> dict[str, WrittenAt]:
    """The rows of a source table that each run may have written, with their numbers in the run's result where they are known."""
    import numpy as np

    if recorded.identity.kind == "file_position":
        return written_rows(recorded, rows.keys.keys, made, numbered)
    every = np.arange(rows.table.num_rows)
    return {run_id: WrittenAt(every, np.full(len(every), UNKNOWN)) for run_id in made.runs} if len(every) else {}


def _judge(table: str, crossing: Crossing, derived: Derived) -> None:
    """What the way from a source table to the runs behind it is worth."""
    import numpy as np

    went_on = crossing.went_on(derived.sources.rows[table].table.num_rows)
    lost, several = _lost(crossing, went_on), np.count_nonzero(went_on > 1)
    verdicts = [derived.explanation.sources[table].guarantee]
    if len(lost):
        first = {run_id: at[0] for run_id, of in crossing.candidates.items() if len(at := np.intersect1d(of.at, lost))}
        runs = ", ".join(sorted(first, key=lambda run_id: first[run_id]))
        what = f"{len(lost):,} rows of {table} are not, or not as often, in the result of run {runs} as they were read"
        text = f"{what}: they are not traced further"
        verdicts.append(Guarantee(level="unavailable", cause=text))
        crossing.remarks.append(verdicts[-1])
    if several:
        text = f"{several:,} rows of {table} are like several rows of the run that wrote them: all of these are traced"
        verdicts.append(Guarantee(level="superset", cause=text))
    if crossing.may_be_others and went_on.any():
        unasked = f"run {', '.join(sorted(crossing.untraced))} wrote, which cannot be asked"
        whose = unasked if crossing.made.complete else "no recorded run wrote"
        text = f"{table} also has rows that {whose}, which may be like the ones that are traced"
        verdicts.append(Guarantee(level="superset", cause=text))
        crossing.remarks.append(verdicts[-1])
    for run_id in crossing.onward:
        crossing.ways[run_id] = [one for one in verdicts if one != EXACT]


def _lost(crossing: Crossing, went_on: npt.NDArray[np.int64]) -> Numbers:
    """The rows that are surely of a run that is there to be asked (of its file, or of a table that such runs alone have written), and were
    not found there."""
    import numpy as np

    # A run that could not be traced is told of already.
    if any(one.level == "unavailable" for one in crossing.remarks) or not (crossing.by_file or crossing.made.complete):
        return np.zeros(0, np.int64)
    wanted = np.zeros(len(went_on), np.bool_)
    for of in crossing.candidates.values():
        wanted[of.at] = True
    for run_id, of in crossing.candidates.items():
        if crossing.made.runs[run_id].status != "complete":
            wanted[of.at] = False
    return np.flatnonzero(wanted & (went_on == 0))
