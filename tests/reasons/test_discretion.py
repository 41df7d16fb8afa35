"""Errors do not tell the values of columns that are hidden or masked, nor does what they are chained to."""

from __future__ import annotations

import traceback
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from airflow_lineage_provider import reasoned_udf
from airflow_lineage_provider.errors import ReasonValueMismatch, UdfFailed

NAME, SSN = "Quasimodo", 777123


def judge(name: str, ssn: int, income: int) -> str:
    raise ValueError(f"{name} ({ssn}) is unknown")


def failed(udf: Any) -> str:
    with pytest.raises(UdfFailed) as caught:
        udf.call_batch([pa.array([NAME]), pa.array([SSN]), pa.array([2200])])
    return "".join(traceback.format_exception(caught.value))


def test_an_error_tells_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("HIDE", "MASK"):
        monkeypatch.delenv(f"AIRFLOW_LINEAGE_{setting}", raising=False)
    told = failed(reasoned_udf("string", name="judge_discreetly")(judge))
    assert f"name='{NAME}', ssn={SSN}, income=2200" in told


def test_an_error_does_not_tell_what_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "NAME")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "s?n")
    told = failed(reasoned_udf("string", name="judge_discreetly")(judge))
    assert "failed on ssn=•••, income=2200: ValueError: ••• (•••) is unknown" in told
    assert NAME not in told
    assert str(SSN) not in told


def test_executors_keep_back_what_the_driver_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name,ssn")
    sent = cloudpickle.dumps(reasoned_udf("string", name="judge_discreetly")(judge))
    monkeypatch.delenv("AIRFLOW_LINEAGE_MASK")
    told = failed(cloudpickle.loads(sent))
    assert "name=•••, ssn=•••, income=2200" in told
    assert NAME not in told


def test_a_batch_whose_row_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name")

    @reasoned_udf("string", name="whole_batch", vectorized="pandas")
    def udf(name: Any) -> Any:
        if len(name) > 1:
            raise ValueError(f"cannot take {list(name)}")
        return name

    with pytest.raises(UdfFailed) as caught:
        udf.call_batch([pa.array([NAME, "Esmeralda"])])
    told = "".join(traceback.format_exception(caught.value))
    assert "on a batch of 2 rows" in told
    assert NAME not in told


def test_another_value_in_reasoning_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name")

    @reasoned_udf("int", name="differs")
    def udf(name: str) -> int:
        return 1

    udf.with_reason(lambda name: (2, None))
    with pytest.raises(ReasonValueMismatch, match="on name=•••"):
        udf.check_values([pa.array([NAME])], pa.array([2], pa.int32()))


def test_it_is_no_part_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = reasoned_udf("string", name="judge_discreetly")(judge).version
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "name")
    assert reasoned_udf("string", name="judge_discreetly")(judge).version == before
