"""Runs that carry fragments beside their rows, executed by DuckDB: what they give, and what the oracle says stands behind it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.lineage_keys import ROW, KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import functions_of
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.sketches.carried_run import CarriedRun, carried_run, told_by
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.marks import FRAGMENT, Many, One
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.unions import Union, from_words
from airflow_lineage_provider.sql import ColumnRef, LeafKey, lower
from airflow_lineage_provider.tracing.binding import LeafTable, bind
from airflow_lineage_provider.tracing.program import Program, programs, rest_of_plan
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous
from tests.oracle.values import same
from tests.sketches.against import SEVERAL, accurate, drawn, in_columns, partitions, values_of
from tests.sketches.drawn import COLUMNS, Drawer
from tests.sketches.planned import NoPlan, planned

_KEY = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="rid", type="bigint"),))
_TYPES = {"int": pa.int64(), "string": pa.string()}


@dataclass
class Carried:
    """What became of a series: of how many leaves fragments were carried, in sets and by columns, and why of others not."""

    leaves: int = 0
    checks: int = 0
    rows: int = 0
    others: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Executed:
    """Programs over tables, in DuckDB."""

    made: Sequence[Program]
    rest: o.Plan | None
    leaves: Mapping[int, pa.Table]

    def rows(self) -> pa.Table:
        """Those of the result, with all their columns."""
        connection, tables = _connection(), dict[LeafKey, LeafTable]()
        for leaf, rows in self.leaves.items():
            connection.register(f"leaf_{leaf}", rows)
            tables["source", leaf] = LeafTable(name=(f"leaf_{leaf}",))
        for program in self.made:
            number = program.segment.number
            text = f"SELECT *, row_number() OVER () AS {ROW} FROM ({in_duckdb(program.plan, tables)})"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE segment_{number} AS {text}")
            spelled = {a.id: ColumnRef(text=a.name) for a in program.plan.output}
            tables["segment", number] = LeafTable(name=(f"segment_{number}",), by_id=spelled)
        text = "FROM segment_0" if self.rest is None else in_duckdb(self.rest, tables)
        return connection.sql(text).to_arrow_table()


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def in_duckdb(plan: o.Plan, tables: Mapping[LeafKey, LeafTable]) -> str:
    return sqlglot.transpile(lower(plan, bind(plan, tables), dialect="spark"), read="spark", write="duckdb")[0]


def fragments(run: CarriedRun, leaf: int, rows: pa.Table, partition: AnyPartition) -> frozenset[int]:
    """What the marks in the rows of a result say."""
    return frozenset().union(*(_of_mark(mark, rows, partition) for mark in run.marks[leaf]))


def _of_mark(mark: One | Many, rows: pa.Table, partition: AnyPartition) -> frozenset[int]:
    columns = [rows.column(a.name).to_pylist() for a in told_by(mark)]
    if isinstance(mark, Many):
        if mark.union == "words":
            return frozenset().union(*(from_words(row) for row in zip(*columns, strict=True)))
        return frozenset(flat(columns[0]))
    if not mark.values:
        return frozenset(one for one in columns[0] if one is not None)
    return partition.fragments_of(columns[0] if isinstance(partition, Partition) else zip(*columns, strict=True))


def flat(lists: Iterable[Any]) -> Iterable[int]:
    """The numbers in lists of lists."""
    for one in lists:
        if isinstance(one, list):
            yield from flat(one)
        elif one is not None:
            yield one


def tables_of(given: Mapping[str, q.Data], cut: Mapping[int, tuple[str, AnyPartition]]) -> dict[int, pa.Table]:
    """The tables by leaf, those that are cut with the number of each row's fragment."""
    found = {}
    for name, data in given.items():
        leaf = int(name.split("@")[1])
        columns = {column: pa.array([row[at] for row in data.rows], _TYPES[kind]) for at, (column, kind) in enumerate(COLUMNS)}
        if leaf in cut:
            column, partition = cut[leaf]
            of = in_columns(data, column)
            columns[FRAGMENT] = pa.array([partition.fragment_of(of(row)) for row in data.rows], pa.int32())
        found[leaf] = pa.table(columns)
    return found


