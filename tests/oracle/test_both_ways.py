"""Random pipelines: lineage backward and forward are one relation, and it is the oracle's.

``make test`` takes a small sample that is always the same; ``make fuzz`` draws new ones, a tenth of its pipelines: one asked in both
directions, of every table and every stored segment, costs as much as ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.witnesses import Witnesses
from airflow_lineage_provider.capture import ends
from airflow_lineage_provider.deriving.asked_run import AskedRun
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.derivation import Derivation, derivation
from airflow_lineage_provider.deriving.derive import chosen_target, row_set_of
from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.deriving.why_not.found_rows import found_rows
from airflow_lineage_provider.deriving.why_not.question import asked_of
from airflow_lineage_provider.errors import EmptyTarget, UnsupportedOperator
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.plan.operators import SegmentOutput
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.sources.duckdb_connection import name as quoted
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing.key_index import key_tuples
from airflow_lineage_provider.tracing.maps import RESULT, LineageMap, Rows, RowSet, numbered_rows, tagged_rows
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.words import Difference, Subqueries
from tests.oracle import evaluate, udfs
from tests.oracle import query as q
from tests.oracle.case_views import views
from tests.oracle.check import MOST_TARGETS, _keys, _pipeline, check_values_over_views
from tests.oracle.drawing import blocks, drawn, told
from tests.oracle.row import Row
from tests.oracle.strategies import Case, cases
from tests.oracle.subqueries import data_lineage
from tests.oracle.test_fuzz import described, query_text, rejected
from tests.oracle.values import same
from tests.oracle.witnesses import witnesses

pytestmark = pytest.mark.spark

Pair = tuple[int, Any]
"""The number of an output's row, and the lineage key of a source row behind it."""
MOST_BY_VALUE = 12
"""So many rows of a result are asked about one by one."""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(2, at_once=2, share=10))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession) -> None:
    with told("test_both_ways", block) as counted:

        @drawn(block, at_once=2)
        @given(case=cases(depth=3, further=True))
        def hold(case: Case) -> None:
            note(described(case))
            with counted.one(rejected, query_text(case)):
                _check_case(case, lineage, spark)

        hold()


def _check_case(case: Case, lineage: Lineage, spark: SparkSession) -> None:
    expected = evaluate.rows(case.query, case.tables)
    if len(expected) > MOST_TARGETS:
        return
    with views(case, spark), ExitStack() as stack:
        check_values_over_views(case, spark, expected)
        for udf in udfs.REASONED:
            udf.register(spark)
        capture: Capture | Literal["lazy"] = "lazy" if case.strategy == "rerun" else Capture(mode="inject")
        output = stack.enter_context(TemporaryDirectory()) if case.strategy == "rerun" else None
        written = None if output is None else f"{output}/out"
        run = lineage.run(_pipeline(case), name="both ways", keys=_keys(case), strategy=case.strategy, capture=capture, output=written)
        run.close()
        try:
            collected = None if capture == "lazy" else _captured_pairs(lineage.get_run(run.id))
            lineage.get_run(run.id).forget_captured()
            _check(case, lineage.get_run(run.id), expected)
            if 0 in run.plan.materialized:
                lineage.get_run(run.id).capture()
                assert collected is None or collected == _captured_pairs(lineage.get_run(run.id))
                _check_captured(case, lineage.get_run(run.id), expected)
                with pytest.MonkeyPatch.context() as patched:
                    for name in ("SLOW", "_FEW", "_QUICKER"):
                        patched.setattr(ends, name, 0)
                    if expected and any(one.whole for one in lineage.get_run(run.id).capture("backward")):
                        _check_backward(case, lineage.get_run(run.id).backward("true", max_rows=MOST_TARGETS), expected)
                if len(expected) <= MOST_BY_VALUE:
                    _check_by_value(case, lineage.get_run(run.id), expected)
                    if expected:
                        _check_in_classes(case, lineage.get_run(run.id), expected)
            elif written is not None:
                assert lineage.get_run(run.id).capture().of_output
                _check_captured(case, lineage.get_run(run.id), expected)
            _check_sides(case, lineage.get_run(run.id), expected)
            _check_witnesses(case, lineage.get_run(run.id), expected)
            if run.plan.plan.has_subqueries:
                with data_lineage():
                    _check(case, lineage.get_run(run.id), evaluate.rows(case.query, case.tables), "data")
        finally:
            lineage.drop(run.id)


