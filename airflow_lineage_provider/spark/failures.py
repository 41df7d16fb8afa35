"""What a user should read when Spark fails: the UDF's own message and the row's keys, not a Java stack trace."""

from __future__ import annotations

import re

from airflow_lineage_provider.errors import LineageError, LoadFailed, ReasonValueMismatch, RunFailed, StoreUnavailable, UdfFailed
from airflow_lineage_provider.recording import RecordedPlan

_KNOWN: tuple[type[LineageError], ...] = (UdfFailed, ReasonValueMismatch, LoadFailed, StoreUnavailable)
_RAISED = re.compile(
    r"airflow_lineage_provider\.errors\.(\w+): (.*?)(?=\n\s*(?:at |\tat |JVM stacktrace|Driver stacktrace|During handling|The above|$)|\Z)",
    re.DOTALL,
)


def explained(error: Exception, recorded: RecordedPlan) -> LineageError | None:
    """The error of this package that a Spark failure was caused by on an executor; None where there is none."""
    names = {one.__name__: one for one in _KNOWN}
    for found in reversed(list(_RAISED.finditer(str(error)))):
        name, message = found.groups()
        if name in names:
            return names[name](message.strip())
    if type(error).__name__ == "PythonException":
        udfs = ", ".join(dict.fromkeys(f.udf for s in recorded.plan.segments for f in s.functions)) or "none"
        return RunFailed(f"Python code raised on an executor (UDFs of this pipeline: {udfs}): {_last_line(str(error))}")
    return None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "File ", "JVM"))]
    raised = [line for line in lines if re.match(r"^[\w.]+(Error|Exception|Warning)\b", line)]
    return (raised or lines or [text])[-1]
