"""Rows of a run's result followed on: into every later recorded run that read them, and so on, to the last.

It is `across` the other way round: a run is known as a reader by the version of what it read (`writers.made_by`), and the rows that it read
of another's result are found as they are found backward (`output_rows`): by their place in a file, where the values there are the same,
else by their values. Runs are looked at in the order in which they began, and a run reads what began before it: each is looked at once,
with all that it read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.deriving.across.as_read import as_read, as_type
from airflow_lineage_provider.deriving.across.file_numbers import FileNumbers, file_numbers
from airflow_lineage_provider.deriving.across.output_rows import OutputRows, ReadBack
from airflow_lineage_provider.deriving.across.stored_outputs import UNKNOWN, columns_as_read
from airflow_lineage_provider.deriving.across.writers import MadeBy, file_uri, made_by
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import result_rows, row_set_of, source_reader
from airflow_lineage_provider.deriving.given_rows import MOST_ROWS as MOST_GIVEN
from airflow_lineage_provider.deriving.inverted import descendants, keys_asked
from airflow_lineage_provider.deriving.links import joined, pairs, same
from airflow_lineage_provider.deriving.listed import listed
from airflow_lineage_provider.deriving.stale import harmed, worth_of_naming
from airflow_lineage_provider.deriving.why_not.question import Asked, asked_of
from airflow_lineage_provider.errors import (
    AnswerTooLarge,
    EmptyTarget,
    IndexReplaced,
    LineageError,
    SparkRequired,
    StoreUnavailable,
    TracingError,
)
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee, weakest
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.records.versions import UnknownVersion
from airflow_lineage_provider.tracing.maps import Rows, distinct_rows
from airflow_lineage_provider.tracing.numbers import different, each_once
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derivation import Derivation
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.recording import RecordedSource


class _Reached(NamedTuple):
    """Rows of a run's result: pairs of a row that was asked about first and a row's number, and what the way to them is worth."""

    asked: Numbers
    number: Numbers
    worth: Guarantee


class _Read(NamedTuple):
    """Rows of a table that are rows of a writer's result: pairs of a place in ``keys`` and a number there, and what that is worth."""

    keys: pa.Table
    place: Numbers
    number: Numbers
    worth: Guarantee


