"""Answers about source rows made by hand, with all that can be kept of them: as `Run.why_not` and `Run.forward` would give them."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.fates import Fates, Way
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.deriving.why_not.drops import DroppedBy
from airflow_lineage_provider.deriving.why_not.evidence import Evidence, Others, PartnersMet
from airflow_lineage_provider.deriving.why_not.rows_behind import RowsBehind
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from tests.render import explanation_examples as examples

AMOUNT, SEEN, IMAGE, RATE = (
    Attribute(id=at, name=name, type=kind)
    for at, (name, kind) in enumerate({"amount": "decimal(9,2)", "seen": "timestamp", "image": "binary", "rate": "double"}.items())
)
SSN, NAME = Attribute(id=8, name="ssn", type="string"), Attribute(id=9, name="name", type="string")


def _selection() -> DroppedBy:
    """Values of types that JSON has none for, and a term that is NULL."""
    rows = pa.table(
        {
            "tag": pa.array([1, 1, 4], pa.int64()),
            "c0": pa.array([Decimal("12.50"), None, Decimal("-1.00")], pa.decimal128(9, 2)),
            "c1": pa.array([dt.datetime(2025, 12, 1, 6, 30), None, dt.datetime(1, 1, 1)], pa.timestamp("us")),
            "c2": pa.array([b"\x00\xff", b"", None]),
            "c3": pa.array([math.nan, -math.inf, 0.1]),
            "t0": pa.array([False, None, False]),
            "t1": pa.array([None, None, True]),
        }
    )
    read = (AMOUNT, SEEN, IMAGE, RATE)
    evidence = Evidence(rows=rows, read=read, terms=("(amount > 20)", "(rate = 0.1)"), one_by_one=False)
    return DroppedBy(reason="selection", says="the condition is not true for it", evidence=evidence)


def _join() -> DroppedBy:
    rows = pa.table({"tag": pa.array([2], pa.int64()), "c0": ["999-1"]})
    met = PartnersMet(counts=np.array([[5, 0, 3, 0]]), terms=("(ssn = ssn_2)", "(name = name_2)"), conditional=True)
    return DroppedBy(
        reason="join",
        says="no row of client goes with it",
        evidence=Evidence(rows=rows, read=(SSN,), terms=(), one_by_one=False, partners=met),
    )


def _difference() -> DroppedBy:
    """Two rows of the right side took it away; behind one of them is a row of a table."""
    rows = pa.table({"tag": pa.array([3, 5], pa.int64()), "c0": ["999-1", "999-2"]})
    others = Others(
        taken=np.array([0, 1]), number=np.array([0, 0, 1]), rows=pa.table({"a": ["999-1", "999-1", "999-2"], "b": ["x", "y", None]}),
        shown=(SSN, NAME), behind=RowsBehind([("banned", pa.table({"ssn": ["999-1"], "why": ["fraud"]}), np.array([0, -1, -1]))]),
    )  # fmt: skip
    met = PartnersMet(counts=np.array([[9, 2], [9, 1]]), terms=(), conditional=True, others=others)
    return DroppedBy(
        reason="difference", says="rows of banned exclude it",
        evidence=Evidence(rows=rows, read=(SSN,), terms=(), one_by_one=False, partners=met),
    )  # fmt: skip


def why_not(**changes: Any) -> WhyNot:
    """Three rows on two ways: the first survives on one, and every kind of drop is there."""
    aside = DroppedBy(
        reason="difference_side", says="it is on the right side of a difference, which only says what to take away", evidence=None
    )
    selection, join, difference = _selection(), _join(), _difference()
    first = Way(
        leaf=0, operators=((1, "loan"), (1, "σ (amount > 20)"), (0, "⋈ client")),
        descendants=np.array([[1, 1, 1], [2, 0, 1], [2, 0, 0]]), drops={1: selection, 2: join},
    )  # fmt: skip
    second = Way(
        leaf=4, operators=((2, "loan"), (2, "▷ banned"), (2, "σ (amount > 20)")), first=3,
        descendants=np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0]]), drops={1: difference, 0: aside, 2: selection},
    )  # fmt: skip
    values: dict[str, Any] = {
        "run": examples.run(), "asked": "amount < 30", "table": "loan",
        "rows": pa.table({"ssn": ["999-1", "999-1", "999-2"], "amount": pa.array([Decimal("1.00")] * 3, pa.decimal128(9, 2))}),
        "copies": (1, 1, 2), "fates": Fates(ways=(first, second), rows=3),
        "guarantee": Guarantee(level="superset", cause="loan has rows that nothing tells apart: they are followed together"),
        "stale": ("loan: 1 file was replaced",), "seconds": 1.5,
    }  # fmt: skip
    return WhyNot(**(values | changes))


def rows_of(run_id: str = "01JEXAMPLE", **changes: Any) -> LineageRows:
    """Rows of a result that descend from source rows."""
    values: dict[str, Any] = {
        "run": examples.run(id=run_id), "asked": "amount < 30", "asked_table": "loan", "table": "result",
        "rows": pa.table({"ssn": ["999-1", None], "judge": ["Reject", "Accept"]}),
        "links": pa.table({"asked": pa.array([0, 1, 1]), "row": pa.array([0, 0, 1])}), "guarantee": EXACT, "engine": "lazy: spark",
        "asked_rows": 3, "numbers": (3, 1 << 60), "seconds": 0.25,
    }  # fmt: skip
    return LineageRows(**(values | changes))


def descendants(**changes: Any) -> Descendants:
    """The same followed on into another run; of a third one a remark says that it could not be asked."""
    later = rows_of("01JLATER", guarantee=Guarantee(level="superset", cause="several are alike"))
    remark = Guarantee(level="unavailable", cause="run 01JTHIRD of letters, which may have read rows of it, could not be traced: gone")
    values: dict[str, Any] = {
        "here": rows_of(), "later": {"01JLATER": replace(later, run=examples.run(id="01JLATER", pipeline="letters"))},
        "deciding": frozenset({"01JEXAMPLE"}), "remarks": (remark,), "remarked": frozenset({"01JTHIRD"}),
    }  # fmt: skip
    return Descendants(**(values | changes))
