"""The runs whose rows, or names, a stored answer has: those that it was traced through, and those that wrote what these read."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_lineage_provider.answers.answer import Answer
from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.pipeline import Lineage
from airflow_lineage_provider.recording import RecordedSource, read, tables_of
from airflow_lineage_provider.records.run import RunRecord


def runs_behind(lineage: Lineage, found: Answer) -> Iterator[RunRecord | None]:
    """These runs; None for one that cannot be read, so that nobody knows whose its rows are.

    Rows that source rows touched are rows of results: besides their runs those count that wrote the table of these source rows, of which
    the question tells, and those that a remark names.
    """
    with lineage.store.session(lineage.query_seconds) as session:
        known = KnownRuns(lineage.store, session)
        match found:
            case Explanation():
                through = [one.run.id for one in found.intermediate.values()]
                called = [one.run_id for one in found.reasons.values() if one.run_id]
                for run_id in dict.fromkeys([found.run.id, *through, *called]):
                    yield from _with_writers(known, run_id)
            case WhyNot():
                yield from _with_writers(known, found.run.id)
            case Descendants():
                yield from _with_writers(known, found.here.run.id, found.here.asked_table)
                yield from (known.readable(run_id) for run_id in sorted(found.remarked | {*found.later}))
            case LineageRows():
                yield from _with_writers(known, found.run.id, found.asked_table)


def written_by(lineage: Lineage, source: RecordedSource, reader: str) -> list[RunRecord | None]:
    """The runs that wrote what run ``reader`` read of a source; None for one that cannot be read."""
    with lineage.store.session(lineage.query_seconds) as session:
        known = KnownRuns(lineage.store, session)
        return [known.readable(writer) for writer in made_by(known, source, reader).runs]


def _with_writers(known: KnownRuns, run_id: str, table: str | None = None) -> Iterator[RunRecord | None]:
    """A run, and those that wrote what it read, of this ``table`` where one is said."""
    try:
        record = known.run(run_id)
        yield record
        tables = tables_of(read(record)) if record.status == "complete" else {}
        for source in (one for name, leaves in tables.items() if table in (None, name) for one in leaves):
            for writer in made_by(known, source, run_id).runs:
                yield known.run(writer)
    except StoreUnavailable:
        raise
    except LineageError:
        yield None
