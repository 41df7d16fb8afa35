"""Functions that are written for DuckDB alone give there what Spark gives, over awkward values; or fail, and Spark is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression
from airflow_lineage_provider.sql.duckdb_functions import DUCKDB_FUNCTIONS
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
    return [*found, call("greatest", a, b, kind="string"), call("least", a, b, text("b"), kind="string")]


def dates(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    parts = ("year", "quarter", "month", "day", "dayofmonth", "dayofyear", "dayofweek", "weekofyear")
    found = [call(name, a, kind="int") for name in parts]
    found += [call("trunc", a, text(unit), kind="date") for unit in ("year", "yyyy", "YY", "quarter", "MONTH", "mon", "MM", "week")]
    return [*found, call("datediff", a, b, kind="int"), call("greatest", a, b, kind="date"), call("least", a, b, kind="date")]


def doubles(a: e.Attribute, b: e.Attribute) -> list[e.Expression]:
    found = [call(name, a, b, kind="double") for name in ("+", "-", "*")]
    found += [call("/", a, literal(by, "double"), kind="double") for by in ("2.0", "-3.0", "0.1", "5.0E-324", "Infinity")]
    found += [call("/", a, e.Cast(child=literal(7, "int"), type="double"), kind="double")]
    return [*found, call("negative", a, kind="double"), call("abs", a, kind="double"), call("isnan", a)]


@pytest.mark.parametrize(("kind", "write"), [("string", texts), ("date", dates), ("double", doubles)])
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
        extremes = [] if kind.startswith("decimal") else [call(name, a, b, kind=kind) for name in ("greatest", "least")]
        return [call("abs", a, kind=kind), *extremes]

    pairs.evaluate(kind, write, call("or", call("not", least), call("isnull", a)), elsewhere=["duckdb"])


@pytest.mark.parametrize("cast", ["timestamp", "timestamp_ntz"])
def test_dates_as_texts(pairs: Pairs, cast: str) -> None:
    leaf = pairs.leaves["date"]
    a = leaf.output[1]

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        given = e.Cast(child=a, type=cast)
        return [
            call("date_format", given, text(one), kind="string") for one in ("yyyy-MM", "yyyyMMdd", "dd.MM.yyyy", "MM", "yyyy / MM:dd_\\")
        ]

    long_ago = call("=", a, literal("0001-01-01", "date"))
    pairs.evaluate("date", write, call("or", call("not", long_ago), call("isnull", a)), elsewhere=["duckdb"])
    plan = o.Project(child=o.Filter(child=leaf, condition=long_ago), columns=(named(write(a, a)[0], 1000, "c"),))
    with pytest.raises(CannotReadHere, match="a year of other than four digits: 0001-01-01"):
        pairs.execute(pairs.written(plan, "duckdb"), "duckdb")


def test_days_later(pairs: Pairs) -> None:
    a = pairs.leaves["date"].output[1]
    inside = call("and", call(">", a, literal("0001-12-31", "date")), call("<", a, literal("9999-01-01", "date")))

    def write(a: e.Attribute, _b: e.Attribute) -> list[e.Expression]:
        return [call(name, a, literal(days, "int"), kind="date") for name in ("date_add", "date_sub") for days in (0, 1, -1, 31, 360)]

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
    call("date_format", A["timestamp"], text("yyyy"), kind="string"),
    call("date_format", e.Cast(child=A["date"], type="timestamp"), A["string"], kind="string"),
    *(
        call("date_format", e.Cast(child=A["date"], type="timestamp"), text(one), kind="string")
        for one in ("MMM", "yy", "'y'yyyy", "yyyy[-MM]", "E", "yyyy%")
    ),
    call("isnan", A["float"]),
]


@pytest.mark.parametrize("expression", REFUSED, ids=repr)
def test_what_is_not_the_same_is_not_written(expression: e.Expression) -> None:
    with pytest.raises(PortabilityProblem):
        lower_expression(expression, {a.id: ColumnRef(a.name) for a in A.values()}, dialect="duckdb")


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
