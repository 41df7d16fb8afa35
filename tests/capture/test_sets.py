"""Sets of rows that results have in common are numbered, and indexes by way of them answer as those from end to end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_lineage_provider.capture import build, writing
from airflow_lineage_provider.capture.build import Building
from airflow_lineage_provider.capture.choosing import Choice, choose
from airflow_lineage_provider.capture.csr import Csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.written import from_bytes
from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.shape import Shape
from airflow_lineage_provider.capture.spooled import ROOM, Room
from airflow_lineage_provider.capture.writing import BuiltIndex, Counts, RowSetKey
from airflow_lineage_provider.errors import IndexTooLarge
from airflow_lineage_provider.tracing.maps import Rows, RowSet
from airflow_lineage_provider.tracing.reserved import TAG
from airflow_lineage_provider.tracing.trace import Step
from airflow_lineage_provider.words import Difference
from tests.in_turn import QUICK

KEYS = [1.5, None, math.nan, 0.0, -0.0, 7.0]
"""What sets are found by: 0.0 and -0.0 find two, since a condition may tell them apart."""
Found = dict[int, set[int]]


def test_pairs_that_lead_to_sets_count() -> None:
    """Those of rows that go back to a group, a frame or partners; not of sets that lead to no table that is wanted."""
    link = _link([(0, 1), (1, 1), (2, 5)])

    def added(most: int, wanted: frozenset[int] | None = None) -> Building:
        building = Building(counts={}, most=most, wanted=wanted, leads_to={1: frozenset({3})})
        building.begin(0, pa.table({"key_0": [0, 1, 2]}))
        building.add(0, 0, Step(sources={}, segments={}, controls={}, links={1: link}))
        return building

    with pytest.raises(IndexTooLarge, match="more than 2 pairs of rows between segment 0"):
        added(2)
    assert [added(3).edges, added(3).links_to(1), added(3).links_to(2)] == [3, 3, 0]
    assert [added(2, frozenset({4})).edges, added(3, frozenset({3})).edges] == [0, 3]
    left = added(3)
    left.leave_sets(1)
    assert (left.edges, left.pending) == (0, set())


def _table(pairs: list[tuple[int, Any]], kind: pa.DataType) -> pa.Table:
    tags, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({TAG: pa.array(tags, pa.int64()), "key_0": pa.array(values, kind)})


def _link(pairs: list[tuple[int, int]]) -> pa.Table:
    """Sets by the numbers of what they are found by; the first column says that there is one."""
    rows = _table([(tag, KEYS[at]) for tag, at in pairs], pa.float64())
    return rows.add_column(1, "present", pa.array([True] * len(pairs)))


class _Lineage:
    """Results that go back to sets of segment 1, directly and through groups of segment 2, and these to rows of leaf 3 and of segment 4."""

    def __init__(self, seed: int, results: int, rows: int, most: int) -> None:
        random = np.random.default_rng(seed)

        def some(many: int, of: int, size: int) -> Found:
            return {at: set(random.integers(0, of, random.integers(0, size + 1)).tolist()) for at in range(many)}

        self.counted = seed % 2 == 1
        """Whether rows are counted, or the keys of all are listed."""
        self.times = 1 if self.counted else 2
        self.results, self.sets, self.groups = results, some(results, len(KEYS), 3), some(results, 5, 1)
        self.rows, self.inner, self.direct = some(len(KEYS), rows, most), some(len(KEYS), 4, 2), some(results, rows, 1)
        self.of_groups, self.group_rows = some(5, len(KEYS), 2), some(5, rows, most)
        self.control = {0, 3}  # sets whose rows passed a test by nothing being there
        self.side, self.inner_side = {1, 2, 40}, {7, 8}  # rows of the leaf that the test has on its right side, and a test below it has

    def sources(self, result: int) -> set[int]:
        """By hand: the rows of the leaf behind a result."""
        sets = self.sets[result].union(*(self.of_groups[one] for one in self.groups[result]))
        parts = [self.rows[one] for one in sets] + [self.group_rows[one] for one in self.groups[result]]
        return self.direct[result].union(*parts)

    def all_sets(self, result: int) -> set[int]:
        return self.sets[result].union(*(self.of_groups[one] for one in self.groups[result]))

    def with_sides(self, result: int) -> set[int]:
        """All of a result that passed, with all rows of the right sides."""
        passed = bool(self.all_sets(result) & self.control)
        return self.sources(result) | (self.side | self.inner_side if passed else set())

    def built(self, direction: Any = "both", difference: Difference = "control") -> BuiltIndex:
        many: dict[RowSetKey, int] = {("segment", 0): self.results, ("segment", 4): 4, ("source", 3): 50}
        counts: dict[RowSetKey, Counts] = {key: ("numbered", [(0, rows)]) for key, rows in many.items() if self.counted}
        building = Building(counts=counts, most=100_000, difference=difference)
        building.begin(0, pa.table({"key_0": np.arange(self.results) * self.times}))
        half = self.results // 2
        for first, stop in ((0, half), (half, self.results)):  # in parts, as many rows are asked about

            def pairs(of: Mapping[int, set[int]], first: int = first, stop: int = stop) -> list[tuple[int, int]]:
                return [(at - first, one) for at in range(first, stop) for one in sorted(of[at])]

            step = Step(
                sources={3: _table(pairs(self.direct), pa.int64())}, segments={}, controls={}, met=(1, 2),
                links={2: _link(pairs(self.sets))}, groups={1: _table(pairs(self.groups), pa.int64())},
            )  # fmt: skip
            building.add(0, first, step)
        assert building.pending <= {1, 2}
        self._begin_groups(building)
        self._begin_sets(building)
        self._begin_sides(building)
        building.begin(4, pa.table({"key_0": np.arange(4)}))
        building.add(4, 0, Step(sources={3: _table([], pa.int64())}, segments={}, controls={}, met=()))
        return building.indexes(direction, datetime.now(UTC), 0.5, "")

    def _begin_groups(self, building: Building) -> None:
        for of, first, targets in building.begin_sets(1) if 1 in building.pending else ():
            assert of == "groups"
            groups = targets.column(0).to_pylist()
            assert len(set(groups)) == len(groups)
            rows = _table([(tag, one) for tag, group in enumerate(groups) for one in self.group_rows[group]], pa.int64())
            links = _link([(tag, one) for tag, group in enumerate(groups) for one in self.of_groups[group]])
            building.add(1, first, Step(sources={3: rows}, segments={}, controls={}, links={2: links}), of)

    def _begin_sets(self, building: Building) -> None:
        for of, first, targets in building.begin_sets(2) if 2 in building.pending else ():
            assert of == "sets"
            texts = [*map(str, KEYS)]
            sets = [texts.index(str(one)) for one in targets.column(1).to_pylist()]
            assert len(set(sets)) == len(sets)
            rows, inner = (
                _table([(tag, one) for tag, number in enumerate(sets) for one in of_set[number]], pa.int64())
                for of_set in (self.rows, self.inner)
            )
            controls = {9: tuple(tag for tag, number in enumerate(sets) if number in self.control)}
            building.add(2, first, Step(sources={3: rows}, segments={4: inner}, controls=controls, met=(9,)), of)

    def _begin_sides(self, building: Building) -> None:
        """Of the side one row is found in the leaf, and the others by way of a set, which passed a test of its own."""
        if 9 not in building.sides:
            return
        building.begin_side(9)
        (some, *others) = sorted(self.side)
        rows = _table([(0, some)], pa.int64())
        building.add(9, 0, Step(sources={3: rows}, segments={}, controls={}, met=(9, 10), links={10: _link([(0, 2)])}), "side")
        ((_, first, _),) = building.begin_sets(10)
        rows = _table([(0, one) for one in others], pa.int64())
        building.add(10, first, Step(sources={3: rows}, segments={}, controls={11: (0,)}), "sets")
        assert building.sides == {11}
        building.begin_side(11)
        rows = _table([(0, one) for one in sorted(self.inner_side)], pa.int64())
        building.add(11, 0, Step(sources={3: rows}, segments={}, controls={}, met=(11, 12)), "side")
        assert building.sides == building.pending == set()


def _asked(built: BuiltIndex) -> LookedUpLineage:
    parts = {(number, part): from_bytes(content) for number, part, content in built.parts}
    return LookedUpLineage(built.index, lambda number, wanted: {one: parts[number, one] for one in wanted if (number, one) in parts})


def _pairs(table: pa.Table | None) -> list[tuple[int, int]]:
    return [] if table is None else sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("direction", ["both", "backward", "forward"])
@pytest.mark.parametrize(("results", "most"), [(40, 30), (3, 1)], ids=["in common", "few"])
@pytest.mark.parametrize("seed", range(4))
def test_they_answer_as_by_hand(seed: int, results: int, most: int, direction: Any) -> None:
    made = _Lineage(seed, results, 50, most)
    built = made.built(direction)
    assert {one.of for one in built.index.maps} == ({"segment", "set"} if results == 40 else {"segment"})
    lineage = _asked(built)
    asked = [5, *range(results)] if results > 5 else [*range(results)]  # one twice
    found = lineage.step(0, pa.table({TAG: [*range(len(asked))], "key_0": [one * made.times for one in asked]}))
    assert found is not None
    step, _ = found
    assert _pairs(step.sources.get(3)) == sorted((tag, row) for tag, one in enumerate(asked) for row in made.sources(one))
    inner = [(tag, row) for tag, one in enumerate(asked) for row in set().union(*(made.inner[each] for each in made.all_sets(one)))]
    assert _pairs(step.segments.get(4)) == sorted(inner)
    controlled = tuple(tag for tag, one in enumerate(asked) if made.all_sets(one) & made.control)
    assert dict(step.controls) == ({9: controlled} if controlled else {})
    assert step.met == ((1, 2, 9) if any(made.all_sets(one) for one in range(results)) else (1, 2))
    rows = Rows(of=RowSet("source", (3,)), keys=_table([(at, at) for at in range(50)], pa.int64()))
    down = lineage.descendants(rows, RowSet("segment", (0,)))
    assert down is not None
    expected = sorted((row, one * made.times) for one in range(results) for row in made.sources(one))
    known = lineage.space("source", 3).rids(rows.keys.drop_columns([TAG]))
    assert _pairs(down[0]) == [pair for pair in expected if known[pair[0]] >= 0] == expected


@pytest.mark.parametrize("direction", ["both", "backward", "forward"])
@pytest.mark.parametrize("seed", range(2))
def test_right_sides_are_behind_rows_where_that_is_asked(seed: int, direction: Any) -> None:
    made = _Lineage(seed, 40, 50, 3)
    lineage = _asked(made.built(direction, "rows"))
    asked = pa.table({TAG: [*range(40)], "key_0": [one * made.times for one in range(40)]})
    keys = Rows(of=RowSet("source", (3,)), keys=_table([(at, at) for at in range(50)], pa.int64()))
    passed = [one for one in range(40) if made.all_sets(one) & made.control]
    assert 0 < len(passed) < 40
    for differences, behind, met, controls in (
        (False, made.sources, (1, 2, 9), {9: tuple(passed)}),
        (True, made.with_sides, (1, 2, 9, 10, 11, 12), {9: tuple(passed), 11: tuple(passed)}),
    ):
        found, down = (
            lineage.step(0, asked, differences=differences),
            lineage.descendants(keys, RowSet("segment", (0,)), differences=differences),
        )
        assert found is not None
        assert down is not None
        expected = [(one, row) for one in range(40) for row in sorted(behind(one))]
        assert _pairs(found[0].sources.get(3)) == expected
        assert (found[0].met, dict(found[0].controls)) == (met, controls)
        assert _pairs(down[0]) == sorted((row, one * made.times) for one, row in expected)
    if direction != "forward":
        # Whatever passed, a side's rows are there once.
        assert sum(one.edges for one in lineage.index.maps if one.of == "control" and one.direction == "backward") < 10
    for kept in ("control", "data"):
        known = _asked(made.built(direction, kept))
        assert known.step(0, asked, differences=True) is known.descendants(keys, RowSet("segment", (0,)), differences=True) is None
        plain = known.step(0, asked)
        assert plain is not None
        assert dict(plain[0].controls) == ({9: tuple(passed)} if kept == "control" else {})


def test_a_set_that_all_rows_have_in_common_has_its_rows_once() -> None:
    """TPC-H's Q11 in small: each result goes back to its own group, and to the subquery's, which has all rows."""
    results, rows = 200, 3_000
    building = Building(counts={}, most=1_000_000)
    building.begin(0, pa.table({"key_0": np.arange(results)}))
    whole = pa.table({TAG: np.arange(results), "present": [True] * results})  # nothing tells it apart
    own = pa.table({TAG: np.arange(results), "present": [True] * results, "key": np.arange(results)})
    building.add(0, 0, Step(sources={}, segments={}, controls={}, met=(1, 2), links={1: own, 2: whole}))
    ((_, first, groups),) = building.begin_sets(1)
    assert groups.num_rows == results
    each = pa.table({TAG: np.repeat(np.arange(results), rows // results), "key_0": np.arange(rows)})
    building.add(1, first, Step(sources={5: each}, segments={}, controls={}), "sets")
    ((_, first, one),) = building.begin_sets(2)
    assert one.num_rows == 1
    building.add(
        2, first, Step(sources={6: pa.table({TAG: np.zeros(rows, int), "key_0": np.arange(rows)})}, segments={}, controls={}), "sets"
    )
    built = building.indexes("both", datetime.now(UTC), 0.5, "")
    backward = {(one.of, one.segment, one.side, one.input): one.edges for one in built.index.maps if one.direction == "backward"}
    # The groups are written from end to end, since they have nothing in common.
    assert backward == {("segment", 0, "source", 5): rows, ("segment", 0, "set", 2): results, ("set", 2, "source", 6): rows}
    (because,) = {one.because.split("; ")[-1] for one in built.index.maps if one.side == "set"}
    assert because == f"{results * rows:,} pairs from end to end are {results + rows:,} by way of segment 2"
    found = _asked(built).step(0, pa.table({TAG: [3, 4], "key_0": [17, 18]}))
    assert found is not None
    assert {number: table.num_rows for number, table in found[0].sources.items()} == {5: 2 * rows // results, 6: 2 * rows}


def test_however_sets_were_met_they_have_the_same_numbers() -> None:
    """As those that a run collects, whose groups have other numbers, are written to the byte as those that are found later; and as those
    that are put in order in files."""
    made = _Lineage(1, 40, 50, 30)

    rows: dict[RowSetKey, int] = {("segment", 0): 40, ("segment", 4): 4, ("source", 3): 50, ("source", 7): 600}
    counts: dict[RowSetKey, Counts] = {key: ("numbered", [(0, many)]) for key, many in rows.items()}
    apart = pa.table({TAG: np.arange(600) % 40, "key_0": np.arange(600)})

    def written(turned: bool, room: int = ROOM, apart_rows: int = 600) -> dict[tuple[Any, ...], list[bytes]]:
        own: dict[RowSetKey, Counts] = counts | {("source", 7): ("numbered", [(0, apart_rows)])}
        building = Building(counts=own, most=100_000, room=Room(room))
        building.begin(0, pa.table({"key_0": np.arange(40)[::-1]}))
        direct = {3: _table([(at, one) for at in range(40) for one in sorted(made.direct[at])], pa.int64()), 7: apart.slice(0, 250)}
        building.add(0, 0, Step(sources=direct, segments={}, controls={}))
        building.add(0, 0, Step(sources={7: apart.slice(250)}, segments={}, controls={}))
        pairs = [(at, one) for at in range(40) for one in sorted(made.sets[at])]
        pairs = pairs[::-1] if turned else pairs
        building.add(0, 0, Step(sources={}, segments={}, controls={}, links={2: _link(pairs)}))
        made._begin_sets(building)
        built = building.indexes("both", datetime.now(UTC), 0.5, "")
        return {
            (one.node, one.side, one.input, one.direction): [content for number, _, content in built.parts if number == one.number]
            for one in built.index.maps
            if one.side != "control"
        }

    assert written(False) == written(True) == written(True, 0) == written(False, 1000)
    assert written(False, ROOM, 0) == written(False, ROOM, 300) == written(False, 0, 300)  # which were numbers until it was seen


@pytest.mark.parametrize("name", list(ENCODINGS)[:: 4 if QUICK else 1])
def test_however_indexes_are_written_they_answer_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way is forced on all indexes that it can hold, whatever would be smaller: what is chosen in small is a few ways alone."""
    used = 0

    def forced(parts: Sequence[Csr], others: int, shape: Shape) -> Choice:
        nonlocal used
        if not all(ENCODINGS[name].holds(part, others) for part in parts):
            return choose(parts, others, shape)
        used += 1
        return Choice(ENCODINGS[name], "")

    monkeypatch.setattr(writing, "choose", forced)
    monkeypatch.setattr(writing, "ROWS_OF_A_PART", 7)  # so that indexes have several parts
    test_they_answer_as_by_hand(1, 40, 30, "backward")
    test_they_answer_as_by_hand(0, 40, 30, "forward")
    test_a_set_that_all_rows_have_in_common_has_its_rows_once()
    monkeypatch.setattr(build, "ROOM", 0)  # so that edges are mapped files, which nothing may write to
    test_they_answer_as_by_hand(1, 3, 1, "both")
    assert used
