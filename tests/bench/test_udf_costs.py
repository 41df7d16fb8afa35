"""What calls of UDFs are told to cost, and UDFs that are slower."""

from __future__ import annotations

import time
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider import reasoned_udf
from tests.bench import udf_costs
from tests.bench.comparison import Arm
from tests.bench.readings import Reading
from tests.bench.udf_costs import UdfCost, cost_of, counted, slowed


@reasoned_udf("string", name="costed_exam", version="1")
def exam(value: int) -> str:
    ends = time.process_time() + 0.01
    while time.process_time() < ends:
        pass
    return "high" if 10 / value < 2 else "low"


@exam.with_reason
def _(value: int) -> tuple[str, Any]:
    return exam.main(value), {"value": value}


def test_each_call_is_counted_with_its_seconds_and_gives_the_same(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    one = counted(exam, log)
    assert one.main_with_reason is not None
    assert (one.main(9), one.main(2), one.main_with_reason(9)) == ("high", "low", ("high", {"value": 9}))
    with pytest.raises(ZeroDivisionError):
        one.main(0)
    seconds = array("d", log.read_bytes())
    assert len(seconds) == 4
    assert all(0.01 <= taken < 0.1 for taken in seconds)
    assert one.version != exam.version


def test_a_slower_call_waits_and_gives_the_same() -> None:
    began = time.perf_counter()
    assert slowed(exam, 0.2).main(9) == "high"
    assert time.perf_counter() - began > 0.2


def test_what_a_querys_calls_cost_is_apart_from_the_rest_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time, which starts workers, does not count; three calls of 0.01 s each are the query's, and 2 s in all."""
    registered: list[Any] = []

    def query() -> None:
        for value in (1, 2, 3):
            registered[-1].main(value)

    def measured(do: Any) -> Reading:
        do()
        return Reading(9.0, {"JVM": 1.5, "workers": 0.5})

    monkeypatch.setattr(udf_costs, "written", lambda *_: Arm(query))
    monkeypatch.setattr(type(exam), "register", lambda udf, _: registered.append(udf))
    found = cost_of(SimpleNamespace(folder=tmp_path, spark=None, meter=SimpleNamespace(measured=measured)), "", [exam])  # type: ignore[arg-type]
    assert found.calls == 3
    assert 0.03 <= found.seconds < 0.3
    assert found.rest == pytest.approx(2 - found.seconds)
    slower = found.longer(20)
    assert slower * 3 + found.seconds == pytest.approx(20 * found.rest)
    assert UdfCost(3, 50.0, 2.0).longer(20) == 0
