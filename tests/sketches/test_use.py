"""A sketch as a selection: the rows of its fragments, told by Python's own order and by Spark; and where a column is cut."""

from __future__ import annotations

import calendar
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sketches import cuts
from airflow_lineage_provider.sketches.cuts import RowGroup
from airflow_lineage_provider.sketches.grid import starts
from airflow_lineage_provider.sketches.intervals import intervals_of
from airflow_lineage_provider.sketches.numbering import numbering, numbering_of_column
from airflow_lineage_provider.sketches.ordinals import CodeMembership
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.use import CLOSED, FEW, FOR_READER, Membership, Selection, selection
from tests.in_turn import sampled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, FIRST, MOMENT = float("nan"), date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)
LETTERS = ("", "a", "B", "é", "z\0", "'", "\\n", "${x}", "\uff21", "\U0001f600")


def drawn(kind: str, random: Random) -> Any:
    """A value of a type; the ends of its range and odd ones often."""
    if random.random() < 0.1:
        return None
    match kind:
        case "tinyint":
            return random.choice((-128, 127, random.randint(-128, 127)))
        case "int":
            return random.choice((-(1 << 31), (1 << 31) - 1, random.randint(-3000, 3000), random.randint(-3000, 3000)))
        case "bigint":
            return random.choice((-(1 << 63), (1 << 63) - 1, random.randint(-3000, 3000), random.randint(-3000, 3000)))
        case "decimal(10,2)":
            return Decimal(random.choice((-9_999_999_999, 9_999_999_999, random.randint(-3000, 3000)))).scaleb(-2)
        case "float":
            return random.choice((NAN, -0.0, 0.0, math.inf, -math.inf, random.randint(-500, 500) / 4))
        case "double":
            return random.choice((NAN, -0.0, 0.0, math.inf, -math.inf, 1e300, -1e-300, random.uniform(-50, 50)))
        case "string":
            return "".join(random.choice(LETTERS) for _ in range(random.randint(0, 3)))
        case "date":
            return FIRST + timedelta(random.randint(-2000, 2000))
        case "timestamp":
            return MOMENT + timedelta(microseconds=random.randint(-(10**12), 10**12))
        case "timestamp_ntz":
            return (MOMENT + timedelta(microseconds=random.randint(-(10**12), 10**12))).replace(tzinfo=None)
    return random.random() < 0.5


KINDS = (
    "tinyint", "int", "bigint", "decimal(10,2)", "float", "double", "string", "date", "timestamp", "timestamp_ntz", "boolean",
)  # fmt: skip