def _captured_pairs(run: Run) -> dict[Any, Any]:
    """What was captured: of each stored segment and each of its inputs the pairs of a row's number and the key of a row behind it."""

    def question(asked: AskedRun) -> dict[Any, Any]:
        captured, pairs = looked_up(asked), dict[Any, Any]()
        assert captured is not None
        for segment in map(int, captured.index.met):
            space = captured.space("segment", segment)
            numbers = space.keys(np.arange(space.rows))
            found = captured.step(segment, numbers.add_column(0, TAG, numbers.column(0)))
            assert found is not None
            step = found[0]
            tables = {("source", n): rows for n, rows in step.sources.items()} | {("segment", n): rows for n, rows in step.segments.items()}
            pairs |= {(segment, *to): set(key_tuples(rows)) for to, rows in tables.items()}
            pairs[segment] = (dict(step.controls), step.met)
        return pairs

    return run._asking.answered("comparing what was captured of", None, None, question)


def _check_captured(case: Case, run: Run, expected: list[Row]) -> None:
    """The same of indexes: they answer, and nobody else."""
    _check(case, run, expected)
    found = [*run.backward("true", max_rows=MOST_TARGETS).values()] if expected else []
    found += [run.forward("true", name) for name in tables_of(run.plan) if case.tables[_base(case, name)].rows]
    assert [one.engine for one in found if not one.engine.startswith("index: ")] == []


def _check_by_value(case: Case, run: Run, expected: list[Row]) -> None:
    """Captured by the values of columns in place of rows: these are the values of the oracle's rows."""
    names = [name for name in tables_of(run.plan) if _columns(case, _base(case, name))]
    if not names:
        return
    by = {name: [quoted(column) for column, _ in _columns(case, _base(case, name))] for name in names}
    run.capture(tables={name: CaptureTable(granularity=columns) for name, columns in by.items()})
    given = [set[Any]() for _ in expected]
    for at, name in product(range(len(expected)), names):
        found = run.backward(None, name, at=at).aggregate(by[name], [])
        assert not found.num_rows or b", values of " in found.schema.metadata[b"engine"]
        given[at] |= {(_base(case, name), *map(same, row.values())) for row in found.to_pylist()}
    bases = {_base(case, name) for name in names}
    wanted = [{(base, *_values(case, base, rid)) for base, rid in row.lineage if base in bases} for row in expected]
    assert Counter(map(frozenset, given)) == Counter(map(frozenset, wanted))
    for name in names:
        base = _base(case, name)
        if [_base(case, other) for other in names].count(base) == 1:
            for row in case.tables[base].rows[:3]:
                _check_forward_of_value(case, name, run, {column: row[at] for column, at in _columns(case, base)}, expected)


def _check_forward_of_value(case: Case, name: str, run: Run, values: dict[str, Any], expected: list[Row]) -> None:
    base, found = _base(case, name), run.forward(values, name)
    told_of = tuple(map(same, values.values()))
    wanted = Counter(
        tuple(map(same, row.values)) for row in expected if any(t == base and _values(case, base, rid) == told_of for t, rid in row.lineage)
    )
    rows = zip(*(column.to_pylist() for column in found.rows.columns), strict=True)
    assert Counter(tuple(map(same, row)) for row in rows) == wanted
    assert not wanted or ", values of " in found.engine
    rids = [row[case.tables[base].rid] for row in case.tables[base].rows]
    assert found.asked_rows == sum(_values(case, base, rid) == told_of for rid in rids)


