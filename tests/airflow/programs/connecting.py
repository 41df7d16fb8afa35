"""A task without lineage on a server of Spark Connect, whose port is given; says what became of it."""

from __future__ import annotations

import json
import sys
from typing import Any

from airflow_lineage_provider.errors import SparkConnectUnsupported
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator


def counted(spark: Any, rows: int) -> dict[str, Any]:
    return {
        "session": type(spark).__module__,
        "rows": spark.range(rows).where("id > 1").count(),
        "extra": spark.conf.get("spark.sql.shuffle.partitions"),
    }


def executed(**options: Any) -> Any:
    operator: Any = LineagePySparkOperator(
        task_id="count", python_callable=counted, op_kwargs={"rows": 5}, conn_id="connect", lineage=False, **options
    )
    return type(operator).execute.__wrapped__(operator, {})


def main() -> None:
    found = executed()
    try:
        executed(output="/tmp/never_written")
    except SparkConnectUnsupported as refused:
        found["refused"] = str(refused)
    try:
        LineagePySparkOperator(task_id="count", python_callable=counted, conn_id="connect")._lineage_hook().spark("app").__enter__()
    except SparkConnectUnsupported as refused:
        found["with lineage"] = str(refused)
    print("found", json.dumps(found))


if __name__ == "__main__":
    main()
    sys.exit(0)
