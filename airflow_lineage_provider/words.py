"""The options that have a closed set of words, each set declared once: as the type that editors and type checkers see.

What refuses other words, when a DAG is parsed or a function is called, reads the words out of the type: a word cannot be in the one and
not in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from airflow_lineage_provider.errors import InvalidOption, LineageError
from airflow_lineage_provider.shown import shown

Strategy = Literal["function_materialization", "rerun", "full_materialization", "auto"]
"""What a run stores (`tracing.strategies`)."""

Reasons = Literal["lazy", "eager"]
"""When reasons are computed: when they are asked for, or during the run."""

OnStoreFailure = Literal["fail", "keep_result"]
"""What becomes of a run whose store is missing, slow, or dies in the middle."""

Difference = Literal["control", "data", "rows"]
"""What the right side of a difference is in an answer: one entry for the whole table, nothing, or all its rows."""

Subqueries = Literal["partners", "data", "rows"]
"""What the rows of a subquery (IN, EXISTS) are to a row that it let pass: those that matched stand behind it, none does, or all do."""

QuestionKind = Literal["explain", "why_not", "forward"]
"""What is asked about rows of a run whose answer is kept: why rows of the result are as they are, why source rows are not in it, and what
descends from them."""

STAGE = "lineage_stage"
"""The XCom key of the stage that a task which derives told last."""

LAST_DERIVATION = "last_derivation"
"""In place of a run that is compared with: that of the last derivation."""

CaptureWhen = Literal["lazy", "eager"]
"""Whether the lineage of a run's rows is traced when it is asked for, or captured at the end of the run."""

CaptureMode = Literal["defer", "inject", "auto"]
"""When captured lineage is found: after the rows are made, with them, or segment by segment whichever is likely to cost less."""

CaptureDirection = Literal["both", "backward", "forward"]
"""Which way captured lineage may be asked: from the result to the sources, from the sources to the result."""

SketchesWhen = Literal["off", "use", "auto", "eager", "capture"]
"""What a run does with provenance sketches: nothing; it reads through one that fits; where none fits it also captures some if that will
pay, or always; it reads everything, and captures some."""

OutputKind = Literal["path", "table", "postgres"]
OutputMode = Literal["error", "overwrite", "append"]
"""What becomes of what is there already."""

RecordedKind = Literal["path", "table", "postgres", "jdbc", "source"]
"""Where a run wrote: besides outputs, what programs write by Spark itself: through JDBC, and by other data sources."""

RecordedMode = Literal["error", "overwrite", "append", "ignore", "overwrite_where", "overwrite_partitions"]
"""What became of what was there: besides the modes of outputs, those of Spark's own writers."""

OnUnsupported = Literal["fail", "incomplete"]
"""What becomes of a write that cannot be recorded: it is refused before it is made, or made, and recorded as an incomplete run."""

Mode = Literal["normal", "reasoning"]
"""What a UDF gives: the value, or the value and the reason."""

Vectorized = Literal[False, "pandas", "arrow"]
"""What the functions of a UDF take: one row, or a batch of this kind."""

ModelOutput = Literal["label", "probability", "value"]
"""What the UDF of a fitted model gives."""

Space = Literal["probability", "log-odds", "raw"]
"""What contributions are measured in."""

ArrayEncoding = Literal["provrc", "provrc-gzip", "provrc-pco"]
"""How a relation between the cells of two arrays is written (`arrays.codec`)."""

WindowMode = Literal["valid", "same", "full"]
"""How far a window may reach beyond an array (`arrays.rules.windows`)."""

ArrayLineage = Literal["elementwise", "all", "axis", "cells"]
"""What a function's result is declared to come from (`arrays.apply`)."""

FrameJoin = Literal["inner", "left", "right", "outer", "cross"]
"""How two tracked frames are joined (`arrays.frames.joining`)."""

FrameAggregate = Literal["sum", "mean", "prod", "min", "max", "std", "var", "median", "nunique", "count", "size", "first", "last"]
"""What is made of the values of a group (`arrays.frames.groups`)."""

ArrayOwner = Literal["task", "run", "derivation"]
"""Whose arrays are kept in the results store, and dropped with it (`arrays.owner`)."""

ProfileNulls = Literal["ignore", "value"]
"""What a NULL is to a functional dependency: a row that has one takes no part, or it is a value like others."""

ProfileMethod = Literal["auto", "cd", "ug"]
"""How the values that violate a functional dependency are found (`profiling.violations`)."""

OPTIONS: Mapping[str, Any] = {
    "strategy": Strategy, "reasons": Reasons, "on_store_failure": OnStoreFailure, "difference": Difference, "capture": CaptureWhen,
    "subqueries": Subqueries,
    "direction": CaptureDirection, "on_unsupported": OnUnsupported, "nulls": ProfileNulls,
    "method": ProfileMethod, "sketches": SketchesWhen,
}  # fmt: skip
"""The options of runs and of questions, by name."""


def words(kind: Any) -> tuple[Any, ...]:
    """The words of a set.

    >>> words(Reasons)
    ('lazy', 'eager')
    """
    return get_args(kind)


def is_one_of(value: Any, kind: Any) -> bool:
    """Whether a value is a word of a set.

    >>> [is_one_of(value, Vectorized) for value in ("arrow", False, 0, "rows", ["arrow"])]
    [True, True, False, False, False]
    """
    return any(type(value) is type(word) and value == word for word in words(kind))


def check_word(name: str, value: Any, kind: Any, error: type[LineageError] = InvalidOption) -> None:
    """Refuse what is no word of the set.

    :raises InvalidOption: (or ``error``) naming the option, its value and what it can be.
    """
    if not is_one_of(value, kind):
        raise error(f"{name}={shown(value)} is not known; it can be {', '.join(map(str, words(kind)))}")
