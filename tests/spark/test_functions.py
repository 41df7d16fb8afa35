"""Every function of Spark's, by the examples of its own documentation: captured, said in SQL again, it gives the same value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.spark.capturing.capture import capture
from tests.in_turn import sampled
from tests.spark.direct import rows_of
from tests.spark.pipelines import rows
from tests.spark.test_capture import executed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Their examples fail on purpose, read files that are not there, encrypt with a random start, or call any Java method.
_LEFT_OUT = {
    "assert_true", "raise_error", "from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf", "aes_encrypt", "reflect",
    "java_method", "try_reflect", "input_file_name", "localtime", "measure",
}  # fmt: skip
# In a long list of expressions Spark's parser takes these for the ends of nested types.
_UNPARSED = ">>"
# What has no name of its own in SQL, or holds what the arguments do not show: refused, never said wrongly.
_REFUSED = {"try_make_timestamp", "try_make_timestamp_ltz", "try_make_timestamp_ntz", "try_reflect"}
_BATCH = 60


# The captured plan has the time at which it was captured.
_CLOCK = re.compile(r"\b(current_date|current_time|current_timestamp|curdate|now|localtime|localtimestamp|unix_timestamp)\b(?!\([^)])")
_OVER_ROWS = re.compile(r"\bFROM\s+(VALUES|\(|range)", re.IGNORECASE)
_OF_NOW = re.compile(r"\bcurrent_|\blocaltime|\bTIME'", re.IGNORECASE)
_WINDOW = re.compile(r"\bOVER\s*\(", re.IGNORECASE)
_MAKES_ROWS = re.compile(r"\s*(?:explode|posexplode|inline|stack|json_tuple|variant_explode)(?:_outer)?\(", re.IGNORECASE)


def examples(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Function and expression, of the examples."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    functions = registry.listFunction()
    for number in range(functions.size()):
        identifier = functions.apply(number)
        name = identifier.unquotedString().removeprefix("system.builtin.")
        text = registry.lookupFunction(identifier).get().getExamples() or ""
        if name in _LEFT_OUT:
            continue
        for expression in re.findall(r"> SELECT (.*?);\n", text.replace("_FUNC_", name), re.DOTALL):
            if not _OF_NOW.search(expression):
                yield name, expression


def test_every_function_means_the_same(spark: SparkSession) -> None:
    alone: list[tuple[str, str]] = []
    together: list[tuple[str, str]] = []
    for name, expression in examples(spark):
        if _CLOCK.search(expression) or _OVER_ROWS.search(expression) or _MAKES_ROWS.match(expression):
            continue
        if re.search(r"\bAS \w+$", expression, re.IGNORECASE):
            continue
        (alone if _UNPARSED in expression else together).append((name, expression))
    refused: set[str] = set()
    for example in alone:
        captured_of(spark, [example], refused)
    together = list(sampled(together, one_in=4))
    said = [one for start in range(0, len(together), _BATCH) for one in captured_of(spark, together[start : start + _BATCH], refused)]
    assert refused <= _REFUSED
    # Older releases have fewer functions.
    assert len(said) > 0.9 * len(together) > 150
    for start in range(0, len(said), _BATCH):
        assert_same(spark, said[start : start + _BATCH])


def captured_of(spark: SparkSession, named: list[tuple[str, str]], refused: set[str]) -> list[str]:
    """The expressions that give the same value again, of those that Spark takes and that are captured; of the others, the functions that
    are refused are added to ``refused``. They are captured in one plan; what stops that is found by halves.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    listed = ", ".join(f"{expression} AS e{number}" for number, (_, expression) in enumerate(named))
    try:
        df = spark.sql(f"SELECT {listed}" if len(named) > 1 else f"SELECT {named[0][1]}")
        assert df.columns
        columns: Any = capture(df).pipeline.plan.columns  # type: ignore[union-attr]
        if len(columns) == len(named):
            return [expression for (_, expression), column in zip(named, columns, strict=True) if is_deterministic(column)]
    except (PySparkException, Py4JError):
        pass  # an example shows an error, or a type that is not enabled
    except UnsupportedOperator:
        if len(named) == 1:
            refused.add(named[0][0])
    half = len(named) // 2
    return [one for part in (named[:half], named[half:]) if half for one in captured_of(spark, part, refused)]


def assert_same(spark: SparkSession, expressions: list[str]) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    listed = ", ".join(f"{expression} AS e{number}" for number, expression in enumerate(expressions))
    df = spark.sql(f"SELECT {listed}")
    try:
        expected = rows(df)
    except (PySparkException, Py4JError):
        # Some examples show an error: they are found by halves, and left out.
        half = len(expressions) // 2
        for part in (expressions[:half], expressions[half:]) if half else ():
            assert_same(spark, part)
        return
    with executed(spark, capture(df)) as again:
        types = [(f.dataType.simpleString(), g.dataType.simpleString()) for f, g in zip(df.schema, again.schema, strict=True)]
        assert [(expression, *pair) for expression, pair in zip(expressions, types, strict=True) if pair[0] != pair[1]] == []
        assert rows(again) == expected


def test_every_window_function_and_generator_gives_the_same_rows(spark: SparkSession) -> None:
    """Each in a query of its own."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    different: list[str] = []
    compared = 0
    for _name, expression in examples(spark):
        if not (_WINDOW.search(expression) or _MAKES_ROWS.match(expression)):
            continue
        try:
            df = spark.sql(f"SELECT {expression}")
            expected = rows(df)
        except (PySparkException, Py4JError):
            continue
        compared += 1
        if rows_of(spark, capture(df)) != expected:
            different.append(expression)
    assert different == []
    assert compared > 20
