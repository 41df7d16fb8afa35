"""Declaring and calling reasoned UDFs without Spark."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cloudpickle
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from airflow_lineage_provider.errors import (
    ReasonValueMismatch,
    UdfDeclarationError,
    UdfFailed,
    UdfUnavailable,
    UdfVersionMismatch,
)
from airflow_lineage_provider.reasons import ReasonedUdf, payload, reasoned_udf, registry
from airflow_lineage_provider.reasons.description import UdfDescription
from airflow_lineage_provider.reasons.values import same_values
from tests.new_process import NewPython
from udfs.paper_credit_exam import credit_exam


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    before = dict(registry._DECLARED)
    yield
    registry._DECLARED.clear()
    registry._DECLARED.update(before)


def ratio() -> ReasonedUdf:
    @reasoned_udf("double")
    def ratio(debt: float, income: float) -> float:
        return debt / income

    return ratio.with_reason(lambda debt, income: (debt / income, {"debt": debt, "income": income}))


# --- the paper's examples -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "value", "reason"),
    [((3400, 810, 4000), "Accept", ["Income", "LoanAmount"]), ((2200, 1350, 20000), "Reject", ["Debt", "LoanAmount"])],
)
def test_example_3(row: tuple[int, int, int], value: str, reason: list[str]) -> None:
    assert credit_exam(*row) == value
    values, reasons = credit_exam.explain_batch([pa.array([each]) for each in row])
    assert values.to_pylist() == [value]
    assert payload.from_json(reasons[0].as_py()) == payload.Json(reason)


def test_both_modes_of_the_paper_s_udf_agree() -> None:
    amounts = [500, 4000, 9000, 20000, None]
    rows = [(income, debt, amount) for income in (1000, 3400, None) for debt in (0, 810, 2500) for amount in amounts]
    arrays = [pa.array(column) for column in zip(*rows, strict=True)]
    values, _ = credit_exam.explain_batch(arrays)
    assert values.equals(credit_exam.call_batch(arrays))
    assert set(values.to_pylist()) == {"Accept", "Marginal", "Reject", None}


# --- batches ------------------------------------------------------------------------------------------------------------


def test_rows_see_python_values_and_none() -> None:
    seen: list[Any] = []

    @reasoned_udf("int")
    def look(a: Any, b: Any, c: Any) -> int:
        seen.append((a, b, c))
        return len(seen)

    berlin = pa.array([0, None], type=pa.timestamp("us", tz="Europe/Berlin"))
    pairs = pa.array([[("k", decimal.Decimal("1.5"))], None], type=pa.map_(pa.string(), pa.decimal128(4, 1)))
    found = look.call_batch([berlin, pairs, pa.chunked_array([[1.5], [float("nan")]])])
    assert found.equals(pa.array([1, 2], type=pa.int32()))
    assert seen[0] == (dt.datetime(1970, 1, 1, tzinfo=dt.UTC), {"k": decimal.Decimal("1.5")}, 1.5)
    assert seen[0][0].utcoffset() == dt.timedelta(0)
    assert seen[1][:2] == (None, None)


@pytest.mark.parametrize("vectorized", ["pandas", "arrow"])
def test_vectorised_udfs(vectorized: Any) -> None:
    @reasoned_udf("double", vectorized=vectorized)
    def total(a: Any, b: Any) -> Any:
        return a + b if vectorized == "pandas" else pc.add(a, b)

    @total.with_reason
    def _(a: Any, b: Any) -> Any:
        values = a + b if vectorized == "pandas" else pc.add(a, b)
        return values, [{"first": each} for each in a.tolist()]

    arrays = [pa.array([1.0, 2.0]), pa.array([10, 20])]
    values, reasons = total.explain_batch(arrays)
    assert values.to_pylist() == [11.0, 22.0] == total.call_batch(arrays).to_pylist()
    assert json.loads(reasons[1].as_py())["value"] == {"first": 2.0}
    assert total(1.0, 10) == 11.0
    whole = pd.Series([1.0]) if vectorized == "pandas" else pa.array([1.0])
    assert total(whole, whole).tolist() == [2.0]


def test_no_rows_call_no_code() -> None:
    @reasoned_udf("array<int>", vectorized="pandas")
    def never(a: Any) -> Any:
        raise AssertionError("called")

    never.with_reason(lambda a: 1 / 0)
    values, reasons = never.explain_batch([pa.array([], type=pa.string())])
    assert (values.type, reasons.type, len(values)) == (pa.list_(pa.int32()), pa.string(), 0)


def test_a_udf_without_reason_gives_null_reasons() -> None:
    @reasoned_udf("int")
    def one(a: Any) -> int:
        return 1

    assert not one.has_reason
    values, reasons = one.explain_batch([pa.array(["x", None])])
    assert values.to_pylist() == [1, 1]
    assert reasons.to_pylist() == [None, None]
    assert reasons.type == pa.string()


def test_a_reason_of_none_is_null() -> None:
    udf = ratio().with_reason(lambda debt, income: (1.0, None))
    assert udf.explain_batch([pa.array([1]), pa.array([1])])[1].to_pylist() == [None]


# --- failures -----------------------------------------------------------------------------------------------------------


def test_the_failing_row_is_named_and_the_cause_chained() -> None:
    with pytest.raises(UdfFailed, match=r"UDF 'ratio' failed on debt=2, income=0: ZeroDivisionError") as caught:
        ratio().call_batch([pa.array([1, 2, 3]), pa.array([1, 0, 1])])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("reasoning", [False, True])
def test_the_failing_row_of_a_vectorised_udf_is_found(reasoning: bool) -> None:
    def check(a: pd.Series) -> Any:
        if (a == 7).any():
            raise KeyError("seven")
        return (a, [None] * len(a)) if reasoning else a

    udf = ReasonedUdf(lambda a: a, "double", name="check", vectorized="pandas", main_with_reason=check) if reasoning else None
    udf = udf or ReasonedUdf(check, "double", vectorized="pandas")
    with pytest.raises(UdfFailed, match=r"UDF 'check' failed on a=7.0: KeyError: 'seven'") as caught:
        (udf.explain_batch if reasoning else udf.call_batch)([pa.array([1.0, 7.0, 2.0])])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_batch_that_fails_where_no_row_does() -> None:
    def picky(a: pd.Series) -> pd.Series:
        if len(a) > 1:
            raise ValueError("too many")
        return a

    with pytest.raises(UdfFailed, match=r"on a batch of 2 rows: ValueError: too many \(each of its rows alone is fine\)"):
        ReasonedUdf(picky, "double", vectorized="pandas").call_batch([pa.array([1.0, 2.0])])


def test_long_inputs_are_shortened() -> None:
    def fail(text: str) -> str:
        raise ValueError("no")

    with pytest.raises(UdfFailed) as caught:
        ReasonedUdf(fail, "string").call_batch([pa.array(["x" * 10_000])])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("returns", "value", "part"),
    [
        ("int", "three", "its value 'three' (str) is not of the declared type int32"),
        ("tinyint", 300, "its value 300 (int)"),
        ("string", 3, "its value 3 (int)"),
        ("int", 1.5, "its value 1.5 (float)"),
        ("array<struct<a:int>>", [{"a": 1.5}], "not a whole number"),
        ("map<string,timestamp>", {"a": dt.datetime(2020, 1, 1)}, "with a time zone"),
        ("struct<a:int>", 3, "its value 3 (int)"),
        ("int", float("nan"), "its value nan (float)"),
        ("timestamp", dt.datetime(2020, 1, 1), "needs a datetime with a time zone"),
        ("timestamp_ntz", dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "needs a datetime without a time zone"),
        ("decimal(4,1)", decimal.Decimal("12345.6"), "Decimal('12345.6')"),
    ],
)
def test_a_value_of_another_type(returns: str, value: Any, part: str) -> None:
    def give(a: int) -> Any:
        return value if a == 2 else None

    with pytest.raises(UdfFailed) as caught:
        ReasonedUdf(give, returns).call_batch([pa.array([1, 2])])
    assert part in str(caught.value)
    assert "on a=2" in str(caught.value)


@pytest.mark.parametrize(
    ("result", "part"),
    [
        (pa.array([1]), "returned 1 values for 2 rows"),
        (7, "returned int, not a pyarrow.Array"),
        (pa.array(["a", "b"]), "its value 'a' (str)"),
    ],
)
def test_a_wrong_result_of_a_vectorised_udf(result: Any, part: str) -> None:
    with pytest.raises(UdfFailed) as caught:
        ReasonedUdf(lambda a: result, "int", name="wrong", vectorized="arrow").call_batch([pa.array([1, 2])])
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("result", "part"),
    [
        ("Accept", "not a pair (value, reason)"),
        ((1.0, 2.0, 3.0), "not a pair (value, reason)"),
        ((1.0, object()), "which JSON cannot hold"),
    ],
)
def test_a_wrong_result_of_reasoning_mode(result: Any, part: str) -> None:
    with pytest.raises(UdfFailed) as caught:
        ratio().with_reason(lambda debt, income: result).explain_batch([pa.array([1]), pa.array([1])])
    assert part in str(caught.value)
    assert "debt=1, income=1" in str(caught.value)


def test_a_series_of_objects_is_not_cut() -> None:
    udf = ReasonedUdf(lambda a: pd.Series([1, 2.5], dtype=object), "int", name="u", vectorized="pandas")
    with pytest.raises(UdfFailed, match=r"on a=2: its value 2.5 \(float\)"):
        udf.call_batch([pa.array([1, 2])])


def test_nested_values_convert() -> None:
    returns = "struct<a:array<int>,m:map<string,bigint>>"
    udf = ReasonedUdf(lambda a: {"a": [1, None, 2.0], "m": {"k": 3}}, returns, name="u")
    assert udf.call_batch([pa.array([1])]).to_pylist(maps_as_pydicts="strict") == [{"a": [1, None, 2], "m": {"k": 3}}]


def test_too_few_reasons() -> None:
    udf = ReasonedUdf(lambda a: a, "int", name="u", vectorized="arrow", main_with_reason=lambda a: (a, ["only one"]))
    with pytest.raises(UdfFailed, match="1 reasons for 2 rows"):
        udf.explain_batch([pa.array([1, 2])])


def test_arrays_of_different_lengths() -> None:
    with pytest.raises(UdfFailed, match="lengths"):
        ratio().call_batch([pa.array([1]), pa.array([1, 2])])


def test_another_value_in_reasoning_mode() -> None:
    udf = ratio().with_reason(lambda debt, income: (debt / income + (debt == 2), "why"))
    arrays = [pa.array([1, 2]), pa.array([1, 1])]
    with pytest.raises(ReasonValueMismatch, match=r"UDF 'ratio' gives 2.0 in normal mode and 3.0 in reasoning mode on debt=2, income=1"):
        udf.check_values(arrays, udf.explain_batch(arrays)[0])


def test_values_compare_as_a_person_would() -> None:
    nan, inf = float("nan"), float("inf")
    left = pa.array([nan, 1.0, inf, 0.1 + 0.2, 1.0, None, 0.0])
    right = pa.array([nan, 2.0, 1e300, 0.3, None, None, -0.0])
    assert same_values(left, right) == [True, False, False, True, False, True, True]
    nested = pa.array([{"a": [nan, 1.0]}, {"a": [1.0]}])
    assert same_values(nested, pa.array([{"a": [nan, 1.0]}, {"a": [2.0]}])) == [True, False]


# --- declaring ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declare",
    [
        lambda: reasoned_udf("strng")(lambda a: a),
        lambda: reasoned_udf("string")(lambda a: a),
        lambda: ReasonedUdf(lambda: 1, "int", name="none"),
        lambda: ReasonedUdf(lambda *, a: 1, "int", name="keyword"),
        lambda: ReasonedUdf(lambda a: a, "int", name="u", vectorized="polars"),  # type: ignore[arg-type]
        lambda: ReasonedUdf(lambda a: a, "int", name="u", main_with_reason=lambda a, b: (a, b)),
        lambda: ReasonedUdf(lambda a: a, "int", name="u", libraries=["no-such-library"]),
        lambda: ReasonedUdf(lambda a: a, "int", name="u", model=(each for each in "x")),
        lambda: reasoned_udf(lambda a: a),  # type: ignore[arg-type]
        lambda: ReasonedUdf(3, "int", name="u"),  # type: ignore[arg-type]
    ],
)
def test_wrong_declarations(declare: Any) -> None:
    with pytest.raises(UdfDeclarationError):
        declare()


def test_the_description_is_json() -> None:
    found = json.loads(json.dumps(credit_exam.describe()))
    assert found["name"] == found["qualname"] == "credit_exam"
    assert found["module"] == "udfs.paper_credit_exam"
    assert found["version"] == credit_exam.version
    assert (found["returns"], found["vectorized"], found["has_reason"], found["deterministic"]) == ("string", False, True, True)


def test_a_udf_survives_cloudpickle_with_its_version() -> None:
    udf = ratio()
    back = cloudpickle.loads(cloudpickle.dumps(udf))
    assert back.version == udf.version
    assert back(1, 2) == 0.5


def test_the_registry() -> None:
    first, second = ratio(), ratio()
    assert first is not second
    assert registry.get("ratio") is second
    assert registry.find(UdfDescription(name="ratio", module="gone")) is second
    with pytest.raises(UdfUnavailable, match="no reasoned UDF named 'nobody'"):
        registry.get("nobody")


@pytest.mark.parametrize(
    ("module", "part"),
    [("no_such_module", "ModuleNotFoundError"), ("__main__", "cannot be imported"), ("json", "neither declares it"), ("", "no module")],
)
def test_a_udf_that_cannot_be_found(module: str, part: str) -> None:
    with pytest.raises(UdfUnavailable, match=part):
        registry.find(UdfDescription(name="nobody", module=module))


def test_a_udf_is_found_by_importing_its_module() -> None:
    registry._DECLARED.pop("credit_exam", None)
    sys.modules.pop("udfs.paper_credit_exam")
    found = registry.find(UdfDescription(name="credit_exam", module="udfs.paper_credit_exam"))
    assert found.version == credit_exam.version


def test_another_version_is_refused() -> None:
    then = UdfDescription.of(credit_exam.describe())
    registry.check_version(credit_exam, then)
    with pytest.raises(UdfVersionMismatch, match=f"has version {credit_exam.version}, the decision was made by version abc.*seed 1 → 0"):
        registry.check_version(credit_exam, replace(then, version="abc", seed=1))


def test_importing_the_package_is_light(new_python: NewPython) -> None:
    heavy = "{'pyspark', 'airflow', 'shap', 'lime', 'sklearn', 'sqlalchemy'}"
    code = f"import sys, airflow_lineage_provider.reasons; print(sorted({heavy} & set(sys.modules)))"
    assert new_python(code) == "[]"


@pytest.mark.parametrize(("rows", "asked"), [(7, 7), (50, 50), (51, 50), (2_500, 50), (10_000, 200)])
def test_reasoning_mode_asks_normal_mode_about_some_rows_of_a_task(rows: int, asked: int) -> None:
    calls: list[int] = []

    @reasoned_udf("bigint", name="counted")
    def counted(number: int) -> int:
        calls.append(number)
        return number

    @counted.with_reason
    def _(number: int) -> tuple[int, payload.Json]:
        return number, payload.Json(number)

    from airflow_lineage_provider.reasons.spark_function import _OnBatches

    of_a_task = _OnBatches(counted, "reasoning", ())
    found = of_a_task(pa.array(range(rows), pa.int64()))
    assert found.field("value").to_pylist() == list(range(rows))
    assert len(calls) == len(set(calls)) == asked
    assert calls[0] == 0
    assert max(calls) >= rows - rows // asked - 1
    of_a_task(pa.array(range(rows), pa.int64()))
    assert len(calls) == asked