def _check_in_classes(case: Case, run: Run, expected: list[Row]) -> None:
    """Captured in classes of a column's values, with a cube: conditions on the column give the oracle's rows, and the cube counts them."""
    tables = tables_of(run.plan)
    read = Counter(_base(case, name) for name in tables)
    for name, group in tables.items():
        base = _base(case, name)
        if len(group) > 1 or read[base] > 1 or not _columns(case, base):
            continue
        column, at = _columns(case, base)[0]
        of_rid = {row[case.tables[base].rid]: row[at] for row in case.tables[base].rows}
        behind = [[of_rid[rid] for table, rid in row.lineage if table == base] for row in expected]
        by = quoted(column)
        run.capture(tables={name: CaptureTable(partition_by=[by], cube=[Cube(by=[by], measures=["count(*)"])])})
        for value in [one for one in dict.fromkeys(of_rid.values()) if isinstance(one, int | str) and not isinstance(one, bool)][:2]:
            condition = f"{by} = :value"
            found = run.backward("true", name, max_rows=MOST_TARGETS).where(condition, value=value)
            given = Counter(asked for asked, _ in _pairs(found))
            assert sorted(given.values()) == sorted(n for some in behind if (n := some.count(value))), (name, value)
            assert {of_rid[rid] for rid in found.rows.column("rid").to_pylist()} <= {value}
        for place in range(len(expected)):
            cells = run.backward(None, name, at=place).aggregate([by], ["count(*) AS n"])
            assert b"index: cube" in cells.schema.metadata[b"engine"]
            told = frozenset((same(value), n) for value, n in zip(*(one.to_pylist() for one in cells.columns), strict=True))
            assert told in {frozenset(Counter(map(same, some)).items()) for some in behind}, (name, place)


def _columns(case: Case, base: str) -> list[tuple[str, int]]:
    """Every other column of a table, and its place; not the one that tells all rows apart."""
    data = case.tables[base]
    return [(name, at) for at, (name, _) in enumerate(data.columns) if at != data.rid][::2]


def _values(case: Case, base: str, rid: Any) -> tuple[Any, ...]:
    """The values of these columns in a row."""
    data = case.tables[base]
    (row,) = (one for one in data.rows if one[data.rid] == rid)
    return tuple(same(row[at]) for _, at in _columns(case, base))


def _check_witnesses(case: Case, run: Run, expected: list[Row]) -> None:
    """Which rows together made each row: all of these are its lineage, and by the definition, where the oracle has one, these they are."""
    if not expected:
        return
    windowed = any(isinstance(node, q.Window) for node in q.nodes(case.query))
    try:
        found = run.witnesses("true", max_rows=MOST_TARGETS)
    except UnsupportedOperator:
        if not windowed:
            raise
        return
    given = _sets(case, found, len(expected))
    assert Counter(frozenset().union(*one) for one in given) == Counter(row.lineage for row in expected)
    defined = witnesses(case.query, case.tables)
    if defined is not None:
        assert Counter(map(frozenset, given)) == Counter(made for _, made in defined)
    if 0 in run.plan.materialized and not windowed:
        run.capture(witnesses=True)
        kept = run.witnesses("true", max_rows=MOST_TARGETS, lazy=False)
        assert kept.engine == "index: witnesses"
        assert _sets(case, kept, len(expected)) == given


def _sets(case: Case, found: Witnesses, rows: int) -> list[set[frozenset[Any]]]:
    """The witnesses of each row as sets of source rows."""
    made = [set[frozenset[Any]]() for _ in range(rows)]
    for asked, one in zip(found.combinations.column("asked").to_pylist(), found, strict=True):
        made[asked].add(frozenset((_base(case, found.places[place]), row["rid"]) for place, row in one.items()))
    return made


