"""Runs the pipelines whose runs the web tests look at, and writes down what the store has of them (``python -m tests.web.record_runs``).

The tests put it into a store again without Spark (`recorded_runs`). To be run anew only when what a run records has changed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_lineage_provider import Feature, Lineage, arrays, payload, reasoned_udf
from airflow_lineage_provider.store import Store, stop_embedded
from airflow_lineage_provider.typed_json import written
from airflow_lineage_provider.words import Strategy
from tests.crossfilter.flights import flights
from tests.local_session import local_session
from tests.render.explanation_examples import png
from tests.store.conftest import sql
from tests.web.recorded_runs import BY, FLIGHTS, HERE

JUDGED = "/data/judged"
"""Where the first pipeline writes, and the second reads; the tests have no such folder, as after a clean-up."""


@reasoned_udf(
    "string",
    features={name: Feature(against=f"your {name}") for name in ("debt", "amount")},
    outcome=Feature(favourable=("Accept",)),
)
def credit_exam(income: float, debt: float, amount: float) -> str:
    return "Reject" if debt + amount > 5 * income else "Accept"


@credit_exam.with_reason
def _(income: float, debt: float, amount: float) -> Any:
    features = [
        payload.Attribution("income", income, 5 * income),
        payload.Attribution("debt", debt, -debt),
        payload.Attribution("amount", amount, -amount),
    ]
    return credit_exam(income, debt, amount), payload.Attributions(tuple(features), 0.0, 5 * income - debt - amount, label="Accept")


def examine(spark: Any) -> Any:
    credit_exam.register(spark)
    clients = [(n, f"client {n}", 20.0 + n % 17, 5.0 * (n % 7)) for n in range(1, 121)]
    loans = [(n, 40.0 + 3 * (n % 50), f"2025-{1 + n % 12:02d}-0{1 + n % 9}") for n in range(1, 121)]
    spark.createDataFrame(clients, "client_id int, name string, income double, debt double").createOrReplaceTempView("client")
    spark.createDataFrame(loans, "client_id int, amount double, date string").createOrReplaceTempView("loan")
    return spark.sql("""
        SELECT c.client_id, c.name, CAST(l.date AS date) AS date, l.amount, credit_exam(c.income, c.debt, l.amount) AS judge
        FROM client c JOIN loan l ON c.client_id = l.client_id""")


def report(spark: Any) -> Any:
    judged = spark.read.parquet(JUDGED)
    return judged.where("judge = 'Reject'").selectExpr("client_id", "amount", "year(date) AS year")


def few(spark: Any) -> Any:
    return spark.createDataFrame([(1, "one"), (2, None)], "n int, word string")


def make_flights() -> None:
    """Three files of them, with a column that people may have reasons to withhold."""
    Path(FLIGHTS).mkdir(parents=True)
    for at in range(3):
        made = flights(70, seed=at)
        seats = pa.array([f"{70 * at + row:03}A" for row in range(70)])
        pq.write_table(made.append_column("seat", seats), f"{FLIGHTS}/part-{at}.parquet", compression="zstd")


def half_lit(photo: bytes) -> Any:
    """The light of each 4 × 4 pixels of the right half of a picture, against its mean."""
    from PIL import Image

    pixels = arrays.source("photo", np.array(Image.open(io.BytesIO(photo)), dtype=float))
    small = pixels[:, 32:].reshape(12, 4, 8, 4, 3).mean(axis=(1, 3, 4))
    return small - small.mean()


@reasoned_udf("boolean")
def is_lit(photo: bytes) -> bool:
    return bool(half_lit(photo).values.max() > 10)


@is_lit.with_reason
def _(photo: bytes) -> Any:
    light = half_lit(photo)
    row, column = np.unravel_index(light.values.argmax(), light.shape)
    lamp = payload.Box(int(column), int(row), 1, 1, "lamp", 0.9)
    return bool(light.values.max() > 10), arrays.traced(payload.Boxes((lamp,)), on=light)


@reasoned_udf("boolean")
def praises(told: str) -> bool:
    return "good" in told.lower()


@praises.with_reason
def _(told: str) -> Any:
    characters, at = arrays.source("told", told)[2:], told.lower()[2:].find("good")
    spans = (payload.Span(at, at + 4, 0.7),) if at >= 0 else ()
    return at >= 0, arrays.traced(payload.TextSpans(spans, told.lower()[2:]), on=characters)


def look_at_photos(spark: Any) -> Any:
    is_lit.register(spark)
    praises.register(spark)
    told = [(1, bytearray(png()), "> A GOOD picture"), (2, bytearray(png()), "> A picture")]
    spark.createDataFrame(told, "n int, photo binary, told string").createOrReplaceTempView("photos")
    return spark.sql("SELECT n, is_lit(photo) AS lit, praises(told) AS praised FROM photos")


def task(dag_id: str, task_id: str) -> dict[str, Any]:
    return {"dag_id": dag_id, "run_id": "manual__2025-12-31T06:00:00+00:00", "task_id": task_id, "map_index": -1, "try_number": 1}


def main() -> None:
    home = tempfile.mkdtemp(prefix="lineage-record-")
    os.environ["AIRFLOW_LINEAGE_HOME"] = home
    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false"}
    spark = local_session("lineage tests", settings)
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    with Store.open() as store:
        lineage = Lineage(spark, store=store)
        judged = lineage.run(
            examine, name="loans.examine", reasons="eager", output=f"parquet:{JUDGED}", context=task("loan_examination", "examine")
        )
        reported = lineage.run(report, name="loans.report", context=task("loan_report", "report"))
        again = lineage.run(report, name="loans.again", strategy="rerun", context=task("loan_examination", "again"))
        alone = lineage.run(few, name="notebook")
        for name, run in {"judged": judged, "reported": reported, "again": again, "alone": alone}.items():
            write(store, name, run.id)
        record_flights(spark, lineage)
        write(store, "photos", lineage.run(look_at_photos, name="photos.look", reasons="eager", context=task("photos", "look")).id)
    spark.stop()
    stop_embedded(Path(home))
    shutil.rmtree(home)
    shutil.rmtree(JUDGED)


def record_flights(spark: Any, lineage: Lineage) -> None:
    """The runs over flights, each of a DAG of its own, and the files that they read."""
    make_flights()
    spark.read.parquet(FLIGHTS).createOrReplaceTempView("flights")
    for name, query in BY.items():
        strategy: Strategy = "rerun" if name == "rerun" else "function_materialization"
        run = lineage.run(query, name=f"flights.{name}", strategy=strategy, context=task(f"flights_{name}", name))
        write(lineage.store, name, run.id)
    shutil.copytree(FLIGHTS, HERE / "flights")
    shutil.rmtree(FLIGHTS)


def write(store: Store, name: str, run_id: str) -> None:
    """What the store has of a run: its record, the places that it wrote, and the rows of its tables."""
    found = store.materializations(run_id)
    places = {one.place: one.version for one in store.written(outputs_of(store, run_id))}
    tables = {
        table: {
            "kind": one.kind,
            "columns": [[c.name, c.type, c.role, c.nullable] for c in one.columns],
            "partitions": store.partitions(one),
        }
        for table, one in found.items()
    }
    document = {"record": written(store.run(run_id)), "places": places, "tables": tables}
    (HERE / f"{name}.json").write_text(json.dumps(document, indent=1, default=str) + "\n")
    for table, one in found.items():
        pq.write_table(store.read(one), HERE / f"{name}.{table}.parquet", compression="zstd")


def outputs_of(store: Store, run_id: str) -> list[str]:
    return [str(row[0]) for row in sql(store.url, "SELECT place FROM lineage.outputs WHERE run_id = %s", [run_id])]


if __name__ == "__main__":
    main()
