"""Rows that a run has appended to a PostgreSQL table of the user's: known by the transaction that wrote them, and taken out again."""

from __future__ import annotations

from dataclasses import replace

from airflow_lineage_provider.errors import LoadFailed, RecordDamaged
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.connection import normalise, store_errors
from airflow_lineage_provider.store.note import Note
from airflow_lineage_provider.store.sqltext import literal, qualified
from airflow_lineage_provider.store.transport import Transport, open_transport


def undo_append(url: str, name: str, note: Note) -> int:
    """Take out the rows that a run which failed has appended; how many there were.

    :param url, name: the table.
    :param note: of the append; see `take_out`.
    :raises LoadFailed: some were changed, or the table was made anew since; or the transaction is still going on.
    :raises StoreUnavailable: the database does not answer.
    """
    schema, _, table = name.rpartition(".")
    shown = f"{name} in {redact(url)}"
    doing = f"taking out what run {note.run_id} appended to table {shown}"
    with store_errors(doing, LoadFailed), open_transport(normalise(url), "lineage-result") as transport:
        removed = take_out(transport, qualified(schema or "public", table), shown, note)
        transport.commit()
    return removed


def take_out(transport: Transport, target: str, shown: str, note: Note) -> int:
    """Take out what a run has appended, as a part of the transaction; how many rows there were.

    They are the rows of its transaction that nobody has changed since. Unless these are all of them, nothing is taken out. The note is
    amended with ``undone``, the transaction that takes them out, before they are gone: should the note not be settled after that, it is
    known that nothing is left to do.

    :param transport: psycopg2's.
    :param target, shown: the table, quoted, and as it may be told.
    :param note: how the rows are known.
    :raises LoadFailed: some were changed, or the table was made anew since; or the transaction is still going on.
    """
    transaction, rows = note.how.transaction, note.how.rows
    if transaction is None or rows is None:
        raise RecordDamaged(f"the note of what run {note.run_id} appended to {shown} does not say in which transaction")
    status = _status(transport, transaction)
    if status == "aborted" or rows == 0 or _is_undone(transport, note.how):
        return 0
    if status == "in progress":
        raise LoadFailed(f"run {note.run_id} is still appending to {shown}: try again when it has ended")
    mine = f"DELETE FROM {target} WHERE xmin::text = {literal(str(transaction % (1 << 32)))} RETURNING 1"
    found = int(transport.scalar(f"WITH gone AS ({mine}) SELECT count(*) FROM gone"))
    if found != rows:
        if found == 0 and _is_undone(transport, note.now()):
            return 0
        raise LoadFailed(
            f"run {note.run_id} has appended {rows:,} rows to {shown} that are to be taken out, of which {found:,} are as it wrote them:"
            f" nothing is taken out and nothing appended; see to its rows, then drop the run ('airflow-lineage drop {note.run_id}')"
        )
    note.amend(replace(note.how, undone=int(transport.scalar("SELECT txid_current()"))))
    return rows


def _status(transport: Transport, transaction: int) -> str | None:
    """What became of a transaction; None where it was too long ago."""
    status = transport.scalar(f"SELECT txid_status({transaction})")
    return None if status is None else str(status)


def _is_undone(transport: Transport, how: KnownBy | None) -> bool:
    return how is None or (how.undone is not None and _status(transport, how.undone) == "committed")
