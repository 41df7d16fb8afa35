"""Explanations of many rows, chunk by chunk: each is stored, and what is stored is not asked again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.explanation_set import ExplanationSet
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.explained_run import ExplanationsOfRun, Target, Wanted, check_may_derive
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.records.derivation_sets import ChunkPlace, DerivationSetRecord
from airflow_lineage_provider.render.progress import watched
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.words import LAST_DERIVATION, Difference, Subqueries

MOST = (1 << 31) - 2
"""Rows that a target may match where nothing bounds it: what Spark can still be asked for."""


class ExplanationsInChunks(ExplanationsOfRun):
    """The part of `Run` that explains many rows."""

    def explain_in_chunks(
        self,
        target: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        since: str | None = None,
        chunk_rows: int | None = None,
        asked_by: str = "",
        occasion: str = "",
        max_rows: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        subqueries: Subqueries = "partners",
        across: bool = True,
        params: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> ExplanationSet:
        """Augmented lineage of many rows: one explanation for each ``chunk_rows`` of them, in the result's order, stored when it is made.

        Without ``chunk_rows`` it is one explanation. Asked again on the same occasion when it has not come to its end (the process was
        killed, the store was away), the same question goes on where it stopped: chunks that are stored stay, and stored reasons are not
        computed again. When it has come to its end, it begins anew.

        The options are those of `explain`, and ``max_rows`` is the most rows of all chunks (by default there is no bound; without
        ``chunk_rows`` it is `settings.target_limit`). ``since="last_derivation"`` leaves out the rows of the run that the same question
        was last answered about, to its end; asked for the first time it is about all rows. ``asked_by`` says who asks again and again (a
        task), and is part of the question; ``occasion`` says when (in which DAG run): an answer of the same one is no earlier answer. An
        answer about a later run is none, either, so that what is asked again about an old run has the same answer.

        :raises NothingChanged: with ``since``, no row is new or has changed.
        :raises ResultNotStored: the run's strategy did not store its result: rows that are made again have no lasting order.
        :raises InvalidTarget: the target is neither a text nor rows as mappings: it could not be known again.
        :raises LineageError: any other that `explain` raises; the chunks until then are stored.
        """
        check_options({"max_rows": max_rows, "verify": verify, "difference": difference, "across": across, "chunk_rows": chunk_rows})
        check_options({"subqueries": subqueries, "since": since, "params": params, "context": context})
        wanted = Wanted(
            target=target, at=at, since=since, most=self._most(max_rows, chunk_rows), verify=verify, difference=difference,
            subqueries=subqueries, across=across, save=True, params=params or {}, context=context or {},
        )  # fmt: skip
        question = question_text(asked_by, self.record.pipeline, wanted)
        with watched(progress, f"explain {self.record.pipeline} in chunks") as told:
            begun, numbers = self._lineage.lasting(lambda: self._begun(wanted, question, occasion, chunk_rows, told))
            stored = self._lineage.store.derivation_set(begun.id)[1]
            if stored:
                told(f"going on with {begun.id}: {len(stored):,} of {begun.chunks:,} chunks are stored")
            done = {one.place.chunk for one in stored if one.place is not None}
            for chunk in _chunks(wanted, begun, numbers):
                assert chunk.place is not None
                if chunk.place.chunk not in done:
                    told(f"chunk {chunk.place.chunk + 1:,} of {begun.chunks:,}: {_rows(begun, chunk.place.chunk)}")
                    self._explained(chunk, told)
        return self._lineage.explanation_set(begun.id)

    def _most(self, max_rows: int | None, chunk_rows: int | None) -> int:
        if max_rows is not None:
            return max_rows
        if chunk_rows is None:
            return settings.target_limit()
        return min(self.record.row_counts.get("result", MOST), MOST)

    def _begun(
        self, wanted: Wanted, question: str, occasion: str, chunk_rows: int | None, told: Progress
    ) -> tuple[DerivationSetRecord, tuple[int, ...]]:
        """The set to go on with, or a new one, and the numbers of the target's rows."""
        from airflow_lineage_provider.deriving.known_runs import KnownRuns
        from airflow_lineage_provider.deriving.target_rows import lasting_numbers

        self._asking.check_complete()
        secrets = self._asking.secrets(wanted.params)
        if wanted.since == LAST_DERIVATION:
            wanted = self._since_last(wanted, question, occasion, told)
        with guarded(secrets.message), self._asking.session() as session:
            runs = KnownRuns(self._lineage.store, session)
            check_may_derive(wanted, runs)
            run = self._asking.asked(told, secrets, runs)
            told("finding the target rows")
            chosen = self._chosen(wanted, run, runs, told)
            numbers = lasting_numbers(chosen, run)
        asked = DerivationSetRecord(
            run_id=self.record.id, question=question, occasion=occasion, since=wanted.since, target=chosen.asked, rows=len(numbers),
            chunk_rows=chunk_rows or len(numbers),
        )  # fmt: skip
        return self._lineage.store.begin_derivation_set(asked), tuple(numbers.tolist())

    def _since_last(self, wanted: Wanted, question: str, occasion: str, told: Progress) -> Wanted:
        last = self._lineage.store.last_derivation_set(question, self.record.id, occasion)
        if last is not None:
            told(f"the last derivation was about run {last.run_id}")
            return replace(wanted, since=last.run_id)
        told("there is no derivation before: all rows are new")
        every = wanted.target is None and wanted.at is None
        return replace(wanted, since=None, target="true" if every else wanted.target)


def question_text(asked_by: str, pipeline: str, wanted: Wanted) -> str:
    """What is the same whenever the same is asked, of whatever run.

    :raises InvalidTarget: the target cannot be known again.
    """
    target = wanted.target
    rows = [target] if isinstance(target, Mapping) else target
    given: str | list[Any] | None
    if rows is None or isinstance(rows, str):
        given = rows
    elif isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        given = [sorted(dict(row).items()) for row in rows]
    else:
        raise InvalidTarget(f"a target of type {type(target).__name__} is not known again: give a predicate as text, or rows as mappings")
    at = None if wanted.at is None else re.sub(r"\s", "", str(wanted.at))
    said = [asked_by, pipeline, repr(given), at, wanted.since, wanted.difference, wanted.across, wanted.verify]
    # What an option is without being given changes no question that was asked before there was one.
    said += [wanted.subqueries] if wanted.subqueries != "partners" else []
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _chunks(wanted: Wanted, begun: DerivationSetRecord, numbers: Sequence[int]) -> Iterator[Wanted]:
    """The questions about the chunks."""
    from airflow_lineage_provider.deriving.target_rows import RowNumbers

    most = max(settings.target_limit(), begun.chunk_rows)  # it also bounds the rows of further runs that stand behind them
    for chunk in range(begun.chunks):
        some = tuple(numbers[chunk * begun.chunk_rows : (chunk + 1) * begun.chunk_rows])
        asked = begun.target if begun.chunks == 1 else f"{begun.target}: {_rows(begun, chunk)}"
        place = ChunkPlace(begun.id, chunk, begun.chunks)
        yield replace(wanted, target=RowNumbers(some, asked=asked), at=None, since=None, most=most, place=place)


def _rows(begun: DerivationSetRecord, chunk: int) -> str:
    first, last = chunk * begun.chunk_rows + 1, min((chunk + 1) * begun.chunk_rows, begun.rows)
    return f"rows {first:,} to {last:,} of {begun.rows:,}"