@dataclass(kw_only=True)
class Onward:
    """Follows rows on, through the runs that read them.

    ``open_run`` gives a run to be asked, ``describe`` what a person wants to know of its record. ``may_read`` says whether the rows of a
    run's result may be in the answer. ``most`` rows of one run's result may be reached. With ``in_part`` a later run that only Spark could
    ask is left out, and said to be.
    """

    runs: KnownRuns
    open_run: Callable[[str], AskedRun]
    describe: Callable[[RunRecord], RunSummary]
    may_read: Callable[[RunRecord], bool]
    most: int
    in_part: bool = False
    _here: LineageRows = field(init=False)
    _reached: dict[str, _Reached] = field(default_factory=dict, init=False)
    _waiting: set[str] = field(default_factory=set, init=False)
    _later: dict[str, LineageRows] = field(default_factory=dict, init=False)
    _remarks: list[Guarantee] = field(default_factory=list, init=False)
    _remarked: set[str] = field(default_factory=set, init=False)
    _dropped: set[str] = field(default_factory=set, init=False)
    _withheld: int = field(default=0, init=False)
    _numbered: Callable[[str], FileNumbers] = field(init=False)

    def __post_init__(self) -> None:
        self._numbered = cache(partial(file_numbers, self.runs))

    def follow(self, here: LineageRows) -> Descendants:
        """The rows of later runs' results that descend from these, and with them from the rows that were asked about.

        :raises SparkRequired: a part of the answer needs a Spark session, and there is none (without ``in_part``).
        :raises AnswerTooLarge: more rows of a run are reached than may be.
        """
        import numpy as np

        self._here = here
        asked, row = (here.links.column(name).to_numpy() for name in ("asked", "row"))
        self._enter(here.run.id, _Reached(asked, np.array(here.numbers, np.int64)[row], here.guarantee))
        while self._waiting:
            run_id = min(self._waiting)
            self._waiting.remove(run_id)
            self._look_at(run_id, here)
        if self._dropped:
            text = f"dropped: {count(len(self._dropped), 'later run')}; whether any of these rows were read there is not known"
            self._remarks.append(Guarantee(level="exact", cause=text))
        if self._withheld:
            text = f"withheld: {count(self._withheld, 'later run')} that may have read rows of it, whose rows may not be shown to who asks"
            self._remarks.append(Guarantee(level="unavailable", cause=text))
        decides = {one for one in (here.run.id, *self._later) if self.runs.run(one).udfs}
        remarks = tuple(dict.fromkeys(self._remarks))
        return Descendants(
            here=here, later=self._later, deciding=frozenset(decides), remarks=remarks, remarked=frozenset(self._remarked)
        )  # fmt: skip

    def _enter(self, run_id: str, reached: _Reached) -> None:
        self._reached[run_id] = reached
        if not len(reached.number):
            return
        record = self.runs.run(run_id)
        version = record.output.version if record.output is not None else None
        if isinstance(version, UnknownVersion):
            text = f"who read the output of run {run_id} of {record.pipeline} cannot be told: {version.cause}"
            self._remark(run_id, Guarantee(level="unavailable", cause=text))
        elif version is not None:
            found = self.runs.store.readers(run_id)
            self._waiting |= {*found.runs}
            self._dropped |= {*found.dropped}

    def _remark(self, run_id: str, remark: Guarantee) -> None:
        """Something to be said about a run."""
        self._remarked.add(run_id)
        self._remarks.append(remark)

    def _look_at(self, run_id: str, here: LineageRows) -> None:
        """A run that may have read what was reached."""
        record = self.runs.run(run_id)
        if not self.may_read(record):  # not even that there is the run is told
            self._withheld += 1
            return
        what = f"run {run_id} of {record.pipeline}, which may have read rows of it,"
        try:
            run = self.open_run(run_id)
            read = [(name, group, made) for name, group in tables_of(run.recorded).items() if (made := self._made(group[0], run_id)).runs]
            if read:
                self._followed(run, read, here)
        except (SparkRequired, AnswerTooLarge) as problem:
            if self.in_part and isinstance(problem, SparkRequired):
                self._remark(run_id, Guarantee(level="unavailable", cause=f"{what} was not asked: {problem}"))
                return
            raise type(problem)(f"{what.removesuffix(',')}: {problem}") from problem
        except (StoreUnavailable, IndexReplaced):
            raise
        except LineageError as problem:
            self._remark(run_id, Guarantee(level="unavailable", cause=f"{what} could not be traced: {problem}"))

    def _made(self, source: RecordedSource, reader: str) -> MadeBy:
        """The runs that wrote a table and of which rows were reached."""
        made = made_by(self.runs, source, reader)
        writers = {run_id: place for run_id, place in made.runs.items() if run_id in self._reached}
        return MadeBy(runs=writers, files=made.files, complete=made.complete)

    def _followed(self, run: AskedRun, read: Sequence[tuple[str, Sequence[RecordedSource], MadeBy]], here: LineageRows) -> None:
        import numpy as np

        started = time.perf_counter()
        parts: list[tuple[Numbers, Numbers]] = []
        worths: list[Guarantee] = []
        engines: list[str] = []
        with derivation(run, TRUE) as made:
            for name, group, writers in read:
                for writer in writers.runs:
                    found = self._read(made, name, group, writers, writer)
                    worths.append(found.worth)
                    if not len(found.place):
                        continue
                    place = different(found.place)
                    tags = found.keys.take(place).add_column(0, TAG, _int64(place))
                    down = descendants(made, Rows(of=row_set_of(group), keys=tags))
                    worths.append(down.guarantee)
                    engines.append(down.engine)
                    parts.append(_composed(self._reached[writer], found, down))
            asked, number = (joined([part[at] for part in parts]) for at in (0, 1))
            each = different(number)
            if len(each) > self.most:
                raise AnswerTooLarge(
                    f"{len(each):,} rows of its result descend from {here.asked}, more than the {self.most:,} that one answer may have: "
                    "ask about fewer rows, or raise AIRFLOW_LINEAGE_SOURCE_LIMIT"
                )
            worth = weakest(*worths)
            if len(each):
                self._later[run.record.id] = LineageRows(
                    run=self.describe(run.record), asked=here.asked, table="result", rows=result_rows(made.rows, each.tolist()),
                    links=pairs(asked, np.searchsorted(each, number)), guarantee=worth, engine="; ".join(dict.fromkeys(engines)),
                    asked_rows=here.asked_rows, asked_table=here.asked_table, numbers=tuple(each.tolist()),
                    seconds=time.perf_counter() - started,
                )  # fmt: skip
            elif worth.level != "exact":
                self._remark(run.record.id, worth)
        self._enter(run.record.id, _Reached(asked, number, worth))

    def _read(self, made: Derivation, name: str, group: Sequence[RecordedSource], writers: MadeBy, writer: str) -> _Read:
        """The rows of a table that are rows of a writer's result which were reached."""
        import numpy as np

        reached = self._reached[writer]
        wanted = different(reached.number)
        written = self.open_run(writer)
        with derivation(written, TRUE) as behind:
            if 0 not in written.recorded.materialized:
                _check_numbers(behind, self._later.get(writer, self._here))
            by_place = self._by_place(made, group[0], writers, writer, wanted, behind)
            rest = np.setdiff1d(wanted, by_place.number)
            by_value = self._by_value(made, name, rest, behind) if len(rest) else None
        found = by_place if by_value is None else _both(by_place, by_value)
        missing = len(np.setdiff1d(wanted, found.number))
        verdicts = [reached.worth, found.worth]
        if missing:
            text = f"{missing:,} rows of run {writer} are not in {name} {_as_it_is(made, group)}: they are not followed there"
            verdicts.append(Guarantee(level="unavailable", cause=text))
        if len(different(found.place)) > len(different(found.number)) or len(found.place) > len(different(found.place)):
            text = f"rows of {name} are like several rows of the run that wrote them: all of these are followed"
            verdicts.append(Guarantee(level="superset", cause=text))
        if by_value is not None and not writers.complete:
            text = f"{name} also has rows that no recorded run wrote, which may be like the ones that are followed"
            verdicts.append(Guarantee(level="superset", cause=text))
        return found._replace(worth=weakest(*verdicts))

    def _by_place(
        self, made: Derivation, source: RecordedSource, writers: MadeBy, writer: str, wanted: Numbers, behind: Derivation
    ) -> _Read:
        """Rows whose place in a Parquet file tells their number, where the values there are those of the result."""
        import numpy as np
        import pyarrow as pa

        by_position = source.identity.kind == "file_position"
        places = [*_places(source, writers, writer, wanted, self._numbered(writer))] if by_position else []
        files, positions, numbers = (joined([one[at] for one in places]) for at in range(3))
        keys = pa.table({"key_0": _int64(files), "key_1": _int64(positions)})
        if not len(numbers):
            return _Read(keys, numbers, numbers, EXACT)
        rows = source_reader(made).read(source, keys)
        at = rows.keys.places(keys)
        told = np.full(rows.table.num_rows, UNKNOWN)
        told[at.row] = numbers[at.asked]
        back = np.full(rows.table.num_rows, UNKNOWN)
        back[at.row] = at.asked
        place, number = _matched(rows.table, told, source.source, behind)
        right = told[place] == number
        return _Read(keys, back[place[right]], number[right], rows.guarantee if rows.guarantee.level == "superset" else EXACT)

    def _by_value(self, made: Derivation, name: str, wanted: Numbers, behind: Derivation) -> _Read | None:
        """Rows with the values of the result's rows; None where there are none."""
        group = tables_of(made.recorded)[name]
        values = _as_read(result_rows(behind.rows, wanted.tolist()), behind, group[0].source)
        if not values.num_columns:
            return None
        many = values.num_rows > MOST_GIVEN
        try:
            asked = _alike(values, name, group) if many else asked_of(values, name, made.recorded, made.run.on_demand.session)
            meant = keys_asked(made.run, asked, self.most)
        except EmptyTarget:
            return None
        found = self._with_values(made, group[0], meant.keys, wanted, behind)
        if many and len(found.place) and len(different(found.place)) < found.keys.num_rows:
            # What other rows are worth that looked like them is not what these are worth.
            keys = distinct_rows(found.keys.take(_int64(different(found.place))))
            found = self._with_values(made, group[0], keys, wanted, behind)
        return found._replace(worth=weakest(worth_of_naming(name, meant.stale), found.worth))

    def _with_values(self, made: Derivation, source: RecordedSource, keys: pa.Table, wanted: Numbers, behind: Derivation) -> _Read:
        """Of the rows with these keys those that have the values of wanted rows of the result."""
        import numpy as np

        rows = source_reader(made).read(source, keys)
        place, number = _matched(rows.table, np.full(rows.table.num_rows, UNKNOWN), source.source, behind)
        own = np.isin(number, wanted)
        worth = rows.guarantee if rows.guarantee.level == "superset" else EXACT
        return _Read(rows.keys.keys, place[own], number[own], worth)


