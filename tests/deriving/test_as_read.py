"""Values of a result beside what Spark's readers made of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.deriving.across.as_read import AsRead, as_read
from airflow_lineage_provider.deriving.listed import any_like
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.text import expression_text

AT = dt.datetime(2026, 1, 1, 10, 0, 0, 123456, dt.UTC)
CUT = AT.replace(microsecond=123000)


def compared(
    form: str, written: str, read: str, zone: str = "UTC", written_with: dict[str, str] | None = None, **options: str
) -> AsRead | None:
    partitions = ("c",) if form == "folder" else ()
    relation = Relation(name="t", kind="files", format=form, partition_columns=partitions, options=tuple(options.items()))
    source = Source(relation=relation, output=(Attribute(name="c", id=2, type=read),), columns=("c",), leaf=0)
    return as_read(source, {"c": Attribute(name="c", id=1, type=written)}, zone, written_with or {}).get("c")


def column(kind: str, values: list[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, to_arrow(kind))])


# As Spark 4 read what it wrote itself.
@pytest.mark.parametrize(
    ("form", "written", "values", "read", "back"),
    [
        ("folder", "string", ["01", "1", "+1", "", None], "int", [1, 1, 1, None, None]),
        ("folder", "string", ["01", "", None, " a"], "string", ["01", None, None, " a"]),
        ("folder", "decimal(10,2)", [Decimal("30.00"), Decimal("1.25")], "double", [30.0, 1.25]),
        ("folder", "double", [1.5, 1e10], "string", ["1.5", "1.0E10"]),
        ("folder", "timestamp", [AT], "string", ["2026-01-01 10:00:00.123456"]),
        ("csv", "string", ["ann", " ann\x01", "", None, "\xa0a"], "string", ["ann", "ann", None, None, "\xa0a"]),
        ("csv", "string", ['a"\\ b', "a\nb"], "string", ['a"\\ b', "a"]),
        ("csv", "string", ["007", "7", "x", "3000000000"], "int", [7, 7, None, None]),
        ("csv", "string", ["1.50", "1.5", "15e-1"], "double", [1.5, 1.5, 1.5]),
        ("csv", "string", ["2026-01-05"], "date", [dt.date(2026, 1, 5)]),
        ("csv", "bigint", [7, 3_000_000_000], "int", [7, None]),
        ("csv", "decimal(20,10)", [Decimal("1E-8"), Decimal("0")], "string", ["1.00E-8", "0E-10"]),
        ("csv", "float", [0.1], "double", [0.1]),
        *(case for form in ("csv", "json") for case in [
            (form, "timestamp", [AT, CUT, dt.datetime(1960, 1, 1, 0, 0, 0, 999999, dt.UTC)], "timestamp",
             [CUT, CUT, dt.datetime(1960, 1, 1, 0, 0, 0, 999000, dt.UTC)]),
            (form, "timestamp", [AT], "string", ["2026-01-01T10:00:00.123Z"]),
            (form, "boolean", [True], "string", ["true"]),
            (form, "date", [dt.date(2026, 1, 5)], "string", ["2026-01-05"]),
        ]),
        ("json", "string", ["ann ", ""], "string", ["ann ", ""]),
        ("parquet", "int", [7, None], "bigint", [7, None]),
    ],
)  # fmt: skip
def test_what_was_read_of_a_value_is_equal_to_it(form: str, written: str, values: list[Any], read: str, back: list[Any]) -> None:
    how = compared(form, written, read)
    assert how is not None
    own, other = how.result(column(written, values)), how.read(column(read, back))
    assert own is not None
    assert own.equals(other)


def test_what_is_not_certain_is_not_told() -> None:
    for form, written, read in [
        ("folder", "timestamp", "timestamp"), ("csv", "string", "timestamp"), ("csv", "double", "decimal(10,2)"), ("json", "string", "int"),
        ("json", "array<timestamp>", "array<timestamp>"), ("parquet", "bigint", "int"),
    ]:  # fmt: skip
        assert compared(form, written, read) is None, (form, written, read)
    assert compared("csv", "timestamp", "timestamp", timestampFormat="yyyy-MM-dd HH:mm") is None
    assert compared("csv", "int", "int", nullValue="0") is None
    for form, kind, option in [
        ("json", "timestamp", "timestampformat"), ("csv", "date", "dateformat"), ("csv", "string", "nullvalue"), ("csv", "int", "locale"),
        ("text", "string", "encoding"),
    ]:  # fmt: skip
        assert compared(form, kind, kind, written_with={option: "-"}) is None, option
        assert compared("folder", kind, kind) is None or compared("folder", kind, kind, written_with={option: "-"}) is not None, option
    assert compared("csv", "string", "string", written_with={"nullvalue": "-", "header": "true"}, nullValue="-") is not None
    assert compared("csv", "int", "int", written_with={"timestampformat": "-"}) is not None
    odd: list[tuple[AsRead | None, list[Any]]] = [
        (compared("folder", "string", "int"), ["1", "x"]),
        (compared("csv", "string", "int"), ["1", "\u0661"]),
        (compared("csv", "timestamp", "timestamp", "Europe/Berlin"), [dt.datetime(1880, 1, 1, tzinfo=dt.UTC)]),
    ]
    for how, values in odd:
        assert how is not None
        assert how.result(column(how.attribute.type, values)) is None


def test_what_narrows_the_result_down_leaves_none_out() -> None:
    text = Attribute(name="c", id=1, type="string")
    likely = any_like(text, column("string", ["5%"]))
    assert likely is not None
    assert r"%5\%%" in expression_text(likely)
    assert any_like(text, column("string", [None])) is None
    folders = compared("folder", "string", "string")
    assert folders is not None
    condition = folders.condition(column("string", [None, "a"]))
    assert condition is not None
    assert "''" in expression_text(condition)
