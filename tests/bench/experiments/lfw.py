"""How often did each person appear at large places? (Augmented lineage, section 7.1: figures 7, 8 and 9, table 2.)

Photographs, events and places in three sizes; who is in a photograph is recognised expensively, by the picture, or cheaply, by its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from airflow_lineage_provider.reasons import ReasonedUdf
from tests.bench.arms import asking, recorded, written
from tests.bench.comparison import Comparison, compared
from tests.bench.faces import recognised_face, recognised_name, write_photographs
from tests.bench.ground import Ground

SIZES = {"small": {"medium": 60}, "full": {"small": 1_000, "medium": 4_000, "large": 13_233}}
"""Photographs; the large size is that of the whole of LFW. There is an event for four of them, and a place for five events."""

AGAINST_COPIES = "stored tuples ÷ those of every operator (computed)"
PAPER = {"expensive": "FM 371.9 times faster than Rerun, Full 497.1", "cheap": "FM 1.6 times faster than Rerun, Full 2.6"}


def query(udf: str) -> str:
    """The analysis: the places are a nested aggregation."""
    return f"""
        SELECT {udf}(i_img) AS person, count(*) AS appearances
        FROM image JOIN event ON i_event = e_id
        JOIN (SELECT e_place AS place FROM event GROUP BY e_place HAVING avg(e_visitors) >= 5000) AS large ON e_place = place
        GROUP BY 1"""


def run(ground: Ground) -> Iterator[Comparison]:
    """For both recognisers, the cheap one first: running the task (medium size), asking about one row (all sizes)."""
    for cost, udf in {"cheap": recognised_name, "expensive": recognised_face}.items():
        udf.register(ground.spark)
        for size, images in SIZES[ground.size].items():
            _tables(ground, images)
            told = f"{cost} recognition, {images:,} photographs ({size})"
            if size == "medium":
                yield _running(ground, udf, f"{told}: the task")
            sql = query(udf.name)
            person = min(row["person"] for row in ground.spark.sql(sql).collect())
            title = f"{told}: one row of its result (the paper: {PAPER[cost]})"
            for found in asking(ground, title, sql, f"person = '{person}'"):
                yield _beside_the_papers_full(found, rows_of_operators(ground.folder))


def rows_of_operators(folder: Path) -> dict[str, int]:
    """The rows of every operator's output, counted beside the product: what a Full that copies them all would store, as the paper's."""
    joined = "image JOIN event ON i_event = e_id"
    grouped = "SELECT e_place AS place, avg(e_visitors) AS visitors FROM event GROUP BY e_place"
    large = f"SELECT place FROM ({grouped}) WHERE visitors >= 5000"
    judged = f"{joined} JOIN ({large}) ON e_place = place"
    person = "regexp_extract(parse_filename(i_img), 'person_[0-9]+')"
    queries = {
        "photographs joined with events": f"SELECT count(*) FROM {joined}",
        "places with their average": f"SELECT count(*) FROM ({grouped})",
        "large places": f"SELECT count(*) FROM ({large})",
        "these joined with large places": f"SELECT count(*) FROM {judged}",
        "recognised": f"SELECT count(*) FROM {judged}",
        "persons": f"SELECT count(DISTINCT {person}) FROM {judged}",
    }
    with duckdb.connect() as database:
        for name in ("image", "event"):
            database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder}/{name}.parquet')")
        return {name: int(database.execute(sql).fetchall()[0][0]) for name, sql in queries.items()}


def _beside_the_papers_full(found: Comparison, rows: Mapping[str, int]) -> Comparison:
    """Computed, not stored: the product's Full has a link for each row of a group where the paper's has the row once more."""
    fm, full, copied = "function_materialization", "full_materialization", sum(rows.values())
    found.facts[full]["tuples of every operator (computed)"] = copied
    found.facts[fm][AGAINST_COPIES] = float(f"{found.facts[fm]['stored tuples'] / copied:.4g}")
    told = "\n".join(f"  {count:,} {name}" for name, count in rows.items())
    parts = {AGAINST_COPIES: lambda: f"{found.arms[fm].parts['stored tuples']()}\nof every operator's rows, {copied:,}\n{told}"}
    found.arms = {**found.arms, fm: replace(found.arms[fm], parts={**found.arms[fm].parts, **parts})}
    return found


def _tables(ground: Ground, images: int) -> None:
    draw = np.random.default_rng(images)
    folder = ground.folder / f"photographs_{images}"
    paths = [str(one) for one in sorted(folder.iterdir())] if folder.exists() else write_photographs(folder, images)
    events = images // 4
    places, visitors = draw.integers(0, max(events // 5, 1), events), draw.integers(10, 10_000, events)
    image = {"i_id": range(images), "i_img": paths, "i_event": draw.integers(0, events, images)}
    event = {"e_id": range(events), "e_place": places, "e_visitors": visitors}
    tables: dict[str, dict[str, Any]] = {"image": image, "event": event}
    for name, columns in tables.items():
        parquet.write_table(pa.table({column: pa.array(values) for column, values in columns.items()}), ground.folder / f"{name}.parquet")
    ground.tables("image", "event")


def _running(ground: Ground, udf: ReasonedUdf, title: str) -> Comparison:
    sql = query(udf.name)
    arms = {"baseline (Rerun)": written(ground, sql), "rerun, recorded": recorded(ground, sql, "rerun")}
    for strategy in ("function_materialization", "full_materialization"):
        arms[f"{strategy}, eager"] = recorded(ground, sql, strategy, "eager")
    arms["function_materialization, lazy"] = recorded(ground, sql, "function_materialization", "lazy")
    return compared(title, arms, ground.meter, ground.repeats)
