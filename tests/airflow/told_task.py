"""A DAG run in a process of its own, whose Airflow tells OpenLineage of it: whom it tells is read when Airflow starts.

Usage: ``python -m tests.airflow.told_task FOLDER``
"""

from __future__ import annotations

import sys

from tests.airflow.conftest import FOLDERS


def main(folder: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    initdb()
    run = DagBag(FOLDERS["tests"]).dags["told"].test(run_conf={"folder": folder})
    print({one.task_id: str(one.state) for one in run.get_task_instances()})


if __name__ == "__main__":
    main(*sys.argv[1:])
