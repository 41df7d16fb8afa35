"""What a shell says of tables whose lineage is captured: ``--tables``; of one by its name ``--where``, ``--partition-by``, ``--cube``,
``--granularity``."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.cli.argument_types import columns, json_or_text, pair
from airflow_lineage_provider.errors import InvalidCapture
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.wanted import CaptureTable, Cube


def add_to(made: argparse.ArgumentParser, prefix: str = "") -> None:
    """The options of a verb; those of one that does other things, too, begin with a ``prefix``."""
    made.add_argument(
        f"--{prefix}tables", dest="captured_tables", type=columns, metavar="NAME[,NAME]",
        help="only lineage of these source tables; that of others is traced when it is asked for (default: all)",
    )  # fmt: skip
    made.add_argument(
        f"--{prefix}where", dest="captured_where", type=pair(str), action="append", default=[], metavar="TABLE=CONDITION",
        help="of a table, only rows that meet a condition; questions about others are traced",
    )  # fmt: skip
    made.add_argument(
        f"--{prefix}partition-by", dest="captured_partition_by", type=pair(str), action="append", default=[], metavar="TABLE=EXPRESSION",
        help="order a table's rows behind each row by an expression: conditions on it leave most unread; may be given several times",
    )  # fmt: skip
    made.add_argument(
        f"--{prefix}cube", dest="captured_cube", type=pair(json_or_text), action="append", default=[], metavar="TABLE=CUBE",
        help='keep aggregates of a table\'s rows behind each row: {"by": ["mode"], "measures": ["count(*)", "sum(tax)"]}; may be given '
        "several times",
    )  # fmt: skip
    made.add_argument(
        f"--{prefix}granularity", dest="captured_granularity", type=pair(str), action="append", default=[], metavar="TABLE=EXPRESSION",
        help="keep which values of an expression a table's rows have, in place of the rows; may be given several times (TABLE= alone: "
        "keep nothing of it)",
    )  # fmt: skip


def wanted_tables(options: Namespace) -> Sequence[str] | dict[str, CaptureTable] | None:
    """The tables that are asked for, and what of each.

    :raises InvalidCapture: a cube cannot be meant so, or two conditions are given for a table.
    """
    from airflow_lineage_provider.capture.wanted import CaptureTable

    conditions: dict[str, str] = {}
    for table, condition in options.captured_where:
        if table in conditions:
            raise InvalidCapture(f"where: two conditions are given for {table}; join them by AND")
        conditions[table] = condition
    by_table = (options.captured_where, options.captured_partition_by, options.captured_cube, options.captured_granularity)
    named = [table for given in by_table for table, _ in given]
    if not named:
        tables: Sequence[str] | None = options.captured_tables
        return tables
    return {
        table: CaptureTable(
            where=conditions.get(table),
            partition_by=[one for name, one in options.captured_partition_by if name == table],
            cube=[_cube(one) for name, one in options.captured_cube if name == table],
            granularity=_granularity([one for name, one in options.captured_granularity if name == table]),
        )
        for table in dict.fromkeys([*(options.captured_tables or ()), *named])
    }


def _granularity(given: list[str]) -> list[str] | None:
    """Nothing alone is an empty list: nothing is kept of the table."""
    if not given:
        return None
    return [] if given == [""] else given


def _cube(given: Any) -> Cube:
    from airflow_lineage_provider.capture.wanted import Cube

    if not isinstance(given, dict) or not given.keys() <= {"by", "measures"}:
        raise InvalidCapture(f'--cube: {shown(given)} is not understood; it can be {{"by": ["mode"], "measures": ["count(*)"]}}')
    return Cube(**given)
