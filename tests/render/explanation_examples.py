"""Explanations made by hand, as a derivation would give them. The first is the paper's own (figures 2 to 4)."""

from __future__ import annotations

import datetime as dt
import struct
import zlib
from decimal import Decimal
from typing import Any

import pyarrow as pa

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.tables import Intermediate, SourceTable
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.reasons import payload
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.trace import TracingQuery
from tests.plan.paper_plans import example_4


def run(**changes: Any) -> RunSummary:
    values: dict[str, Any] = {
        "id": "01JEXAMPLE", "pipeline": "loan_examination", "status": "complete", "started": "2025-12-31T06:00:00+00:00",
        "seconds": 12.3, "strategy": "function_materialization", "reasons": "lazy", "rows": 2, "error": "",
    }  # fmt: skip
    return RunSummary(**(values | changes))


def explanation(**changes: Any) -> Explanation:
    values: dict[str, Any] = {
        "id": "01JDERIVATION", "run": run(), "asked": "judge = 'Reject'", "target": pa.table({"judge": ["Reject"], "count": [1]}),
        "result_rows": 2,
    }  # fmt: skip
    return Explanation(**(values | _tables(**{name: changes.pop(name) for name in _TABLES if name in changes}) | changes))


_TABLES = ("source", "reasons", "intermediate", "links", "guarantees", "runs", "stale_of")


def _tables(
    source: Any = None, reasons: Any = None, intermediate: Any = None, links: Any = None, guarantees: Any = None, runs: Any = None,
    stale_of: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """The tables of an answer from rows, links, guarantees and runs by the tables' names; exact where nothing else is said."""
    links, worth, runs = links or {}, guarantees or {}, runs or {}
    decided = {name: one if isinstance(one, Reasons) else Reasons(one) for name, one in (reasons or {}).items()}
    return {
        "sources": {
            name: SourceTable(pa.table(rows), guarantee=worth.get(name, EXACT), stale=(stale_of or {}).get(name, ()))
            for name, rows in (source or {}).items()
        },
        "reasons": {
            name: one.replaced(guarantee=worth.get(name, EXACT), links=links.get(name), run_id=runs.get(name, ""))
            for name, one in decided.items()
        },
        "intermediate": {
            name: one.replaced(guarantee=worth.get(name, EXACT), links=links.get(name)) for name, one in (intermediate or {}).items()
        },
        "target_links": links.get("target", no_links()),
    }


def no_links() -> pa.Table:
    return links()


def links(*rows: tuple[int, str, int]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    types = (("row", pa.int64()), ("source", pa.string()), ("source_row", pa.int64()))
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(types, columns, strict=True)})


def reasons(arguments: dict[str, Any], values: list[Any], given: list[Any]) -> pa.Table:
    texts = [None if each is None else each if isinstance(each, str) else payload.to_json(each) for each in given]
    columns = [
        pa.array(range(len(values)), pa.int64()),
        *(pa.array(each) for each in arguments.values()),
        pa.array(values),
        pa.array(texts, pa.string()),
    ]
    return pa.table(columns, names=["row", *arguments, "value", "reason"])


def paper(**changes: Any) -> Explanation:
    """Figure 4: why was one application rejected?"""
    day = dt.date
    values: dict[str, Any] = {
        "source": {
            "client": pa.table({"ClientID": ["0002"], "Name": ["Joa"], "Country": ["US"], "Income": [2200]}),
            "debt": pa.table({"ClientID": ["0002"], "Debt": [1350], "Date": [day(2022, 12, 17)]}),
            "loan": pa.table({"ClientID": ["0002"], "LoanAmount": [20000], "AppDate": [day(2022, 12, 19)]}),
        },
        "reasons": {
            "credit_exam": reasons(
                {"income": [2200], "debt": [1350], "amount": [20000]}, ["Reject"], [payload.Json({"Debt", "LoanAmount"})]
            )
        },
        "links": {name: links((0, "client", 0), (0, "debt", 0), (0, "loan", 0)) for name in ("target", "credit_exam")},
        "queries": (
            TracingQuery(
                segment=0, engine="postgresql", sql='SELECT "row"\nFROM segment_1\nWHERE "Judge" = \'Reject\'', seconds=0.0021, rows=1
            ),
            TracingQuery(segment=1, engine="postgresql", sql="SELECT key_0 FROM segment_1 WHERE row = 1", seconds=0.0014, rows=1),
        ),
        "plan": rewrite(example_4()),
        "materialized": frozenset({0, 1}),
        "seconds": 0.031,
    }
    return explanation(**(values | changes))


