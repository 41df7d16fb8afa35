"""Options of operators that take one of a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_word(task_id: str, option: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a wrong word when the DAG is read. A template, or another task's result, is known only when the task runs.

    :raises ValueError: it is none of those that are known.
    """
    if isinstance(value, str) and "{{" not in value and "{%" not in value and value not in known:
        raise ValueError(f"task {task_id!r}: {option}={value!r} is not known; it can be {', '.join(known)}")
