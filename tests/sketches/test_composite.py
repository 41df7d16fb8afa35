"""Fragments of several columns: told by the order of tuples in Python, by codes, by what a selection's conditions say, and by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider.errors import InvalidOption, SketchDamaged, SketchError, SketchTooNew
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches import composite, cuts, kept_cuts, lexicographic, packed
from airflow_lineage_provider.sketches.appends import append_rule
from airflow_lineage_provider.sketches.column_text import columns_in, of_columns
from airflow_lineage_provider.sketches.columns import safe_columns
from airflow_lineage_provider.sketches.composite import Composite
from airflow_lineage_provider.sketches.intervals import values_of
from airflow_lineage_provider.sketches.kept_cuts import KeptCuts
from airflow_lineage_provider.sketches.numbering import numbering
from airflow_lineage_provider.sketches.ordinals import CodeMembership, CompositeNumbering, Ordinals
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.use import Selection, selection
from airflow_lineage_provider.sketches.wanted import SketchOn
from tests.in_turn import sampled
from tests.oracle import query as q
from tests.sketches.drawn import COLUMNS
from tests.sketches.planned import apart, planned
from tests.sketches.test_use import computed, drawn

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = ("tinyint", "int", "bigint", "decimal(10,2)", "string", "date", "timestamp", "timestamp_ntz", "boolean")
Row = tuple[Any, ...]


def order(row: Row) -> tuple[Any, ...]:
    """The order of tuples as Python has it, NULL before all else and texts by their bytes."""
    return tuple((0, 0) if one is None else (1, one.encode() if isinstance(one, str) else one) for one in row)


def rows_of(kinds: Sequence[str], random: Random, count: int = 60) -> list[Row]:
    """Rows whose values come again, so that many have the first ones alike, or none."""
    few = [[drawn(kind, random) for _ in range(random.choice((2, 5, 40)))] + random.choice(([], [None])) for kind in kinds]
    return [tuple(random.choice(some) for some in few) for _ in range(count)]


def cut(kinds: Sequence[str], rows: Sequence[Row], random: Random) -> Composite:
    """Cuts at some of the rows, few or many."""
    found = sorted({order(row): row for row in rows}.values(), key=order)
    chosen = random.sample(range(len(found)), min(len(found), random.choice((1, 2, 3, 5, len(found) // 2, len(found)))))
    return Composite(types=tuple(kinds), cuts=tuple(found[at] for at in sorted(chosen)))


def a_case(seed: str) -> tuple[Random, tuple[str, ...], list[Row], Composite]:
    random = Random(seed)
    kinds = tuple(random.choice(KINDS) for _ in range(random.choice((2, 2, 3, 4))))
    rows = rows_of(kinds, random)
    return random, kinds, rows, cut(kinds, rows[:40], random)


CASES = 30
"""A test has so many, which are alike, and take a moment each."""


@pytest.mark.parametrize("block", sampled(range(8)))
def test_a_tuple_is_in_the_fragment_that_its_place_among_the_cuts_says(block: int) -> None:
    for seed in range(CASES):
        _placed(f"place {block} {seed}")


def _placed(seed: str) -> None:
    _, _, rows, partition = a_case(seed)
    assert partition.count == partition.ranges == len(partition.cuts) + 1
    expected = [sum(order(one) <= order(row) for one in partition.cuts) for row in rows]
    assert list(map(partition.fragment_of, rows)) == expected
    assert partition.fragments_of(rows) == set(expected)
    # What Spark is told makes the same of them.
    how = numbering(partition)
    assert isinstance(how, CompositeNumbering)
    assert [sum(one <= code(how.parts, row) for one in how.codes) for row in rows] == expected


def code(parts: Sequence[Ordinals], row: Row) -> int:
    """The digits of a row, as `fragment_numbers` makes them of its values' places."""
    found = 0
    for part, value in zip(parts, row, strict=True):
        kind = "boolean" if isinstance(value, bool) else part.type
        texts = [computed(e.Literal(value=text, type=part.type)) for text in part.values]
        given = int(value) if kind == "boolean" else computed(e.Attribute(id=0, name="a", type=kind), value)
        place = 0 if value is None else 2 * texts.index(given) + 2 if given in texts else 2 * sum(one < given for one in texts) + 1
        assert 0 <= place < part.width
        found = found * part.width + place
    return found


