"""Functions that are written for DuckDB alone give there what Spark gives, over awkward values; or fail, and Spark is asked."""

from __future__ import annotations

import random
from collections.abc import Callable

import duckdb
import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression
from airflow_lineage_provider.sql.duckdb_functions import DUCKDB_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_patterns import pattern_in_both
from tests.in_turn import sampled
from tests.sql.all_engines import VALUES, Pairs
from tests.sql.build import attribute, call, literal, named, text

pytestmark = pytest.mark.spark

Written = Callable[[e.Attribute, e.Attribute], list[e.Expression]]


def is_ascii(a: e.Attribute) -> e.Expression:
    return call("not", call("in", a, *(text(one) for one in VALUES["string"] if not one.isascii())))


def texts(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    found = [call(name, a, kind="int") for name in ("length", "char_length", "octet_length")]
    found += [call(name, a, kind="string") for name in ("trim", "ltrim", "rtrim")]
    found += [call(name, a, b) for name in ("contains", "startswith", "endswith")]
    found += [call("concat", a, b, kind="string"), call("concat", a, text(" "), b, kind="string")]
    places = [(1,), (2,), (1, 0), (1, 1), (2, 1), (3, 2_000_000_000)]
    found += [call("substring", a, *(literal(one, "int") for one in place), kind="string") for place in places]
    found += [call(name, a, literal(n, "int"), kind="string") for name in ("left", "right") for n in (0, 1, 2, 100)]
    found += [
        call(name, a, literal(n, "int"), text(by), kind="string") for name in ("lpad", "rpad") for n in (0, 1, 4) for by in ("0", "xé😀")
    ]
    found += [call("replace", a, text(mark), b, kind="string") for mark in ("a", "%", "\n", "é", "😀")]
    found += [call("replace", a, text("a"), text(""), kind="string"), call("replace", a, text("b"), kind="string")]
    found += [call("instr", a, text(mark), kind="int") for mark in ("a", "b", "\n", "日", "\u0301", "😀", "本")]
    found += [call("substring_index", a, text(mark), literal(n, "int"), kind="string") for mark in ("a", "\\", "%", "_") for n in (1, -1)]
    found += [call("substring_index", a, text("aa"), literal(1, "int"), kind="string"), call("bit_length", a, kind="int")]
    raw = e.Cast(child=a, type="binary")
    found += [call("md5", raw, kind="string"), *(call("sha2", raw, literal(bits, "int"), kind="string") for bits in (0, 256))]
    found += [call("nullif", a, b, kind="string"), call("nullif", a, text("a"), kind="string")]
    return [*found, call("greatest", a, b, kind="string"), call("least", a, b, text("b"), kind="string")]


PATTERNS = (
    "a", "^a", "[a-z]", "[^a-z]", "[0-9]+", "(a)(.?)", "(a|e)", "a|b|", "a?", "a*b", "(?:a|A)[%_]?", "\\\\", "\\.", "é", "[日😀]",
    "a{2}", "[a-z]{1,2}", "\\d", "\\w+", "^(a|s)([a-z%]*)", "(a)|(b)", "[%_-]", " ", "'", "(a|ab)(b?)",
)  # fmt: skip


def patterns(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
    known = {one: found for one in PATTERNS if (found := pattern_in_both(one)) is not None}
    assert len(known) == len(PATTERNS) - 1
    matches: list[e.Expression] = [call("rlike", a, text(one)) for one in known]
    groups = [(one, n) for one, of in known.items() for n in range(of.groups + 1)]
    matches += [call("regexp_extract", a, text(one), literal(n, "int"), kind="string") for one, n in groups]
    replaced = [one for one, of in known.items() if not of.may_be_empty]
    return [*matches, *(call("regexp_replace", a, text(one), text("<é>"), literal(1, "int"), kind="string") for one in replaced)]


def drawn_pattern(draw: random.Random, depth: int = 2) -> str:
    """One of what both have, of the letters that the values have."""
    ones = ["a", "s", "%", "_", "é", "😀", " ", "\\\\", "\\w", "\\d", "[a-z]", "[^a]", "[aZ9]", "[%_-]", "1"]
    parts = []
    for _ in range(draw.randint(1, 3)):
        inner = draw.random() < 0.3 and depth
        one = f"({draw.choice(['', '?:'])}{drawn_pattern(draw, depth - 1)})" if inner else draw.choice(ones)
        parts.append(one + draw.choice(["", "", "", "+", "*", "?", "{1,2}"]))
    return "".join(parts) if draw.random() < 0.7 else "".join(parts) + "|" + draw.choice(ones)


@pytest.mark.parametrize("seed", sampled(range(400), 80))
def test_drawn_patterns(pairs: Pairs, seed: int) -> None:
    draw = random.Random(seed)
    known = {one: found for one in (drawn_pattern(draw) for _ in range(20)) if (found := pattern_in_both(one)) is not None}
    assert known

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        groups = [(one, n) for one, of in known.items() for n in range(of.groups + 1)]
        found = [call("regexp_extract", a, text(one), literal(n, "int"), kind="string") for one, n in groups]
        replaced = [one for one, of in known.items() if not of.may_be_empty]
        return [*found, *(call("regexp_replace", a, text(one), text("-"), literal(1, "int"), kind="string") for one in replaced)]

    pairs.evaluate("string", write, elsewhere=["duckdb"])


def dates(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    parts = ("year", "quarter", "month", "day", "dayofmonth", "dayofyear", "dayofweek", "weekofyear", "weekday")
    found = [call(name, a, kind="int") for name in parts]
    found += [call(name, a, kind="string") for name in ("dayname", "monthname")]
    found += [call("last_day", a, kind="date"), call("to_date", a, kind="date")]
    found += [call("trunc", a, text(unit), kind="date") for unit in ("year", "yyyy", "YY", "quarter", "MONTH", "mon", "MM", "week")]
    return [*found, call("datediff", a, b, kind="int"), call("greatest", a, b, kind="date"), call("least", a, b, kind="date")]


def doubles(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    found = [call(name, a, b, kind="double") for name in ("+", "-", "*")]
    found += [call("/", a, literal(by, "double"), kind="double") for by in ("2.0", "-3.0", "0.1", "5.0E-324", "Infinity")]
    found += [call("/", a, e.Cast(child=literal(7, "int"), type="double"), kind="double")]
    return [*found, call("negative", a, kind="double"), call("abs", a, kind="double"), call("isnan", a)]


def rounded(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
    found = [call(name, a, kind="bigint") for name in ("floor", "ceil", "ceiling")]
    return [*found, call("sqrt", call("abs", a, kind="double"), kind="double"), e.Cast(child=a, type="bigint")]


def test_rounded_numbers(pairs: Pairs) -> None:
    """What is too large is left to Spark, which has the largest number for it, or an error."""
    a = pairs.leaves["double"].output[1]
    small = call("and", call(">", a, literal("-1.0E10", "double")), call("<", a, literal("1.0E10", "double")))
    pairs.evaluate("double", rounded, call("or", small, call("isnull", a)), elsewhere=["duckdb"])
    inside = call("and", call(">", a, literal("-100.0", "double")), call("<", a, literal("100.0", "double")))
    narrow = ("tinyint", "smallint", "int", "bigint")
    pairs.evaluate("double", lambda a, _b: [e.Cast(child=a, type=one) for one in narrow], inside, elsewhere=["duckdb"])
    for number in ("Infinity", "-1.7976931348623157E308", "NaN"):
        rows = o.Filter(child=pairs.leaves["double"], condition=call("=", a, literal(number, "double")))
        for expression in (call("floor", a, kind="bigint"), e.Cast(child=a, type="bigint")):
            plan = o.Project(child=rows, columns=(named(expression, 10_000, "c"),))
            with pytest.raises(CannotReadHere, match=r"a large number|out of range|Could not cast"):
                pairs.execute(pairs.written(plan, "duckdb"), "duckdb")


@pytest.mark.parametrize("kind", ["smallint", "int", "bigint"])
def test_positive_remainders(pairs: Pairs, kind: str) -> None:
    divisors = [literal(n, kind) for n in (1, 2, 7, 2**15 - 1)]

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        same = [call(name, a, kind="bigint") for name in ("floor", "ceil")] if kind == "bigint" else []
        return [*(call("pmod", a, one, kind=kind) for one in divisors), *same]

    pairs.evaluate(kind, write, elsewhere=["duckdb"])


@pytest.mark.parametrize(("kind", "write"), [("string", texts), ("string", patterns), ("date", dates), ("double", doubles)])
def test_over_awkward_values(pairs: Pairs, kind: str, write: Written) -> None:
    pairs.evaluate(kind, write, elsewhere=["duckdb"])


def test_capitals_of_ascii(pairs: Pairs) -> None:
    a = pairs.leaves["string"].output[1]

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        return [call(name, a, kind="string") for name in ("upper", "lower", "ucase", "lcase")]

    pairs.evaluate("string", write, call("or", is_ascii(a), call("isnull", a)), elsewhere=["duckdb"])


@pytest.mark.parametrize("letter", ["é", "ß", "😀"])
@pytest.mark.parametrize("function", ["upper", "lower"])
def test_other_capitals_are_left_to_spark(pairs: Pairs, letter: str, function: str) -> None:
    leaf = pairs.leaves["string"]
    rows = o.Filter(child=leaf, condition=call("=", leaf.output[1], text(letter)))
    plan = o.Project(child=rows, columns=(named(call(function, leaf.output[1], kind="string"), 1000, "c"),))
    with pytest.raises(CannotReadHere, match=f"not in ASCII: {letter}"):
        pairs.execute(pairs.written(plan, "duckdb"), "duckdb")


@pytest.mark.parametrize("kind", ["smallint", "int", "bigint", "decimal(10,2)"])
def test_whole_numbers(pairs: Pairs, kind: str) -> None:
    a = pairs.leaves[kind].output[1]
    least = call("=", a, literal(VALUES[kind][0], kind))

    def write(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
        if kind.startswith("decimal"):
            return [call("abs", a, kind=kind)]
        floating, long = e.Cast(child=a, type="double"), e.Cast(child=a, type="decimal(20,0)")
        made = [e.Cast(child=floating, type="bigint", safe=True), e.Cast(child=long, type="double")]
        return [call("abs", a, kind=kind), *(call(name, a, b, kind=kind) for name in ("greatest", "least")), *made]

    pairs.evaluate(kind, write, call("or", call("not", least), call("isnull", a)), elsewhere=["duckdb"])


@pytest.mark.parametrize("cast", ["timestamp", "timestamp_ntz"])
def test_dates_as_texts(pairs: Pairs, cast: str) -> None:
    leaf = pairs.leaves["date"]
    a = leaf.output[1]

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        given = e.Cast(child=a, type=cast)
        patterns = ("yyyy-MM", "yyyyMMdd", "dd.MM.yyyy", "MM", "yyyy / MM:dd_\\")
        return [*(call("date_format", given, text(one), kind="string") for one in patterns), e.Cast(child=a, type="string")]

    long_ago = call("=", a, literal("0001-01-01", "date"))
    pairs.evaluate("date", write, call("or", call("not", long_ago), call("isnull", a)), elsewhere=["duckdb"])
    plan = o.Project(child=o.Filter(child=leaf, condition=long_ago), columns=(named(write(a, a)[0], 1000, "c"),))
    with pytest.raises(CannotReadHere, match="a year of other than four digits: 0001-01-01"):
        pairs.execute(pairs.written(plan, "duckdb"), "duckdb")


UNITS = (
    "YEAR", "yyyy", "quarter", "MONTH", "mm", "WEEK", "day", "DD", "HOUR", "minute", "SECOND", "millisecond", "MICROSECOND",
)  # fmt: skip


def moments(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    local, at = e.Cast(child=a, type="timestamp_ntz"), e.Cast(child=a, type="timestamp")
    found: list[e.Expression] = [e.Cast(child=a, type="date"), *(one for one in (local, at) if one.type != a.type)]
    found += [call(name, a, kind="int") for name in ("hour", "minute", "second")]
    found += [call("date_trunc", text(unit), at if a.type != "timestamp" else a, kind="timestamp") for unit in UNITS]
    found += [call("year", e.Cast(child=a, type="date"), kind="int"), call("<", e.Cast(child=a, type="date"), e.Cast(child=b, type="date"))]
    found += [e.Cast(child=a, type="string"), call("to_date", a, kind="date")]
    if a.type == "timestamp":
        found += [call("unix_seconds", a, kind="bigint"), call("unix_timestamp", a, text("yyyy-MM-dd HH:mm:ss"), kind="bigint")]
    written = ("2024-02-29", "2024-02-29 20:15:00", "1969-12-31T23:59:59.999999", "2025-12-01 00:00:00.000001", "1893-04-01 12:30:45.12")
    found += [call(one, a, e.Cast(child=text(at), type=a.type)) for at in written for one in ("<", ">=", "=")]
    patterns = ("yyyy-MM-dd", "yyyyMMdd HH:mm", "HH", "ss.mm", "dd/MM/yyyy HH:mm:ss")
    return [*found, *(call("date_format", at if a.type != "timestamp" else a, text(one), kind="string") for one in patterns)]


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-11:45"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_moments_in_zones_of_fixed_offset(pairs: Pairs, kind: str, zone: str) -> None:
    with apply_conf(pairs.spark, {"spark.sql.session.timeZone": zone}):
        pairs.evaluate(kind, moments, elsewhere=["duckdb"])


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-11:45"])
def test_dates_as_moments(pairs: Pairs, zone: str) -> None:
    a = pairs.leaves["date"].output[1]
    inside = call("and", call(">", a, literal("0001-01-02", "date")), call("<", a, literal("9999-12-29", "date")))

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        at, local = e.Cast(child=a, type="timestamp"), e.Cast(child=a, type="timestamp_ntz")
        return [at, local, call("date_trunc", text("MONTH"), at, kind="timestamp"), e.Cast(child=at, type="date")]

    with apply_conf(pairs.spark, {"spark.sql.session.timeZone": zone}):
        pairs.evaluate("date", write, call("or", inside, call("isnull", a)), elsewhere=["duckdb"])


MOMENTS = [e.Cast(child=attribute(1, "a", "timestamp"), type="date"), call("hour", attribute(1, "a", "timestamp"), kind="int")]


@pytest.mark.parametrize("expression", MOMENTS, ids=repr)
@pytest.mark.parametrize("zone", ["", "Europe/Berlin", "EST", "Etc/GMT+5"])
def test_where_clocks_are_changed_spark_is_asked(expression: e.Expression, zone: str) -> None:
    with pytest.raises(PortabilityProblem, match="is no fixed offset"):
        lower_expression(expression, {1: ColumnRef("a")}, dialect="duckdb", zone=zone)


@pytest.mark.parametrize(("kind", "at"), [("timestamp", "0000-12-31 23:00:00+00"), ("timestamp_ntz", "9999-12-31 00:00:00")])
def test_moments_of_long_ago_are_left_to_spark(kind: str, at: str) -> None:
    expression = e.Cast(child=attribute(1, "a", kind), type="date")
    sql = lower_expression(expression, {1: ColumnRef("a")}, dialect="duckdb", zone="+01:00")
    moments = f"(VALUES (CAST('{at}' AS {'TIMESTAMPTZ' if kind == 'timestamp' else 'TIMESTAMP'}))) AS t (a)"
    with pytest.raises(CannotReadHere, match="a moment of long ago"):
        fetched(f"SELECT {sql} FROM {moments}", views={}, tables={}, paths=[])


def test_a_day_that_a_zone_left_out_is_left_to_spark() -> None:
    """In Apia there was no 30 December 2011: its midnight is that of the 31st to Spark."""
    written = call("date_format", e.Cast(child=A["date"], type="timestamp"), text("yyyy-MM-dd"), kind="string")
    names = {A["date"].id: ColumnRef("d")}
    for zone, day, found in (
        ("Pacific/Apia", "2011-12-30", None),
        ("Pacific/Apia", "2012-01-01", "2012-01-01"),
        ("Asia/Tokyo", "1999-01-02", "1999-01-02"),
    ):
        asked = f"SELECT {lower_expression(written, names, dialect='duckdb', zone=zone)} FROM (SELECT DATE '{day}' AS d)"
        if found is None:
            with pytest.raises(duckdb.Error, match="a day that some zone left out: 2011-12-30"):
                duckdb.execute(asked).fetchall()
        else:
            assert duckdb.execute(asked).fetchall() == [(found,)]


def test_moments_of_other_years_as_texts_are_left_to_spark() -> None:
    sql = lower_expression(e.Cast(child=attribute(1, "a", "timestamp_ntz"), type="string"), {1: ColumnRef("a")}, dialect="duckdb")
    moments = "(VALUES (CAST('{}-01-01 00:00:00.5' AS TIMESTAMP))) AS t (a)"
    assert fetched(f"SELECT {sql} AS s FROM {moments.format(1000)}", views={}, tables={}, paths=[]).to_pylist() == [
        {"s": "1000-01-01 00:00:00.5"}
    ]
    with pytest.raises(CannotReadHere, match="a year of other than four digits"):
        fetched(f"SELECT {sql} FROM {moments.format('0999')}", views={}, tables={}, paths=[])


def test_days_later(pairs: Pairs) -> None:
    a = pairs.leaves["date"].output[1]
    inside = call("and", call(">", a, literal("0001-12-31", "date")), call("<", a, literal("9999-01-01", "date")))

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        found = [call(name, a, literal(days, "int"), kind="date") for name in ("date_add", "date_sub") for days in (0, 1, -1, 31, 360)]
        found += [call("add_months", a, literal(months, "int"), kind="date") for months in (0, 1, -1, 11, -11)]
        intervals = (("INTERVAL '1' MONTH", "interval month"), ("INTERVAL '-0-11' YEAR TO MONTH", "interval year to month"))
        found += [call(name, a, literal(*one), kind="date") for one in intervals for name in ("+", "-")]
        day = call("date_part", text("DAY"), literal("INTERVAL '-3' DAY", "interval day"), kind="int")
        return [*found, call("date_add", a, day, kind="date"), call("date_sub", a, call("negative", day, kind="int"), kind="date")]

    pairs.evaluate("date", write, inside, elsewhere=["duckdb"])


A = {kind: attribute(n, f"a{n}", kind) for n, kind in enumerate([*VALUES, "string collate UTF8_LCASE"])}
REFUSED: list[e.Expression] = [
    call("upper", A["string collate UTF8_LCASE"], kind="string collate UTF8_LCASE"),
    call("length", A["binary"], kind="int"),
    call("substring", A["string"], literal(0, "int"), literal(1, "int"), kind="string"),
    call("substring", A["string"], literal(-1, "int"), kind="string"),
    call("substring", A["string"], literal(1, "int"), literal(-1, "int"), kind="string"),
    call("substring", A["string"], A["int"], literal(1, "int"), kind="string"),
    call("substring", A["binary"], literal(1, "int"), kind="binary"),
    call("concat", A["binary"], A["binary"], kind="binary"),
    call("concat", kind="string"),
    call("trim", A["string"], text("x"), kind="string"),
    call("year", A["timestamp"], kind="int"),
    call("trunc", A["date"], text("decade"), kind="date"),
    call("trunc", A["date"], A["string"], kind="date"),
    call("date_add", A["date"], A["bigint"], kind="date"),
    call("date_add", A["timestamp"], literal(1, "int"), kind="date"),
    call("datediff", A["timestamp"], A["date"], kind="int"),
    call("/", A["double"], A["double"], kind="double"),
    call("/", A["double"], literal("0.0", "double"), kind="double"),
    call("/", A["double"], literal("-0.0", "double"), kind="double"),
    call("/", A["double"], literal("NaN", "double"), kind="double"),
    call("/", A["decimal(10,2)"], A["decimal(10,2)"], kind="decimal(23,13)"),
    call("+", A["float"], A["float"], kind="float"),
    call("greatest", A["double"], A["double"], kind="double"),
    call("greatest", A["int"], A["bigint"], kind="bigint"),
    call("abs", A["float"], kind="float"),
    call("date_format", e.Cast(child=A["date"], type="timestamp"), A["string"], kind="string"),
    *(
        call("date_format", e.Cast(child=A["date"], type="timestamp"), text(one), kind="string")
        for one in ("MMM", "yy", "'y'yyyy", "yyyy[-MM]", "E", "yyyy%")
    ),
    call("isnan", A["float"]),
    call("to_date", A["string"], kind="date"),
    call("date_trunc", text("decade"), A["timestamp"], kind="timestamp"),
    call("hour", A["string"], kind="int"),
    call("unix_timestamp", A["string"], text("yyyy"), kind="bigint"),
    call("date_format", A["timestamp"], text("hh:mm"), kind="string"),
    e.Cast(child=text("2024-1-1"), type="timestamp_ntz"),
    e.Cast(child=text("2024-02-30"), type="timestamp_ntz"),
    e.Cast(child=A["timestamp"], type="date", safe=True),
    call("add_months", A["date"], A["int"], kind="date"),
    call("+", A["date"], literal("INTERVAL '1' DAY", "interval day"), kind="date"),
    call("left", A["string"], literal(-1, "int"), kind="string"),
    call("left", A["string"], e.Cast(child=literal(300, "int"), type="tinyint", safe=True), kind="string"),
    call("right", A["string"], A["int"], kind="string"),
    call("lpad", A["string"], literal(3, "int"), text(""), kind="string"),
    call("replace", A["string"], text(""), text("x"), kind="string"),
    call("replace", A["string"], A["string"], text("x"), kind="string"),
    call("instr", A["string"], text(""), kind="int"),
    call("substring_index", A["string"], text("aa"), literal(-1, "int"), kind="string"),
    call("substring_index", A["string"], text("a"), literal(2, "int"), kind="string"),
    call("md5", A["binary"], kind="string"),
    call("sha2", e.Cast(child=A["string"], type="binary"), literal(512, "int"), kind="string"),
    call("floor", A["decimal(10,2)"], kind="decimal(9,0)"),
    call("pmod", A["int"], A["int"], kind="int"),
    call("pmod", A["int"], literal(-3, "int"), kind="int"),
    call("rlike", A["string"], A["string"]),
    call("regexp_extract", A["string"], text("(a)"), literal(2, "int"), kind="string"),
    call("regexp_replace", A["string"], text("a*"), text("x"), literal(1, "int"), kind="string"),
    call("regexp_replace", A["string"], text("a"), text("$0"), literal(1, "int"), kind="string"),
    call("regexp_replace", A["string"], text("a"), text("x"), literal(2, "int"), kind="string"),
    *(
        call("rlike", A["string"], text(one))
        for one in (
            "a$",
            ".",
            "a*?",
            "a++",
            "(?i)a",
            "(?=a)",
            "(a)+",
            "(a*)*",
            r"\s",
            r"\bx",
            r"\1",
            "[[:alpha:]]",
            "[a&&b]",
            "[^^]",
            r"\p{L}",
            "a{,3}",
            "a{02}",
            "a{1,02}",
            "x{2,1}",
            "^a|b",
            "(^a)",
            "a\n",
        )
    ),
]


@pytest.mark.parametrize("expression", REFUSED, ids=repr)
def test_what_is_not_the_same_is_not_written(expression: e.Expression) -> None:
    with pytest.raises(PortabilityProblem):
        lower_expression(expression, {a.id: ColumnRef(a.name) for a in A.values()}, dialect="duckdb", zone="UTC")


def test_without_ansi_nothing_that_overflows_is_written() -> None:
    columns = {a.id: ColumnRef(a.name) for a in A.values()}
    for expression in (
        call("abs", A["int"], kind="int"),
        call("+", A["int"], A["int"], kind="int"),
        call("negative", A["int"], kind="int"),
    ):
        lower_expression(expression, columns, dialect="duckdb")
        with pytest.raises(PortabilityProblem, match="ansi"):
            lower_expression(expression, columns, dialect="duckdb", ansi=False)


def test_postgresql_writes_none_of_them() -> None:
    columns = {a.id: ColumnRef(a.name) for a in A.values()}
    given = {
        "string": ["upper", "length", "trim", "octet_length"],
        "date": ["year", "month", "dayofweek"],
        "double": ["negative", "abs", "isnan"],
    }
    for kind, names in given.items():
        for name in names:
            assert name in DUCKDB_FUNCTIONS
            with pytest.raises(PortabilityProblem):
                lower_expression(call(name, A[kind], kind=kind if name != "isnan" else "boolean"), columns, dialect="postgres")
