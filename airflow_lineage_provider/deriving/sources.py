"""Source rows by their lineage keys, with all their columns, and what can be said for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from airflow_lineage_provider.deriving import files_in_memory
from airflow_lineage_provider.deriving.stale import differences, harm, harmed
from airflow_lineage_provider.errors import SourceUnavailable, SparkRequired
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.plan.interval_columns import with_interval_types
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.relation import BECAUSE
from airflow_lineage_provider.recording import RecordedSource, empty_rows
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.parquet import read_positions
from airflow_lineage_provider.tracing.key_index import KeyIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
    from airflow_lineage_provider.deriving.stored_tables import StoredTables
    from airflow_lineage_provider.plan.operators import Source
    from airflow_lineage_provider.store import Materialization


@dataclass(frozen=True, kw_only=True)
class SourceRows:
    """Rows of one source, and their keys (identical rows have one). ``harm`` is what of ``stale`` matters to rows that were read."""

    table: pa.Table
    keys: KeyIndex
    guarantee: Guarantee
    stale: tuple[str, ...]
    harm: tuple[str, ...]


class KeptRows(Protocol):
    """Rows of files that a recorded run wrote, from what that run stored: the files may be gone since."""

    def read(self, source: RecordedSource, keys: pa.Table) -> pa.Table | None:
        """Those rows among the ones with the given keys, as a source's are read; None where there are none."""
        ...


class SourceReader:
    """Reads source rows: from the store, from Parquet and CSV files in this process, or through Spark."""

    def __init__(
        self,
        store: StoredTables,
        stored: Mapping[str, Materialization],
        settings: Mapping[str, str],
        spark: SparkOnDemand,
        kept: KeptRows | None = None,
    ) -> None:
        """``settings`` are those of the session that the run read its sources in."""
        self.store = store
        self.kept = kept
        self.stored = stored
        self.settings = settings
        self.spark = spark

    def read(self, source: RecordedSource, keys: pa.Table, columns: Collection[str] | None = None) -> SourceRows:
        """The rows of a source with the given keys (``key_0`` …, each combination once), with these columns, and maybe others.

        :raises SparkRequired: only Spark can read this source, and there is no session.
        """
        if source.identity.kind != "snapshot":
            self.store.rest()
        stale = differences(source, self.spark)
        harmful = harm(source, stale, self.spark)
        kept = self.kept.read(source, keys) if harmful and self.kept is not None else None
        if kept is not None and kept.num_rows:
            return self._partly_kept(source, keys, kept, stale, harmful)
        try:
            source, rows = self._with(source, keys, columns)
        except SourceUnavailable as problem:
            cause = Guarantee(level="unavailable", cause=str(problem))
            none = _keyed(source, _no_rows(source, keys.slice(0, 0)))
            return SourceRows(table=empty_rows(source), keys=none, guarantee=cause, stale=(*stale, str(problem)), harm=harmful)
        found = _keyed(source, rows)
        worth = _with_origin(source, found, _guarantee(source, keys, found, harmful))
        return SourceRows(table=_table(source, rows), keys=found, guarantee=worth, stale=stale, harm=harmful)

    def _partly_kept(
        self, source: RecordedSource, keys: pa.Table, kept: pa.Table, stale: tuple[str, ...], harmful: tuple[str, ...]
    ) -> SourceRows:
        """Rows of a table that has changed since: those that the run behind them stored are as they were read."""
        import pyarrow as pa

        rest = keys.filter(pa.array(~_keyed(source, kept).has(keys)))
        guarantee, rows = EXACT, kept
        if rest.num_rows:
            try:
                others = self._rows(source, rest)
                guarantee = _guarantee(source, rest, _keyed(source, others), harmful)
                rows = pa.concat_tables([kept, others.rename_columns(kept.column_names).cast(kept.schema)])
            except SourceUnavailable as problem:
                guarantee = Guarantee(level="unavailable", cause=str(problem))
        return SourceRows(table=_table(source, rows), keys=_keyed(source, rows), guarantee=guarantee, stale=stale, harm=harmful)

    def _with(self, source: RecordedSource, keys: pa.Table, columns: Collection[str] | None) -> tuple[RecordedSource, pa.Table]:
        """The rows, and the source with the columns that they have: those asked for, where what is read can leave the others unread."""
        few = source if columns is None or not keys.num_rows else replace(source, source=_narrowed(source.source, columns))
        if few.identity.kind == "snapshot":
            return few, self._rows(few, keys)
        if few.identity.kind == "file_position" and few.source != source.source:
            with suppress(CannotReadHere):
                return few, read_positions(few.source, few.files, keys, self.settings)
        return source, self._rows(source, keys)

    def _rows(self, source: RecordedSource, keys: pa.Table) -> pa.Table:
        if not keys.num_rows:
            return _no_rows(source, keys)
        if source.identity.kind == "snapshot":
            return self._from_snapshot(source, keys)
        if source.identity.kind == "file_position":
            try:
                return read_positions(source.source, source.files, keys, self.settings)
            except CannotReadHere as reason:
                return self._through_spark(source, keys, str(reason))
        if files_in_memory.are_read_here(source):
            try:
                return self._from_memory(source, keys)
            except CannotReadHere as reason:
                return self._through_spark(source, keys, str(reason))
        return self._through_spark(source, keys, f"{source.source.relation.name} is read by {source.identity.kind.replace('_', ' ')}")

    def _from_snapshot(self, source: RecordedSource, keys: pa.Table) -> pa.Table:
        stored = self.stored[f"source_{source.source.leaf}"]
        return self.store.rows(stored, [ROW, *source.source.columns], keys.column(0).to_numpy())

    def _from_memory(self, source: RecordedSource, keys: pa.Table) -> pa.Table:
        if harmed([source], self.spark):
            raise CannotReadHere(f"the files of {source.source.relation.name} are not as they were")
        return files_in_memory.rows_at(source, keys, self.settings)

    def _through_spark(self, source: RecordedSource, keys: pa.Table, why: str) -> pa.Table:
        text = f"reading the source rows of {source.source.relation.name} needs Spark ({why}); give a Spark session"
        return self.spark.needed(SparkRequired(text)).source_rows(source, keys)