@pytest.mark.parametrize("block", sampled(range(8)))
def test_the_rows_of_the_fragments_are_selected(block: int) -> None:
    """By intervals, and by codes where they are many; a condition is true or false of each row, and the reader's has all of them."""
    for seed in range(CASES):
        _selected(f"selected {block} {seed}")


def _selected(seed: str) -> None:
    random, kinds, rows, partition = a_case(seed)
    share = random.choice((0.2, 0.5, 0.9))
    fragments = frozenset(one for one in range(partition.count) if random.random() < share)
    found = selection(partition, fragments, *columns_of(kinds))
    for row in rows:
        wanted = partition.fragment_of(row) in fragments
        assert chosen(found, row) == wanted, (row, partition.cuts, sorted(fragments), found)
        if found is not None and found.intervals is not None and wanted:
            assert told(found.intervals, row) is True


def columns_of(kinds: Sequence[str]) -> tuple[e.Attribute, ...]:
    return tuple(e.Attribute(id=at, name=f"c{at}", type=kind) for at, kind in enumerate(kinds))


def chosen(found: Selection | None, row: Row) -> bool:
    if found is None:
        return True
    said = [] if found.intervals is None else [told(found.intervals, row)]
    assert None not in said
    if found.membership is not None:
        assert isinstance(found.membership, CodeMembership)
        assert list(found.membership.bounds) == sorted(set(found.membership.bounds))
        passed = sum(one <= code(found.membership.parts, row) for one in found.membership.bounds)
        said.append(found.membership.before == (passed % 2 == 0))
    return all(said)


def told(condition: e.Expression, row: Row) -> bool | None:
    """What a condition says of a row: SQL's three values."""
    match condition:
        case e.Literal():
            return condition.value == "true"
        case e.Call(function="and" | "or"):
            values = [told(one, row) for one in condition.arguments]
            decides = condition.function == "or"
            return decides if decides in values else None if None in values else not decides
        case e.Call(function="isnull" | "isnotnull", arguments=(e.Attribute(id=at),)):
            return (row[at] is None) == (condition.function == "isnull")
        case e.Call(arguments=(e.Attribute(id=at) as column, e.Literal() as literal)):
            if row[at] is None:
                return None
            one, other = computed(column, row[at]), computed(literal)
            return bool({"<": one < other, ">": one > other, ">=": one >= other, "=": one == other}[condition.function])
    raise AssertionError(condition)


