"""By which columns conditions name rows, as people write them."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.deriving.named_by import named_by
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sql import parse_predicate

COLUMNS = [(name, Attribute(id=number, name=name, type=kind)) for number, (name, kind) in enumerate([("a", "bigint"), ("b", "string")])]


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("a = 1", "a"),
        ("1 = a", "a"),
        ("a IN (1, 2)", "a"),
        ("a IN (1, 2) AND b = 'x'", "ab"),
        ("a = 1 OR a = 2 OR a IN (3)", "a"),
        ("(a = 1 AND b = 'x') OR (a = 2 AND b = 'y')", "ab"),
        ("(a = 1 AND b = 'x') OR b = 'y'", "b"),
        ("a = 1 OR b = 'x'", ""),
        ("a = 1 AND upper(b) = 'X'", "a"),
        ("a > 1", ""),
        ("NOT a = 1", ""),
        ("a + 1 = 2", ""),
        ("a = length(b)", ""),
        ("true", ""),
    ],
)
def test_conditions(condition: str, named: str) -> None:
    meaning = {"case_sensitive": False, "time_zone": "UTC", "timestamp_type": "timestamp"}
    found = named_by(parse_predicate(condition, COLUMNS, **meaning))  # type: ignore[arg-type]
    assert "".join(sorted(COLUMNS[one][0] for one in found)) == named