def cut(kind: str, values: Sequence[Any], random: Random, every: bool = False) -> Partition:
    """Cuts at some of the values, few or many, or at every one."""
    found = sorted({one for one in values if one is not None and one == one}, key=lambda one: one.encode() if isinstance(one, str) else one)
    chosen = random.sample(range(len(found)), len(found) if every else random.choice((0, 1, len(found) // 2, len(found))))
    return Partition(type=kind, cuts=tuple(found[at] for at in sorted(chosen)))


def chosen(found: Selection | None, value: Any) -> bool:
    """Whether a selection has a value: both of its conditions say so, in two values."""
    if found is None:
        return True
    said = [] if found.intervals is None else [told(found.intervals, value)]
    assert None not in said
    assert not isinstance(found.membership, CodeMembership)
    return all([*said, *([] if found.membership is None else [is_member(found.membership, value)])])


def is_member(membership: Membership, value: Any) -> bool:
    """By the number of bounds that are not above the value."""
    assert list(map(computed, constants(membership))) == sorted(set(map(computed, constants(membership))))
    if value is None:
        return membership.null
    if value != value:
        return bool(membership.nan)
    passed = sum(computed(bound) <= computed(membership.column, value) for bound in constants(membership))
    inside = bool(membership.before == (passed % 2 == 0))
    if membership.grid is not None:
        assert membership.grid.may_be_inside(place(value)) >= inside, "a bit that is not set tells of a whole bucket"
    return inside


def place(value: Any) -> int:
    """Among whole numbers, told by Python's own counting."""
    if isinstance(value, datetime):
        return calendar.timegm(value.utctimetuple()) * 10**6 + value.microsecond
    return value.toordinal() - date(1970, 1, 1).toordinal() if isinstance(value, date) else int(value)


def constants(membership: Membership) -> list[e.Literal]:
    return [e.Literal(value=text, type=membership.type) for text in membership.bounds]


def told(condition: e.Expression, value: Any) -> bool | None:
    """What a condition says of a value: SQL's three values."""
    match condition:
        case e.Literal():
            return condition.value == "true"
        case e.Call(function="and" | "or"):
            values = [told(one, value) for one in condition.arguments]
            decides = condition.function == "or"
            return decides if decides in values else None if None in values else not decides
        case e.Call(function="not"):
            inner = told(condition.arguments[0], value)
            return None if inner is None else not inner
        case e.Call(function="isnull" | "isnotnull"):
            return (value is None) == (condition.function == "isnull")
        case e.Call(function="isnan"):
            return value is not None and math.isnan(value)
        case e.Call(function="<" | ">="):
            one, other = (computed(argument, value) for argument in condition.arguments)
            if one is None or other is None:
                return None
            less = not math.isnan(one) and one < other if isinstance(one, float) else one < other
            return less == (condition.function == "<")
    raise AssertionError(condition)


def computed(expression: e.Expression, value: Any = None) -> Any:
    """The value of what is compared."""
    match expression:
        case e.Attribute():
            return value.encode() if isinstance(value, str) else value
        case e.Literal(value=text, type=kind):
            assert text is not None
            read: dict[str, Callable[[str], Any]] = {
                "string": str.encode,
                "date": date.fromisoformat,
                "boolean": lambda one: one == "true",
                "double": float,
            }
            return read.get(kind, datetime.fromisoformat if kind.startswith("timestamp") else Decimal)(text)
    raise AssertionError(expression)


def column(kind: str) -> e.Attribute:
    return e.Attribute(id=0, name="a", type=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", sampled(range(12)))
def test_the_rows_of_the_fragments_are_selected(kind: str, seed: int) -> None:
    random = Random(f"{kind} {seed}")
    values = [drawn(kind, random) for _ in range(400)]
    partition = cut(kind, values, random)
    share = random.choice((0.02, 0.3, 0.9))
    fragments = frozenset(one for one in range(partition.count) if random.random() < share)
    found = selection(partition, fragments, column(kind))
    assert [chosen(found, value) for value in values] == [partition.fragment_of(value) in fragments for value in values]


def test_all_and_no_fragments() -> None:
    partition = Partition(type="int", cuts=(0, 10))
    assert selection(partition, frozenset(range(4)), column("int")) is None
    assert selection(partition, frozenset(), column("int")) == Selection(
        columns=(column("int"),), intervals=e.Literal(value="false", type="boolean")
    )
    nulls = selection(partition, frozenset({3}), column("int"))
    assert [chosen(nulls, value) for value in (None, 5)] == [True, False]


def test_thousands_of_scattered_fragments_stay_exact() -> None:
    """At the ends of the type, too."""
    partition = Partition(type="bigint", cuts=(-(1 << 63), *range(-50_000, 50_000, 40), 1 << 62))
    fragments = frozenset(range(0, partition.count, 3))
    found = selection(partition, fragments, column("bigint"))
    random = Random(1)
    values = [-(1 << 63), (1 << 63) - 1, None, *(random.randint(-60_000, 60_000) for _ in range(30))]
    assert [chosen(found, value) for value in values] == [partition.fragment_of(value) in fragments for value in values]


@pytest.mark.parametrize(
    ("every", "count", "given", "searched"),
    [(100, FEW, FEW, False), (100, FEW + 1, FEW + 1, True), (100, FOR_READER, FOR_READER, True), (50, 3 * FOR_READER, 0, True),
     (2, FOR_READER + 1, CLOSED, True)],
)  # fmt: skip
def test_intervals_for_the_reader(every: int, count: int, given: int, searched: bool) -> None:
    """All where they are few, with the search where that is cheaper than asking a row for each; of more the gaps are closed, and where that
    leaves most of the fragments the reader is given none."""
    partition = Partition(type="int", cuts=tuple(range(10_000)))
    found = selection(partition, frozenset(range(1, every * count, every)), column("int"))
    assert found is not None
    assert (found.membership is not None) == searched
    assert ("" if found.intervals is None else str(found.intervals)).count("'>='") == given


@pytest.mark.parametrize("spread", [300, 20_000, 1 << 50])
def test_where_buckets_begin_is_where_cuts_are(spread: int) -> None:
    """Counted by Python; of cuts that are spread evenly most need no search."""
    random = Random(spread)
    for _ in range(40):
        cuts = sorted({random.randint(-spread, spread) for _ in range(random.choice((2, 3, 50, 200)))})
        if len(cuts) < 2:
            continue
        found = starts(cuts)
        assert found is not None
        near = [cut + by for cut in cuts for by in (-1, 0, 1)]
        told = {at: found.before(at) for at in [*near, *(random.randint(-spread, spread) for _ in range(200)), -spread, spread]}
        assert {at: before for at, before in told.items() if before not in (None, bisect_right(cuts, at))} == {}
        assert sum(before is None for before in told.values()) < 0.6 * len(told)
    assert starts([0]) is None
    assert starts([-(1 << 63), 0]) is None
    assert starts(range(0, 1 << 63, 1 << 61)) is None, "a number of Spark's does not hold the sums"


def test_cuts_that_are_one_constant_have_nothing_between_them() -> None:
    partition = Partition(type="int", cuts=(*(Decimal(at) for at in range(0, 100, 2)), Decimal("98.25"), Decimal("98.75"), Decimal(200)))
    fragments = frozenset({*range(1, 50, 2), 51})  # the last: from 98.25 to below 98.75
    found = selection(partition, fragments, column("int"))
    assert found is not None
    assert isinstance(found.membership, Membership)
    assert "99" not in found.membership.bounds
    assert [chosen(found, value) for value in (96, 97, 98, 99)] == [partition.fragment_of(value) in fragments for value in (96, 97, 98, 99)]


def test_intervals_are_few() -> None:
    random = Random(2)
    for _ in range(200):
        count, most = random.randint(1, 60), random.randint(1, 20)
        fragments = frozenset(one for one in range(count) if random.random() < 0.4)
        found = intervals_of(fragments, count, most)
        inside = {number for one in found for number in range(one.first, one.last + 1)}
        assert len(found) <= most
        assert fragments <= inside
        assert all(before.last + 1 < after.first for before, after in pairwise(found))
        if len(intervals_of(fragments, count, count)) <= most:
            assert inside == fragments
    assert len(intervals_of(frozenset(range(0, 1000, 2)), 1000, FOR_READER)) == FOR_READER


@pytest.mark.parametrize(
    ("kind", "cut", "told"),
    [
        ("timestamp", datetime(2020, 1, 1), "needs an offset"),
        ("timestamp_ntz", MOMENT, "must not have an offset"),
        ("decimal(38,30)", Decimal(10**12), "beyond all values"),
    ],
)
def test_a_cut_that_spark_could_not_read_as_it_is_meant(kind: str, cut: Any, told: str) -> None:
    with pytest.raises(SketchError, match=told):
        selection(Partition(type=kind, cuts=(cut,)), frozenset({0}), column(kind))


def test_a_sketch_of_another_type() -> None:
    with pytest.raises(SketchError, match="column a, which is bigint"):
        selection(Partition(type="int", cuts=()), frozenset({0}), column("bigint"))


def test_a_cut_between_the_values_of_a_type() -> None:
    found = selection(Partition(type="int", cuts=(Decimal("1.5"), 1 << 40)), frozenset({1}), column("int"))
    assert [chosen(found, value) for value in (1, 2, (1 << 31) - 1)] == [False, True, True]


# --- in Spark ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spark_selects_the_same_rows(spark: SparkSession, zone: str) -> None:
    """Of every type (in another zone of those that it has to do with), in one frame; few and many fragments, numbered alike."""
    from airflow_lineage_provider.spark.fragment_numbers import with_fragments
    from airflow_lineage_provider.spark.selected import selected
    from airflow_lineage_provider.spark.session import apply_conf

    random, kinds = Random(zone), KINDS if zone == "UTC" else ("date", "timestamp", "timestamp_ntz")
    rows = [tuple(drawn(kind, random) for kind in kinds) for _ in range(300)]
    schema = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    with apply_conf(spark, {"spark.sql.session.timeZone": zone}):
        given = [tuple(one.astimezone() if isinstance(one, datetime) and one.tzinfo else one for one in row) for row in rows]
        frame = spark.createDataFrame([(at, *row) for at, row in enumerate(given)], f"number int, {schema}")
        searched = 0
        for at, kind in enumerate(kinds):
            values = [row[at] for row in rows]
            for share in (0.05, 0.5):
                partition = cut(kind, values, random, every=share == 0.5)
                fragments = frozenset(one for one in range(partition.count) if random.random() < share)
                asked = selection(partition, fragments, e.Attribute(id=at, name=f"c{at}", type=kind))
                found = {row.number for row in selected(frame, asked, f"c{at}").collect()}
                expected = {number for number, value in enumerate(values) if partition.fragment_of(value) in fragments}
                assert found == expected, (kind, zone, asked)
                searched += asked is not None and asked.membership is not None
                numbers = {row.number: row.f for row in with_fragments(frame, f"c{at}", numbering(partition), "f").collect()}
                assert numbers == {number: partition.fragment_of(value) for number, value in enumerate(values)}, (kind, zone, partition)
        assert searched >= 0.7 * len(kinds), "of most types there are many intervals"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "cuts"),
    [
        ("bigint", (-(1 << 63) + 1, 0, (1 << 63) - 1)),
        ("tinyint", tuple(range(-400, 400, 40))),
        ("int", (Decimal("1.5"), Decimal("1.75"), 2, 7)),
        ("int", (3,)),
        ("int", ()),
    ],
)
def test_spark_numbers_whole_numbers(spark: SparkSession, kind: str, cuts: tuple[Any, ...]) -> None:
    """By arithmetic where the cuts are at equal distances, also at the ends of what there is."""
    from airflow_lineage_provider.spark.fragment_numbers import with_fragments

    partition = Partition(type=kind, cuts=cuts)
    bits = {"tinyint": 7, "int": 31, "bigint": 63}[kind]
    values = [None, -(1 << bits), (1 << bits) - 1, *range(-128, 128)]
    values += [
        one for cut in cuts if abs(cut) < 1 << bits for one in (int(cut) - 1, int(cut), int(cut) + 1) if -(1 << bits) <= one < 1 << bits
    ]
    frame = spark.createDataFrame([(one,) for one in values], f"v {kind}").coalesce(1)
    assert [row.f for row in with_fragments(frame, "v", numbering(partition), "f").collect()] == list(map(partition.fragment_of, values))


# --- cuts --------------------------------------------------------------------------------------------------------------


def test_a_value_a_fragment_where_values_are_few() -> None:
    partition = cuts.of_values([3, 1, None, 3, 2], "int", 10, every=True)
    assert partition.cuts == (1, 2, 3)
    assert cuts.of_values([NAN, None], "double", 10, every=True).cuts == ()


def test_percentiles_have_equally_many_rows() -> None:
    random = Random(3)
    values = [random.gauss(0, 1000) // 1 for _ in range(20_000)]
    partition = cuts.of_values(values, "double", 100)
    assert isinstance(partition, Partition)
    counts = [0] * partition.count
    for value in values:
        counts[partition.fragment_of(value)] += 1
    assert 80 <= len(partition.cuts) <= 100
    assert max(counts) <= 3 * len(values) / 100


def test_many_rows_with_one_value_are_one_cut() -> None:
    assert cuts.of_values(["a"] * 90 + ["b"] * 10, "string", 5).cuts == ("a",)
    assert cuts.of_values([1] * 1000 + [2], "int", 4, every=True).cuts == (1, 2)


def test_row_groups_of_a_clustered_table_are_where_it_is_cut() -> None:
    groups = [RowGroup(first, first + 99) for first in range(0, 1000, 100)]
    partition = cuts.of_row_groups(groups, "int", 100)
    assert partition is not None
    assert {one.least for one in groups} <= set(partition.cuts)
    assert partition.cuts == tuple(range(0, 1000, 10))
    days = cuts.of_row_groups([RowGroup(FIRST, FIRST + timedelta(9)), RowGroup(FIRST + timedelta(10), FIRST + timedelta(19))], "date", 4)
    assert days is not None
    assert len(days.cuts) == 4
    texts = cuts.of_row_groups([RowGroup("a", "b"), RowGroup("c", "d"), RowGroup("é", "z")], "string", 100)
    assert texts is not None
    assert texts.cuts == ("a", "c", "é")
    many = cuts.of_row_groups([RowGroup(one, one) for one in range(1000)], "int", 50)
    assert many is not None
    assert len(many.cuts) == 50


def test_whole_numbers_without_gaps_are_cut_at_equal_distances() -> None:
    """Where there are as many rows as numbers; of more cuts than numbers each is one."""
    groups = [RowGroup(5, 90), RowGroup(-10, 99)]
    partition = cuts.of_whole_numbers(groups, 110, "int", 20)
    assert partition is not None
    assert partition.cuts == tuple(range(-10, 100, 6))
    assert numbering_of_column(partition).widths is not None
    few = cuts.of_whole_numbers([RowGroup(1, 3)], 50, "tinyint", 10)
    assert few is not None
    assert few.cuts == (1, 2, 3)
    assert cuts.of_whole_numbers(groups, 109, "int", 20) is None
    assert cuts.of_whole_numbers(groups, None, "int", 20) is None
    assert cuts.of_whole_numbers([], 5, "int", 20) is None
    assert cuts.of_whole_numbers([RowGroup(FIRST, FIRST)], 5, "date", 20) is None


def test_a_table_in_random_order_is_not_clustered() -> None:
    assert cuts.of_row_groups([RowGroup(0, 99)] * 20, "int") is None
    assert cuts.of_row_groups([RowGroup(0, 9)], "int") is None
    assert cuts.clustering([RowGroup(first, first + 9) for first in range(0, 100, 10)]) == pytest.approx(0.1)
    assert cuts.clustering([RowGroup(0, 99)] * 4) == 1


@dataclass
class Looked:
    """A column in memory, and how often it was read."""

    values: list[Any]
    reads: list[str] = field(default_factory=list)

    def count(self) -> int:
        self.reads.append("count")
        return len(self.values)

    def sampled(self, share: float) -> list[Any]:
        self.reads.append("sampled")
        return self.values if share >= 1 else Random(1).sample(self.values, int(share * len(self.values)))

    def all_values(self, most: int) -> list[Any] | None:
        self.reads.append("all values")
        found = list(dict.fromkeys(self.values))
        return found if len(found) <= most else None


@pytest.mark.parametrize(
    ("values", "rows", "reads", "each"),
    [
        (list(range(9)) * 3, 27, ["sampled"], True),  # few rows: one look has all of them
        (list(range(9)) * 3, None, ["count", "sampled"], True),
        (list(range(70)), 70, ["sampled"], False),
        (list(range(2000)), 2000, ["sampled"], False),  # a sample has more values than fragments, so the column has
        (list(range(9)) * 200, 1800, ["sampled", "all values"], True),
        ([1] * 1500 + list(range(100, 200)), 1600, ["sampled", "all values"], False),
        ([NAN] * 1500 + [1.0, 2.0], 1502, ["sampled", "all values"], True),
        ([], 0, ["sampled"], True),
    ],
)
def test_a_column_is_read_no_oftener_than_is_needed(values: list[Any], rows: int | None, reads: list[str], each: bool) -> None:
    column = Looked(values)
    type_ = "double" if values and isinstance(values[0], float) else "int"
    found = cuts.of_column(column, rows, type_, 10)
    assert column.reads == reads
    apart = sorted({one for one in values if one == one})
    assert (list(found.cuts) == apart) is each
    assert len(found.cuts) <= 10
