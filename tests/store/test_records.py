"""Records that the catalog has of earlier releases, and damaged ones: named, seen in lists, and dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.running.costs import measured_costs
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.typed_json import read
from tests.store.conftest import sql

OLD = Path(__file__).parents[1] / "records" / "old"
TEXTS = ("id", "pipeline", "status", "started", "finished", "strategy", "reasons", "plan", "error")


def enter(store: Store, name: str, **changes: Any) -> str:
    """A row of the catalog as an earlier release wrote it; its id."""
    row = {**json.loads((OLD / f"{name}.json").read_text()), "id": new_id(), **changes}
    values = {key: value if key in TEXTS else json.dumps(value) for key, value in row.items()}
    columns = ", ".join(values)
    sql(store.url, f"INSERT INTO lineage.runs ({columns}) VALUES ({', '.join(['%s'] * len(values))})", list(values.values()))
    return str(row["id"])


@pytest.mark.parametrize("name", sorted(path.stem for path in OLD.glob("*.json")))
def test_rows_of_earlier_releases_are_read(store: Store, name: str) -> None:
    run_id = enter(store, name)
    assert store.run(run_id) == read(RunRecord, {**json.loads((OLD / f"{name}.json").read_text()), "id": run_id})
    assert Lineage(store=store).get_run(run_id).columns().columns
    store.drop_run(run_id)


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        ("inputs", '[{"leaf": 0}]', r"inputs\[0\]\.name is missing"),
        ("udfs", "[", "udfs is not JSON"),
        ("conf", "7", "conf is 7, not an object"),
    ],
)
def test_a_damaged_record_is_named_and_can_be_dropped(store: Store, column: str, text: str, message: str) -> None:
    name = f"damaged {column}"
    run_id = enter(store, "latest", pipeline=name)
    sql(store.url, f"UPDATE lineage.runs SET {column} = %s WHERE id = %s", [text, run_id])
    with pytest.raises(RecordDamaged, match=f"the record of run {run_id} cannot be read: {message}"):
        store.run(run_id)
    with Lineage(store=store) as lineage:
        assert [one.id for one in lineage.runs(name)] == [run_id]
        assert measured_costs(store, name, json.loads((OLD / "latest.json").read_text())["plan"]) == {}
        lineage.drop(run_id)
    assert store.run(run_id).status == "dropped"


def test_a_list_names_the_run_that_it_cannot_show(store: Store) -> None:
    run_id = enter(store, "latest", pipeline="damaged counts")
    sql(store.url, 'UPDATE lineage.runs SET row_counts = \'{"result": "two"}\' WHERE id = %s', [run_id])
    with pytest.raises(RecordDamaged, match=f"the record of run {run_id} cannot be read: row_counts.result is 'two', not a whole number"):
        store.runs("damaged counts")
    store.drop_run(run_id)
    assert [one.status for one in store.runs("damaged counts")] == ["dropped"]


def test_a_segment_of_a_later_release(store: Store) -> None:
    run_id = enter(store, "latest", pipeline="of tomorrow")
    sql(store.url, "UPDATE lineage.runs SET segments = '[{\"version\": 2}]' WHERE id = %s", [run_id])
    with pytest.raises(
        PlanVersionError, match=rf"the record of run {run_id} cannot be read: segments\[0\]: .* this release reads version 1"
    ):
        store.run(run_id)
    store.drop_run(run_id)