def _check_numbers(behind: Derivation, known: LineageRows) -> None:
    """See that rows which were reached have the numbers that they had then, in a result that was made again since.

    :raises TracingError: they have others.
    """
    again = result_rows(behind.rows, known.numbers)
    before = known.rows.rename_columns(again.column_names)
    if not (before.equals(again) or repr(before.to_pylist()) == repr(again.to_pylist())):  # NaN is no other NaN to the first
        raise TracingError(
            f"run {known.run.id} stored no result (strategy {behind.run.record.strategy}), and its rows are in another order when it is "
            "made again: which of them these are cannot be told; a strategy that stores the result tells it"
        )


def _as_it_is(made: Derivation, group: Sequence[RecordedSource]) -> str:
    """Which version of a table rows were looked for in: where it has changed since, it is not the one that the run read."""
    try:
        stale = harmed(group[:1], made.spark)
    except SparkRequired:
        return f"as it is now, which only Spark can tell from what run {made.run.record.id} read"
    return f"as it is now, after it changed ({stale[0]})" if stale else f"as run {made.run.record.id} read it"


def _places(
    source: RecordedSource, writers: MadeBy, writer: str, wanted: Numbers, numbered: FileNumbers
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """For each file of a writer the hash, the positions and the numbers of the rows that were reached, as their places tell them."""
    import numpy as np

    for file_hash, path in source.files.items():
        uri = file_uri(path)
        if writers.files.get(uri) == writer:
            positions, own = numbered.among(uri, wanted)
            yield np.full(len(own), int(file_hash)), positions, own


def _as_read(values: pa.Table, behind: Derivation, source: Source) -> pa.Table:
    """Rows of a result as who reads them has them: by its names, in its types and in the form that the format gives them; and as they are,
    where that is another, since nobody knows with which options they were written."""
    import pyarrow as pa

    place = {a.id: at for at, a in enumerate(behind.recorded.plan.output)}
    read, own = {}, {}
    for name, how in as_read(source, columns_as_read(behind.recorded, source), behind.recorded.zone, behind.recorded.written_with).items():
        column = values.column(place[how.attribute.id])
        expected = how.expected(column)
        if expected is not None:
            as_it_is = as_type(column, how.kind)
            read[name], own[name] = expected, expected if as_it_is is None else as_it_is
    found, others = pa.table(read), pa.table(own)
    return found if found.equals(others) else pa.concat_tables([found, others])


def _alike(values: pa.Table, name: str, group: Sequence[RecordedSource]) -> Asked:
    """Rows that look like very many at hand: they have one of their values in every column that has few."""
    source = group[0].source
    known = [(a, values.column(column)) for column, a in zip(source.columns, source.output, strict=True) if column in values.column_names]
    return Asked(table=name, leaves=tuple(group), text=f"{values.num_rows:,} rows given by their values", condition=listed(known))


def _matched(rows: pa.Table, told: Numbers, source: Source, behind: Derivation) -> tuple[Numbers, Numbers]:
    """Rows that were read, found in the result of the run that wrote them: places and numbers."""
    import numpy as np

    back = ReadBack(reader="", table="", source=source, rows=rows, at=np.arange(rows.num_rows), numbers=told)
    target = OutputRows([back], behind.recorded)
    try:
        target.numbers(behind.rows)
    except EmptyTarget:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    (matches,) = target.matches
    return matches.asked, matches.row


def _composed(reached: _Reached, read: _Read, down: Rows) -> tuple[Numbers, Numbers]:
    """From what was asked about first, by the numbers at the writer and the places in the table, to the numbers at the reader."""
    tags, numbers = (down.keys.column(at).to_numpy() for at in (0, 1))
    first, at = same(reached.number, read.number)
    asked, place = reached.asked[first], read.place[at]
    first, at = same(place, tags)
    return each_once(asked[first], numbers[at])


def _both(one: _Read, other: _Read) -> _Read:
    import numpy as np
    import pyarrow as pa

    if not one.keys.num_rows:
        return other
    keys = pa.concat_tables([one.keys, other.keys.rename_columns(one.keys.column_names).cast(one.keys.schema)])
    place = np.concatenate([one.place, other.place + one.keys.num_rows])
    return _Read(keys, place, np.concatenate([one.number, other.number]), weakest(one.worth, other.worth))


def _int64(values: Numbers) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.int64())
