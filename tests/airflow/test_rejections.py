"""The example DAGs that derive again and again: one by the clock, one when its asset is ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import Asset

from airflow_lineage_provider import Lineage

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = pytest.mark.spark


def last_event() -> Any:
    """What was told of the newest event of the asset, and by which task."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        of = select(AssetModel.id).where(AssetModel.name == "explained_rejections").scalar_subquery()
        return session.scalars(select(AssetEvent).where(AssetEvent.asset_id == of).order_by(AssetEvent.id.desc())).first()


def rejected(lineage: Lineage, run_id: str) -> set[int]:
    return {row["application_id"] for row in lineage.get_run(run_id).result_table().to_pylist() if row["judge"] == "Reject"}


def test_when_they_run(dags: dict[str, Any]) -> None:
    assert dags["rejections_nightly"].schedule == "@daily"
    assert dags["rejections_when_judged"].schedule == dags["loan_examination"].task_dict["examine"].outlets == [Asset("judged_loans")]


def test_new_rejections_are_derived(run_dag: Callable[..., DagResult], tmp_path: Any) -> None:
    judged = run_dag("loan_examination", folder=str(tmp_path / "data"), month=11).result("examine")["lineage_run_id"]
    first = run_dag("rejections_when_judged").result("explain")
    with Lineage() as lineage:
        expected = rejected(lineage, judged)
        found = [lineage.derivation(one) for one in first["derivation_ids"]]
    assert {row["application_id"] for one in found for row in one.target.to_pylist()} == expected != set()
    assert first["counts"]["target"] == len(expected)
    event = last_event()
    assert (event.source_dag_id, event.source_task_id) == ("rejections_when_judged", "explain")
    told = {name: first[name] for name in ("derivation_id", "derivation_set_id", "lineage_run_id", "pipeline", "since")}
    assert event.extra == told | {"rows": len(expected)}

    # Nothing is judged since: nothing is derived, and that is told, too.
    again = run_dag("rejections_when_judged").result("explain")
    assert (again["derivation_ids"], last_event().extra["rows"]) == ([], 0)

    # Other months have other applications.
    later = run_dag("loan_examination", folder=str(tmp_path / "data"), month=12).result("examine")["lineage_run_id"]
    news = run_dag("rejections_when_judged").result("explain")
    with Lineage() as lineage:
        assert (news["since"], news["lineage_run_id"], news["counts"]["target"]) == (judged, later, len(rejected(lineage, later)))
    assert last_event().extra["derivation_set_id"] == news["derivation_set_id"]
