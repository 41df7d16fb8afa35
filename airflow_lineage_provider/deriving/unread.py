"""Rows behind rows of a result that are read when they are needed, or a condition on them is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers import unread_rows
from airflow_lineage_provider.answers.consumed_rows import aggregated_schema, check_condition, numbered
from airflow_lineage_provider.answers.known_keys import KnownKeys
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.unread_rows import UnreadRows
from airflow_lineage_provider.deriving.cubes import AskedCube
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import chosen_target
from airflow_lineage_provider.deriving.granularity import AskedValues
from airflow_lineage_provider.deriving.lineage_rows import keys_behind, read_behind
from airflow_lineage_provider.deriving.narrowing import Narrowing, is_of_rows_alone
from airflow_lineage_provider.deriving.numbering import source_numbering
from airflow_lineage_provider.deriving.stored_ends import RESULT_END, StoredEnd
from airflow_lineage_provider.deriving.target_rows import RowNumbers
from airflow_lineage_provider.recording import Place, empty_rows, meant_tables, tables_of
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sql.named_columns import named_columns
from airflow_lineage_provider.tracing.key_index import KeyIndex
from airflow_lineage_provider.tracing.maps import distinct_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.run import RunRecord

Ask = Callable[[Callable[["AskedRun"], Any]], Any]
"""Asks a question of a run, as often as it is needed."""


def divided_tables(record: RunRecord, recorded: RecordedPlan, table: str | None) -> frozenset[str]:
    """Of a source table, or of all, those of which captured lineage has some rows alone, or has them class by class.

    :raises InvalidTarget: there is no such table.
    """
    leaves = {one.leaf for one in record.captured.classes if one.granularity != ()} if record.captured is not None else set()
    if not leaves:
        return frozenset()
    tables = tables_of(recorded)
    names = meant_tables(table, tables)
    return frozenset(name for name in names if not leaves.isdisjoint(one.source.leaf for one in tables[name]))


@dataclass(frozen=True, kw_only=True)
class UnreadBehind:
    """Asks a run what stands behind rows of its result, or of an ``end``, table by table; of ``divided`` ones conditions on their rows are
    waited for."""

    ask: Ask
    divided: frozenset[str]
    plan: RecordedPlan
    summary: RunSummary
    limit: int
    lazy: bool
    end: StoredEnd = RESULT_END

    def of(self, target: Any, at: Any, places: Mapping[str, Place]) -> dict[str, LineageRows]:
        """The rows behind, of these tables, or places; of a table that is not divided they are found now.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored, NotCaptured: as `keys_behind`.
        """
        at_once = {name: one for name, one in places.items() if name not in self.divided}
        known: dict[str, KnownKeys] = {}
        if at_once:
            known = self.ask(lambda run: keys_behind(run, target, at_once, at=at, limit=self.limit, lazy=self.lazy, end=self.end))
        rows = _RowsAsked(target, at, self.limit)
        reading = {name: _OfTable(self, one.table, rows, known.get(name)) for name, one in places.items()}
        told = {name: known[name].asked if name in known else rows.asked for name in places}
        return {
            name: UnreadRows(run=self.summary, asked=told[name], table=one.name, read=one, asked_of=self.end.name, within=self.end.within)
            for name, one in reading.items()
        }


@dataclass
class _RowsAsked:
    """Rows of the result as a person says which. Which these are is found with the first thing that is asked of what stands behind them, in
    the question that asks it, and known from then on."""

    target: Any
    at: Any
    limit: int
    _found: RowNumbers | None = None

    @property
    def asked(self) -> str:
        """What was asked about, in words."""
        if self._found is not None:
            return self._found.asked
        return self.target if isinstance(self.target, str) else shown(self.target if self.at is None else self.at)

    def of(self, run: AskedRun) -> RowNumbers:
        """:raises InvalidTarget, EmptyTarget, TargetTooLarge, ResultNotStored: they cannot be meant so."""
        if self._found is None:
            chosen = chosen_target(run, self.target, self.at, self.limit)
            with derivation(run, chosen.condition()) as made:
                run.progress("finding the target rows")
                numbers = chosen.numbers(made.rows)
            self._found = RowNumbers(tuple(numbers.tolist()), asked=chosen.asked)
        return self._found


@dataclass(frozen=True)
class _OfTable:
    """Reads what stands behind rows of the result, of one source table (`answers.unread_rows.Reading`); ``found``: the keys of a table that
    is not divided."""

    of: UnreadBehind
    name: str
    target: _RowsAsked
    found: KnownKeys | None

    @property
    def is_divided(self) -> bool:
        return self.found is None

    def known(self) -> KnownKeys:
        """The keys of all of them."""
        return self._all

    @cached_property
    def _all(self) -> KnownKeys:
        if self.found is not None:
            return self.found
        found: KnownKeys = self.of.ask(lambda run: self._keys_in(run, Narrowing(condition="", params={})))
        return found

    def _keys_in(self, run: AskedRun, narrowing: Narrowing) -> KnownKeys:
        rows, places = self.target.of(run), {self.name: Place(self.name)}
        found = keys_behind(run, rows, places, limit=self.of.limit, lazy=self.of.lazy, narrowing=narrowing)
        return replace(found[self.name], asked=rows.asked)

    def rids(self, keys: pa.Table) -> Numbers:
        """The numbers of rows with these keys.

        :raises NotCaptured, SourceUnavailable: nothing numbers them.
        """
        return source_numbering(self.of.ask, self.name)(keys)

    def first(self, limit: int) -> LineageRows | None:
        """So many of them, in the order of their keys, in which rows of files are read; None where not all are there as they were read."""
        known = self.known()
        keys = distinct_rows(known.of_rows)
        few = keys.sort_by([(name, "ascending") for name in keys.column_names]).slice(0, limit)
        found: LineageRows = self.of.ask(lambda run: read_behind(run, self.name, known, self.of.summary, few))
        return found if found.guarantee.level != "unavailable" else None

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the table."""
        return tables_of(self.of.plan)[self.name][0].source.columns

    def rows(self, condition: str, params: Mapping[str, Any], columns: Collection[str] | None = None) -> LineageRows:
        """The rows that meet a condition; with ``columns`` these, and maybe others."""
        known = self._all if self.found is not None or not condition else None
        return self._told(self.of.ask(lambda run: self._rows_in(run, known, condition, params, columns)))

    def _told(self, found: LineageRows) -> LineageRows:
        return replace(found, numbering=self.rids)

    def _rows_in(
        self, run: AskedRun, known: KnownKeys | None, condition: str, params: Mapping[str, Any], columns: Collection[str] | None
    ) -> LineageRows:
        keys = known or self._keys_in(run, Narrowing(condition=condition, params=params))
        if not condition or keys.are_met:
            return read_behind(run, self.name, keys, self.of.summary, columns=columns)
        named = named_columns([condition], self.columns)
        if columns is not None and named is not None:
            return read_behind(run, self.name, keys, self.of.summary, columns={*columns, *named}).where(condition, **params)
        few = None if named is None else self._meeting(run, keys, condition, params, named)
        if few is not None:
            return read_behind(run, self.name, few, self.of.summary)
        return read_behind(run, self.name, keys, self.of.summary).where(condition, **params)

    def _meeting(
        self, run: AskedRun, known: KnownKeys, condition: str, params: Mapping[str, Any], named: Collection[str]
    ) -> KnownKeys | None:
        """The keys of those rows alone that meet a condition, where the few columns that it names of many rows tell which these are: most
        rows of an answer need not be read as a whole then."""
        import pyarrow as pa

        many = known.keys.num_rows >= unread_rows.MANY_ROWS and len(named) < len(self.columns)
        if not (many and is_of_rows_alone(condition) and known.is_of_one_row):
            return None
        seen = read_behind(run, self.name, known, self.of.summary, columns=named)
        if seen.keys is None or seen.guarantee.level == "unavailable":  # what is not there is told of all rows
            return None
        met = seen.where(condition, **params).keys
        assert met is not None
        return replace(known, keys=known.keys.filter(pa.array(KeyIndex(met).has(known.of_rows))))

    def aggregate(
        self,
        by: Sequence[str],
        measures: Sequence[str],
        condition: str,
        params: Mapping[str, Any],
        columns: Collection[str] | None,
        *,
        reads: bool,
    ) -> pa.Table | LineageRows | None:
        """What cubes, or values that are kept in place of rows, have of the rows that meet it; else, where it ``reads``, the rows, in the
        same question.

        :raises InvalidOption: there cannot be such aggregates of the table.
        """
        aggregated_schema(by, measures, empty_rows(tables_of(self.of.plan)[self.name][0]), self.of.plan.zone)
        cube = AskedCube(by=by, measures=measures, condition=condition, params=params)
        values = AskedValues(by=by, measures=measures, condition=condition, params=params)

        def kept(run: AskedRun) -> pa.Table | LineageRows | None:
            numbers = self.target.of(run).numbers
            found = cube.of(run, self.name, numbers)
            found = values.of(run, self.name, numbers) if found is None else found
            if found is not None or not reads:
                return found
            return self._rows_in(run, None if condition else vars(self).get("_all"), condition, params, columns)

        found: pa.Table | LineageRows | None = self.of.ask(kept)
        return self._told(found) if isinstance(found, LineageRows) else found

    def check(self, condition: str, params: Mapping[str, Any]) -> None:
        """:raises InvalidOption: it is no condition over the table's columns."""
        check_condition(condition, params, numbered(empty_rows(tables_of(self.of.plan)[self.name][0])), self.of.plan.zone)
