"""Lineage worked out by hand: for thirty queries, the source rows behind the first row of the result, as queries of their own.

A file in ``answers/`` has blocks, each headed by the tables that its query tells the rows of (by their primary keys)::

    -- item, store_sales
    SELECT * FROM item, store_sales WHERE ss_item_sk = i_item_sk AND i_brand = {brand}

``{brand}`` is the target's value in that column. Blocks add up. ``-- controls: …`` names the tables that stand behind a difference as a
whole.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tpcds.data import KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent / "answers"

Ids = frozenset[tuple[Any, ...]]
"""Primary keys."""


@dataclass(frozen=True)
class Answer:
    """The source rows behind a target, by table, and the tables that decided as a whole."""

    rows: Mapping[str, Ids]
    controls: frozenset[str]


def has_answer(query: str) -> bool:
    """Whether the lineage of a query's first row has been worked out."""
    return (FOLDER / f"{query}.sql").exists()


def answer(query: str, target: Mapping[str, Any], spark: SparkSession) -> Answer:
    """The lineage of a row of a query's result."""
    rows: dict[str, Ids] = {}
    controls: frozenset[str] = frozenset()
    for heading, text in re.findall(r"^-- (.*)\n((?:(?!--).*\n)*)", (FOLDER / f"{query}.sql").read_text(encoding="utf-8"), re.MULTILINE):
        if heading.startswith("controls: "):
            controls = frozenset(heading.removeprefix("controls: ").split(", "))
            continue
        frame = spark.sql(re.sub(r"\{(\w+)\}", lambda found: _literal(target[found[1]]), text)).persist()
        for table in heading.split(", "):
            found = frozenset(tuple(row) for row in frame.select(*KEYS[table]).distinct().collect())
            rows[table] = rows.get(table, frozenset()) | found
        frame.unpersist()
    return Answer({table: ids for table, ids in rows.items() if ids}, controls)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case datetime.date():
            return f"DATE '{value}'"
        case int() | Decimal():
            return str(value)
    raise TypeError(f"a target's value of type {type(value).__name__} has no text here")
