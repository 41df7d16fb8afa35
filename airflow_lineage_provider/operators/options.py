"""Options of operators: refused when the DAG is read, where they are known then, and before anything is done else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.running.output import Output


def check_when_read(task_id: str, options: Mapping[str, Any], templated: Collection[str]) -> None:
    """Refuse wrong options. Those of ``templated`` that hold a template, or another task's result, are known only when the task runs.

    :raises ValueError: naming the task, the option, its value and what it can be.
    """
    output = options.get("output")
    if isinstance(output, Output) and is_late((output.target, output.url)):
        raise ValueError(f"task {task_id!r}: an Output is not rendered, and {output.target!r} is a template; give the output as a text")
    _check(task_id, {name: value for name, value in options.items() if name not in templated or not is_late(value)})


def check_when_run(task_id: str, options: Mapping[str, Any]) -> None:
    """Refuse what templates made of options, before Spark is started.

    :raises ValueError: as `check_when_read`.
    """
    _check(task_id, options)


def _check(task_id: str, options: Mapping[str, Any]) -> None:
    try:
        check_options(options)
    except ValueError as error:
        raise type(error)(f"task {task_id!r}: {error}") from error


def is_late(value: Any) -> bool:
    """Whether an option holds a template, or another task's result: it is known when the task runs."""
    if isinstance(value, str):
        return any(mark in value for mark in ("{{", "{%", "{#"))
    if isinstance(value, Mapping):
        return any(is_late(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return any(is_late(each) for each in value)
    return hasattr(value, "iter_references")  # another task's result
