"""JSON lines and ORC files without Spark: the rows, and their digests, are those that Spark reads; what is not certain is left to it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.whole_files import rows_of_files
from airflow_lineage_provider.spark.identity import row_digest

pytest.importorskip("duckdb")

DIGEST = SourceIdentity(kind="row_digest", columns=(KeyColumn(name="lineage_digest", type="string"),))
SETTINGS = {"spark.sql.session.timeZone": "UTC"}
NONE: Mapping[str, str] = {}
COLUMNS = {
    "s": "string", "i": "int", "l": "bigint", "t": "tinyint", "d": "double", "f": "float", "m": "decimal(10,2)", "b": "boolean",
    "day": "date", "at": "timestamp", "n": "timestamp_ntz",
}  # fmt: skip


def read(path: Path, kind: str, columns: Mapping[str, str], options: Mapping[str, str] = NONE) -> pa.Table:
    output = tuple(Attribute(id=n, name=column, type=one) for n, (column, one) in enumerate(columns.items(), 1))
    relation = Relation(name="t", kind="files", format=kind, options=tuple(options.items()))
    return rows_of_files(Source(relation=relation, output=output, columns=tuple(columns), leaf=0), DIGEST, [f"file:{path}"], SETTINGS)


READ = {
    "every type": '{"s":"x","i":-1,"l":9223372036854775807,"t":-128,"d":1.5,"f":0.25,"m":1.5,"b":true,"day":"2024-02-29",'
    '"at":"2024-02-29 01:02:03.5","n":"2024-02-29T01:02:03"}\n',
    "nothing": "",
    "no names, NULL, and others in another order": '{}\n{"s":null,"i":null}\n{"b":false,"s":"y"}\n{ "l" : 5 ,\t"s" : "" }',
    "names that the table has not": '{"x":[1,{"y":2.50e7}],"s":"a","z":{"i":7},"":null}\n',
    "escapes": '{"s":"\\u00e9 \\ud83d\\ude00 \\n\\t\\r \\/ \\\\ \\""}\n{"s":"é 😀 \u2028\u0085 \'"}\n{"\\u0073":"name"}\n',
    "ends of lines": '{"s":"a"}\r\n{"s":"b"}\r{"s":"c"}\n{"s":"d"}',
    "texts that look like something": '{"s":"1"}\n{"s":"null"}\n{"s":"true"}\n{"s":" "}\n{"s":"{}"}\n',
    "numbers": '{"d":0,"m":-5,"f":1}\n{"d":-999999.125,"m":0.01,"f":0.001}\n{"d":1.0,"m":12345678.90,"f":2.50}\n',
}
LEFT: dict[str, tuple[str | bytes, str]] = {
    "half of a letter": ('{"s":"\\ud83d"}', "half of a letter"),
    "a control character": ('{"s":"\\u0001"}', "control characters"),
    "single quotes": ("{'s':'x'}", "not read as JSON"),
    "a comment": ('{"s":"x"} // more', "not read as JSON"),
    "a name twice": ('{"s":"x","s":"y"}', "a name twice"),
    "a name twice inside": ('{"x":{"y":1,"y":2}}', "a name twice"),
    "another case": ('{"S":"x"}', "case alone"),
    "a number as text": ('{"s":1.50}', "column s of type string has number values"),
    "an object as text": ('{"s":{"a":1}}', "has dict values"),
    "a boolean as text": ('{"s":true}', "has bool values"),
    "a text as number": ('{"i":"1"}', "has str values"),
    "a number as date": ('{"day":19000}', "has number values"),
    "a number as boolean": ('{"b":1}', "has number values"),
    "a boolean as number": ('{"i":true}', "has bool values"),
    "a fraction": ('{"i":1.0}', "column i of"),
    "too large": ('{"t":128}', "column t of"),
    "an exponent": ('{"d":1e3}', "column d of"),
    "many digits": ('{"d":0.1234567890123456}', "digits"),
    "too many digits": ('{"m":1.555}', "column m of"),
    "a zero with a sign": ('{"d":-0.0}', "zeros with a sign"),
    "a leading zero": ('{"i":01}', "not read as JSON"),
    "NaN": ('{"d":NaN}', "NaN"),
    "another date": ('{"day":"2024-1-1"}', "column day of"),
    "another moment": ('{"at":"2024-01-01T00:00:00Z"}', "column at of"),
    "an empty line": ('{"s":"x"}\n\n{"s":"y"}', "not read as JSON"),
    "an array": ('[{"s":"x"}]', "no object"),
    "two objects": ('{"s":"x"}{"s":"y"}', "not read as JSON"),
    "a byte order mark": ('\ufeff{"s":"x"}', "not read as JSON"),
    "no UTF-8": (b'{"s":"\xff"}', "not read as JSON"),
    "deeper than anyone reads": ('{"x":' + "[" * 100_000, "not read as JSON"),
}


@pytest.mark.parametrize("name", LEFT)
def test_json_that_is_left_to_spark(tmp_path: Path, name: str) -> None:
    data, why = LEFT[name]
    (tmp_path / "a.json").write_bytes(b'{"s":"first"}\n' + (data if isinstance(data, bytes) else data.encode()))
    with pytest.raises(CannotReadHere, match=rf"a\.json: .*{why}|{why}.*a\.json"):
        read(tmp_path / "a.json", "json", COLUMNS)


@pytest.mark.spark
def test_rows_of_json_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    for number, data in enumerate(READ.values()):
        (tmp_path / f"{number}.json").write_bytes(data.encode())
    frame = spark.read.schema(schema).json([str(tmp_path / f"{number}.json") for number in range(len(READ))])
    by_spark = frame.select(F.col("_metadata.file_name").alias("file"), F.expr(row_digest(frame.columns)), *frame.columns).collect()
    for number, name in enumerate(READ):
        found = read(tmp_path / f"{number}.json", "json", COLUMNS)
        expected = sorted((row[1], row["s"], row["i"], row["day"]) for row in by_spark if row[0] == f"{number}.json")
        here = sorted(zip(*(found.column(one).to_pylist() for one in ("lineage_digest", "s", "i", "day")), strict=True))
        assert here == expected, name


@pytest.mark.parametrize(
    ("options", "fine"),
    [({"multiLine": "false", "mode": "FAILFAST", "timeZone": "UTC", "encoding": "UTF-8"}, True), ({"dateFormat": "yyyy-MM-dd"}, True),
     ({"multiLine": "true"}, False), ({"timestampFormat": "yyyy"}, False), ({"dateFormat": "yyyy-mm-dd"}, False), ({"lineSep": "x"}, False),
     ({"timeZone": "+01:00"}, False), ({"encoding": "UTF-16"}, False), ({"newOption": "x"}, False)],
)  # fmt: skip
def test_how_json_was_read(tmp_path: Path, options: dict[str, str], fine: bool) -> None:
    (tmp_path / "a.json").write_text('{"s":"x"}')
    if fine:
        assert read(tmp_path / "a.json", "json", {"s": "string"}, options).column("s").to_pylist() == ["x"]
        return
    with pytest.raises(CannotReadHere, match="with the option"):
        read(tmp_path / "a.json", "json", {"s": "string"}, options)


WRITTEN: dict[str, tuple[Any, str]] = {
    "s": (pa.array(["a", "é 😀", None, "", "tab\t\n"]), "string"),
    "i": (pa.array([-(2**31), 0, None, 1, 7], pa.int32()), "int"),
    "l": (pa.array([2**63 - 1, 0, None, 1, -7], pa.int64()), "bigint"),
    "t": (pa.array([-128, 0, None, 1, 127], pa.int8()), "tinyint"),
    "d": (pa.array([1.5, 0.0, None, -999999.125, 0.001]), "double"),
    "f": (pa.array([1.5, 0.0, None, -0.25, 1234.5], pa.float32()), "float"),
    "m": (pa.array([Decimal("1.50"), Decimal(0), None, Decimal("-0.01"), Decimal(7)], pa.decimal128(10, 2)), "decimal(10,2)"),
    "b": (pa.array([True, False, None, True, False]), "boolean"),
    "day": (
        pa.array([datetime.date(2024, 2, 29), datetime.date(1583, 1, 1), None, datetime.date(9999, 12, 31), datetime.date(1970, 1, 1)]),
        "date",
    ),
}


@pytest.mark.spark
def test_rows_of_orc_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Of Arrow's writer, and of Spark's own."""
    kinds = {name: kind for name, (_, kind) in WRITTEN.items()}
    orc.write_table(pa.table({name: values for name, (values, _) in WRITTEN.items()}), tmp_path / "arrow.orc", compression="zlib")
    spark.read.orc(str(tmp_path / "arrow.orc")).coalesce(1).write.orc(str(tmp_path / "sparks"))
    (sparks,) = (tmp_path / "sparks").glob("*.orc")
    for path in (tmp_path / "arrow.orc", sparks):
        frame = spark.read.orc(str(path))
        assert dict(frame.dtypes) == kinds
        expected = sorted(row[0] for row in frame.select(F.expr(row_digest(frame.columns))).collect())
        assert sorted(read(path, "orc", kinds).column("lineage_digest").to_pylist()) == expected


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        (pa.array([float("nan")]), "double", "not all of its texts"),
        (pa.array([-0.0]), "double", "sign"),
        (pa.array([1e300]), "double", "column x"),
        (pa.array([0.1 + 0.2]), "double", "digits"),
        (pa.array([1], pa.int64()), "int", "x is int in the table and int64 in the file"),
        (pa.array([1.5]), "float", "x is float in the table and double"),
        (pa.array([Decimal("1.50")], pa.decimal128(10, 2)), "decimal(12,2)", "in the table and"),
        (pa.array([datetime.date(1582, 10, 1)]), "date", "another calendar"),
        (pa.array([datetime.datetime(2024, 1, 1)], pa.timestamp("ns")), "timestamp_ntz", "timestamp_ntz in the table"),
        (pa.array([["a"]]), "array<string>", "in the table and list"),
        (pa.array(["\x01"]), "string", "control characters"),
        (pa.array(["a", "a "]), "string", "end with a space"),
        (pa.array(["a"]), "char(3)", "in the table and string"),
        (pa.array([b"\xff"]), "string", "in the table and binary"),
    ],
    ids=str,
)
def test_orc_that_is_left_to_spark(tmp_path: Path, values: pa.Array, kind: str, why: str) -> None:
    orc.write_table(pa.table({"x": values}), tmp_path / "a.orc")
    with pytest.raises(CannotReadHere, match=why):
        read(tmp_path / "a.orc", "orc", {"x": kind})


def test_other_columns_and_files_that_are_no_orc(tmp_path: Path) -> None:
    orc.write_table(pa.table({"x": [1], "y": [2]}), tmp_path / "a.orc")
    for columns in (("y", "x"), ("x",), ("X", "y"), ("x", "y", "z")):
        with pytest.raises(CannotReadHere, match="are not the table's"):
            read(tmp_path / "a.orc", "orc", dict.fromkeys(columns, "bigint"))
    with pytest.raises(CannotReadHere, match=r"option orc\.force"):
        read(tmp_path / "a.orc", "orc", {"x": "bigint", "y": "bigint"}, {"orc.force.positional.evolution": "true"})
    (tmp_path / "b.orc").write_bytes((tmp_path / "a.orc").read_bytes()[:-9])
    with pytest.raises(CannotReadHere, match="cannot be read"):
        read(tmp_path / "b.orc", "orc", {"x": "bigint", "y": "bigint"})
    with pytest.raises(CannotReadHere, match="of the format text"):
        read(tmp_path / "a.orc", "text", {"value": "string"})
