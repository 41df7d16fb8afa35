"""A target given as rows: found by their values, or by their positions in the result."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.given_rows import Cells, given_rows
from airflow_lineage_provider.deriving.links import joined
from airflow_lineage_provider.deriving.listed import listed
from airflow_lineage_provider.deriving.literals import has_literals, literal_of
from airflow_lineage_provider.deriving.rows import RowSource, StoredRows, result_columns
from airflow_lineage_provider.deriving.target import checked
from airflow_lineage_provider.deriving.values import MISSING, Column
from airflow_lineage_provider.errors import InvalidTarget, ResultNotStored, TargetTooLarge
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type
from airflow_lineage_provider.plan.expressions import TRUE, Attribute, Call, Expression, conjunction, disjunction
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.tracing.numbers import different

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.derive import Target as ChosenTarget
    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.stored_tables import StoredTables
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.store import Materialization

CANDIDATES = 1_000_000
"""So many rows are not compared in this process."""
_MOST_COMPARED = 100
_SHOWN = 20


class GivenRows:
    """Rows that are given by their values: what constants can say of them, and what has to be compared in this process."""

    def __init__(self, given: Any, columns: Sequence[tuple[str, Attribute]], recorded: RecordedPlan) -> None:
        """:raises InvalidTarget, TargetTooLarge: they are no rows of these columns."""
        self._rows = _typed(given_rows(given, columns), columns, recorded)
        self._compared = [row for row in self._rows if _beyond(row)]
        if len(self._compared) > _MOST_COMPARED:
            raise TargetTooLarge(
                f"the target has {len(self._compared):,} rows with arrays, maps, structs or intervals in them, more than {_MOST_COMPARED}; "
                "name the rows by their positions, at=[…]"
            )
        self.asked = _asked(self._rows, self.condition())

    def condition(self) -> Expression:
        """What the rows meet: all that constants can say of them."""
        return disjunction(tuple(_condition(row) for row in self._rows)) or TRUE

    @property
    def plain(self) -> Expression | None:
        """What those rows meet that constants say wholly; None where there is none."""
        return disjunction(tuple(_condition(row) for row in self._rows if not _beyond(row)))

    @property
    def only_plain(self) -> Expression | None:
        """What all of the rows meet, where constants say it wholly; None where some have to be compared."""
        return None if self._compared else self.plain

    @property
    def compared(self) -> Iterator[tuple[Expression, Cells]]:
        """For each of the others what constants say, and the cells that they cannot."""
        return ((_condition(row), _beyond(row)) for row in self._compared)


class RowsTarget:
    """The rows of the result that are like the rows that are given, in all columns that these name."""

    def __init__(self, given: Any, recorded: RecordedPlan, limit: int, total: int | None) -> None:
        """:raises InvalidTarget, TargetTooLarge: they are no rows of the result's columns."""
        self._given = GivenRows(given, list(zip(recorded.plan.names, recorded.plan.output, strict=True)), recorded)
        self.asked = self._given.asked
        self._limit, self._total = limit, total

    def condition(self) -> Expression:
        """What the rows meet: all that constants can say of them."""
        return self._given.condition()

    @property
    def is_plain(self) -> bool:
        """Whether no other rows meet the condition."""
        return self._given.only_plain is not None

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows, ascending.

        :raises EmptyTarget, TargetTooLarge, SparkRequired: as `target.PredicateTarget.numbers`.
        """
        plain = self._given.plain
        found = [] if plain is None else [rows.matching(plain, self._limit + 1)]
        for condition, cells in self._given.compared:
            numbers = rows.matching(condition, CANDIDATES)
            refuse_too_many(len(numbers), self.asked)
            found.append(_alike(cells, rows, numbers))
        return checked(different(joined(found)), self.asked, rows.recorded, self._limit, self._total)


def refuse_too_many(candidates: int, asked: str) -> None:
    """:raises TargetTooLarge: so many rows would have to be compared, one by one."""
    if candidates >= CANDIDATES:
        raise TargetTooLarge(f"{CANDIDATES:,} rows or more look like {asked}: name more columns, or the row's position")


class PositionTarget:
    """Rows of the result by their positions, counted from 0 in the order of `Run.result_table`."""

    def __init__(
        self, at: Any, recorded: RecordedPlan, stored: Materialization | None, store: StoredTables, limit: int, strategy: str
    ) -> None:
        """:raises InvalidTarget, TargetTooLarge: they are no positions of the result.
        :raises ResultNotStored: rows that are made again need not come in the same order.
        """
        if stored is None or 0 not in recorded.materialized:
            raise ResultNotStored(
                f"the run did not store its result (strategy {strategy}), and rows that are made again have no positions: ask by a "
                "predicate or by values, or run the pipeline with another strategy"
            )
        import numpy as np

        wanted = positions_of(at)
        if len(wanted) > limit:
            raise TargetTooLarge(f"{len(wanted):,} positions are more than {limit:,} rows; name fewer, or raise max_rows (--max-rows)")
        self.asked = positions_text(wanted)
        self._recorded, self._stored, self._store = recorded, stored, store
        self._found: Numbers = np.array(store.numbers_at(stored, wanted), np.int64)
        if len(self._found) < len(wanted):
            rows = store.count(stored)
            has = f"{rows:,} rows, at positions 0 to {rows - 1:,}" if rows else "no rows"
            raise InvalidTarget(f"{missing_text(self.asked)}: it has {has}")

    def condition(self) -> Expression:
        """What the rows meet, and few others."""
        columns = _columns_of(self._recorded)
        found = self._store.rows(self._stored, list(dict.fromkeys(columns)), self._found)
        return listed([(a, found.column(name)) for a, name in zip(self._recorded.plan.output, columns, strict=True)])

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows, ascending."""
        return self._found


