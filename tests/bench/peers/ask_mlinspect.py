"""mlinspect: runs a pandas program with its calls replaced, and carries an identifier with every row. For Python 3.8.

One row cannot be asked about by itself: every question runs the program.
"""

from __future__ import annotations

import sys
from typing import Any, Callable  # noqa: UP035

from asked import serve
from mlinspect import PipelineInspector
from mlinspect.inspections import RowLineage

folder = sys.argv[1]
# (It puts imports of its own after the second statement.)
READ = f'''
"""A pipeline."""
import os
import pandas as pd
orders = pd.read_csv("{folder}/orders.csv")
customers = pd.read_csv("{folder}/customers.csv")
baskets = pd.read_csv("{folder}/baskets.csv")
'''
TABLES = ("orders", "customers", "baskets")


def answering(do: str, name: str, sql: str, target: int | None = None) -> Callable[[], Any]:
    """``sql`` is the program's text; its first column is the key."""
    everything = RowLineage(10**9)
    found = PipelineInspector.on_pipeline_from_string(READ + sql).add_required_inspection(everything).execute()
    made = list(found.inspection_to_annotations[everything].values())[-1]
    return lambda: _pairs(made, target)


def _pairs(made: Any, target: int | None) -> list[tuple[str, int, int]]:
    keys = made[made.columns[0]]
    pairs = set()
    for key, row in zip(keys, made["mlinspect_lineage"]):  # noqa: B905
        if target is None or key == target:
            for one in getattr(row, "lineage_ids", (row,)):
                # Identifiers of rows that no file has are those of an operator that begins anew.
                table = TABLES[one.operator_id] if one.operator_id < len(TABLES) else f"operator {one.operator_id}"
                pairs.add((table, int(key), int(one.row_id)))
    return sorted(pairs)


serve(answering)
