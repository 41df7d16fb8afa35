"""The SQL of typical plans, as people are shown it.

``python -m tests.sql.test_golden`` writes the files anew, to be read before they are kept.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.sql import PortabilityProblem, lower
from tests.sql.golden_plans import PLANS, TABLES, UDFS

FOLDER = Path(__file__).parent / "golden"


def rendered(name: str) -> str:
    plan = PLANS[name]
    parts = [plan_text(plan), lower(plan, TABLES, dialect="spark", udfs=UDFS)]
    try:
        parts.append(lower(plan, TABLES, dialect="postgres"))
    except PortabilityProblem as problem:
        parts.append(str(problem))
    return "\n".join(f"---- {title}\n{part}" for title, part in zip(("plan", "spark", "postgres"), parts, strict=True)) + "\n"


@pytest.mark.parametrize("name", PLANS)
def test_golden(name: str) -> None:
    assert rendered(name) == (FOLDER / f"{name}.sql").read_text()


def test_every_file_has_its_plan() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(PLANS)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for plan_name in PLANS:
        (FOLDER / f"{plan_name}.sql").write_text(rendered(plan_name))
