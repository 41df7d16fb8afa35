"""What Airflow shows of a task's rendered fields has neither passwords nor secret parameters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk.execution_time.task_runner import _serialize_rendered_fields

from airflow_lineage_provider import Secret
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator

pytestmark = pytest.mark.airflow


def pipeline(spark: Any, bank: str, key: str, other: Any = None) -> Any: ...


def shown(operator: Any, **context: Any) -> str:
    operator.render_template_fields(context)
    return json.dumps(_serialize_rendered_fields(operator))


def test_a_run_shows_no_secret() -> None:
    operator = LineagePySparkOperator(
        task_id="examine",
        python_callable=pipeline,
        op_args=["bank", "{{ key }}"],
        op_kwargs={"other": Secret("canary-of-kwargs")},
        output="postgresql://me:canary-of-output@host/db#t",
        store="postgresql://me:canary%20of-store@host/db?sslpassword=canary-of-query",
        secret_params=["key"],
    )
    text = shown(operator, key="canary-of-template")
    assert "canary" not in text
    assert "bank" in text


def test_a_derivation_shows_no_secret() -> None:
    operator = DeriveAugmentedLineageOperator(
        task_id="why", target="true", lineage_run_id="r", store="postgresql://me:canary-of-why@host/db", secret_params={"key": "{{ key }}"}
    )
    assert "canary" not in shown(operator, key="canary-of-derivation")
    assert operator.secret_params == {"key": "canary-of-derivation"}