def across() -> Explanation:
    """Figure 4, where another recorded run wrote the table of debts out of the real sources."""
    made = paper()
    totals = run(id="01JTOTALS", pipeline="debt totals")
    behind = links((0, "client", 0), (0, "payment", 0), (0, "payment", 1))
    return paper(
        source={**{name: made.sources[name] for name in ("client", "loan")}, "payment": pa.table({"id": [7, 8], "amount": [1000, 350]})},
        reasons={**made.reasons, "is_debt": reasons({"amount": [1000, 350]}, [True, True], [payload.Json({"amount"})] * 2)},
        links={
            "target": links((0, "client", 0), (0, "loan", 0), (0, "payment", 0), (0, "payment", 1)),
            "credit_exam": links((0, "client", 0), (0, "loan", 0), (0, "payment", 0), (0, "payment", 1)),
            "is_debt": links((0, "payment", 0), (1, "payment", 1)),
            "debt": behind,
        },
        intermediate={
            "debt": Intermediate(
                run=totals,
                rows=made.sources["debt"].rows,
                queries=(TracingQuery(segment=3, engine="spark", sql="SELECT 'of the other run'", seconds=0.25, rows=2),),
            )
        },
        guarantees={"debt": Guarantee(level="superset", cause="identical rows")},
        runs={"debt": totals.id, "credit_exam": made.run.id, "is_debt": totals.id},
    )


def attributions(scale: float = 1.0, residual: float = 0.0) -> payload.Attributions:
    """SHAP values for one rejected application."""
    parts = [
        ("income", 2200.0, 0.083),
        ("debt", 1350.0, 0.212),
        ("amount", 20000.0, 0.305),
        ("married", None, -0.041),
        ("unemployment_rate", 3.2, -0.012),
    ]
    features = tuple(payload.Attribution(name, value, round(scale * part, 4)) for name, value, part in parts)
    output = 0.31 + sum(each.contribution for each in features) + residual
    method = {
        "library": "shap",
        "version": "0.51.0",
        "explainer": "tree",
        "seed": 0,
        "background": "9f3c…",
        "feature_perturbation": "interventional",
    }
    return payload.Attributions(features, base_value=0.31, output=output, output_space="probability", label="Reject", method=method)