def test_what_the_reader_is_given() -> None:
    """The whole selection where intervals are few; beside codes all of them, those with closed gaps, or none where these have most."""
    partition = Composite(types=("int", "int"), cuts=tuple((at // 100, at % 100) for at in range(10_000)))
    columns = columns_of(("int", "int"))

    def given(every: int, count: int) -> tuple[int, bool]:
        found = selection(partition, frozenset(range(1, every * count, every)), *columns)
        assert found is not None
        # Each interval here is within one value of the first column.
        return ("" if found.intervals is None else str(found.intervals)).count("'>='"), found.membership is not None

    few, most = lexicographic.FEW, lexicographic.FOR_READER
    assert [given(150, few), given(150, few + 1), given(150, most)] == [(few, False), (few + 1, True), (most, True)]
    assert (given(2, most + 1), given(200, 49)) == ((lexicographic.CLOSED, True), (0, True))
    one = selection(partition, frozenset({205}), *columns)
    assert one is not None
    assert str(one.intervals).count("'isnotnull'") == 2
    assert selection(partition, frozenset(range(partition.count)), *columns) is None
    assert selection(partition, frozenset(), *columns) == Selection(columns=columns, intervals=e.Literal(value="false", type="boolean"))


@pytest.mark.parametrize(
    ("types", "rows", "message"),
    [
        (("int",), (), "not of 1"),
        (("int",) * 5, (), "not of 5"),
        (("int", "double"), (), "type double are cut in fragments of that column alone"),
        (("int", "array<int>"), (), "have no order"),
        (("int", "string"), ((1, "b"), (1, "b")), "more than the one before"),
        (("int", "string"), ((1, "b"), (1, None)), "more than the one before"),
        (("int", "string"), ((1,),), "no cut of 2 columns"),
        (("int", "string"), ("ab",), "no cut of 2 columns"),
        (("int", "string"), ((1, 2),), "2 is no cut of values of type string"),
        (("int", "int"), ((1, True), (1, 3)), "True is no"),
        (("int", "string"), ((Decimal("1.5"), "a"),), "1.5 is between the values of type int"),
        (("decimal(4,1)", "int"), ((Decimal("1.25"), 1),), "between the values"),
        (("int", "timestamp"), ((1, datetime(2020, 1, 1)),), "needs an offset"),
        (("int", "timestamp"), ((1, datetime(2020, 1, 1)), (2, datetime(2020, 1, 1, tzinfo=UTC))), "have an order among each other"),
        (("int", "int"), tuple((1, at) for at in range(100_001)), "too many: at most 100,000"),
    ],
)  # fmt: skip
def test_what_is_no_partition(types: tuple[str, ...], rows: tuple[Any, ...], message: str) -> None:
    with pytest.raises(SketchError, match=message):
        Composite(types=types, cuts=rows)


def test_codes_that_are_no_bigint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three different values at each of four places make 8 ordinals there; so many numbers there must be."""
    rows = tuple((at, at, at, at) for at in range(3))
    monkeypatch.setattr(composite, "MOST_BIGINT", 8**4)
    assert Composite(types=("int",) * 4, cuts=rows).codes[-1] < 8**4
    monkeypatch.setattr(composite, "MOST_BIGINT", 8**4 - 1)
    with pytest.raises(SketchError, match="fewer cuts are needed"):
        Composite(types=("int",) * 4, cuts=rows)


def test_what_is_no_row_of_a_partition() -> None:
    partition = Composite(types=("int", "string"), cuts=((1, "a"),))
    for values in ((1,), (1, 2), [1, "a"], None):
        with pytest.raises(SketchError, match="no value"):
            partition.fragment_of(values)  # type: ignore[arg-type]
    with pytest.raises(SketchError, match="fragments of int, string are no fragments of column c0, c1, which is int, int"):
        selection(partition, frozenset({0}), *columns_of(("int", "int")))
    with pytest.raises(SketchError, match="no fragments of column c0, which is int"):
        selection(partition, frozenset({0}), *columns_of(("int",)))


def test_values_beyond_a_type_and_what_is_equal_in_other_clothes() -> None:
    """A cut may be beyond all values of the type; equal numbers are one value."""
    partition = Composite(
        types=("tinyint", "decimal(4,1)"), cuts=((-1000, 5), (1, Decimal("1.50")), (1, 2), (2, Decimal("1.5")), (1 << 40, 0))
    )
    assert [len(one.cuts) for one in partition.places] == [4, 4]
    found = selection(partition, frozenset({1, 3}), *columns_of(partition.types))
    rows = [(one, other) for one in (-128, 0, 1, 2, 127, None) for other in (Decimal(0), Decimal("1.5"), Decimal(2), Decimal("9.9"), None)]
    assert [chosen(found, row) for row in rows] == [partition.fragment_of(row) in (1, 3) for row in rows]
    assert {partition.fragment_of(row) for row in rows} == {0, 1, 2, 3, 4}


def test_cuts_of_rows() -> None:
    rows = [("b", 1), ("a", None), (None, None), ("a", 7), ("a", 7)]
    found = cuts.of_values(rows, ("string", "int"), every=True)
    assert found.cuts == ((None, None), ("a", None), ("a", 7), ("b", 1))
    assert values_of(found, frozenset({0, 2})) == ((None, (None, None)), (("a", None), ("a", 7)))
    random = Random(3)
    many = [(random.randint(0, 30), random.gauss(0, 100) // 1) for _ in range(20_000)]
    some = cuts.of_values([(one, int(other)) for one, other in many], ("int", "int"), 100)
    counts = [0] * some.count
    for one, other in many:
        counts[some.fragment_of((one, int(other)))] += 1
    assert 90 <= len(some.cuts) <= 100
    assert max(counts) <= 3 * len(many) / 100


# --- names and bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [("store", "day"), ("a`b", "`", "c, `d`"), ("x, y", "z"), ("`a`, `b`", "c")])
def test_a_text_tells_its_columns(columns: tuple[str, ...]) -> None:
    assert columns_in(of_columns(columns)) == columns
    assert columns_in(of_columns(columns), columns) == columns


def test_a_text_that_is_a_column_is_that_column() -> None:
    assert of_columns(["a"]) == "a"
    assert [columns_in(one) for one in ("a", "`a`", "`a`, b", "a, b", "`a`,`b`", "")] == [
        ("a",), ("`a`",), ("`a`, b",), ("a, b",), ("`a`,`b`",), ("",),
    ]  # fmt: skip
    assert columns_in("`a`, `b`", ["a", "b", "`a`, `b`"]) == ("`a`, `b`",)


def test_what_is_wanted_of_several_columns() -> None:
    on = SketchOn(column=["store", "day"], cuts=[["a", date(2024, 1, 1)], ("b", None)])
    assert (on.name, on.cuts) == ("`store`, `day`", (("a", date(2024, 1, 1)), ("b", None)))
    assert SketchOn(column=("store",)).name == "store"
    assert SketchOn(column=on.name, cuts=on.cuts) == on
    for wrong in ([], ["a", ""], ["a", 1], ["a", "a"], list("abcde")):
        with pytest.raises(InvalidOption, match="sketch_on: column="):
            SketchOn(column=wrong)  # type: ignore[arg-type]


def test_bytes_there_and_back() -> None:
    for seed in range(CASES):
        _there_and_back(f"bytes {seed}")


def _there_and_back(seed: str) -> None:
    random, _, rows, partition = a_case(seed)
    counted = tuple(random.randint(0, 9) for _ in range(partition.count))
    kept = KeptCuts(partition=partition, asked=random.choice((None, 10)), rows=random.choice((None, counted)))
    assert KeptCuts.from_bytes(kept.to_bytes()) == kept
    read = kept_cuts.from_bytes(kept_cuts.to_bytes(partition))
    assert [read.fragment_of(row) for row in rows] == [partition.fragment_of(row) for row in rows]


def test_what_a_release_that_knows_single_columns_makes_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads neither, and says so; a single column's it reads as ever."""
    partition = Composite(types=("string", "int"), cuts=(("a", 1),))
    several = Sketch(leaf=1, column="`store`, `a``b`", count=2, fragments=frozenset({1}), versions=("v",), kind="superset")
    assert Sketch.from_bytes(several.to_bytes()) == several
    single = replace(several, column="store")
    with monkeypatch.context() as patch:
        patch.setattr(packed, "FORMAT", 1)
        for read, written in ((Sketch.from_bytes, several.to_bytes()), (KeptCuts.from_bytes, kept_cuts.to_bytes(partition))):
            with pytest.raises(SketchTooNew):
                read(written)
        assert Sketch.from_bytes(single.to_bytes()) == single
        assert kept_cuts.from_bytes(kept_cuts.to_bytes(Partition(type="int", cuts=(1,)))) == Partition(type="int", cuts=(1,))


@pytest.mark.parametrize(
    "body",
    [
        b'{"types":["string","int"],"cuts":[["a"]]}', b'{"types":["string","int"],"cuts":[["a","x"]]}', b'{"types":["string"],"cuts":[]}',
        b'{"types":["string","int"],"cuts":[["b","1"],["a","1"]]}', b'{"types":["string","int"],"cuts":[["a","1"]],"rows":[1]}',
        b'{"types":["string","double"],"cuts":[]}', b'{"types":["string","int"],"cuts":["ab"]}', b'{"types":7,"cuts":[]}',
    ],
)  # fmt: skip
def test_damaged_bytes(body: bytes) -> None:
    with pytest.raises(SketchDamaged):
        KeptCuts.from_bytes(packed.packed(b"CUT", body, 2))


# --- safety ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "judged"),
    [
        (("k", "s"), (True, "group", "groups")), (("s", "k"), (True, "group", "groups")), (("k", "v"), (False, "selection", "")),
        (("s", "v", "k"), (False, "selection", "")), (("rid", "k"), (False, "selection", "")),
    ],
)  # fmt: skip
def test_the_groups_tell_each_of_the_columns(columns: tuple[str, ...], judged: tuple[bool, str, str]) -> None:
    """Of ``GROUP BY k, s HAVING count(*) < 3``: so a group is in one fragment, also when rows are added."""
    grouped = q.Aggregate(q.Table("t"), (q.Col(1), q.Col(3)), (q.Call("count"),))
    node, leaves = apart(q.Filter(grouped, q.Op("<", (q.Col(2), q.Lit(3, "int")))), {"t": q.Data(COLUMNS)})
    pipeline = Pipeline(plan=planned(node, leaves), names=("k", "s", "n"))
    (found,) = safe_columns(pipeline, only=[(0, of_columns(columns)), (1, of_columns(columns)), (0, "`k`, `nowhere`")])
    rule = append_rule(pipeline, 0, of_columns(columns))
    assert (found.safe, found.rule, "" if isinstance(rule, str) else rule.name) == judged
    assert (found.column, found.type) == (of_columns(columns), ", ".join("string" if one == "s" else "bigint" for one in columns))


# --- in Spark ----------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_spark_selects_the_same_rows(spark: SparkSession) -> None:
    """Of columns of every type together, few and many fragments, numbered alike; and without a cut, or with NULL alone in a column."""
    from airflow_lineage_provider.spark.fragment_numbers import with_fragments
    from airflow_lineage_provider.spark.selected import selected_by

    random, searched = Random("spark"), 0
    rows = rows_of(KINDS, random, 200)
    schema = ", ".join(f"`c.{at}` {kind}" for at, kind in enumerate(KINDS))
    given = [tuple(one.astimezone() if isinstance(one, datetime) and one.tzinfo else one for one in row) for row in rows]
    frame = spark.createDataFrame([(at, *row) for at, row in enumerate(given)], f"number int, {schema}").coalesce(1).persist()
    cases = [(0, 4), (5, 1), (2, 3, 6), (7, 8), (8, 4, 0, 5)]
    for case, few in [(one, few) for one in cases for few in (False, True)] + [((4, 5), None)]:
        kinds, name = tuple(KINDS[at] for at in case), of_columns([f"c.{at}" for at in case])
        here = [tuple(row[at] for at in case) for row in rows]
        partition = (
            cut(kinds, here, random)
            if few
            else Composite(types=kinds, cuts=tuple(sorted({order(one): one for one in here}.values(), key=order)))
        )
        partition = replace(partition, cuts=((None, None),)) if few is None else partition
        fragments = frozenset(one for one in range(partition.count) if random.random() < 0.4) - {0}
        asked = selection(partition, fragments, *columns_of(kinds))
        expected = {number for number, row in enumerate(here) if partition.fragment_of(row) in fragments}
        assert {row.number for row in selected_by(frame, asked, name).collect()} == expected, (case, partition)
        numbers = {row.number: row.f for row in with_fragments(frame, name, numbering(partition), "f").collect()}
        assert numbers == {number: partition.fragment_of(row) for number, row in enumerate(here)}, (case, partition)
        searched += asked is not None and asked.membership is not None
    assert searched >= 3
    frame.unpersist()