def _check(case: Case, run: Run, expected: list[Row], subqueries: Subqueries = "partners") -> None:
    if not expected:
        with pytest.raises(EmptyTarget):
            run.backward("true", subqueries=subqueries)
    else:
        _check_backward(case, run.backward("true", max_rows=MOST_TARGETS, subqueries=subqueries), expected)
    read = [name for name in tables_of(run.plan) if case.tables[_base(case, name)].rows]
    for name in read:
        _check_forward(case, name, run.forward("true", name, subqueries=subqueries), expected, read)
    if expected and read:
        # What all rows of a subquery are behind, no oracle says: it hangs on what of a condition stands in it. But both ways are one.
        for one in (subqueries, "rows") if subqueries == "data" else (subqueries,):
            _check_maps(run, read, one)
        if subqueries == "partners":
            _check_segments(run, read)


def _base(case: Case, name: str) -> str:
    return next(n for n in sorted(case.tables, key=len, reverse=True) if name == n or name.startswith(f"{n}_"))


def _check_backward(case: Case, found: dict[str, LineageRows], expected: list[Row]) -> None:
    behind: dict[int, set[Any]] = {}
    for name, one in found.items():
        assert one.guarantee.level == "exact", one.guarantee
        rids = one.rows.column("rid").to_pylist()
        for asked, row in _pairs(one):
            behind.setdefault(asked, set()).add((_base(case, name), rids[row]))
        assert {row for _, row in _pairs(one)} == set(range(len(one)))
    given = Counter(frozenset(behind.get(asked, ())) for asked in range(len(expected)))
    assert given == Counter(row.lineage for row in expected)


def _check_forward(case: Case, name: str, found: LineageRows, expected: list[Row], read: Iterable[str]) -> None:
    """Each row of the result, with those of the table's rows that it descends from. (A table that is two has a part of them in each.)"""
    assert found.guarantee.level == "exact" or "computed again, and" in found.guarantee.cause, found.guarantee
    base = _base(case, name)
    if sum(_base(case, other) == base for other in read) > 1:
        return
    rids = _rids_in_key_order(case, base)
    behind: dict[int, set[int]] = {}
    for asked, row in _pairs(found):
        behind.setdefault(row, set()).add(asked)
    assert set(behind) == set(range(len(found)))
    values = list(zip(*(column.to_pylist() for column in found.rows.columns), strict=True))
    given = Counter((tuple(map(same, values[row])), len(some)) for row, some in behind.items())
    own = [(row.values, {rid for table, rid in row.lineage if table == base}) for row in expected]
    assert given == Counter((tuple(map(same, values)), len(some)) for values, some in own if some)
    assert len({asked for asked, _ in _pairs(found)}) == len({rid for _, some in own for rid in some}) <= len(rids)


def _rids_in_key_order(case: Case, base: str) -> list[Any]:
    return [row[case.tables[base].rid] for row in case.tables[base].rows]


def _pairs(found: LineageRows) -> list[tuple[int, int]]:
    return list(zip(found.links.column("asked").to_pylist(), found.links.column("row").to_pylist(), strict=True))


def _check_sides(case: Case, run: Run, expected: list[Row]) -> None:
    """With all rows of right sides behind what passed them, both ways are one, traced and captured, with nothing less than without."""
    read = [name for name in tables_of(run.plan) if case.tables[_base(case, name)].rows]
    if not expected or not read or not run.plan.plan.has_controls:
        return
    run.forget_captured()
    traced = _check_maps(run, read, "partners", "rows")
    assert _check_maps(run, read, "partners") <= traced
    if 0 in run.plan.materialized:
        run.capture(difference="rows")
        assert _check_maps(run, read, "partners", "rows") == traced
        _check_captured(case, run, expected)


# --- one relation ------------------------------------------------------------------------------------------------------


