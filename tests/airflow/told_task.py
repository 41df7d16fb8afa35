"""A DAG run in a process of its own, whose Airflow tells OpenLineage of it: whom it tells is read when Airflow starts.

Usage: ``python -m tests.airflow.told_task FOLDER``; it prints the events of assets.
"""

from __future__ import annotations

import json
import sys

from tests.airflow.conftest import FOLDERS


def main(folder: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.asset import AssetActive, AssetEvent, AssetModel
    from airflow.sdk import Asset
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session
    from sqlalchemy import select

    initdb()
    dag = DagBag(FOLDERS["tests"]).dags["told"]
    judged = Asset(f"file://{folder}/judged")
    dag.get_task("judge").outlets.append(judged)
    dag.get_task("judge").inlets.append(Asset("file:///declared/model"))
    with create_session() as session:  # as the DAG processor does it
        model = AssetModel(name=judged.name, uri=judged.uri, group=judged.group)
        session.add_all([model, AssetActive.for_asset(model)])
    dag.test(run_conf={"folder": folder})
    with create_session() as session:
        print(json.dumps([[event.uri, event.extra] for event in session.scalars(select(AssetEvent))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
