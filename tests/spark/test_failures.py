"""What a user reads when Python code fails on an executor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_lineage_provider.errors import RunFailed
from airflow_lineage_provider.spark.failures import explained

TRACE = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/opt/pyspark/serializers.py", line 473, in loads
    return cloudpickle.loads(obj, encoding=encoding)
{raised}
"""


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("ModuleNotFoundError: No module named 'scoring'", "No module named 'scoring'. The executors need the modules that UDFs use"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_executors_lack(raised: str, told: str) -> None:
    error = type("PythonException", (Exception,), {})(TRACE.format(raised=raised))
    recorded: Any = SimpleNamespace(plan=SimpleNamespace(segments=()))
    found = explained(error, recorded, [])
    assert isinstance(found, RunFailed)
    assert told in str(found)
    assert ("addPyFile" in str(found)) == raised.startswith("ModuleNotFound")