@dataclass(frozen=True)
class RowNumbers:
    """Rows of a result by the numbers that the run gave them, as programs name them (`Run.page`).

    ``positions`` is what people count, or ``asked`` says in words which rows they are.
    """

    numbers: tuple[int, ...]
    positions: tuple[int, ...] = ()
    asked: str = ""


class NumbersTarget:
    """The rows of the result with these numbers."""

    def __init__(self, given: RowNumbers, recorded: RecordedPlan, stored: Materialization | None, store: StoredTables, limit: int) -> None:
        """:raises TargetTooLarge: they are more than the limit. :raises InvalidTarget: one is not there.
        :raises ResultNotStored: rows that are made again have other numbers.
        """
        import numpy as np

        if stored is None or 0 not in recorded.materialized:
            raise ResultNotStored("the run did not store its result: rows that are made again have other numbers")
        if len(given.numbers) > limit:
            raise TargetTooLarge(f"{len(given.numbers):,} rows are more than {limit:,}; name fewer, or raise max_rows (--max-rows)")
        self.asked = given.asked or positions_text(given.positions)
        self._recorded, self._numbers = recorded, different(np.array(given.numbers, np.int64))
        self._rows = store.rows(stored, [*dict.fromkeys(_columns_of(recorded))], self._numbers)
        if self._rows.num_rows < len(self._numbers):
            raise InvalidTarget("the result has no row of one of these numbers")

    def condition(self) -> Expression:
        """What the rows meet, and few others."""
        output = self._recorded.plan.output
        return listed([(a, self._rows.column(name)) for a, name in zip(output, _columns_of(self._recorded), strict=True)])

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows, ascending."""
        return self._numbers


def lasting_numbers(target: ChosenTarget, run: AskedRun) -> Numbers:
    """The numbers of a target's rows, ascending: those that they have whenever they are asked for.

    :raises ResultNotStored: rows that are made again have others. :raises EmptyTarget, TargetTooLarge: as `Target.numbers`.
    """
    if "result" not in run.stored or 0 not in run.recorded.materialized:
        raise ResultNotStored(
            f"run {run.record.id} did not store its result (strategy {run.record.strategy}), and rows that are made again have no lasting "
            "order: ask with explain(…), or run the pipeline with another strategy"
        )
    return target.numbers(StoredRows(run))


def _columns_of(recorded: RecordedPlan) -> list[str]:
    names = dict(recorded.materialized[0].columns)
    return [names[a.id] for a in recorded.plan.output]


def positions_of(at: Any) -> list[int]:
    """Positions as they are given: a number, several, or text such as ``0,3``; ascending, each once.

    :raises InvalidTarget: they are none.
    """
    if isinstance(at, str):
        parts = [part.strip() for part in at.split(",")]
        given: list[Any] = [int(part) if part.isascii() and part.isdigit() and len(part) < 19 else part for part in parts]
    else:
        given = list(at) if isinstance(at, Iterable) and not isinstance(at, bytes) else [at]
    found = [_position(one) for one in given]
    if not found:
        raise InvalidTarget("no position is given; at=[0, 3], say, names the first and the fourth row")
    return sorted(set(found))


def _position(given: Any) -> int:
    try:
        position = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        position = -1
    if not 0 <= position < 2**62:
        raise InvalidTarget(f"{shown(given)} is not a position: rows are counted from 0, in their order")
    return position


def missing_text(asked: str) -> str:
    """That there are no rows at positions, given as `positions_text`."""
    return f"{asked} {'does not' if asked.startswith('position ') else 'do not all'} exist"


def positions_text(positions: Sequence[int], what: str = "the result") -> str:
    """Positions for people."""
    listed = ", ".join(map(str, positions[:_SHOWN])) + (f", … ({len(positions):,} in all)" if len(positions) > _SHOWN else "")
    return f"{'position' if len(positions) == 1 else 'positions'} {listed} of {what}"


def _typed(rows: list[Cells], columns: Sequence[tuple[str, Attribute]], recorded: RecordedPlan) -> list[Cells]:
    zone = dict(recorded.plan.conf).get("spark.sql.session.timeZone")
    kept = {attribute.id: Column(name, attribute.type, zone) for name, attribute in columns}
    # pandas' missing values stay what they are: what they mean is said by the condition.
    return [tuple((a, value if value is MISSING else kept[a.id].typed(value)) for a, value in row) for row in rows]


def _condition(row: Cells) -> Expression:
    terms = [_term(a, value) for a, value in row if has_literals(a.type)]
    return conjunction(tuple(terms)) or TRUE


def _term(attribute: Attribute, value: Any) -> Expression:
    if value is MISSING:
        null = Call(function="isnull", arguments=(attribute,), type="boolean")
        floats = attribute.type in ("float", "double")
        return disjunction((null, _term(attribute, float("nan")))) or null if floats else null
    if value is None:
        return Call(function="isnull", arguments=(attribute,), type="boolean")
    # Not "<=>", which is the same for a value that is there, and which no index of PostgreSQL's answers.
    return Call(function="=", arguments=(attribute, literal_of(attribute.type, value)), type="boolean")


def _asked(rows: Sequence[Cells], condition: Expression) -> str:
    if len(rows) > _SHOWN:
        return f"{len(rows):,} rows given by their values"
    beyond = [f"{a.name} = {shown(value)}" for row in rows for a, value in _beyond(row)]
    said = [] if condition == TRUE else [expression_text(condition)]
    return " and ".join([*said, *beyond])


def _beyond(row: Cells) -> Cells:
    """The cells that constants cannot say."""
    return tuple((a, value) for a, value in row if not has_literals(a.type))


def _alike(cells: Cells, rows: RowSource, numbers: Numbers) -> Numbers:
    """Those of the rows that have these values."""
    if not len(numbers):
        return numbers
    columns = result_columns(rows, [a for a, _ in cells])
    found = rows.read(0, [ROW, *dict.fromkeys(columns)], numbers)
    values = {a.id: found.column(name) for (a, _), name in zip(cells, columns, strict=True)}
    alike = rows_alike(cells, values, found.num_rows)
    found_numbers: Numbers = found.column(ROW).to_numpy()
    return found_numbers[alike]


def rows_alike(cells: Cells, columns: Mapping[int, pa.ChunkedArray], rows: int) -> list[int]:
    """Which of the rows have these values, by attribute: NaN is one value, and the entries of a map have no order.

    :raises InvalidTarget: a column has values that Python has none for.
    """
    alike = set(range(rows))
    for attribute, value in cells:
        kind = parse_type(attribute.type)
        wanted = same(kind, None if value is MISSING else value)
        try:
            values = columns[attribute.id].to_pylist()
        except (ValueError, OverflowError) as problem:
            what = f"column {attribute.name!r} has values that cannot be compared ({problem})"
            raise InvalidTarget(f"{what}; name the row by its position, at=[…]") from problem
        alike &= {at for at, one in enumerate(values) if same(kind, one) == wanted}
    return sorted(alike)


def same(kind: DataType, value: Any) -> Any:
    """A value as one that is equal where Spark's is: NaN is one value, zero has no sign, a map's entries have no order."""
    match kind:
        case _ if value is None:
            return None
        case ArrayType(element):
            return tuple(same(element, one) for one in value)
        case MapType(key, item):
            return frozenset((same(key, one), same(item, other)) for one, other in value)
        case StructType(fields):
            return tuple(same(field.type, value[field.name]) for field in fields)
        case ScalarType("float" | "double"):
            return "NaN" if value != value else value + 0.0
        case _:
            return tuple(value) if isinstance(value, tuple) else value
