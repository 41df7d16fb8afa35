"""Rows that source rows touched, as files: shown as the tab shows them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.answers.linked_later import LinkedLater
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.web.api.source_rows import _file, _Followed, _Meant
from tests.deriving.kept_examples import rows_of

PERSON = Attribute(id=1, name="person", type="struct<ssn:string,name:string>")
ROWS = pa.table({"person": pa.array([{"ssn": "999-1", "name": "Ann"}], pa.struct([("ssn", pa.string()), ("name", pa.string())]))})


def touched(here: LineageRows) -> str:
    source = Source(relation=Relation(name="client", kind="table"), output=(PERSON,), columns=("person",), leaf=0)
    plan = RecordedPlan(plan=segment(source, (PERSON,), ("person",)), materialized={}, sources={})
    run: Any = SimpleNamespace(plan=plan)
    lines: Any = None
    found = _Followed(_Meant(run, "client", "true"), Descendants(here=here, later={}), lines)
    answer = _file(None, [found], "result", "csv")  # type: ignore[arg-type]
    return bytes(answer.body).decode()


@pytest.mark.parametrize("setting_name", ["AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK"])
def test_a_field_within_a_column_is_withheld(monkeypatch: pytest.MonkeyPatch, setting_name: str) -> None:
    here = rows_of(rows=ROWS, numbers=(0,), carried={})
    assert "999-1" in touched(here)
    monkeypatch.setenv(setting_name, "ssn")
    assert "999-1" not in touched(here)


def test_so_are_rows_that_are_known_by_values(monkeypatch: pytest.MonkeyPatch) -> None:
    here = LinkedLater.of(rows_of(rows=ROWS, numbers=(0,)), lambda: pytest.fail("traced"))
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "ssn")
    assert "999-1" not in touched(here)