def png(width: int = 64, height: int = 48) -> bytes:
    """A PNG image with a gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + b"".join(bytes((90 + x * 2 % 160, 120, 60 + y * 3 % 190)) for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def many_kinds() -> Explanation:
    """Every kind of reason, every kind of guarantee, a changed source."""
    review = "The service was terrible, but the food was excellent.\nI would not come back."
    spans = payload.TextSpans(
        (payload.Span(16, 24, -0.42, "negative"), payload.Span(43, 52, 0.31, "positive"), payload.Span(62, 70, -0.11)),
        review,
        {"library": "lime"},
    )
    boxes = payload.Boxes((payload.Box(8, 6, 20, 14, "lip", 0.93), payload.Box(30, 20, 24, 20, "cheek", 0.7)), (64, 48))
    mask = payload.Mask.of([[abs(x - 12) + abs(y - 9) < 8 for x in range(28)] for y in range(20)])
    shap = [attributions(), attributions(-0.6, residual=0.05), None, '{"kind":"dream","version":1}']
    tables = {
        "credit_exam": reasons(
            {"income": [2200.0, 8000.0, 1.0, 2.0], "debt": [1350.0, 0.0, None, 3.0], "amount": [20000.0, 500.0, 9.0, 3.0]},
            ["Reject", "Accept", "Reject", "Reject"], shap,
        ),
        "sentiment": reasons({"review": [review]}, [-0.4], [spans]),
        "face": reasons({"photo": [png()], "name": ["Joa"]}, ["smiling"], [boxes]),
        "face_elsewhere": reasons({"path": ["/photos/1.png"]}, ["smiling"], [boxes]),
        "lesion": reasons({"scan": ["s1"]}, [True], [mask]),
        "rules": reasons({"x": [1]}, [2], [payload.Json({"rule": 17, "because": {"x": [1, float("nan")]}})]),
    }  # fmt: skip
    source = {
        "client": pa.table(
            {
                "id": [1, 2],
                "note": ["a long note, " * 30, None],
                "when": pa.array([dt.datetime(2025, 1, 2, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
            }
        ),
        "odd": pa.table(
            {
                "price": pa.array([Decimal("12.30"), None, Decimal("-0.05")]),
                "ratio": [float("nan"), float("inf"), 0.1],
                "blob": [b"\x00\xff", None, b""],
                "tags": [["a", "b"], [], None],
                "props": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
                "point": [{"x": 1, "y": 2.5}, None, {"x": 3, "y": None}],
            }
        ),
        "gone": pa.table({"id": pa.array([], pa.int64())}),
    }
    guarantees = {
        "odd": Guarantee(level="superset", cause="limit without order"),
        "gone": Guarantee(level="unavailable", cause="the files were deleted"),
    }
    behind = links((0, "client", 0), (0, "odd", 0), (0, "odd", 2), (1, "client", 1))
    return paper(
        source=source,
        reasons=tables,
        guarantees=guarantees,
        stale=("client: part-0.parquet was written again on 2026-01-03",),
        verified=False,
        verification="the pipeline gives ('Reject', 2) over these rows",
        links={"target": links((0, "client", 0), (0, "odd", 1)), "credit_exam": behind},
    )


def empty() -> Explanation:
    """A target that nothing stands behind."""
    return explanation(
        target=pa.table({"n": pa.array([0])}), result_rows=1, asked="n = 0",
        source={"client": pa.table({"id": pa.array([], pa.int64())})},
        reasons={"credit_exam": reasons({"x": pa.array([], pa.int64())}, [], [])},
    )  # fmt: skip


def wide(columns: int = 1000) -> Explanation:
    """A source table of many columns, all of which feed the model."""
    table = pa.table({f"column_{i}": [i * 0.5, i * 2.5] for i in range(columns)})
    features = tuple(payload.Attribution(f"column_{i}", i * 0.5, (-1) ** i * 0.4 / (i + 1)) for i in range(columns))
    reason = payload.Attributions(features, 0.5, 0.5 + sum(each.contribution for each in features), "log-odds")
    arguments = {f"column_{i}": [i * 0.5] for i in range(columns)}
    return explanation(
        source={"wide": table}, reasons={"score": reasons(arguments, [0.9], [reason])}, links={"score": links((0, "wide", 1))}
    )  # fmt: skip


def tall(rows: int = 5000) -> Explanation:
    """A target that many rows and decisions stand behind."""
    values = ["Reject" if i % 3 else "Accept" for i in range(rows)]
    given = [attributions(1 - 2 * (i % 7) / 7) for i in range(rows)]
    table = reasons({"income": [float(i) for i in range(rows)]}, values, given)
    source = {"client": pa.table({"id": range(rows), "name": [f"client {i}" for i in range(rows)]})}
    behind = links(*((i, "client", i) for i in range(rows)))
    return explanation(source=source, reasons={"credit_exam": table}, links={"credit_exam": behind}, result_rows=rows)


NASTY = "<script>alert('x')</script>\"'&</title></style>\x1b[31m\u202e"


def nasty() -> Explanation:
    """The same hostile text wherever a text can stand."""
    reason = payload.Attributions((payload.Attribution(NASTY, NASTY, 0.5),), 0.0, 0.5, NASTY, NASTY, {NASTY: NASTY})
    spans = payload.TextSpans((payload.Span(0, 8, 1.0, NASTY),), NASTY)
    boxes = payload.Boxes((payload.Box(0, 0, 1, 1, NASTY, 1.0),))
    given = [
        reason,
        spans,
        boxes,
        payload.Mask((2, 2), ((0, 1),), NASTY),
        payload.Weights.of([0.5, -1.0], NASTY, method={NASTY: NASTY}),
        payload.Json([NASTY]),
        payload.Json({NASTY: NASTY}),
        f'{{"kind":"{"x" * 3}"}}',
    ]
    return paper(
        run=run(pipeline=NASTY, id=NASTY, error=NASTY, airflow={NASTY: NASTY}), id=NASTY, asked=NASTY, target=pa.table({NASTY: [NASTY]}),
        source={NASTY: pa.table({NASTY: [NASTY]})}, reasons={NASTY: reasons({NASTY: [NASTY] * 8}, [NASTY] * 8, given)},
        links={"target": links((0, NASTY, 0)), NASTY: links((0, NASTY, 0))}, guarantees={NASTY: Guarantee(level="superset", cause=NASTY)},
        stale=(NASTY,), verified=False, verification=NASTY, plan=_nasty_plan(),
        queries=(TracingQuery(segment=0, engine=NASTY, sql=NASTY, seconds=0.1, rows=1),),
    )  # fmt: skip


def _nasty_plan() -> SegmentedPlan:
    column = Attribute(id=1, name=NASTY, type="string")
    source = o.Source(relation=Relation(name=NASTY, kind="table"), output=(column,), columns=(NASTY,), leaf=0)
    value = Attribute(id=2, name=NASTY, type="string")
    plan = o.FunctionOperator(child=source, function=0, udf=NASTY, arguments=(column,), value=value)
    return segment(plan, (value,), (NASTY,))