def _check_maps(run: Run, read: Iterable[str], subqueries: Subqueries, difference: Difference = "control") -> set[tuple[str, int, Any]]:
    """r stands behind o, asked backward, exactly where o descends from r, asked forward: for the result, and for a stored segment.

    Those of the result, with the table, are given back.
    """
    store, pairs = run._lineage.store, set[tuple[str, int, Any]]()
    with ExitStack() as stack:
        known = KnownRuns(store, stack.enter_context(store.session()))
        asked = replace(run._asking.asked(lambda _: None, Secrets(), known), subqueries=subqueries, difference=difference)
        made = stack.enter_context(derivation(asked, TRUE))
        result = numbered_rows(RESULT, chosen_target(asked, "true", None, MOST_TARGETS).numbers(made.rows))
        for name in read:
            table = row_set_of(tables_of(run.plan)[name])
            sources = _source_rows(made, name, table)
            pairs |= {(name, *one) for one in _check_inverse(made.lineage.between(RESULT, table), result, sources)}
            for number in made.recorded.materialized.keys() & made.recorded.plan.traceable - {0}:
                reached = made.lineage.between(RESULT, RowSet("segment", (number,))).backward(result)
                own = numbered_rows(reached.of, sorted(reached.each_once().column(0).to_pylist()))
                _check_inverse(made.lineage.between(own.of, table), own, sources)
    return pairs


def _check_segments(run: Run, read: Iterable[str]) -> None:
    """As a person asks: rows of a stored segment stand behind rows of the result exactly where these descend from them; what stands behind
    them stands behind these, and all that does where the result is made of nothing else."""
    plan = run.plan.plan
    for number in sorted(run.plan.materialized.keys() & plan.traceable - {0}):
        segment, tables = f"segment_{number}", tables_of(run.plan)
        found = run.backward("true", segment, max_rows=MOST_TARGETS)
        down = {(asked, int(found.rids[row])) for asked, row in _pairs(found)}
        if not down:
            continue
        up = run.forward("true", segment, max_rows=10_000)
        assert {(int(up.rids[row]), asked) for asked, row in _pairs(up)} == down
        is_only_way = all(leaf in plan.behind(number)[1] for leaf in run.plan.sources) and plan.root.inputs == (
            *(one for one in plan.root.inputs if isinstance(one, SegmentOutput) and one.segment == number),
        )
        for name in (one for one in read if {leaf.source.leaf for leaf in tables[one]} <= plan.behind(number)[1]):
            behind = run.backward(None, name, of=segment, at=sorted({row for _, row in down}), max_rows=10_000)
            positions, rids = sorted({row for _, row in down}), behind.rows.column("rid").to_pylist()
            through = {(positions[asked], rids[row]) for asked, row in _pairs(behind)}
            composed = {(asked, rid) for asked, row in down for other, rid in through if row == other}
            whole = run.backward("true", name, max_rows=MOST_TARGETS)
            direct = {(asked, whole.rows.column("rid")[row].as_py()) for asked, row in _pairs(whole)}
            assert composed == direct if is_only_way else composed <= direct, (segment, name, composed ^ direct)


def _source_rows(made: Derivation, name: str, table: RowSet) -> Rows:
    assert made.run.spark is not None
    found = found_rows(asked_of("true", name, made.run.recorded), made.run.spark, 10_000)
    return tagged_rows(table, found.select([column for column in found.column_names if column.startswith("key_")]))


def _check_inverse(one: LineageMap, outputs: Rows, inputs: Rows) -> set[Pair]:
    numbers = dict(zip(outputs.keys.column(0).to_pylist(), outputs.keys.column(1).to_pylist(), strict=True))
    keys = {key[0]: key[1:] for key in key_tuples(inputs.keys)}
    backward: set[Pair] = {(numbers[tag], tuple(key)) for tag, *key in key_tuples(one.backward(outputs).keys)}
    forward: set[Pair] = {(number, keys[tag]) for tag, number in key_tuples(one.forward(inputs).keys) if number in numbers.values()}
    assert backward == forward, f"only backward {backward - forward}, only forward {forward - backward}"
    return backward
