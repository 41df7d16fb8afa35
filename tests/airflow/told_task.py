"""A DAG run in a process of its own, whose Airflow tells OpenLineage of it: whom it tells is read when Airflow starts.

Usage: ``python -m tests.airflow.told_task FOLDER HOME``, with the Airflow home whose database is copied; it prints the events of the
asset that it writes.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing

from tests.airflow.conftest import FOLDERS, HOME, dag_bag


def main(folder: str, home: str) -> None:
    with closing(sqlite3.connect(f"{home}/airflow.db")) as database, closing(sqlite3.connect(HOME / "airflow.db")) as own:
        database.backup(own)
    from airflow.models.asset import AssetActive, AssetEvent, AssetModel
    from airflow.sdk import Asset
    from airflow.utils.session import create_session
    from sqlalchemy import select

    dag = dag_bag(FOLDERS["tests"] / "told.py").dags["told"]
    judged = Asset(f"file://{folder}/judged")
    dag.get_task("judge").outlets.append(judged)
    dag.get_task("judge").inlets.append(Asset("file:///declared/model"))
    with create_session() as session:  # as the DAG processor does it
        model = AssetModel(name=judged.name, uri=judged.uri, group=judged.group)
        session.add_all([model, AssetActive.for_asset(model)])
    dag.test(run_conf={"folder": folder})
    with create_session() as session:
        told = [event for event in session.scalars(select(AssetEvent)) if event.uri == judged.uri]  # the copy has those of others, too
        print(json.dumps([[event.uri, event.extra] for event in told]))


if __name__ == "__main__":
    main(*sys.argv[1:])