@dataclass(frozen=True)
class Case:
    """A query, as a run executes it under some strategy."""

    node: q.Node
    plan: SegmentedPlan
    made: tuple[Program, ...]
    rest: o.Plan | None

    @classmethod
    def of(cls, node: q.Node, given: Mapping[str, q.Data], random: Random) -> Case | None:
        try:
            plan = planned(node, given)
            segmented = rewrite(Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output)))))
        except (NoPlan, LineageError):
            return None
        if any(functions_of(segment.plan) for segment in segmented.segments):
            return None
        numbers = [one.number for one in segmented.segments]
        stored = frozenset(random.choice(([], [0], numbers, random.sample(numbers, random.randint(0, len(numbers))))))
        keys = {int(name.split("@")[1]): _KEY for name in given}
        return cls(node, segmented, programs(segmented, keys, stored), None if 0 in stored else rest_of_plan(segmented, stored))

    def checked(self, given: Mapping[str, q.Data], random: Random, counted: Carried) -> None:
        """That the rows are the same, and the fragments are those that the oracle says; what is not is noted."""
        names = {int(name.split("@")[1]): name for name in given}
        columns = {leaf: random.choice(("rid", "k", "v", "s", *SEVERAL)) for leaf in names if random.random() < 0.8}
        cut = {leaf: (column, random.choice(list(partitions(random, given[names[leaf]], column)))) for leaf, column in columns.items()}
        union: Union | None = random.choice(("set", "words", None))
        run = carried_run(self.made, self.rest, columns, {leaf: one.count for leaf, (_, one) in cut.items()}, union)
        counted.leaves += len(columns)
        counted.refused.update(one.split(" (")[0] for one in run.refused.values())
        numbered = {leaf: one for leaf, one in cut.items() if leaf in run.numbered}
        try:
            expected = evaluate.rows(self.node, dict(given))
        except Ambiguous:
            return
        rows = Executed(run.programs, run.rest, tables_of(given, numbered)).rows()
        own = [a.name for a in self.result]
        bag = _bag(rows, own)
        plain = Executed(self.made, self.rest, tables_of(given, {})).rows()
        if bag != _bag(plain, own):
            counted.violations.append(f"other rows: {self.node}\n{given}\n{bag}")
        if bag != values_of(expected):
            counted.others += 1
            return  # DuckDB means something else
        counted.rows += bool(bag)
        for leaf, marks in run.marks.items():
            counted.checks += 1
            counted.kinds.update(_kind(mark) for mark in marks)
            column, partition = cut[leaf]
            right = accurate(expected, names[leaf], given[names[leaf]], column, partition)
            found = fragments(run, leaf, rows, partition)
            if found != right:
                counted.violations.append(
                    f"{sorted(found)} and not {sorted(right)} of {column} of {names[leaf]}: {self.node}\n{given}\n{marks}"
                )

    @property
    def result(self) -> tuple[Any, ...]:
        names = {a.id: a for a in (self.rest or self.made[-1].plan).output}
        return tuple(names[a.id] for a in self.plan.output)


def _bag(rows: pa.Table, names: Sequence[str]) -> Counter[Any]:
    """As `values_of` has them; DuckDB's sums are decimals."""
    found = ([int(row[name]) if isinstance(row[name], Decimal) else row[name] for name in names] for row in rows.to_pylist())
    return Counter(tuple(map(same, row)) for row in found)


def _kind(mark: One | Many) -> str:
    return mark.union if isinstance(mark, Many) else ("number", "value", "values")[min(2, len(mark.values))]


def check(seed: int, counted: Carried, query: Callable[[Drawer, int], q.Node] = Drawer.query) -> None:
    """One random query over some random tables."""
    random = Random(seed)
    node, given = drawn(random, random.choice((1, 2, 2, 3, 3, 4)), query=query)
    for tables in itertools.islice(given, 2):
        case = Case.of(node, tables, random)
        if case is not None:
            case.checked(tables, random, counted)
