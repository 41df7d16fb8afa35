"""What a user should read when Spark fails: the UDF's own message and the row's keys, not a Java stack trace."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from airflow_lineage_provider.errors import LineageError, LoadFailed, ReasonValueMismatch, RunFailed, StoreUnavailable, UdfFailed
from airflow_lineage_provider.plan.lineage_keys import InputIdentity
from airflow_lineage_provider.reasons.discretion import MASK, Discretion
from airflow_lineage_provider.reasons.spark_function import KEYS_MARK
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.tracing.program import Program

_KNOWN: tuple[type[LineageError], ...] = (UdfFailed, ReasonValueMismatch, LoadFailed, StoreUnavailable)
# A message ends where Python's next traceback, Java's stack trace or the text ends; it may have several lines.
_END = r"\n\s*(?:The above exception|During handling of|JVM stacktrace|Driver stacktrace|at [\w.$/]+\()|\s*\Z"
_RAISED = re.compile(rf"airflow_lineage_provider\.errors\.(\w+): (.*?)(?={_END})", re.DOTALL)


def explained(error: Exception, recorded: RecordedPlan, programs: Sequence[Program]) -> LineageError | None:
    """The error of this package that a Spark failure was caused by on an executor; None where there is none."""
    names = {one.__name__: one for one in _KNOWN}
    found = [(names[name], message) for name, message in _RAISED.findall(str(error)) if name in names]
    if found:
        # The last one was raised last, on top of the others; it is the one that knows the row.
        kind, message = max(found, key=lambda one: KEYS_MARK in one[1])
        return kind(_with_row(message.strip(), recorded, programs))
    if type(error).__name__ == "PythonException":
        udfs = ", ".join(dict.fromkeys(f.udf for s in recorded.plan.segments for f in s.functions)) or "none"
        raised = _last_line(str(error))
        return RunFailed(f"Python code raised on an executor (UDFs of this pipeline: {udfs}): {raised}{_way_out(raised)}")
    return None


def _with_row(message: str, recorded: RecordedPlan, programs: Sequence[Program]) -> str:
    """The message with the row's lineage keys told as a person knows them."""
    text, mark, keys = message.partition(KEYS_MARK)
    if not mark:
        return message
    try:
        values = json.loads(keys)
    except ValueError:
        return message
    every = (one for program in programs for one in program.materialized.inputs)
    # Sets of rows, which links lead to, are not told.
    identities = {one.attributes[0].name: one for one in every if one.kind in ("source", "segment")}
    told = [_row(one, values, recorded) for name, one in identities.items() if values.get(name) is not None]
    return f"{text.strip()} (the row was made from {', '.join(told)})" if told else text.strip()


def _row(identity: InputIdentity, values: dict[str, Any], recorded: RecordedPlan) -> str:
    found = [values.get(attribute.name) for attribute in identity.attributes]
    if identity.kind == "segment":
        return f"segment {identity.number} row {found}"
    source = recorded.sources[identity.number]
    name = source.source.relation.name
    match source.identity.kind:
        case "file_position":
            return f"{name}: row {found[1]} (from 0) of {source.files.get(str(found[0]), 'a file')}"
        case "primary_key":
            keys = zip(source.identity.columns[1:], found[1:], strict=True)
            return f"{name}: {', '.join(f'{key.name}={_told(key.name, value, name)}' for key, value in keys)}"
    first = source.identity.columns[0].name
    return f"{name}: {first}={_told(first, found[0], name)}"


def _told(column: str, value: Any, table: str) -> Any:
    return MASK if Discretion.of().withholds(column, table) else value


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "File ", "JVM"))]
    raised = [line for line in lines if re.match(r"^[\w.]+(Error|Exception|Warning)\b", line)]
    return (raised or lines or [text])[-1]


def _way_out(raised: str) -> str:
    """Where the driver has a module that the executors have not: Spark's own message names the module alone."""
    if not raised.startswith("ModuleNotFoundError"):
        return ""
    return ". The executors need the modules that UDFs use: install them there, or send them (spark.sparkContext.addPyFile)"
