"""Recorded runs (`record_runs`) in a store, without Spark."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.store import Column, Store
from airflow_lineage_provider.typed_json import read
from tests.store.conftest import sql

HERE = Path(__file__).parent / "recorded"
FLIGHTS = "/data/flights"
"""What the pipelines over flights read where they were recorded; the tests have its files elsewhere (`restore_flights`)."""
BY = {
    "carriers": "SELECT carrier, count(*) AS flights FROM flights GROUP BY carrier",
    "places": "SELECT lat, max(delay) AS worst FROM flights GROUP BY lat",
    "twice": "SELECT carrier, 'one' AS which FROM flights UNION ALL SELECT carrier, 'other' FROM flights",
    "rerun": "SELECT carrier, min(delay) AS least FROM flights GROUP BY carrier",
}


def restore(store: Store, name: str, moved: tuple[str, str] = ("", ""), folder: Path | None = None, **changes: Any) -> str:
    """Enter a recorded run, whole; its id. ``moved``: where what it read was, and where it is. With a ``folder`` its tables are
    files there."""
    text = (HERE / f"{name}.json").read_text()
    document = json.loads(text.replace(*moved) if moved[0] else text)
    record = replace(read(RunRecord, document["record"]), **changes)
    store.begin_run(replace(record, status="running", finished=None))
    for table, one in document["tables"].items():
        columns = [Column(*column) for column in one["columns"]]
        rows = parts(pq.read_table(HERE / f"{name}.{table}.parquet"), columns)
        if folder is None:
            store.create_materialization(record.id, table, one["kind"], columns).loader().load_together(rows)
        else:
            made = store.create_materialization(record.id, table, one["kind"], columns, folder=(folder / table).as_uri())
            store.enter_files(made, write(rows, folder / table), {partition: part.num_rows for partition, part in rows.items()})
    store.publish_run(record.id, output=record.output, places=document["places"], timings=record.timings, row_counts=record.row_counts)
    finished = record.finished.isoformat() if record.finished else None
    sql(store.url, "UPDATE lineage.runs SET finished = %s WHERE id = %s", [finished, record.id])
    return record.id


def write(rows: dict[int, pa.Table], folder: Path) -> dict[str, int]:
    """Rows by partitions as the files of a stored table; their names and bytes."""
    folder.mkdir(parents=True)
    for partition, part in rows.items():
        pq.write_table(part.rename_columns([f"c{at}" for at in range(part.num_columns)]), folder / f"part-{partition:05}-of-tests.parquet")
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def restore_flights(store: Store, folder: Path) -> dict[str, str]:
    """The runs over flights, which read the files that are put into this folder; their ids, by name."""
    shutil.copytree(HERE / "flights", folder)
    ids = {name: restore(store, name, (FLIGHTS, str(folder))) for name in BY}
    (source,) = json.loads((HERE / "carriers.json").read_text())["record"]["inputs"]
    for uri, (_, changed) in source["version"]["files"].items():
        os.utime(folder / Path(uri).name, ns=(changed * 1_000_000, changed * 1_000_000))
    return ids


def parts(rows: pa.Table, columns: list[Column]) -> dict[int, pa.Table]:
    """Rows by Spark's partitions, which their numbers tell."""
    (number,) = [one.name for one in columns if one.role == "row"]
    partition = pc.shift_right(rows.column(number), 33)
    return {int(one): rows.filter(pc.equal(partition, one)) for one in pc.unique(partition).to_pylist()}