def _narrowed(source: Source, columns: Collection[str]) -> Source:
    """A source with some of its columns; with the first, where these are none."""
    chosen = [at for at, name in enumerate(source.columns) if name in columns] or [0]
    return replace(source, columns=tuple(source.columns[at] for at in chosen), output=tuple(source.output[at] for at in chosen))


def _table(source: RecordedSource, rows: pa.Table) -> pa.Table:
    width = len(source.identity.columns)
    own = rows.select(range(width, rows.num_columns)).rename_columns(list(source.source.columns))
    return with_interval_types(own, [a.type for a in source.source.output])


def _keyed(source: RecordedSource, rows: pa.Table) -> KeyIndex:
    return KeyIndex(rows.select(range(len(source.identity.columns))))


def _guarantee(source: RecordedSource, keys: pa.Table, found: KeyIndex, stale: tuple[str, ...]) -> Guarantee:
    missing = keys.num_rows - int(found.has(keys).sum())
    repeated = found.repeated
    name = source.source.relation.name
    if missing:
        return Guarantee(
            level="unavailable", cause=f"{missing:,} of {keys.num_rows:,} rows of {name} are no longer there as they were read"
        )
    if stale and source.identity.kind in ("file_position", "primary_key"):
        return Guarantee(level="unavailable", cause=f"{name} changed after the run: {stale[0]}")
    if repeated and source.identity.kind == "row_digest":
        return Guarantee(
            level="superset", cause=f"{name} has identical rows, which cannot be told apart without a key: all of them are shown"
        )
    if repeated:
        return Guarantee(level="superset", cause=f"the key of {name} is not unique: all rows with the same key are shown")
    if source.version.kept_rows is not None:
        cause = f"the session kept rows of {name} (a cache); the run read {name} itself, whose rows may have been others"
        return Guarantee(level="exact", cause=cause)
    return EXACT


def _with_origin(source: RecordedSource, found: KeyIndex, worth: Guarantee) -> Guarantee:
    """The guarantee of a table's rows, and that lineage ends there where these were made in the session."""
    if source.source.relation.kind != "local" or not source.source.columns or not found:
        return worth
    usual = "was made in the session (of a pandas frame, a list, an RDD, a checkpoint, a cache, VALUES, a recursive query)"
    because = dict(source.source.relation.options).get(BECAUSE)
    made = usual if because is None else f"is where lineage ends, because {because}"
    text = f"{source.source.relation.name} {made}: what its rows were made from is not known, and lineage ends here"
    return replace(worth, cause=f"{worth.cause}; {text}" if worth.cause else text, origin="unknown")


def _no_rows(source: RecordedSource, keys: pa.Table) -> pa.Table:
    import pyarrow as pa

    empty = empty_rows(source)
    names = [f"c{i}" for i in range(empty.num_columns)]
    return pa.table([*keys.columns, *empty.columns], names=[*keys.column_names, *names])
