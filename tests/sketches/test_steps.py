"""Functions that go up in steps: which they are, where steps begin, and what is safe for cuts there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.step_begins import begin_of
from airflow_lineage_provider.sketches.steps import _TOGETHER, aligned, begun, has_last_days, step_of, steps_in

pytest.importorskip("z3")

DAY = e.Attribute(id=0, name="day", type="date")
N = e.Attribute(id=1, name="n", type="int")
V = e.Attribute(id=2, name="v", type="int")
AT = e.Attribute(id=3, name="at", type="timestamp")
CLOCK = e.Attribute(id=4, name="clock", type="timestamp_ntz")
NAME = e.Attribute(id=5, name="name", type="string")


def text(value: str) -> e.Literal:
    return e.Literal(value=value, type="string")


def trunc(unit: str) -> e.Call:
    return e.Call(function="trunc", arguments=(DAY, text(unit)), type="date")


def date_trunc(unit: str, kind: str = "timestamp") -> e.Call:
    return e.Call(function="date_trunc", arguments=(text(unit), e.Cast(child=DAY, type=kind)), type=kind)


def of_moment(unit: str, moment: e.Expression = AT) -> e.Call:
    return e.Call(function="date_trunc", arguments=(text(unit), moment), type="timestamp")


def day_of(moment: e.Attribute = AT) -> e.Cast:
    return e.Cast(child=moment, type="date")


def floor(size: str, kind: str = "int") -> e.Call:
    by = e.Cast(child=e.Literal(value=size, type=kind), type="double")
    quotient = e.Call(function="/", arguments=(e.Cast(child=N, type="double"), by), type="double")
    return e.Call(function="floor", arguments=(quotient,), type="bigint")


def prefix(length: str, of: e.Attribute = NAME, first: str = "1") -> e.Call:
    letters = (e.Literal(value=first, type="int"), e.Literal(value=length, type="int"))
    return e.Call(function="substring", arguments=(of, *letters), type="string")


def bigint(value: int) -> e.Literal:
    return e.Literal(value=str(value), type="bigint")


def call(function: str, *arguments: e.Expression, type: str = "bigint") -> e.Call:
    return e.Call(function=function, arguments=arguments, type=type)


def window(size: int, first: int = 0, back: int = 0) -> e.Call:
    """``window(at, …)`` as Spark has it."""
    micros = call("unix_micros", AT)
    mod = call("%", call("-", micros, bigint(first)), bigint(size))
    zero = e.Cast(child=e.Literal(value="0", type="int"), type="bigint")
    passed = call("when", call("<", mod, zero, type="boolean"), call("+", mod, bigint(size)), mod)
    begins = call("-", call("-", micros, passed), bigint(back))
    start = call("timestamp_micros", begins, type="timestamp")
    end = call("timestamp_micros", call("+", begins, bigint(size)), type="timestamp")
    return call("named_struct", text("start"), start, text("end"), end, type="struct<start:timestamp,end:timestamp>")


def div(size: str) -> e.Call:
    wide = e.Cast(child=N, type="bigint")
    return e.Call(function="div", arguments=(wide, e.Literal(value=size, type="bigint")), type="bigint")


@pytest.mark.parametrize(
    ("function", "zone", "step"),
    [
        (trunc("MM"), None, (DAY, "month")), (trunc("week"), None, (DAY, "week")), (trunc("day"), None, None),
        (e.Call(function="year", arguments=(DAY,), type="int"), None, (DAY, "year")),
        (e.Call(function="month", arguments=(DAY,), type="int"), "UTC", None),  # it goes down in January
        (date_trunc("quarter"), "Europe/Berlin", (DAY, "quarter")), (date_trunc("month"), None, None),
        (date_trunc("month"), "Pacific/Apia", (DAY, "month")), (date_trunc("month"), "Asia/Manila", None),
        (date_trunc("month", "timestamp_ntz"), "Asia/Manila", (DAY, "month")), (date_trunc("month"), "nowhere", None),
        (date_trunc("week"), "UTC", None), (date_trunc("hour"), "UTC", None),
        (div("3"), None, (N, "div 3")), (div("0"), None, None), (div("-2"), None, None),
        (of_moment("HOUR"), "UTC", (AT, "hour")), (of_moment("dd"), "+05:30", (AT, "day at +05:30")), (of_moment("week"), None, None),
        (of_moment("day"), "America/St_Johns", (AT, "day at America/St_Johns")), (of_moment("day"), "EST", None),
        (
            e.Call(function="div", arguments=(N, e.Cast(child=e.Literal(value="40", type="int"), type="bigint")), type="bigint"),
            None, (N, "div 40"),
        ),
        (e.Call(function="to_date", arguments=(AT,), type="date"), "UTC", (AT, "day")),
        (e.Call(function="to_date", arguments=(NAME,), type="date"), "UTC", None),
        # Spark makes a moment of what a clock shows: where clocks are put on, two of them are one moment.
        (of_moment("hour", e.Cast(child=CLOCK, type="timestamp")), "+02:00", (CLOCK, "hour")),
        (of_moment("hour", e.Cast(child=CLOCK, type="timestamp")), "Europe/Berlin", None),
        (of_moment("minute", CLOCK), "Europe/Berlin", (CLOCK, "minute")), (of_moment("century", CLOCK), "UTC", None),
        (day_of(), "Etc/UTC", (AT, "day")), (day_of(), "Europe/Berlin", (AT, "day at Europe/Berlin")),
        (day_of(CLOCK), None, (CLOCK, "day")),
        (e.Call(function="year", arguments=(day_of(),), type="int"), "-03:00", (AT, "year at -03:00")),
        (e.Call(function="trunc", arguments=(day_of(CLOCK), text("mon")), type="date"), None, (CLOCK, "month")),
        (floor("5"), None, (N, "floor / 5")), (floor("2.5", "double"), None, None), (floor("0"), None, None), (floor("-5"), None, None),
        (window(3_600_000_000).arguments[1], None, (AT, "window of 3600000000 µs from 0")),
        (window(900_000_000, -300_000_000).arguments[1], None, (AT, "window of 900000000 µs from -300000000")),
        (window(3_600_000_000, back=1_800_000_000).arguments[1], None, None),  # of windows that overlap a moment is in several
        (window(3_600_000_000).arguments[3], None, None), (window(0).arguments[1], None, None),
        (prefix("2"), None, (NAME, "first 2 letters")), (prefix("0"), None, None), (prefix("2", first="2"), None, None),
        (prefix("2", e.Attribute(id=5, name="name", type="string collate UNICODE_CI")), None, None),
        (e.Call(function="left", arguments=(NAME, e.Literal(value="3", type="int")), type="string"), None, (NAME, "first 3 letters")),
    ],
)  # fmt: skip
def test_which_they_are(function: e.Call, zone: str | None, step: Any) -> None:
    assert step_of(function, zone) == step


def test_a_zone_without_the_last_day_of_a_month() -> None:
    """Manila had no 31 December 1844; Samoa left out 30 December 2011, which ended no month."""
    assert [has_last_days(zone) for zone in ("Asia/Manila", "Pacific/Apia", "Etc/UTC", "+02:00")] == [False, True, True, False]


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week"])
def test_steps_begin_where_duckdb_says(unit: str) -> None:
    days = [date(1999, 11, 20) + timedelta(days=at) for at in range(900)]
    with duckdb.connect() as connection:
        there = [day for (day,) in connection.execute(f"SELECT date_trunc('{unit}', unnest(?::DATE[]))", [days]).fetchall()]
    steps = zip(days[1:], pairwise(there), strict=True)
    begins = tuple(day for day, (before, now) in steps if before != now)
    assert aligned(days[1:], (unit,)) == begins


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_steps_of_whole_numbers(size: int) -> None:
    """Around 0 the step is longer: numbers are cut towards it."""
    expected = tuple(now for before, now in pairwise(range(-30, 30)) if int(now / size) != int(before / size))
    assert aligned(range(-29, 30), (f"div {size}",)) == expected


def test_several_steps_begin_where_each_does() -> None:
    assert aligned((date(2024, 1, 1), date(2024, 2, 1)), ("month", "year")) == (date(2024, 1, 1),)
    assert begun((date(2024, 2, 20), date(2025, 3, 1)), ("month", "year")) == (date(2024, 1, 1), date(2025, 1, 1))
    assert begun((date(2024, 2, 20),), ("week", "month")) == (date(2024, 1, 1),)  # a Monday
    # What has no such steps is at the beginning of none.
    assert aligned((1, True), ("month",)) == ()
    assert begun((1 << 60,), ("floor / 3",)) == begun((datetime.min.replace(tzinfo=UTC),), ("day at -03:00",)) == ()


ZONE = timezone(timedelta(hours=-3, minutes=-30))
MOMENTS = [datetime(2023, 12, 28, tzinfo=UTC) + timedelta(minutes=37 * at, milliseconds=at) for at in range(2_000)]
WORDS = sorted((a + b + c for a in "aé\U0001f600" for b in "ab\uffff" for c in ("", "a", "\U0001f600b")), key=str.encode)
DOMAINS: dict[str, tuple[list[Any], Callable[[Any], Any]]] = {
    "hour": (MOMENTS, lambda at: (at.date(), at.hour)),
    "day": ([at.replace(tzinfo=None) for at in MOMENTS], lambda at: at.date()),
    "week": (MOMENTS, lambda at: at.isocalendar()[:2]),
    "month at -03:30": (MOMENTS, lambda at: (at.astimezone(ZONE).year, at.astimezone(ZONE).month)),
    "hour at -03:30": (MOMENTS, lambda at: (at.astimezone(ZONE).date(), at.astimezone(ZONE).hour)),
    "millisecond": (MOMENTS[:50], lambda at: int(at.timestamp() * 1_000)),
    "window of 5400000000 µs from 600000000": (MOMENTS, lambda at: (int(at.timestamp()) - 600) // 5_400),
    "window of 7000000 µs from 0": (
        [datetime(1969, 12, 31, 23, 59, at, tzinfo=UTC) for at in range(60)], lambda at: int(at.timestamp()) // 7,
    ),
    "floor / 3": (list(range(-20, 20)), lambda n: int((n / 3) // 1)),
    "div 4": (list(range(-20, 20)), lambda n: int(n / 4)),
    "first 1 letters": (WORDS, lambda word: word[:1]),
    "first 2 letters": (WORDS, lambda word: word[:2]),
}  # fmt: skip


@pytest.mark.parametrize("step", DOMAINS)
def test_a_step_begins_where_no_lesser_value_is_on_it(step: str) -> None:
    """Of values in order: what is on the step of a value is between its beginning and the value, and the beginning is on it itself."""
    values, on = DOMAINS[step]
    order: Callable[[Any], Any] = (lambda value: value.encode()) if isinstance(values[0], str) else lambda value: value
    below: Any = None  # the last value that is on another step
    last: Any = None
    for value in values:
        first = begin_of(value, step)
        assert on(first) == on(value)
        assert begin_of(first, step) == first
        below = last if last is not None and on(last) != on(value) else below
        assert below is None or order(below) < order(first) <= order(value)
        last = value


def test_moments_begin_where_duckdb_says() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for unit in ("second", "minute", "hour", "day", "week", "month", "quarter", "year"):
            for at in MOMENTS[::97]:
                clock = at.replace(tzinfo=None)
                assert connection.execute(f"SELECT date_trunc('{unit}', ?::TIMESTAMP)", [clock]).fetchall() == [(begin_of(clock, unit),)]


def test_cuts_that_are_moved_begin_steps() -> None:
    """Percentiles of days begin no months."""
    days = [date(2024, month, day) for month in (2, 3, 5) for day in (3, 17, 29)]
    assert begun(days, ("month",)) == (date(2024, 2, 1), date(2024, 3, 1), date(2024, 5, 1))
    assert aligned(begun(days, ("quarter",)), ("quarter", "month")) == (date(2024, 1, 1), date(2024, 4, 1))


SOURCE = (DAY, N, V, AT, CLOCK, NAME)
COLUMNS = tuple(one.name for one in SOURCE)


CONF = (("spark.sql.session.timeZone", "UTC"),)


def by(*functions: e.Expression, limit: str = "10") -> Pipeline:
    """``SELECT f(…), min(v) FROM t GROUP BY 1 HAVING min(v) > limit``"""
    source = o.Source(relation=Relation(name="t", kind="local"), output=SOURCE, columns=COLUMNS, leaf=0)
    made = e.Attribute(id=8, name="m", type="int")
    columns = (
        *(e.Alias(child=one, attribute=e.Attribute(id=70 + at, name="f", type=one.type)) for at, one in enumerate(functions)),
        e.Alias(child=e.AggregateCall(function="min", arguments=(V,), type="int"), attribute=made),
    )
    groups = o.Aggregate(child=source, keys=functions, columns=columns)
    having = e.Call(function=">", arguments=(made, e.Literal(value=limit, type="int")), type="boolean")
    return Pipeline(plan=o.Filter(child=groups, condition=having), names=(*("f" for _ in functions), "m"), conf=CONF)


def in_windows(made: e.Call, key: e.Expression | None = None) -> Pipeline:
    """``SELECT window, min(v) FROM t GROUP BY window(at, …) HAVING min(v) > 10``: the struct is made below the groups."""
    made_as = e.Attribute(id=90, name="window", type=made.type)
    plan = by(V).plan
    assert isinstance(plan, o.Filter)
    assert isinstance(plan.child, o.Aggregate)
    below = o.Project(child=plan.child.child, columns=(*SOURCE, e.Alias(child=made, attribute=made_as)))
    if key is not None:
        taken = e.Alias(child=key, attribute=e.Attribute(id=91, name="key", type=key.type))
        below, made_as = o.Project(child=below, columns=(*below.output, taken)), taken.attribute
    groups = replace(plan.child, child=below, keys=(made_as,), columns=(made_as, plan.child.columns[-1]))
    return Pipeline(plan=replace(plan, child=groups), names=("w", "m"), conf=CONF)


def test_windows_of_time_are_steps() -> None:
    """Groups by a struct have the same in its fields; what is random has not."""
    found = {one.column: one for one in safe_columns(in_windows(window(900_000_000)))}
    assert {name: one.aligned for name, one in found.items() if one.safe} == {"at": ("window of 900000000 µs from 0",)}
    pair = call("named_struct", text("a"), N, text("b"), text("x"), type="struct<a:int,b:string>")
    assert [one.column for one in safe_columns(in_windows(pair)) if one.safe] == ["n"]
    random = call("named_struct", text("a"), call("rand", type="double"), type="struct<a:double>")
    assert [one.column for one in safe_columns(in_windows(random)) if one.safe] == []
    start = e.GetField(
        child=e.Attribute(id=90, name="window", type="struct<start:timestamp,end:timestamp>"), field="start", type="timestamp"
    )
    by_start = in_windows(window(900_000_000), start)
    assert [one.column for one in safe_columns(by_start) if one.safe] == ["at"]
    overlapping = in_windows(window(900_000_000, back=450_000_000))
    assert [one.column for one in safe_columns(overlapping) if one.safe] == []


def judged(function: e.Expression) -> dict[str, SafeColumn]:
    return {one.column: one for one in safe_columns(by(function))}


def test_what_is_safe_for_cuts_where_steps_begin() -> None:
    for function, column, step in (
        (trunc("MM"), "day", "month"), (date_trunc("year"), "day", "year"), (div("5"), "n", "div 5"), (of_moment("hour"), "at", "hour"),
        (day_of(CLOCK), "clock", "day"), (floor("7"), "n", "floor / 7"), (prefix("3"), "name", "first 3 letters"),
    ):  # fmt: skip
        found = judged(function)
        assert {name: (one.safe, one.aligned) for name, one in found.items()} == {
            **dict.fromkeys(COLUMNS, (False, ())), column: (True, (step,))
        }  # fmt: skip
    assert not judged(date_trunc("week"))["day"].safe
    plain = safe_columns(by(DAY))[0]
    assert (plain.safe, plain.aligned, plain.why_not_cut((date(2024, 1, 5),))) == (True, (), "")


def part_of(function: str, of: e.Expression = DAY) -> e.Call:
    return e.Call(function=function, arguments=(of,), type="int")


@pytest.mark.parametrize(
    ("keys", "column", "step"),
    [
        ((part_of("year"), part_of("month")), "day", "month"),
        ((part_of("quarter"), part_of("year")), "day", "quarter"),
        ((part_of("year"), part_of("month"), part_of("dayofmonth")), "day", "day"),
        ((day_of(), part_of("hour", AT)), "at", "hour"),
        ((part_of("minute", CLOCK), part_of("hour", CLOCK), day_of(CLOCK)), "clock", "minute"),
        ((part_of("year", day_of()), part_of("month", day_of())), "at", "month"),
        ((part_of("month"), part_of("day")), "day", None),  # of any year
        ((part_of("year"), part_of("month", day_of())), "day", "year"),  # months of another column
        ((day_of(CLOCK), part_of("minute", CLOCK)), "clock", "day"),  # of any hour
    ],
)
def test_functions_that_together_tell_a_step(keys: tuple[e.Expression, ...], column: str, step: str | None) -> None:
    found = {one.column: one for one in safe_columns(by(*keys))}
    assert {name for name, one in found.items() if one.safe} == ({column} if step else set())
    assert found[column].aligned == (() if step is None else (step,))  # the shortest, where most cuts begin


PARTS: dict[str, Callable[[datetime], int]] = {
    "quarter of a year": lambda at: (at.month - 1) // 3,
    "month of a year": lambda at: at.month,
    "day of a month": lambda at: at.day,
    "day of a year": lambda at: at.timetuple().tm_yday,
    "hour of a day": lambda at: at.hour,
    "minute of an hour": lambda at: at.minute,
    "second of a minute": lambda at: at.second,
}


@pytest.mark.parametrize(("of", "part", "step"), _TOGETHER)
def test_a_step_and_a_part_of_it_are_a_step(of: str, part: str, step: str) -> None:
    clocks = [datetime(2023, 11, 28) + timedelta(hours=9 * at, minutes=at % 7, seconds=at % 5) for at in range(2_000)]
    begins: dict[Any, set[Any]] = {}
    for clock in clocks:
        begins.setdefault((begin_of(clock, of), PARTS[part](clock)), set()).add(begin_of(clock, step))
    assert all(len(some) == 1 for some in begins.values())


def test_parts_in_a_zone_are_of_steps_there() -> None:
    told = steps_in([day_of(), part_of("hour", AT)], "+05:30")
    assert [step for _, step in told[AT.id]] == ["hour at +05:30", "day at +05:30"]
    assert steps_in([day_of(), part_of("hour", AT)], "nowhere") == {}


SHOWN: dict[str, Callable[[datetime], Any]] = {
    "hour": lambda at: (at.date(), at.hour),
    "day": lambda at: at.date(),
    "week": lambda at: at.isocalendar()[:2],
    "month": lambda at: (at.year, at.month),
}


@pytest.mark.parametrize(
    ("zone", "around", "steps"),
    [
        ("Europe/Berlin", datetime(2023, 10, 29, tzinfo=UTC), 150), ("Europe/Berlin", datetime(2024, 3, 31, tzinfo=UTC), 150),
        # Its clocks were put back at a minute past midnight: that day began twice. Samoa left a day out.
        ("America/St_Johns", datetime(2010, 11, 7, tzinfo=UTC), 150), ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC), 150),
        ("Europe/Berlin", datetime(1945, 6, 1, tzinfo=UTC), 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unit", SHOWN)
def test_no_step_that_begins_is_on_both_sides(zone: str, around: datetime, steps: int, unit: str) -> None:
    """Whatever clocks do: what they show from where a step begins on, they have not shown before."""
    moments = [around + timedelta(minutes=20 * at) for at in range(-1_500, 1_500)]
    there = [at.astimezone(ZoneInfo(zone)) for at in moments]
    shown = [SHOWN[unit](at) for at in there]
    begins = {found for at in moments[::5] if (found := begin_of(at, f"{unit} at {zone}")) is not None}
    assert len(begins) >= (steps if unit == "hour" else 1 if steps else 0)
    assert steps or not begins
    for first in begins:
        before = {what for at, what in zip(moments, shown, strict=True) if at < first}
        assert before.isdisjoint(what for at, what in zip(moments, shown, strict=True) if at >= first)


def test_other_cuts_are_refused_and_would_lose_rows() -> None:
    """By hand: of a month that is cut in two the sketch of the result has the half without the least value."""
    safe = judged(trunc("MM"))["day"]
    months, halves = (date(2024, 1, 1), date(2024, 2, 1)), (date(2024, 1, 1), date(2024, 1, 15), date(2024, 2, 1))
    assert safe.why_not_cut(months) == ""
    assert safe.why_not_cut(halves) == "it is safe only where each cut begins a step of month"
    rows = [(date(2024, 1, 3), 1), (date(2024, 1, 20), 50), (date(2024, 2, 2), 40), (date(2024, 1, 17), 60)]

    def having(some: list[tuple[date, int]]) -> set[date]:
        least: dict[date, int] = {}
        for day, v in some:
            least[day.replace(day=1)] = min(v, least.get(day.replace(day=1), v))
        return {month for month, v in least.items() if v > 10}

    for cuts, serves in ((months, True), (halves, False)):
        partition = Partition(type="date", cuts=cuts)
        lost = []
        for more in range(partition.count):
            inside = {partition.fragment_of(date(2024, 2, 2)), more}
            lost.append(having([row for row in rows if partition.fragment_of(row[0]) in inside]) != having(rows))
        assert (not any(lost)) is serves


def test_drawn_dates_over_sketches_with_aligned_cuts() -> None:
    """Every superset of the accurate sketch gives the groups of the whole table, for cuts where months begin."""
    random, told = Random(3), Counter[str]()
    for _ in range(200):
        rows = [(date(2024, random.randint(1, 4), random.randint(1, 28)), random.randint(0, 30)) for _ in range(8)]
        drawn = sorted({date(2024, random.randint(1, 4), random.choice((1, 1, 15))) for _ in range(3)})
        partition = Partition(type="date", cuts=aligned(drawn, ("month",)))
        groups: dict[int, list[int]] = {}
        for day, v in rows:
            groups.setdefault(day.month, []).append(v)
        result = {month: min(some) for month, some in groups.items() if min(some) > 10}
        inside = {partition.fragment_of(day) for day, _ in rows if day.month in result} | {random.randrange(partition.count)}
        part: dict[int, list[int]] = {}
        for day, v in rows:
            if partition.fragment_of(day) in inside:
                part.setdefault(day.month, []).append(v)
        assert {month: min(some) for month, some in part.items() if min(some) > 10} == result
        told["smaller"] += sum(map(len, part.values())) < len(rows)
    assert told["smaller"] > 20
